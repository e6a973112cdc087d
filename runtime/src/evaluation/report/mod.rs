//! What an evaluation found, and its forms: table, JSON, Markdown, JUnit.

mod junit;
mod markdown;

use serde::Serialize;

use super::abstention::AbstentionScores;
use super::metrics::Metrics;
use super::significance::{bootstrap_interval, randomisation_p_value};

pub(crate) use junit::junit;
pub(crate) use markdown::markdown;

/// Everything one run of `groundwork eval` measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    /// Name of the set.
    pub(crate) set: String,
    /// Number of questions.
    pub(crate) questions: usize,
    /// Number of documents searched.
    pub(crate) documents: u64,
    /// What the numbers depend on; two reports compare only with equal `corpus`.
    pub(crate) fingerprints: Fingerprints,
    /// One row a configuration, the baseline first.
    pub(crate) rows: Vec<Row>,
    /// What answers were like, where the set has references, facts or questions that must not be answered.
    pub(crate) answers: Option<AnswerScores>,
    /// Whether it knows when it does not know, where that was asked for.
    pub(crate) abstention: Option<AbstentionScores>,
    /// Thresholds asked for, with their outcome.
    pub(crate) thresholds: Vec<ThresholdOutcome>,
    /// What a reader must know to judge the numbers.
    pub(crate) notes: Vec<String>,
}

/// Hex SHA-256 of what went in, and the code's version.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Fingerprints {
    pub(crate) corpus: String,
    pub(crate) configuration: String,
    pub(crate) code: String,
}

/// One configuration's means.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    /// `keyword`, `dense`, `hybrid`, …
    pub(crate) name: String,
    pub(crate) metrics: Metrics,
    /// 95 % bootstrap interval of nDCG@10.
    pub(crate) ndcg_interval: (f64, f64),
    /// Against the first row; the first has none.
    pub(crate) against_baseline: Option<Difference>,
    /// nDCG@10 of each question, in the set's order: what paired tests need.
    pub(crate) ndcg_by_question: Vec<f64>,
}

/// A paired comparison of nDCG@10.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Difference {
    pub(crate) ndcg: f64,
    /// Paired randomisation test, two-sided.
    pub(crate) p_value: f64,
    pub(crate) verdict: Verdict,
}

/// What a difference says at p < 0.05.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Helps,
    Hurts,
    NoDifferenceShown,
}

impl Verdict {
    /// For people.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Helps => "helps",
            Self::Hurts => "hurts",
            Self::NoDifferenceShown => "no difference shown",
        }
    }
}

/// What answers were like; shares are of the questions that have the label in question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct AnswerScores {
    /// Answers whose first two sentences contain a reference answer.
    pub(crate) answer_in_two_sentences: Option<f64>,
    pub(crate) exact_match: Option<f64>,
    pub(crate) token_f1: Option<f64>,
    /// Facts that stand in the answer.
    pub(crate) fact_recall: Option<f64>,
    /// Citations whose document is relevant.
    pub(crate) citation_precision: Option<f64>,
    /// Relevant documents that are cited.
    pub(crate) citation_recall: Option<f64>,
    /// Answerable questions with band `answered`.
    pub(crate) answered: Option<f64>,
    /// Questions that must not be answered and were not.
    pub(crate) abstained_rightly: Option<f64>,
}

impl AnswerScores {
    /// Each score with its stable name; absent ones are left out.
    pub(crate) fn named(&self) -> Vec<(&'static str, f64)> {
        self.all().into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    fn all(&self) -> [(&'static str, Option<f64>); 8] {
        [
            ("answer_in_two_sentences", self.answer_in_two_sentences),
            ("exact_match", self.exact_match),
            ("token_f1", self.token_f1),
            ("fact_recall", self.fact_recall),
            ("citation_precision", self.citation_precision),
            ("citation_recall", self.citation_recall),
            ("answered", self.answered),
            ("abstained_rightly", self.abstained_rightly),
        ]
    }
}

/// Names that a threshold may have.
pub(crate) fn metric_names() -> Vec<&'static str> {
    let rows = Metrics::default().named().map(|(name, _)| name);
    let answers = AnswerScores::default().all().map(|(name, _)| name);
    let abstention = AbstentionScores::default().named().map(|(name, _)| name);
    rows.into_iter().chain(answers).chain(abstention).collect()
}

/// `--threshold METRIC=VALUE` with what came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ThresholdOutcome {
    pub(crate) metric: String,
    pub(crate) at_least: f64,
    pub(crate) measured: Option<f64>,
    pub(crate) met: bool,
}

impl Row {
    /// A row of per-question metrics, compared with the baseline row where there is one.
    pub(crate) fn new(name: &str, by_question: &[Metrics], baseline: Option<&Row>) -> Self {
        let ndcg_by_question: Vec<f64> = by_question.iter().map(|metrics| metrics.ndcg_at_10).collect();
        Self {
            name: name.to_owned(),
            metrics: Metrics::mean(by_question),
            ndcg_interval: bootstrap_interval(&ndcg_by_question),
            against_baseline: baseline.map(|row| Difference::between(&row.ndcg_by_question, &ndcg_by_question)),
            ndcg_by_question,
        }
    }
}

impl Difference {
    /// Paired over equal questions in equal order.
    pub(crate) fn between(baseline: &[f64], candidate: &[f64]) -> Self {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let ndcg = mean(candidate) - mean(baseline);
        let p_value = randomisation_p_value(baseline, candidate);
        let verdict = match (p_value < 0.05, ndcg > 0.0) {
            (false, _) => Verdict::NoDifferenceShown,
            (true, true) => Verdict::Helps,
            (true, false) => Verdict::Hurts,
        };
        Self { ndcg, p_value, verdict }
    }
}

impl Report {
    /// Judges a threshold: the last row's metric of that name, else the answers' score.
    pub(crate) fn judge(&self, metric: &str, at_least: f64) -> ThresholdOutcome {
        let of_row = self.rows.last().and_then(|row| lookup(&row.metrics.named(), metric));
        let of_answers = || self.answers.and_then(|scores| lookup(&scores.named(), metric));
        let of_abstention = || self.abstention.as_ref().and_then(|scores| lookup(&scores.named(), metric));
        let measured = of_row.or_else(of_answers).or_else(of_abstention);
        let met = measured.is_some_and(|value| value >= at_least);
        ThresholdOutcome { metric: metric.to_owned(), at_least, measured, met }
    }
}

fn lookup(named: &[(&'static str, f64)], metric: &str) -> Option<f64> {
    named.iter().find(|(name, _)| *name == metric).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests;
