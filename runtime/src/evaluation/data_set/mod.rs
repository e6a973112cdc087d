//! Evaluation sets: questions with the documents that answer them.
//!
//! Labels bind to documents and to quoted text, never to chunk ids, so that another chunk size keeps them valid.

mod beir;
mod native;
mod squad;

use std::path::{Path, PathBuf};

use super::metrics::Judgements;

/// Questions, and the corpus where the set brings one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DataSet {
    /// Name for reports.
    pub(crate) name: String,
    /// Documents of the set itself; empty where the questions are about a folder.
    pub(crate) corpus: Vec<CorpusDocument>,
    /// In file order.
    pub(crate) questions: Vec<Question>,
}

/// A document of a set's own corpus.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CorpusDocument {
    /// What judgements name.
    pub(crate) id: String,
    /// May be empty.
    pub(crate) title: String,
    /// Body.
    pub(crate) text: String,
}

/// A question with what is known of its answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Question {
    /// Unique in the set.
    pub(crate) id: String,
    /// As a person would ask it.
    pub(crate) text: String,
    /// Documents that answer it, graded.
    pub(crate) relevant: Judgements,
    /// Reference answers; any of them is right.
    pub(crate) answers: Vec<String>,
    /// Texts that an answer must contain.
    pub(crate) facts: Vec<String>,
    /// Whether the right reply is not to answer.
    pub(crate) must_abstain: bool,
}

/// Why a set could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DataSetError {
    #[error("failed to read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("failed to understand {path}{}: {reason}", line.map(|line| format!(" line {line}")).unwrap_or_default())]
    Malformed { path: PathBuf, line: Option<usize>, reason: String },
    #[error(
        "failed to recognise {path}: expected a YAML file of questions, a BEIR folder (corpus.jsonl, queries.jsonl, \
         qrels/*.tsv) or a SQuAD-style JSON file"
    )]
    Unrecognised { path: PathBuf },
}

impl DataSet {
    /// Reads a set in any of the known formats, told apart by what lies at `path`.
    pub(crate) fn read(path: &Path) -> Result<Self, DataSetError> {
        let set = if path.is_dir() {
            beir::read(path)
        } else {
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("yaml" | "yml") => native::read(path),
                Some("json") => squad::read(path),
                _ => Err(DataSetError::Unrecognised { path: path.to_owned() }),
            }
        }?;
        set.checked(path)
    }

    fn checked(self, path: &Path) -> Result<Self, DataSetError> {
        let malformed = |reason: String| DataSetError::Malformed { path: path.to_owned(), line: None, reason };
        if self.questions.is_empty() {
            return Err(malformed("it has no questions".into()));
        }
        let mut seen = std::collections::HashSet::new();
        match self.questions.iter().find(|question| !seen.insert(&question.id)) {
            Some(question) => Err(malformed(format!("two questions have the id {:?}", question.id))),
            None => Ok(self),
        }
    }
}

fn read_text(path: &Path) -> Result<String, DataSetError> {
    std::fs::read_to_string(path).map_err(|source| DataSetError::Read { path: path.to_owned(), source })
}

fn name_of(path: &Path) -> String {
    path.file_stem().map_or_else(|| "questions".into(), |stem| stem.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests;
