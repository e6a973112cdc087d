//! Running a set against a target.

use std::io::Write;

use super::data_set::{DataSet, Question};
use super::metrics::{Judgements, Metrics};
use super::report::{AnswerScores, Fingerprints, Report, Row};
use super::run_file::write_ranking;
use super::target::{Configuration, RankedPassage, Target, collapse};
use super::text_match::{best_f1, contains, exact_match};
use crate::wire::{Answer, Band};

/// Distinct documents asked of a target for each question.
const DEPTH: usize = 100;

/// Where the ranking of one configuration is written.
pub(crate) type RunFile = Box<dyn Write>;

/// Something that hears how far a run is.
pub(crate) trait Progress {
    /// `done` of `total` questions of the named step.
    fn advance(&mut self, step: &str, done: usize, total: usize);
}

/// Runs every configuration over every judged question, the first being the baseline, then the answers.
pub(crate) async fn measure(
    set: &DataSet,
    target: &dyn Target,
    configurations: &[Configuration],
    runs: &mut dyn FnMut(&str) -> anyhow::Result<Option<RunFile>>,
    progress: &mut dyn Progress,
) -> anyhow::Result<Report> {
    let judged: Vec<&Question> = set.questions.iter().filter(|question| !question.relevant.is_empty()).collect();
    let mut rows: Vec<Row> = Vec::new();
    for configuration in configurations {
        let mut out = runs(&configuration.tag())?;
        let by_question = measure_row(&judged, target, configuration, &mut out, progress).await?;
        rows.push(Row::new(configuration.name, &by_question, rows.first()));
    }
    Ok(Report {
        set: set.name.clone(),
        questions: set.questions.len(),
        documents: target.documents(),
        fingerprints: Fingerprints {
            corpus: target.corpus_fingerprint(),
            configuration: target.configuration_fingerprint(),
            code: env!("CARGO_PKG_VERSION").to_owned(),
        },
        rows,
        answers: None,
        abstention: None,
        thresholds: Vec::new(),
        notes: Vec::new(),
    })
}

async fn measure_row(
    questions: &[&Question],
    target: &dyn Target,
    configuration: &Configuration,
    run: &mut Option<RunFile>,
    progress: &mut dyn Progress,
) -> anyhow::Result<Vec<Metrics>> {
    let mut all = Vec::with_capacity(questions.len());
    for (index, question) in questions.iter().enumerate() {
        let passages = target.rank(&question.text, configuration, DEPTH).await?;
        let ranking = collapse(&passages);
        if let Some(run) = run {
            write_ranking(run, &question.id, &ranking, &configuration.tag())?;
        }
        let given = &passages[..passages.len().min(target.top_k())];
        all.push(with_context(Metrics::of(&ranking, &question.relevant), given, &question.relevant));
        progress.advance(configuration.name, index + 1, questions.len());
    }
    Ok(all)
}

/// Context precision: share of the given passages that are of a relevant document. Wasted tokens: share of the given
/// tokens that are not.
fn with_context(metrics: Metrics, given: &[RankedPassage], judgements: &Judgements) -> Metrics {
    let good = |passage: &&RankedPassage| judgements.get(&passage.document).is_some_and(|grade| *grade > 0);
    let tokens: u64 = given.iter().map(|passage| u64::from(passage.tokens)).sum();
    let useful: u64 = given.iter().filter(good).map(|passage| u64::from(passage.tokens)).sum();
    Metrics {
        context_precision: given.iter().filter(good).count() as f64 / given.len().max(1) as f64,
        wasted_token_share: (tokens - useful) as f64 / tokens.max(1) as f64,
        ..metrics
    }
}

/// Asks every question and scores the answers.
pub(crate) async fn measure_answers(
    set: &DataSet,
    target: &dyn Target,
    progress: &mut dyn Progress,
) -> anyhow::Result<AnswerScores> {
    let mut tally = Tally::default();
    for (index, question) in set.questions.iter().enumerate() {
        let answer = target.answer(&question.text).await?;
        tally.add(question, &answer);
        progress.advance("answers", index + 1, set.questions.len());
    }
    Ok(tally.scores())
}

/// Sums of each score, kept only over the questions that have its label.
#[derive(Default)]
struct Tally {
    two_sentences: Share,
    exact: Share,
    f1: Share,
    facts: Share,
    precision: Share,
    recall: Share,
    answered: Share,
    abstained: Share,
}

impl Tally {
    fn add(&mut self, question: &Question, answer: &Answer) {
        if question.must_abstain {
            self.abstained.add(f64::from(answer.band != Band::Answered));
            return;
        }
        self.answered.add(f64::from(answer.band == Band::Answered));
        self.add_text(question, answer);
        self.add_citations(question, answer);
    }

    fn add_text(&mut self, question: &Question, answer: &Answer) {
        let text = joined(answer, usize::MAX);
        if !question.answers.is_empty() {
            let first_two = joined(answer, 2);
            self.two_sentences.add(f64::from(question.answers.iter().any(|known| contains(&first_two, known))));
            self.exact.add(f64::from(exact_match(&text, &question.answers)));
            self.f1.add(best_f1(&text, &question.answers));
        }
        question.facts.iter().for_each(|fact| self.facts.add(f64::from(contains(&text, fact))));
    }

    fn add_citations(&mut self, question: &Question, answer: &Answer) {
        if question.relevant.is_empty() || answer.band != Band::Answered {
            return;
        }
        let cited: std::collections::HashSet<&str> =
            answer.citations.iter().map(|citation| citation.excerpt.document.as_str()).collect();
        let relevant = |document: &&&str| question.relevant.get(**document).is_some_and(|grade| *grade > 0);
        let good = cited.iter().filter(relevant).count() as f64;
        self.precision.add(good / cited.len().max(1) as f64);
        self.recall.add(good / question.relevant.values().filter(|grade| **grade > 0).count().max(1) as f64);
    }

    fn scores(&self) -> AnswerScores {
        AnswerScores {
            answer_in_two_sentences: self.two_sentences.mean(),
            exact_match: self.exact.mean(),
            token_f1: self.f1.mean(),
            fact_recall: self.facts.mean(),
            citation_precision: self.precision.mean(),
            citation_recall: self.recall.mean(),
            answered: self.answered.mean(),
            abstained_rightly: self.abstained.mean(),
        }
    }
}

#[derive(Default)]
struct Share {
    sum: f64,
    count: u32,
}

impl Share {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

/// The answer's first sentences; in the band `related`, the quotes that it shows.
fn joined(answer: &Answer, sentences: usize) -> String {
    let texts: Vec<&str> = match answer.band {
        Band::Answered => answer.sentences.iter().map(|sentence| sentence.text.as_str()).collect(),
        Band::Related | Band::NotFound => {
            answer.citations.iter().map(|citation| citation.excerpt.quote.as_str()).collect()
        }
    };
    texts.into_iter().take(sentences).collect::<Vec<_>>().join(" ")
}
