//! What an evaluation measures: something that ranks documents and answers questions.

use async_trait::async_trait;
use groundwork_config::Fusion;

use crate::wire::{Answer, Mode};

/// One row of an ablation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Configuration {
    /// Name in the report.
    pub(crate) name: &'static str,
    /// Which arms run.
    pub(crate) mode: Mode,
    /// How they are joined; `None` takes the target's.
    pub(crate) fusion: Option<Fusion>,
}

impl Configuration {
    /// The keyword arm alone: the baseline of every ablation.
    pub(crate) const KEYWORD: Self = Self { name: "keyword", mode: Mode::Keyword, fusion: None };
    /// The dense arm alone.
    pub(crate) const DENSE: Self = Self { name: "dense", mode: Mode::Vector, fusion: None };
    /// Both, fused as the target says.
    pub(crate) const HYBRID: Self = Self { name: "hybrid", mode: Mode::Hybrid, fusion: None };
    /// Both, fused by ranks with the same weights.
    pub(crate) const HYBRID_RRF: Self =
        Self { name: "hybrid, rrf", mode: Mode::Hybrid, fusion: Some(Fusion::Rrf { k: 60 }) };

    /// The name in one word, for files and their columns.
    pub(crate) fn tag(&self) -> String {
        self.name.replace(", ", "-")
    }
}

/// A ranked passage, for collapsing to documents and for counting what the model would be given.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RankedPassage {
    /// As judgements name it.
    pub(crate) document: String,
    /// Size in cl100k tokens.
    pub(crate) tokens: u32,
}

/// What is measured.
#[async_trait]
pub(crate) trait Target: Send + Sync {
    /// Number of documents it searches.
    fn documents(&self) -> u64;

    /// Hex SHA-256 over names and contents of its documents.
    fn corpus_fingerprint(&self) -> String;

    /// Hex SHA-256 of its configuration.
    fn configuration_fingerprint(&self) -> String;

    /// Passages for a question, best first: at least `documents` distinct documents where so many match.
    async fn rank(
        &self,
        question: &str,
        configuration: &Configuration,
        documents: usize,
    ) -> anyhow::Result<Vec<RankedPassage>>;

    /// The product's answer, with citations whose `document` is as judgements name it.
    async fn answer(&self, question: &str) -> anyhow::Result<Answer>;

    /// Passages given to an answer.
    fn top_k(&self) -> usize;
}

/// Documents in the order of their best passage.
pub(crate) fn collapse(passages: &[RankedPassage]) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    passages.iter().filter(|passage| seen.insert(&passage.document)).map(|passage| passage.document.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_one_word_and_tell_the_configurations_apart() {
        let all = [Configuration::KEYWORD, Configuration::DENSE, Configuration::HYBRID, Configuration::HYBRID_RRF];
        assert_eq!(all.map(|configuration| configuration.tag()), ["keyword", "dense", "hybrid", "hybrid-rrf"]);
    }
}
