//! Groundwork's own format: one YAML file, documented in `docs/evaluation.md`.

use serde::Deserialize;
use std::path::Path;

use super::{DataSet, DataSetError, Question, name_of, read_text};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct File {
    name: Option<String>,
    questions: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Entry {
    id: String,
    question: String,
    #[serde(default)]
    documents: Vec<Label>,
    #[serde(default)]
    facts: Vec<String>,
    answer: Option<String>,
    #[serde(default)]
    must_abstain: bool,
}

/// A relevant document: its path, or its path with a grade.
#[derive(Deserialize)]
#[serde(untagged)]
enum Label {
    Path(String),
    Graded { path: String, grade: i32 },
}

/// Reads the file.
pub(super) fn read(path: &Path) -> Result<DataSet, DataSetError> {
    let malformed = |line, reason| DataSetError::Malformed { path: path.to_owned(), line, reason };
    let file: File = serde_saphyr::from_str(&read_text(path)?).map_err(|error| malformed(None, error.to_string()))?;
    let questions = file.questions.into_iter().map(question).collect::<Result<_, String>>();
    let questions = questions.map_err(|reason| malformed(None, reason))?;
    Ok(DataSet { name: file.name.unwrap_or_else(|| name_of(path)), corpus: Vec::new(), questions })
}

fn question(entry: Entry) -> Result<Question, String> {
    if entry.must_abstain && !(entry.facts.is_empty() && entry.answer.is_none()) {
        return Err(format!("question {:?} has mustAbstain and also an answer or facts", entry.id));
    }
    let label = |label| match label {
        Label::Path(path) => (path, 1),
        Label::Graded { path, grade } => (path, grade),
    };
    Ok(Question {
        id: entry.id,
        text: entry.question,
        relevant: entry.documents.into_iter().map(label).collect(),
        answers: entry.answer.into_iter().collect(),
        facts: entry.facts,
        must_abstain: entry.must_abstain,
    })
}
