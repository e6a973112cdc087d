use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::search::{ArmReport, ArmScore, Excerpt, FilterSpec, Mode};

/// A question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskRequest {
    /// The question, 1 to 4000 characters.
    #[schema(min_length = 1, max_length = 4000)]
    pub(crate) question: String,
    /// Which arms run; the pipeline's mode where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<Mode>,
    /// Passages given to the answer, 1 to 100; the pipeline's number where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100)]
    pub(crate) top_k: Option<u32>,
    /// Which documents.
    #[serde(default)]
    pub(crate) filter: FilterSpec,
    /// Whether the reply is a stream of server-sent events instead of one JSON object.
    #[serde(default)]
    pub(crate) stream: bool,
}

/// How far the documents carry the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Band {
    /// The sentences answer the question and each carries a checked citation.
    Answered,
    /// Passages that may help, labelled as such.
    Related,
    /// For a hard reason, which `reason` names.
    NotFound,
}

/// Why the run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StopReason {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CitationCheck {
    /// Byte for byte.
    Verbatim,
    /// After folding white space and quotation marks.
    Normalised,
    /// Not verified; only in the band `related`.
    None,
}

/// An answer with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Answer {
    /// Identity of this run, for logs and feedback.
    pub(crate) run_id: String,
    /// The question as asked.
    pub(crate) question: String,
    /// How far the documents carry it.
    pub(crate) band: Band,
    /// Why the run ended.
    pub(crate) stop_reason: StopReason,
    /// Who wrote the sentences: `quotes from your documents`, or the model's name.
    pub(crate) written_by: String,
    /// The sentences joined, with `[n]` after each.
    pub(crate) text: String,
    /// One by one, each with at least one citation number in the band `answered`.
    pub(crate) sentences: Vec<Sentence>,
    /// Numbered from 1 in the order of first use; in the band `related`, the passages.
    pub(crate) citations: Vec<Citation>,
    /// For people: why not answered, what was missing, the nearest spelling.
    pub(crate) reason: Option<String>,
    /// Documents that the search covered.
    pub(crate) documents_searched: u64,
    /// Things a person should know.
    pub(crate) notes: Vec<String>,
    /// Tokens, cost and time by step.
    pub(crate) usage: Vec<StepUsage>,
    /// Identity of each revision that was read.
    pub(crate) revisions: Vec<String>,
    /// Hash of the policy whose limits were in force.
    #[serde(default)]
    pub(crate) policy: String,
    /// Wall time in milliseconds.
    pub(crate) elapsed_ms: f64,
}

/// A sentence of the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Sentence {
    /// Text without citation marks.
    pub(crate) text: String,
    /// Numbers of citations.
    pub(crate) citations: Vec<u32>,
}

/// A place in a document that carries a sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Citation {
    /// From 1.
    pub(crate) number: u32,
    /// What is quoted.
    #[serde(flatten)]
    pub(crate) excerpt: Excerpt,
    /// How it was verified.
    pub(crate) check: CitationCheck,
    /// How each arm ranked the passage.
    pub(crate) arms: Vec<ArmScore>,
}

/// Tokens, cost and time of one step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct StepUsage {
    /// `retrieve`, `answer`, `repair`.
    pub(crate) step: String,
    /// Prompt tokens.
    pub(crate) input_tokens: u64,
    /// Reply tokens.
    pub(crate) output_tokens: u64,
    /// Cost in millionths of the currency unit, where prices are known.
    pub(crate) cost_micros: Option<u64>,
    /// Wall time in milliseconds.
    pub(crate) elapsed_ms: u64,
    /// Whether the tokens, and so the cost, are estimates: the model's server did not count.
    #[serde(default)]
    pub(crate) estimated: bool,
}

