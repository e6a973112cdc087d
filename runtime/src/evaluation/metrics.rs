//! Retrieval metrics with trec_eval's definitions: linear gain, log2 discount, a document without a judgement counts
//! as not relevant, ranks from 1.

use serde::Serialize;
use std::collections::HashMap;

/// Graded judgements of one question: document to grade; grades of 0 or less are not relevant.
pub(crate) type Judgements = HashMap<String, i32>;

/// Values of one question, or their means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Metrics {
    pub(crate) ndcg_at_10: f64,
    pub(crate) recall_at_5: f64,
    pub(crate) recall_at_10: f64,
    pub(crate) recall_at_100: f64,
    pub(crate) mrr: f64,
    pub(crate) map: f64,
    pub(crate) hit_rate_at_5: f64,
    pub(crate) context_precision: f64,
    pub(crate) wasted_token_share: f64,
}

impl Metrics {
    /// Values of a ranking (best first, distinct documents).
    pub(crate) fn of(ranking: &[String], judgements: &Judgements) -> Self {
        Self {
            ndcg_at_10: ndcg(ranking, judgements, 10),
            recall_at_5: recall(ranking, judgements, 5),
            recall_at_10: recall(ranking, judgements, 10),
            recall_at_100: recall(ranking, judgements, 100),
            mrr: reciprocal_rank(ranking, judgements),
            map: average_precision(ranking, judgements),
            hit_rate_at_5: hit(ranking, judgements, 5),
            context_precision: 0.0,
            wasted_token_share: 0.0,
        }
    }

