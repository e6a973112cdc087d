use super::expand::{Pick, expand};
use crate::passage::Passage;
use crate::segment::UnitKind;
use crate::terms::{QuestionTerms, ReadPassage, ReadUnit, TermSet};

/// Most sentences that an answer quotes; a whole list counts as one.
const MOST_SENTENCES: usize = 3;
/// What remains of a unit's value in a passage with a fused score of 0, relative to the best passage. Chosen on CMRC 2018.
const PASSAGE_FLOOR: f32 = 0.5;
/// Terms that stand in the title or a heading above count this much for every unit below.
const HEADING_SHARE: f32 = 0.3;
/// From the second sentence on: share of the value that newly covered terms decide. Chosen on CMRC 2018, where it finds
/// the answer in 3 to 5 points more questions than 0.
const GAIN_SHARE: f32 = 0.6;
/// Further sentences of a passage that is quoted already are preferred: they share its subject.
const SAME_PASSAGE: f32 = 1.3;
/// A second sentence must be worth this share of the first one.
const WORTH_ADDING: f32 = 0.25;
/// One of a passage that is not quoted yet needs more: it speaks of something else more often. Questions whose answer
/// needs two documents (HotpotQA) keep it up to this share, and lose it above.
const WORTH_ANOTHER_PASSAGE: f32 = 0.4;
/// A third sentence needs more: it seldom carries what two do not.
const WORTH_A_THIRD: f32 = 0.5;
/// Units whose words overlap more than this (Jaccard) say the same.
const SAME_STATEMENT: f32 = 0.7;
/// Sentences that carry a number answer questions for one better.
const NUMBER_BONUS: f32 = 0.15;

struct Candidate<'a> {
    passage: usize,
    unit: usize,
    read: &'a ReadUnit,
    prior: f32,
    value: f32,
}

/// The units that answer best, best first, each with the neighbours it needs.
pub(super) fn select(question: &str, passages: &[Passage], read: &[ReadPassage], terms: &QuestionTerms) -> Vec<Pick> {
    let candidates = candidates(question, passages, read, terms);
    let mut chosen: Vec<&Candidate<'_>> = Vec::new();
    let mut picks: Vec<Pick> = Vec::new();
    let mut covered = TermSet::new();
    while picks.iter().map(|pick| pick.sentences).sum::<usize>() < MOST_SENTENCES {
        let worth = |candidate: &Candidate<'_>| worth(candidate, &chosen, &covered, terms);
        let open = candidates.iter().filter(|candidate| is_new(candidate, &picks, read));
        let best = open.map(|candidate| (worth(candidate), candidate)).reduce(|a, b| if b.0 > a.0 { b } else { a });
        let Some((worth, best)) = best else { break };
        if worth <= 0.0 || chosen.first().is_some_and(|first| worth < needed(best, &chosen) * first.value) {
            break;
        }
        covered.extend(&best.read.terms);
        let room = MOST_SENTENCES - picks.iter().map(|pick| pick.sentences).sum::<usize>();
        expand(question, best.passage, best.unit, &read[best.passage].units, room).join(&mut picks);
        chosen.push(best);
    }
    picks
}

fn candidates<'a>(
    question: &str,
    passages: &[Passage],
    read: &'a [ReadPassage],
    terms: &QuestionTerms,
) -> Vec<Candidate<'a>> {
    let best_score = passages.iter().map(|passage| passage.score).fold(f32::MIN_POSITIVE, f32::max);
    let wants_number = super::question::wants_number(question);
    let mut candidates = Vec::new();
    for (index, (passage, parts)) in passages.iter().zip(read).enumerate() {
        let prior = PASSAGE_FLOOR + (1.0 - PASSAGE_FLOOR) * (passage.score / best_score).clamp(0.0, 1.0);
        for (unit, read) in parts.units.iter().enumerate() {
            let inherited: TermSet = parts.heading.difference(&read.terms).copied().collect();
            let overlap = terms.coverage(&read.terms);
            let bonus = if wants_number && super::question::has_number(&read.unit.text) { NUMBER_BONUS } else { 0.0 };
            let value = (overlap + HEADING_SHARE * terms.coverage(&inherited)) * prior * (1.0 + bonus);
            if overlap > 0.0 {
                candidates.push(Candidate { passage: index, unit, read, prior, value });
            }
        }
    }
    candidates
}

/// Share of the first sentence's value that the next one must be worth.
fn needed(candidate: &Candidate<'_>, chosen: &[&Candidate<'_>]) -> f32 {
    let elsewhere = chosen.iter().all(|other| other.passage != candidate.passage);
    let share = if elsewhere { WORTH_ANOTHER_PASSAGE } else { WORTH_ADDING };
    if chosen.len() > 1 { share.max(WORTH_A_THIRD) } else { share }
}

fn worth(candidate: &Candidate<'_>, chosen: &[&Candidate<'_>], covered: &TermSet, terms: &QuestionTerms) -> f32 {
    if chosen.is_empty() {
        return candidate.value;
    }
    let fresh: TermSet = candidate.read.terms.difference(covered).copied().collect();
    // Rows of a table resemble each other by their columns alone.
    if fresh.is_empty() && candidate.read.unit.kind == UnitKind::TableRow {
        return 0.0;
    }
    let same = chosen.iter().any(|other| other.passage == candidate.passage);
    let worth = (1.0 - GAIN_SHARE) * candidate.value + GAIN_SHARE * candidate.prior * terms.coverage(&fresh);
    if same { worth * SAME_PASSAGE } else { worth }
}

/// Whether neither the unit nor its statement is quoted yet, by itself or beside another one.
fn is_new(candidate: &Candidate<'_>, picks: &[Pick], read: &[ReadPassage]) -> bool {
    let mut quoted = picks.iter().flat_map(|pick| &read[pick.passage].units[pick.units.clone()]);
    !quoted.any(|other| std::ptr::eq(candidate.read, other) || overlap(candidate.read, other) > SAME_STATEMENT)
}

/// Jaccard similarity of the words.
fn overlap(a: &ReadUnit, b: &ReadUnit) -> f32 {
    let shared = a.words.intersection(&b.words).count();
    let all = a.words.len() + b.words.len() - shared;
    if all == 0 { 0.0 } else { shared as f32 / all as f32 }
}
