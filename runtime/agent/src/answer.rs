//! The answer as every surface shows it.

use serde::{Deserialize, Serialize};

use crate::model::Usage;
use crate::passage::ArmScore;

/// How far the documents carry the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Band {
    /// The sentences answer the question and each carries a checked citation.
    Answered,
    /// Passages that may help, labelled as such.
    Related,
    /// For a hard reason, which `reason` names.
    NotFound,
}

/// Why the run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The documents answer the question.
    Answered,
    /// Without a model: passages touch on the question, and none clearly answers it.
    RelatedOnly,
    /// Nothing was found, or something that the question names is in no document.
    NotInKnowledgeBase,
    /// The model says that the passages do not answer.
    ModelAbstained,
    /// No sentence of the model could be verified; the answer quotes the documents.
    NoSentenceVerified,
    /// The model was out of reach, too slow, or refused; the answer quotes the documents.
    ModelFailed,
    /// A limit of the policy ended the run before it was done; what was found until then is shown.
    LimitReached,
}

/// How a citation's quote was found in its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CitationCheck {
    /// Byte for byte.
    Verbatim,
    /// After folding white space and quotation marks.
    Normalised,
    /// Not verified; only on passages of the band `related`, never on a sentence of an answer.
    None,
}

/// An answer with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// How far the documents carry it.
    pub band: Band,
    /// Why the run ended.
    pub stop_reason: StopReason,
    /// Who wrote the sentences: `quotes from your documents`, or the model's name.
    pub written_by: String,
    /// The sentences joined, with `[n]` after each.
    pub text: String,
    /// One by one, each with at least one citation number in the band `answered`.
    pub sentences: Vec<Sentence>,
    /// Numbered from 1 in the order of first use; in the band `related`, the passages.
    pub citations: Vec<Citation>,
    /// For people: why not answered, what was missing, the nearest spelling.
    pub reason: Option<String>,
    /// Documents that the search covered.
    pub documents_searched: u64,
    /// Things a person should know.
    pub notes: Vec<String>,
    /// Tokens, cost and time by step.
    pub usage: Usage,
    /// Identity of each revision that was read.
    pub revisions: Vec<String>,
}

/// A sentence of the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sentence {
    /// Text without citation marks.
    pub text: String,
    /// Numbers of [`Citation`]s.
    pub citations: Vec<u32>,
}

/// A place in a document that carries a sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Citation {
    /// From 1.
    pub number: u32,
    /// The chunk; `GET /v1/chunks/{id}` opens it.
    pub chunk_id: String,
    /// The document.
    pub document_id: String,
    /// `source/path`.
    pub document: String,
    /// Title.
    pub title: String,
    /// Headings above.
    pub heading_path: Vec<String>,
    /// `lines 3-9`, `page 2`, …
    pub locator: String,
    /// Text right before the quote, same passage.
    pub before: String,
    /// The quoted text, verbatim from the document.
    pub quote: String,
    /// Text right after the quote, same passage.
    pub after: String,
    /// How it was verified.
    pub check: CitationCheck,
    /// How each arm ranked the passage.
    pub arms: Vec<ArmScore>,
}