    /// Each metric with its stable name.
    pub(crate) fn named(&self) -> [(&'static str, f64); 9] {
        [
            ("ndcg_at_10", self.ndcg_at_10),
            ("recall_at_5", self.recall_at_5),
            ("recall_at_10", self.recall_at_10),
            ("recall_at_100", self.recall_at_100),
            ("mrr", self.mrr),
            ("map", self.map),
            ("hit_rate_at_5", self.hit_rate_at_5),
            ("context_precision", self.context_precision),
            ("wasted_token_share", self.wasted_token_share),
        ]
    }

    /// Arithmetic mean over questions; zero for none.
    pub(crate) fn mean(all: &[Self]) -> Self {
        let mean = |value: fn(&Self) -> f64| all.iter().map(value).sum::<f64>() / all.len().max(1) as f64;
        Self {
            ndcg_at_10: mean(|m| m.ndcg_at_10),
            recall_at_5: mean(|m| m.recall_at_5),
            recall_at_10: mean(|m| m.recall_at_10),
            recall_at_100: mean(|m| m.recall_at_100),
            mrr: mean(|m| m.mrr),
            map: mean(|m| m.map),
            hit_rate_at_5: mean(|m| m.hit_rate_at_5),
            context_precision: mean(|m| m.context_precision),
            wasted_token_share: mean(|m| m.wasted_token_share),
        }
    }
}

fn grade(judgements: &Judgements, document: &str) -> i32 {
    judgements.get(document).copied().unwrap_or(0).max(0)
}

fn relevant(judgements: &Judgements) -> usize {
    judgements.values().filter(|grade| **grade > 0).count()
}

fn found(ranking: &[String], judgements: &Judgements, depth: usize) -> usize {
    ranking.iter().take(depth).filter(|document| grade(judgements, document) > 0).count()
}

/// trec_eval `ndcg_cut.k`.
pub(crate) fn ndcg(ranking: &[String], judgements: &Judgements, depth: usize) -> f64 {
    let gain = |grades: &mut dyn Iterator<Item = i32>| -> f64 {
        grades.take(depth).enumerate().map(|(index, grade)| f64::from(grade) / (index as f64 + 2.0).log2()).sum()
    };
    let mut ideal: Vec<i32> = judgements.values().copied().filter(|grade| *grade > 0).collect();
    ideal.sort_unstable_by(|a, b| b.cmp(a));
    let best = gain(&mut ideal.into_iter());
    if best == 0.0 {
        return 0.0;
    }
    gain(&mut ranking.iter().map(|document| grade(judgements, document))) / best
}

/// trec_eval `recall.k`.
pub(crate) fn recall(ranking: &[String], judgements: &Judgements, depth: usize) -> f64 {
    match relevant(judgements) {
        0 => 0.0,
        relevant => found(ranking, judgements, depth) as f64 / relevant as f64,
    }
}

/// trec_eval `success.k`.
pub(crate) fn hit(ranking: &[String], judgements: &Judgements, depth: usize) -> f64 {
    f64::from(found(ranking, judgements, depth) > 0)
}

/// trec_eval `recip_rank`.
pub(crate) fn reciprocal_rank(ranking: &[String], judgements: &Judgements) -> f64 {
    ranking.iter().position(|document| grade(judgements, document) > 0).map_or(0.0, |index| 1.0 / (index as f64 + 1.0))
}

/// trec_eval `map`.
pub(crate) fn average_precision(ranking: &[String], judgements: &Judgements) -> f64 {
    let mut hits = 0.0;
    let mut sum = 0.0;
    for (index, document) in ranking.iter().enumerate() {
        if grade(judgements, document) > 0 {
            hits += 1.0;
            sum += hits / (index as f64 + 1.0);
        }
    }
    match relevant(judgements) {
        0 => 0.0,
        relevant => sum / relevant as f64,
    }
}

/// Orders scored documents as trec_eval does: score as 32-bit float falling, ties by document name falling.
#[cfg(test)]
fn rank_like_trec_eval(scores: &std::collections::BTreeMap<String, f32>) -> Vec<String> {
    let mut scored: Vec<_> = scores.iter().collect();
    scored.sort_by(|(name_a, a), (name_b, b)| b.total_cmp(a).then_with(|| name_b.cmp(name_a)));
    scored.into_iter().map(|(name, _)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(pairs: &[(&str, i32)]) -> Judgements {
        pairs.iter().map(|(name, grade)| ((*name).to_owned(), *grade)).collect()
    }

    fn ranked(pairs: &[(&str, f32)]) -> Vec<String> {
        rank_like_trec_eval(&pairs.iter().map(|(name, score)| ((*name).to_owned(), *score)).collect())
    }

    fn close(actual: f64, expected: f64) {
        assert!((actual - expected).abs() < 1e-9, "{actual} is not {expected}");
    }

    // Expected values: pytrec_eval (trec_eval 9) on the same judgements and runs, ties included.
    #[test]
    fn equal_to_trec_eval_with_ties() {
        let judgements = judged(&[("d1", 2), ("d2", 1), ("d3", 0), ("d5", 1)]);
        let ranking = ranked(&[("d1", 0.5), ("d2", 0.9), ("d3", 0.9), ("d4", 0.5), ("d5", 0.1)]);
        close(average_precision(&ranking, &judgements), 0.5333333333333333);
        close(reciprocal_rank(&ranking, &judgements), 0.5);
        close(recall(&ranking, &judgements, 3), 0.3333333333333333);
        close(recall(&ranking, &judgements, 5), 1.0);
        close(ndcg(&ranking, &judgements, 3), 0.20151514190050246);
        close(ndcg(&ranking, &judgements, 10), 0.600184553744539);
        close(hit(&ranking, &judgements, 1), 0.0);
        close(hit(&ranking, &judgements, 3), 1.0);
    }

    #[test]
    fn equal_to_trec_eval_with_grades() {
        let judgements = judged(&[("a", 1), ("b", 3)]);
        let ranking = ranked(&[("c", 3.0), ("b", 2.0), ("d", 2.0), ("a", 1.0)]);
        close(average_precision(&ranking, &judgements), 0.41666666666666663);
        close(reciprocal_rank(&ranking, &judgements), 0.3333333333333333);
        close(ndcg(&ranking, &judgements, 3), 0.41311732856427996);
        close(ndcg(&ranking, &judgements, 10), 0.531730627995306);
        close(recall(&ranking, &judgements, 3), 0.5);
    }

    #[test]
    fn a_run_without_a_relevant_document_is_zero_everywhere() {
        let metrics = Metrics::of(&ranked(&[("y", 1.0), ("z", 1.0)]), &judged(&[("x", 1)]));
        assert_eq!(metrics, Metrics::default());
    }
}
