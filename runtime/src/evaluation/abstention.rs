//! Does the product know when it does not know? Each question is asked twice: with its gold documents, and with them
//! left out by filter, so that a right reply is not to answer.

use groundwork_agent::confidence::{Signals, THRESHOLD, confidence};
use serde::Serialize;

use super::data_set::DataSet;
use super::measure::Progress;
use super::scratch::Scratch;

/// What the second half of the questions shows; the first half is for choosing numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct AbstentionScores {
    /// Questions in the reported half; each was asked twice.
    pub(crate) questions: usize,
    /// Probability that a question scores higher with its documents than a question without them.
    pub(crate) auroc_confidence: f64,
    /// The same for the share of the question's inverse document frequency mass that the best passage covers.
    pub(crate) auroc_idf_coverage: f64,
    /// Share answered at the product's threshold where the documents are there.
    pub(crate) answered_with_documents: f64,
    /// Share answered at the product's threshold where they are not: the lower the better.
    pub(crate) answered_without_documents: f64,
    /// Risk at coverage: for each threshold, the share answered and how much of that had no documents.
    pub(crate) risk_coverage: Vec<RiskPoint>,
}

impl AbstentionScores {
    /// Each score with its stable name.
    pub(crate) fn named(&self) -> [(&'static str, f64); 5] {
        [
            ("auroc_confidence", self.auroc_confidence),
            ("auroc_idf_coverage", self.auroc_idf_coverage),
            ("auroc_gain", self.auroc_confidence - self.auroc_idf_coverage),
            ("answered_with_documents", self.answered_with_documents),
            ("answered_without_documents", self.answered_without_documents),
        ]
    }
}

/// A point of the risk-coverage curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct RiskPoint {
    pub(crate) threshold: f32,
    /// Share of all askings that were answered.
    pub(crate) coverage: f64,
    /// Share of the answered ones whose documents were left out.
    pub(crate) risk: f64,
}

/// Asks every second judged question with and without its documents.
pub(crate) async fn measure_abstention(
    set: &DataSet,
    scratch: &Scratch,
    progress: &mut dyn Progress,
) -> anyhow::Result<AbstentionScores> {
    let judged = set.questions.iter().filter(|question| !question.relevant.is_empty());
    let reported: Vec<_> = judged.skip(1).step_by(2).collect();
    let (mut present, mut absent) = (Vec::new(), Vec::new());
    for (index, question) in reported.iter().enumerate() {
        let gold: Vec<String> = question.relevant.keys().cloned().collect();
        present.push(scratch.signals(&question.text, &[]).await?);
        absent.push(scratch.signals(&question.text, &gold).await?);
        progress.advance("abstention", index + 1, reported.len());
    }
    Ok(scores(&present, &absent))
}

fn scores(present: &[Signals], absent: &[Signals]) -> AbstentionScores {
    let confident = |all: &[Signals]| all.iter().map(|signals| confidence(*signals)).collect::<Vec<f32>>();
    let covered = |all: &[Signals]| all.iter().map(|signals| signals.passage).collect::<Vec<f32>>();
    let (with, without) = (confident(present), confident(absent));
    AbstentionScores {
        questions: present.len(),
        auroc_confidence: auroc(&with, &without),
        auroc_idf_coverage: auroc(&covered(present), &covered(absent)),
        answered_with_documents: share_from(&with, THRESHOLD),
        answered_without_documents: share_from(&without, THRESHOLD),
        risk_coverage: (1..10).map(|tenth| risk_point(&with, &without, tenth as f32 / 10.0)).collect(),
    }
}

/// Area under the receiver operating characteristic as the Mann-Whitney statistic; ties count half.
fn auroc(positive: &[f32], negative: &[f32]) -> f64 {
    let pairs = (positive.len() * negative.len()).max(1) as f64;
    let wins: f64 = positive
        .iter()
        .flat_map(|above| negative.iter().map(move |below| above.total_cmp(below)))
        .map(|order| match order {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Less => 0.0,
        })
        .sum();
    wins / pairs
}

fn share_from(values: &[f32], threshold: f32) -> f64 {
    values.iter().filter(|value| **value >= threshold).count() as f64 / values.len().max(1) as f64
}

fn risk_point(with: &[f32], without: &[f32], threshold: f32) -> RiskPoint {
    let right = share_from(with, threshold) * with.len() as f64;
    let wrong = share_from(without, threshold) * without.len() as f64;
    let all = (with.len() + without.len()).max(1) as f64;
    RiskPoint { threshold, coverage: (right + wrong) / all, risk: wrong / (right + wrong).max(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Pairs (3,1) (3,2) (2,1) are won, (2,2) is a tie: 3.5 of 4.
    #[test]
    fn auroc_by_hand() {
        assert!((auroc(&[3.0, 2.0], &[1.0, 2.0]) - 0.875).abs() < 1e-9);
    }

    // At 0.5 two of three with and one of three without are answered: coverage 3/6, risk 1/3.
    #[test]
    fn risk_at_a_threshold_by_hand() {
        let point = risk_point(&[0.9, 0.6, 0.1], &[0.5, 0.2, 0.3], 0.5);
        assert!((point.coverage - 0.5).abs() < 1e-9 && (point.risk - 1.0 / 3.0).abs() < 1e-9, "{point:?}");
    }
}
