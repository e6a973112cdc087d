use crate::confidence::Signals;
use crate::passage::{Passage, Retriever};
use crate::terms::{QuestionTerms, ReadPassage, TermSet};

/// Tokens in a window, and how far windows start apart.
const WINDOW: usize = 40;
const STEP: usize = 20;
/// Passages whose windows count.
const WINDOW_PASSAGES: usize = 3;
/// Tokens of a passage between which two neighbours of the question still stand together.
const TOGETHER: usize = 2;
/// Coverage from which on the lead counts in full: the only passage that has one of many words leads without meaning.
const COVERED_ENOUGH: f32 = 0.5;

pub(super) fn signals(
    question: &str,
    passages: &[Passage],
    read: &[ReadPassage],
    terms: &QuestionTerms,
    retriever: &dyn Retriever,
) -> Signals {
    let Some(first) = read.first() else { return Signals::default() };
    let whole = first.heading.union(&first.body).copied().collect();
    let passage = terms.coverage(&whole);
    Signals {
        passage,
        window: highest(read.iter().take(WINDOW_PASSAGES).map(|parts| window(parts, terms))),
        pairs: pairs(question, read, terms, retriever),
        lead: lead(passages) * (passage / COVERED_ENOUGH).min(1.0),
        agreement: agreement(passages),
    }
}

fn agreement(passages: &[Passage]) -> Option<f32> {
    let rank = |passage: &Passage| passage.arms.iter().find(|arm| arm.arm == "vector").map(|arm| arm.rank);
    if passages.iter().all(|passage| rank(passage).is_none()) {
        return None;
    }
    Some(passages.first().and_then(rank).map_or(0.0, |rank| 1.0 / rank as f32))
}

fn highest(values: impl Iterator<Item = f32>) -> f32 {
    values.fold(0.0, f32::max)
}

fn window(parts: &ReadPassage, terms: &QuestionTerms) -> f32 {
    let starts = (0..parts.sequence.len().saturating_sub(STEP).max(1)).step_by(STEP);
    highest(starts.map(|start| {
        let end = parts.sequence.len().min(start + WINDOW);
        terms.coverage(&parts.sequence[start..end].iter().flatten().copied().collect::<TermSet>())
    }))
}

fn pairs(question: &str, read: &[ReadPassage], terms: &QuestionTerms, retriever: &dyn Retriever) -> f32 {
    let asked: Vec<usize> = retriever
        .analyse(question)
        .iter()
        .filter_map(|(term, _)| terms.find(term))
        .filter(|term| terms.weights[*term] > 0.0)
        .collect();
    let neighbours: Vec<(usize, usize)> =
        asked.windows(2).map(|pair| (pair[0], pair[1])).filter(|(a, b)| a != b).collect();
    let weight = |pair: &(usize, usize)| terms.weights[pair.0] + terms.weights[pair.1];
    let mass: f32 = neighbours.iter().map(weight).sum();
    if mass == 0.0 {
        return 0.0;
    }
    highest(read.iter().map(|parts| {
        let together = neighbours.iter().filter(|pair| stand_together(parts, **pair));
        together.map(weight).sum::<f32>() / mass
    }))
}

fn stand_together(parts: &ReadPassage, (first, second): (usize, usize)) -> bool {
    let sequence = &parts.sequence;
    let starts = sequence.iter().enumerate().filter(|(_, term)| **term == Some(first)).map(|(at, _)| at);
    starts.into_iter().any(|at| sequence[at + 1..sequence.len().min(at + 1 + TOGETHER)].contains(&Some(second)))
}

/// Keyword scores where the arm ran, since fused scores are scaled by query.
fn lead(passages: &[Passage]) -> f32 {
    let keyword = |passage: &Passage| passage.arms.iter().find(|arm| arm.arm == "keyword").map(|arm| arm.score);
    let mut scores: Vec<f32> = passages.iter().filter_map(keyword).collect();
    if scores.is_empty() {
        scores = passages.iter().map(|passage| passage.score).collect();
    }
    scores.sort_by(|a, b| b.total_cmp(a));
    match scores[..] {
        [only] if only > 0.0 => 1.0,
        [first, second, ..] if first > 0.0 => ((first - second) / first).clamp(0.0, 1.0),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passage::ArmScore;

    fn found(arms: &[(&str, u32)]) -> Passage {
        let arms = arms.iter().map(|(arm, rank)| ArmScore { arm: (*arm).into(), rank: *rank, score: 0.5 }).collect();
        Passage { arms, ..crate::testing::passage("a.md", "text") }
    }

    #[test]
    fn agreement_is_the_reciprocal_rank_by_vectors() {
        assert_eq!(agreement(&[found(&[("keyword", 1), ("vector", 4)])]), Some(0.25));
        assert_eq!(agreement(&[found(&[("keyword", 1)]), found(&[("vector", 1)])]), Some(0.0));
        assert_eq!(agreement(&[found(&[("keyword", 1)]), found(&[("keyword", 2)])]), None);
        assert_eq!(agreement(&[]), None);
    }
}