/// What a streaming caller sees: the event's name is `event`, its payload the other fields. One `retrieval`, any
/// number of `sentence` and `repair`, one `done`, which carries the whole answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum AskEvent {
    /// Passages are found.
    Retrieval {
        /// How many.
        passages: u64,
        /// Documents that the search covered.
        documents_searched: u64,
        /// What each arm did, for the server's own count: not on the wire.
        #[serde(skip)]
        arms: Vec<ArmReport>,
    },
    /// A sentence whose citations passed.
    Sentence {
        /// Text without citation marks.
        text: String,
        /// Numbers of citations.
        citations: Vec<u32>,
    },
    /// Sentences failed their check; the model is asked once more.
    Repair {
        /// How many failed.
        failed: u64,
    },
    /// The whole answer.
    Done {
        /// The answer as `stream: false` would have returned it.
        answer: Box<Answer>,
    },
}

impl Answer {
    /// The agent's answer as it goes over the wire, under the policy of this hash.
    pub(crate) fn new(question: String, answer: groundwork_agent::Answer, policy: String, elapsed_ms: f64) -> Self {
        Self {
            run_id: uuid::Uuid::new_v4().to_string(),
            question,
            band: answer.band.into(),
            stop_reason: answer.stop_reason.into(),
            written_by: answer.written_by,
            text: answer.text,
            sentences: answer.sentences.into_iter().map(Sentence::from).collect(),
            citations: answer.citations.into_iter().map(Citation::from).collect(),
            reason: answer.reason,
            documents_searched: answer.documents_searched,
            notes: answer.notes,
            usage: answer.usage.steps.into_iter().map(StepUsage::from).collect(),
            revisions: answer.revisions,
            policy,
            elapsed_ms,
        }
    }
}

impl From<groundwork_agent::Band> for Band {
    fn from(band: groundwork_agent::Band) -> Self {
        match band {
            groundwork_agent::Band::Answered => Self::Answered,
            groundwork_agent::Band::Related => Self::Related,
            groundwork_agent::Band::NotFound => Self::NotFound,
        }
    }
}

impl From<groundwork_agent::StopReason> for StopReason {
    fn from(reason: groundwork_agent::StopReason) -> Self {
        use groundwork_agent::StopReason as Agent;
        match reason {
            Agent::Answered => Self::Answered,
            Agent::RelatedOnly => Self::RelatedOnly,
            Agent::NotInKnowledgeBase => Self::NotInKnowledgeBase,
            Agent::ModelAbstained => Self::ModelAbstained,
            Agent::NoSentenceVerified => Self::NoSentenceVerified,
            Agent::ModelFailed => Self::ModelFailed,
            Agent::LimitReached => Self::LimitReached,
        }
    }
}

impl From<groundwork_agent::CitationCheck> for CitationCheck {
    fn from(check: groundwork_agent::CitationCheck) -> Self {
        match check {
            groundwork_agent::CitationCheck::Verbatim => Self::Verbatim,
            groundwork_agent::CitationCheck::Normalised => Self::Normalised,
            groundwork_agent::CitationCheck::None => Self::None,
        }
    }
}

impl From<groundwork_agent::Sentence> for Sentence {
    fn from(sentence: groundwork_agent::Sentence) -> Self {
        Self { text: sentence.text, citations: sentence.citations }
    }
}

impl From<groundwork_agent::Citation> for Citation {
    fn from(citation: groundwork_agent::Citation) -> Self {
        Self {
            number: citation.number,
            excerpt: Excerpt {
                chunk_id: citation.chunk_id,
                document_id: citation.document_id,
                document: citation.document,
                title: citation.title,
                heading_path: citation.heading_path,
                locator: citation.locator,
                before: citation.before,
                quote: citation.quote,
                after: citation.after,
            },
            check: citation.check.into(),
            arms: citation.arms.into_iter().map(ArmScore::from).collect(),
        }
    }
}

impl From<groundwork_agent::passage::ArmScore> for ArmScore {
    fn from(score: groundwork_agent::passage::ArmScore) -> Self {
        Self { arm: score.arm, rank: score.rank, score: score.score }
    }
}

impl From<groundwork_agent::model::StepUsage> for StepUsage {
    fn from(step: groundwork_agent::model::StepUsage) -> Self {
        Self {
            step: step.step,
            input_tokens: step.input_tokens,
            output_tokens: step.output_tokens,
            cost_micros: step.cost_micros,
            elapsed_ms: step.elapsed_ms,
            estimated: step.estimated,
        }
    }
}
