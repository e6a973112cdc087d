//! SciFact from its CSV export: the corpus, and the claims that make BEIR's test split.

use anyhow::{Context, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::path::Path;

use super::{Dataset, Document, Judgements, Query};

#[derive(Deserialize)]
struct Abstract {
    doc_id: String,
    title: String,
    #[serde(rename = "abstract")]
    sentences: String,
}

#[derive(Deserialize)]
struct Claim {
    id: String,
    claim: String,
    cited_doc_ids: String,
}

pub(super) fn read(folder: &Path) -> anyhow::Result<Dataset> {
    let file = File::open(folder.join("scifact-csv.zip")).context("failed to open scifact-csv.zip")?;
    let mut archive = zip::ZipArchive::new(file).context("failed to read scifact-csv.zip")?;
    let mut set = Dataset::default();
    for row in rows::<Abstract>(&mut archive, "corpus_train.csv")? {
        let text = sentences(&row.sentences).with_context(|| format!("failed to read document {}", row.doc_id))?;
        set.documents.push(Document { id: row.doc_id, title: row.title, text });
    }
    for row in rows::<Claim>(&mut archive, "claims_validation.csv")? {
        // A claim has one row for each piece of evidence.
        if !set.judgements.contains_key(&row.id) {
            set.queries.push(Query { id: row.id.clone(), text: row.claim, answers: Vec::new() });
        }
        cite(&mut set.judgements, row.id, &row.cited_doc_ids);
    }
    Ok(set)
}

fn cite(judgements: &mut Judgements, claim: String, documents: &str) {
    let cited = judgements.entry(claim).or_default();
    for document in documents.split(|letter: char| !letter.is_ascii_digit()).filter(|id| !id.is_empty()) {
        cited.insert(document.to_owned(), 1);
    }
}

fn rows<T: DeserializeOwned>(archive: &mut zip::ZipArchive<File>, name: &str) -> anyhow::Result<Vec<T>> {
    let member = archive.by_name(name).with_context(|| format!("failed to find {name}"))?;
    let rows = csv::Reader::from_reader(member).into_deserialize().collect::<Result<_, _>>();
    rows.with_context(|| format!("failed to read {name}"))
}

/// Joins the quoted sentences of a printed array of Python strings.
fn sentences(array: &str) -> anyhow::Result<String> {
    let mut text = String::with_capacity(array.len());
    let mut characters = array.chars();
    while let Some(character) = characters.next() {
        if matches!(character, '\'' | '"') {
            if !text.is_empty() {
                text.push(' ');
            }
            quoted(&mut characters, character, &mut text)?;
        }
    }
    Ok(text)
}

fn quoted(characters: &mut std::str::Chars<'_>, quote: char, text: &mut String) -> anyhow::Result<()> {
    while let Some(character) = characters.next() {
        match character {
            '\\' => text.push(escaped(characters)?),
            _ if character == quote => return Ok(()),
            _ => text.push(character),
        }
    }
    bail!("a quoted sentence has no end")
}

fn escaped(characters: &mut std::str::Chars<'_>) -> anyhow::Result<char> {
    let letter = characters.next().context("an escape at the end")?;
    let digits = match letter {
        'n' => return Ok('\n'),
        't' => return Ok('\t'),
        'r' => return Ok('\r'),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return Ok(letter),
    };
    let code: String = characters.take(digits).collect();
    let code = u32::from_str_radix(&code, 16).with_context(|| format!("failed to read the escape {code:?}"))?;
    Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
}
