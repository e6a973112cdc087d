//! BEIR folders (Thakur et al. 2021): `corpus.jsonl`, `queries.jsonl`, `qrels/*.tsv`.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::{CorpusDocument, DataSet, DataSetError, Question, name_of, read_text};
use crate::evaluation::metrics::Judgements;

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

#[derive(Deserialize)]
struct Query {
    #[serde(rename = "_id")]
    id: String,
    text: String,
    #[serde(default)]
    metadata: Metadata,
}

/// What BEIR leaves free; reference answers are read from here where a set has them.
#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    answers: Vec<String>,
}

/// Reads the folder. Queries without a judgement are left out, as BEIR's own evaluation does.
pub(super) fn read(folder: &Path) -> Result<DataSet, DataSetError> {
    let corpus = json_lines::<Document>(&folder.join("corpus.jsonl"))?
        .into_iter()
        .map(|Document { id, title, text }| CorpusDocument { id, title, text })
        .collect();
    let mut judgements = judgements(&qrels_file(folder)?)?;
    let questions = json_lines::<Query>(&folder.join("queries.jsonl"))?
        .into_iter()
        .filter_map(|query| {
            let relevant = judgements.remove(&query.id)?;
            let answers = query.metadata.answers;
            Some(Question { id: query.id, text: query.text, relevant, answers, ..Question::default() })
        })
        .collect();
    Ok(DataSet { name: name_of(folder), corpus, questions })
}

/// `qrels/test.tsv` where there is one, else the only file.
fn qrels_file(folder: &Path) -> Result<PathBuf, DataSetError> {
    let qrels = folder.join("qrels");
    let test = qrels.join("test.tsv");
    if test.is_file() {
        return Ok(test);
    }
    let entries = std::fs::read_dir(&qrels).map_err(|source| DataSetError::Read { path: qrels.clone(), source })?;
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "tsv"));
    match <[PathBuf; 1]>::try_from(files) {
        Ok([only]) => Ok(only),
        Err(files) => Err(DataSetError::Malformed {
            path: qrels,
            line: None,
            reason: format!("it has {} .tsv files and none is named test.tsv", files.len()),
        }),
    }
}

fn judgements(path: &Path) -> Result<HashMap<String, Judgements>, DataSetError> {
    let mut all: HashMap<String, Judgements> = HashMap::new();
    for (index, line) in read_text(path)?.lines().enumerate() {
        if line.trim().is_empty() || (index == 0 && line.starts_with("query-id")) {
            continue;
        }
        let row: Option<(&str, &str, i32)> = (|| {
            let mut cells = line.split('\t');
            Some((cells.next()?, cells.next()?, cells.next()?.trim().parse().ok()?))
        })();
        let Some((query, document, grade)) = row else {
            let reason = "expected query id, document id and a whole number, separated by tabs".into();
            return Err(DataSetError::Malformed { path: path.to_owned(), line: Some(index + 1), reason });
        };
        all.entry(query.to_owned()).or_default().insert(document.to_owned(), grade);
    }
    Ok(all)
}

fn json_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, DataSetError> {
    let text = read_text(path)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|error| DataSetError::Malformed {
                path: path.to_owned(),
                line: Some(index + 1),
                reason: error.to_string(),
            })
        })
        .collect()
}
