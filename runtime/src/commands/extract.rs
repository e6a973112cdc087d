use anyhow::Context;
use groundwork_knowledge::document::{Begins, Format, Mark};
use groundwork_knowledge::load::extraction::{Extraction, serve};
use rustix::process::{Resource, Rlimit, getppid, setrlimit};
use std::io::BufReader;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Duration;

use crate::cli::Global;

/// Stack of the thread that extracts: parsers recurse along what a document nests.
const STACK_BYTES: usize = 64 << 20;
/// Descriptors that extraction may hold: the standard ones and what is open already. It opens no files.
const DESCRIPTORS: u64 = 64;
/// How often a child looks whether its parent still lives.
const ORPHAN_CHECK: Duration = Duration::from_millis(500);

#[derive(Debug, clap::Args)]
pub(crate) struct ExtractArgs {
    /// Address space this process may have, in bytes.
    #[arg(long, default_value_t = 1 << 30)]
    memory_bytes: u64,
}

pub(crate) async fn run(args: ExtractArgs, _global: &Global) -> anyhow::Result<ExitCode> {
    confine(args.memory_bytes)?;
    end_when_orphaned();
    let worker = std::thread::Builder::new()
        .name("extract".into())
        .stack_size(STACK_BYTES)
        .spawn(|| serve(BufReader::new(std::io::stdin()), std::io::stdout().lock(), guarded))
        .context("failed to start the extraction thread")?;
    // Nothing else runs in this process, so that waiting here holds up nobody.
    let served = worker.join().map_err(|_| anyhow::anyhow!("failed to extract: the extraction thread ended"))?;
    served.context("failed to talk to the parent process").map(|()| ExitCode::SUCCESS)
}

/// Limits that the process sets itself before it sees a document: memory, no core dump, no file written.
fn confine(memory_bytes: u64) -> anyhow::Result<()> {
    let limits =
        [(Resource::As, memory_bytes), (Resource::Core, 0), (Resource::Fsize, 0), (Resource::Nofile, DESCRIPTORS)];
    for (resource, limit) in limits {
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })
            .with_context(|| format!("failed to limit {resource:?} of the extraction process to {limit}"))?;
    }
    Ok(())
}

/// A parent that was killed can end nobody: the child sees that it has another parent and ends itself, also in the
/// middle of a job that would take for ever.
fn end_when_orphaned() {
    let parent = getppid();
    std::thread::spawn(move || {
        while getppid() == parent {
            std::thread::sleep(ORPHAN_CHECK);
        }
        std::process::exit(1);
    });
}

/// Extraction of one file; a panic of a parser is a failure of this file. Its message goes to standard error.
fn guarded(format: Format, bytes: Vec<u8>) -> Result<Extraction, String> {
    catch_unwind(AssertUnwindSafe(|| extract(format, bytes)))
        .unwrap_or_else(|_| Err("the extractor has a fault that this file triggers".into()))
}

fn extract(format: Format, bytes: Vec<u8>) -> Result<Extraction, String> {
    let extracted = match format {
        Format::Html => String::from_utf8(bytes)
            .map(|html| groundwork_extract::html(&html))
            .map_err(|_| "the HTML did not arrive as UTF-8".to_owned())?,
        Format::Pdf => groundwork_extract::pdf(bytes).map_err(|error| error.to_string())?,
        Format::Docx => groundwork_extract::docx(&bytes).map_err(|error| error.to_string())?,
        Format::Xlsx => groundwork_extract::xlsx(&bytes).map_err(|error| error.to_string())?,
        Format::Markdown | Format::Text | Format::Code | Format::Csv | Format::JsonLines => {
            return Err("text files need no extraction".into());
        }
    };
    let marks = extracted.marks.into_iter().map(mark).collect();
    Ok(Extraction { markdown: extracted.markdown, title: extracted.title, marks, notes: extracted.notes })
}

fn mark(mark: groundwork_extract::Mark) -> Mark {
    let begins = match mark.begins {
        groundwork_extract::Begins::Page(page) => Begins::Page(page),
        groundwork_extract::Begins::Row { sheet, row } => Begins::Row { sheet, row },
    };
    Mark { offset: mark.offset, begins }
}
