//! Printing: tables, JSON, YAML, colours and errors, the same way for every command.

mod problem;
pub(crate) mod progress;
mod style;
mod table;

use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use crate::cli::{Global, OutputFormat};

pub(crate) use problem::{Problem, chain};
pub(crate) use style::{Style, stderr_is_terminal, stdout_style};
pub(crate) use table::Table;

/// Exit code of a command that failed.
pub(crate) const EXIT_FAILURE: u8 = 1;
/// Exit code of an ingestion that finished, but not with every document.
pub(crate) const EXIT_FAILED_DOCUMENTS: u8 = 3;
/// Exit code of a question that got related passages and no answer.
pub(crate) const EXIT_RELATED: u8 = 4;
/// Exit code of a question that the documents do not answer.
pub(crate) const EXIT_NOT_FOUND: u8 = 5;
/// Exit code after a second signal: 128 + SIGINT, as shells count.
pub(crate) const EXIT_INTERRUPTED: u8 = 130;

/// Prints an error with its causes and what to do about it on standard error, and gives the exit code.
pub(crate) fn failure(error: &anyhow::Error) -> ExitCode {
    let style = Style::of(&std::io::stderr());
    let mut lines = format!("{} {error}\n", style.bad("error:"));
    let mut said = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !said.contains(&cause) {
            lines.push_str(&format!("  {} {cause}\n", style.dim("because:")));
            said = cause;
        }
    }
    if let Some(fix) = error.chain().find_map(|cause| cause.downcast_ref::<Problem>().and_then(Problem::fix_text)) {
        lines.push_str(&format!("  {} {fix}\n", style.dim("try:")));
    }
    // A closed standard error leaves nobody to tell.
    let _ = std::io::stderr().write_all(lines.as_bytes());
    ExitCode::from(EXIT_FAILURE)
}

/// Prints a result on standard output: as JSON or YAML, or as `table` words it.
pub(crate) fn result<T: Serialize>(
    format: OutputFormat,
    value: &T,
    table: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    let mut text = match format {
        OutputFormat::Table => table(),
        OutputFormat::Json => serde_json::to_string_pretty(value)?,
        OutputFormat::Yaml => serde_saphyr::to_string(value)?,
    };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    print(&text)
}

/// Writes to standard output. A reader that went away (`| head`) is not an error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Problem::new("failed to write to standard output").because(error).into())
        }
        _ => Ok(()),
    }
}

/// Sends log lines to standard error: warnings, more with `-v`, less with `-q`; `GROUNDWORK_LOG` decides where it is set
/// (in the syntax of `tracing_subscriber::EnvFilter`).
pub(crate) fn logging(global: &Global) {
    use tracing_subscriber::EnvFilter;
    let level = match (global.quiet, global.verbose) {
        (true, _) => "error",
        (false, 0) => "warn",
        (false, 1) => "warn,groundwork=info,groundwork_knowledge=info,groundwork_agent=info",
        (false, 2) => "info,groundwork=debug,groundwork_knowledge=debug,groundwork_agent=debug",
        (false, _) => "debug",
    };
    let filter = EnvFilter::try_from_env("GROUNDWORK_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    let coloured = Style::of(&std::io::stderr()).coloured();
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(coloured);
    builder.with_target(global.verbose > 1).without_time().init();
}

/// `1 document`, `2 documents`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{} {noun}s", grouped(number)) }
}

/// The number with a comma between thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A duration for people: `240 ms`, `3.1 s`, `2 min 5 s`.
pub(crate) fn duration(elapsed: std::time::Duration) -> String {
    let milliseconds = elapsed.as_millis();
    match milliseconds {
        0..1_000 => format!("{milliseconds} ms"),
        1_000..60_000 => format!("{:.1} s", elapsed.as_secs_f64()),
        _ => format!("{} min {} s", elapsed.as_secs() / 60, elapsed.as_secs() % 60),
    }
}

/// `8 markdown, 4 pdf`: the most first.
pub(crate) fn counts(numbers: &BTreeMap<String, u64>) -> String {
    let mut sorted: Vec<_> = numbers.iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    sorted.iter().map(|(name, number)| format!("{} {name}", grouped(**number))).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let shown: Vec<String> = [0, 999, 1_000, 1_234_567].into_iter().map(grouped).collect();
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn nouns_follow_their_number() {
        assert_eq!([count(0, "chunk"), count(1, "chunk"), count(2, "chunk")], ["0 chunks", "1 chunk", "2 chunks"]);
    }

    #[test]
    fn durations_name_the_unit_that_fits() {
        let shown: Vec<String> = [240, 3_100, 125_000].map(Duration::from_millis).into_iter().map(duration).collect();
        assert_eq!(shown, ["240 ms", "3.1 s", "2 min 5 s"]);
    }
}
