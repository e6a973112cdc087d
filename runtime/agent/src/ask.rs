//! One question, start to end.

use std::sync::Arc;

use crate::answer::{Answer, Sentence};
use crate::model::ChatModel;
use crate::passage::{RetrieveError, Retriever};

/// Answers questions.
pub struct Asker {
    /// Where passages come from.
    pub retriever: Arc<dyn Retriever>,
    /// Who writes; `None` quotes the documents.
    pub model: Option<Arc<dyn ChatModel>>,
    /// Settings.
    pub options: AskOptions,
}

/// Settings of answering.
#[derive(Clone, Debug)]
pub struct AskOptions {
    /// Sampling temperature.
    pub temperature: f32,
    /// Upper bound of a reply in tokens.
    pub max_tokens: u32,
    /// Prices for the cost report.
    pub prices: Option<groundwork_config::Prices>,
}

/// What a streaming caller sees, in order: one `Retrieval`, any number of `Sentence` and `Repair`, one `Done`.
#[derive(Clone, Debug)]
pub enum AskEvent {
    /// Passages are found.
    Retrieval {
        /// How many.
        passages: usize,
        /// Documents that the search covered.
        documents_searched: u64,
    },
    /// A sentence whose citations passed.
    Sentence(Sentence),
    /// Sentences failed their check; the model is asked once more.
    Repair {
        /// How many failed.
        failed: usize,
    },
    /// The whole answer.
    Done(Box<Answer>),
}

impl Asker {
    /// Answers `question`; `observe` is called for each event as it happens. A model's failure is not an error: the
    /// answer then quotes the documents and says so. Dropping the future stops the run.
    pub async fn ask(
        &self,
        question: &str,
        observe: &mut (dyn FnMut(AskEvent) + Send),
    ) -> Result<Answer, RetrieveError> {
        let _ = (question, observe);
        unimplemented!()
    }
}
