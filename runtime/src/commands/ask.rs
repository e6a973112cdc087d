use groundwork_knowledge::store::Principal;
use std::fmt::Write;
use std::process::ExitCode;

use crate::cli::{FilterArgs, Global, PlaceArgs};
use crate::local;
use crate::output::{self, EXIT_NOT_FOUND, EXIT_RELATED, Style};
use crate::wire::{Answer, AskRequest, Band, Citation, CitationCheck, Mode};

const EXAMPLES: &str = "\
Examples:
  groundwork ask \"What is the late fee?\"
  groundwork ask --dir ~/documents --path 'handbook/**' How long is the notice period?
  groundwork ask -o json \"Who approves SKU-4471?\" | jq -r '.citations[].document'

A running `up` answers; otherwise the index is read directly.
Exit codes: 0 answered, 4 related passages only, 5 not found, 1 failed.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AskArgs {
    /// The question; several words need no quotation marks.
    #[arg(required = true, value_name = "QUESTION")]
    question: Vec<String>,
    /// Which arms search; the pipeline's mode where left out.
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// Passages given to the answer (1 to 100).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    top_k: Option<u32>,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(crate) async fn run(args: AskArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let service = local::open_for_reading(&args.place, "ask").await?;
    let request = AskRequest {
        question: args.question.join(" "),
        mode: args.mode,
        top_k: args.top_k,
        filter: args.filter.into(),
        stream: false,
    };
    let answer = service.ask(&Principal::local(), request, &mut |_| {}).await?;
    let style = output::stdout_style();
    output::result(global.output, &answer, || render(&answer, style, global.quiet))?;
    Ok(exit_code(answer.band))
}

fn exit_code(band: Band) -> ExitCode {
    match band {
        Band::Answered => ExitCode::SUCCESS,
        Band::Related => ExitCode::from(EXIT_RELATED),
        Band::NotFound => ExitCode::from(EXIT_NOT_FOUND),
    }
}

fn render(answer: &Answer, style: Style, quiet: bool) -> String {
    let mut text = heading(answer, style);
    if let Some(reason) = &answer.reason {
        let _ = writeln!(text, "{reason}");
    }
    if !answer.sentences.is_empty() {
        let _ = writeln!(text, "\n{}", sentences(answer, style));
    }
    for citation in &answer.citations {
        text.push('\n');
        text.push_str(&render_citation(citation, style));
    }
    if !quiet {
        text.push_str(&footer(answer, style));
    }
    text
}

fn heading(answer: &Answer, style: Style) -> String {
    let label = match answer.band {
        Band::Answered => style.good("answered"),
        Band::Related => style.warn("related passages, not an answer"),
        Band::NotFound => style.bad("not found"),
    };
    match answer.band {
        Band::Answered => format!("{label} {}\n", style.dim(&format!("({})", answer.written_by))),
        _ => format!("{label}\n"),
    }
}

fn sentences(answer: &Answer, style: Style) -> String {
    let mut text = String::new();
    for sentence in &answer.sentences {
        if !text.is_empty() {
            text.push(if sentence.text.contains('\n') || text.ends_with('\n') { '\n' } else { ' ' });
        }
        text.push_str(&sentence.text);
        let marks: String = sentence.citations.iter().map(|number| format!("[{number}]")).collect();
        if !marks.is_empty() {
            let _ = write!(text, " {}", style.dim(&marks));
        }
    }
    text
}

fn render_citation(citation: &Citation, style: Style) -> String {
    let place = citation.excerpt.place();
    let check = match citation.check {
        CitationCheck::Verbatim | CitationCheck::None => "",
        CitationCheck::Normalised => " (white space or quotation marks differ)",
    };
    let mut text = format!("{} {}{}\n", style.bold(&format!("[{}]", citation.number)), place, style.dim(check));
    for line in citation.excerpt.quote.trim_end().lines() {
        let _ = writeln!(text, "    {} {line}", style.dim("|"));
    }
    text
}

fn footer(answer: &Answer, style: Style) -> String {
    let mut text = String::from("\n");
    for note in &answer.notes {
        let _ = writeln!(text, "{} {note}", style.warn("note:"));
    }
    let searched = output::count(answer.documents_searched, "document");
    let elapsed = output::duration(std::time::Duration::from_secs_f64(answer.elapsed_ms / 1000.0));
    let tokens: u64 = answer.usage.iter().map(|step| step.input_tokens + step.output_tokens).sum();
    let mut line = format!("{searched} searched in {elapsed}");
    if tokens > 0 {
        let _ = write!(line, ", {} by {}", output::count(tokens, "token"), answer.written_by);
    }
    let _ = writeln!(text, "{}", style.dim(&line));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Excerpt, Sentence, StopReason};

    fn answer() -> Answer {
        Answer {
            run_id: "run".into(),
            question: "What is the late fee?".into(),
            band: Band::Answered,
            stop_reason: StopReason::Answered,
            written_by: "quotes from your documents".into(),
            text: "The late fee is 3 EUR a day. [1]".into(),
            sentences: vec![Sentence { text: "The late fee is 3 EUR a day.".into(), citations: vec![1] }],
            citations: vec![Citation {
                number: 1,
                excerpt: Excerpt {
                    chunk_id: "chunk".into(),
                    document_id: "document".into(),
                    document: "handbook/fees.md".into(),
                    title: "Fees".into(),
                    heading_path: vec!["Fees".into(), "Late returns".into()],
                    locator: "lines 3-9".into(),
                    before: String::new(),
                    quote: "The late fee is 3 EUR a day.".into(),
                    after: String::new(),
                },
                check: CitationCheck::Verbatim,
                arms: Vec::new(),
            }],
            reason: None,
            documents_searched: 12,
            notes: vec!["vectors are 40 % complete".into()],
            usage: Vec::new(),
            revisions: vec!["r1".into()],
            policy: String::new(),
            elapsed_ms: 14.2,
        }
    }

    #[test]
    fn an_answer_names_its_band_its_sentences_and_where_they_stand() {
        insta::assert_snapshot!(render(&answer(), Style::plain(), false), @r"
        answered (quotes from your documents)

        The late fee is 3 EUR a day. [1]

        [1] handbook/fees.md, lines 3-9 (Fees > Late returns)
            | The late fee is 3 EUR a day.

        note: vectors are 40 % complete
        12 documents searched in 14 ms
        ");
    }

    #[test]
    fn what_is_not_found_says_why() {
        let missing = Answer {
            band: Band::NotFound,
            sentences: Vec::new(),
            citations: Vec::new(),
            reason: Some("No document has SKU-9999; the nearest is SKU-4471.".into()),
            ..answer()
        };
        insta::assert_snapshot!(render(&missing, Style::plain(), true), @r"
        not found
        No document has SKU-9999; the nearest is SKU-4471.
        ");
    }
}
