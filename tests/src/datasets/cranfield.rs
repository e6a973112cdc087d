//! Cranfield 1400 in the SMART format.

use anyhow::Context;
use std::path::Path;

use super::{Dataset, Document, Judgements, Query, text};

pub(super) fn read(folder: &Path) -> anyhow::Result<Dataset> {
    let corpus = text(folder, "cran.all.1400")?;
    let documents = records(&corpus).map(document).collect();
    let queries = text(folder, "cran.qry")?.replace("\r\n", "\n");
    // Judgements number the queries by their place in the file, not by the number written there.
    let queries = records(&queries).zip(1..).map(|(record, number)| Query {
        id: number.to_string(),
        text: field(record, 'W').to_owned(),
        answers: Vec::new(),
    });
    Ok(Dataset { documents, queries: queries.collect(), judgements: judgements(&text(folder, "cranqrel")?)? })
}

/// Records with their number in the first line.
fn records(file: &str) -> impl Iterator<Item = &str> {
    file.strip_prefix(".I ").unwrap_or(file).split("\n.I ")
}

fn document(record: &str) -> Document {
    let number = record.lines().next().unwrap_or_default().trim().trim_start_matches('0');
    Document { id: number.to_owned(), title: field(record, 'T').to_owned(), text: field(record, 'W').to_owned() }
}

/// What stands between the line `.X` of this letter and the next such line.
fn field(record: &str, letter: char) -> &str {
    let Some((_, rest)) = record.split_once(&format!("\n.{letter}\n")) else { return "" };
    let end = ["\n.T\n", "\n.A\n", "\n.B\n", "\n.W\n"].iter().filter_map(|next| rest.find(next)).min();
    // An empty field ends where it begins.
    let empty = [".T\n", ".A\n", ".B\n", ".W\n"].iter().any(|next| rest.starts_with(next));
    if empty { "" } else { rest[..end.unwrap_or(rest.len())].trim() }
}

fn judgements(file: &str) -> anyhow::Result<Judgements> {
    let mut judgements = Judgements::new();
    for line in file.lines().filter(|line| !line.trim().is_empty()) {
        let mut cells = line.split_whitespace();
        let (Some(query), Some(document), Some(code)) = (cells.next(), cells.next(), cells.next()) else { continue };
        let code: i32 = code.parse().with_context(|| format!("failed to read the judgement {line:?}"))?;
        if code > 0 {
            judgements.entry(query.to_owned()).or_default().insert(document.to_owned(), 1);
        }
    }
    Ok(judgements)
}
