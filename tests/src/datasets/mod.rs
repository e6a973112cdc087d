//! Public retrieval sets in one shape, read from the folder that `GROUNDWORK_EVAL_DATA` names. The folder holds each
//! set in its original format; nothing of it is part of the repository.

use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

mod beir;
mod cranfield;
mod json;
mod scifact;

/// Environment variable with the path of the evaluation data.
pub const EVAL_DATA: &str = "GROUNDWORK_EVAL_DATA";

/// The sets that can be read.
pub const SETS: [&str; 6] = ["scifact", "cranfield", "docs-rag", "codebase-rag", "hotpotqa", "cmrc2018"];

/// A document of a corpus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Identity within the set.
    pub id: String,
    /// Title, where the set has one.
    pub title: String,
    /// Text without the title.
    pub text: String,
}

impl Document {
    /// Title and text in one, as the published figures index them.
    pub fn title_and_text(&self) -> String {
        if self.title.is_empty() { self.text.clone() } else { format!("{} {}", self.title, self.text) }
    }
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Identity within the set.
    pub id: String,
    /// The question.
    pub text: String,
    /// Reference answers, where the set has them.
    pub answers: Vec<String>,
}

/// Relevance grades (above 0) by query id, then by document id.
pub type Judgements = BTreeMap<String, BTreeMap<String, u32>>;

/// A set: what is searched, what is asked, what is right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dataset {
    /// In the order of the source, ids distinct.
    pub documents: Vec<Document>,
    /// In the order of the source, ids distinct.
    pub queries: Vec<Query>,
    /// For each query at least one document.
    pub judgements: Judgements,
}

impl Dataset {
    /// Number of judged pairs.
    pub fn pairs(&self) -> usize {
        self.judgements.values().map(BTreeMap::len).sum()
    }

    /// Writes the set as a BEIR folder: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`.
    pub fn write_beir(&self, folder: &Path) -> anyhow::Result<()> {
        beir::write(self, folder)
    }
}

/// The folder of the evaluation data, if the environment names one.
pub fn eval_data() -> Option<PathBuf> {
    std::env::var_os(EVAL_DATA).map(PathBuf::from)
}

/// Reads the set of this name (one of [`SETS`]) below `root`.
pub fn load(root: &Path, name: &str) -> anyhow::Result<Dataset> {
    let folder = root.join(name);
    let set = match name {
        "scifact" => scifact::read(&folder),
        "cranfield" => cranfield::read(&folder),
        "docs-rag" => json::docs_rag(&folder),
        "codebase-rag" => json::codebase_rag(&folder),
        "hotpotqa" => json::hotpotqa(&folder),
        "cmrc2018" => json::cmrc2018(&folder),
        _ => bail!("failed to read the set {name}: it is none of {}", SETS.join(", ")),
    };
    set.with_context(|| format!("failed to read the set {name} in {}", folder.display()))
}

fn text(folder: &Path, file: &str) -> anyhow::Result<String> {
    std::fs::read_to_string(folder.join(file)).with_context(|| format!("failed to read {file}"))
}

#[cfg(test)]
mod tests;
