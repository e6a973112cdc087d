use super::AskEvent;
use crate::answer::{Answer, Band, Citation, CitationCheck, Sentence, StopReason};
use crate::citation::Book;
use crate::confidence::{THRESHOLD, confidence};
use crate::model::{ModelError, Usage};
use crate::passage::{Evidence, Retriever};
use crate::quote::{Choice, WRITTEN_BY, choose};
use crate::writer::{Outcome, Written};

/// Passages shown in the band `related`.
const MOST_RELATED: usize = 5;

/// Turns what was chosen or written into the answer of one band.
pub(super) struct Finish<'a> {
    pub(super) question: &'a str,
    pub(super) evidence: &'a Evidence,
    pub(super) retriever: &'a dyn Retriever,
    /// Hard reason for "not found".
    pub(super) missing: Option<&'a str>,
}

type Observe<'a> = &'a mut (dyn FnMut(AskEvent) + Send);

impl Finish<'_> {
    /// The answer without a model.
    pub(super) fn quoted(&self, observe: Observe<'_>) -> Answer {
        if let Some(reason) = self.missing {
            return self.not_found(StopReason::NotInKnowledgeBase, reason.to_owned());
        }
        let choice = choose(self.question, self.evidence, self.retriever);
        if choice.quoted.is_empty() || confidence(choice.signals) < THRESHOLD {
            let reason = "The documents touch on the question, but no passage clearly answers it.";
            return self.related(StopReason::RelatedOnly, reason.to_owned(), &choice);
        }
        let mut book = Book::new(&self.evidence.passages);
        let mut sentences = Vec::with_capacity(choice.quoted.len());
        for quoted in choice.quoted {
            let number = book.cite(quoted.passage, quoted.range, CitationCheck::Verbatim);
            let sentence = Sentence { text: quoted.text, citations: vec![number] };
            observe(AskEvent::Sentence(sentence.clone()));
            sentences.push(sentence);
        }
        self.answered(WRITTEN_BY, sentences, book.into_citations())
    }

    /// The answer with a model, whatever came of it.
    pub(super) fn written(
        &self,
        model: &str,
        outcome: Result<Outcome<'_>, ModelError>,
        observe: Observe<'_>,
    ) -> Answer {
        match outcome {
            Ok(Outcome::Written(Written { sentences, book, notes, stopped })) => {
                let mut answer = self.answered(model, sentences, book.into_citations());
                answer.notes.extend(notes);
                if stopped.is_some() {
                    answer.stop_reason = StopReason::LimitReached;
                }
                answer
            }
            Ok(Outcome::Abstained(reason)) => self.abstained(model, &reason),
            Ok(Outcome::NothingVerified) => {
                let note = format!("No sentence of {model} could be verified in the documents; these are quotes.");
                self.fallen_back(StopReason::NoSentenceVerified, note, observe)
            }
            Err(ModelError::Policy(refusal)) => {
                self.fallen_back(StopReason::LimitReached, format!("{refusal}; these are quotes instead."), observe)
            }
            Err(error) => {
                self.fallen_back(StopReason::ModelFailed, format!("{error}; these are quotes instead."), observe)
            }
        }
    }

    fn abstained(&self, model: &str, reason: &str) -> Answer {
        let mut answer = match self.missing {
            Some(missing) => self.not_found(StopReason::ModelAbstained, missing.to_owned()),
            None => {
                let choice = choose(self.question, self.evidence, self.retriever);
                let reason = format!("{model} found no answer in the passages: {reason}");
                self.related(StopReason::ModelAbstained, reason, &choice)
            }
        };
        answer.written_by = model.to_owned();
        answer
    }

    fn fallen_back(&self, stop_reason: StopReason, note: String, observe: Observe<'_>) -> Answer {
        let mut answer = self.quoted(observe);
        answer.stop_reason = stop_reason;
        answer.notes.push(note);
        answer
    }

    fn answered(&self, written_by: &str, sentences: Vec<Sentence>, citations: Vec<Citation>) -> Answer {
        let text = sentences.iter().map(marked).collect::<Vec<_>>().join(" ");
        Answer {
            band: Band::Answered,
            stop_reason: StopReason::Answered,
            written_by: written_by.to_owned(),
            text,
            sentences,
            citations,
            reason: None,
            documents_searched: self.evidence.documents_searched,
            notes: self.evidence.notes.clone(),
            usage: Usage::default(),
            revisions: self.evidence.revisions.clone(),
        }
    }

    fn related(&self, stop_reason: StopReason, reason: String, choice: &Choice) -> Answer {
        let mut book = Book::new(&self.evidence.passages);
        for quoted in choice.highlights.iter().take(MOST_RELATED) {
            book.cite(quoted.passage, quoted.range.clone(), CitationCheck::None);
        }
        let text = "No clear answer. These passages are related.".to_owned();
        let answer = self.answered(WRITTEN_BY, Vec::new(), book.into_citations());
        Answer { band: Band::Related, stop_reason, text, reason: Some(reason), ..answer }
    }

    fn not_found(&self, stop_reason: StopReason, reason: String) -> Answer {
        let answer = self.answered(WRITTEN_BY, Vec::new(), Vec::new());
        Answer { band: Band::NotFound, stop_reason, text: reason.clone(), reason: Some(reason), ..answer }
    }
}

fn marked(sentence: &Sentence) -> String {
    let marks: String = sentence.citations.iter().map(|number| format!("[{number}]")).collect();
    format!("{} {marks}", sentence.text)
}
