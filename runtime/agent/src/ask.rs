//! One question, start to end.

mod finish;

#[cfg(test)]
mod tests;

use groundwork_policy::Budget;
use std::sync::Arc;
use std::time::Instant;

use crate::answer::{Answer, Sentence};
use crate::missing::{missing, names_unknown_thing};
use crate::model::{ChatModel, StepUsage, Usage};
use crate::passage::{RetrieveError, Retriever};
use crate::window::Window;
use crate::writer::Writer;
use finish::Finish;

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
    /// Tokens that the model takes as prompt and reply together; `None` is unknown, and nothing is cut for it.
    pub context_window: Option<u32>,
    /// Prices for the cost report.
    pub prices: Option<groundwork_config::Prices>,
    /// What a question may use.
    pub limits: groundwork_config::Limits,
}

impl Default for AskOptions {
    fn default() -> Self {
        Self {
            temperature: 0.0,
            max_tokens: 1024,
            context_window: None,
            prices: None,
            limits: groundwork_config::Limits::default(),
        }
    }
}

/// A question got no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The documents could not be searched.
    #[error(transparent)]
    Retrieve(#[from] RetrieveError),
    /// The search took all the time that the policy gives.
    #[error("failed to answer in time: {0}")]
    OutOfTime(groundwork_policy::Refusal),
    /// The question leaves no room in the model's context window, whatever is found.
    #[error(
        "the question is too long for {model}: with the instructions it has about {needed} tokens, and the context \
         window of {window} tokens has to hold {reply} of the reply as well; ask in fewer words, or raise \
         contextWindow of the endpoint if the model takes more"
    )]
    QuestionTooLong {
        /// Name of the model.
        model: String,
        /// Estimated tokens of instructions and question.
        needed: u64,
        /// The model's context window in tokens.
        window: u32,
        /// Tokens kept for the reply.
        reply: u32,
    },
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
    ///
    /// # Errors
    /// The search fails, or the question alone does not fit into the model's context window.
    pub async fn ask(&self, question: &str, observe: &mut (dyn FnMut(AskEvent) + Send)) -> Result<Answer, AskError> {
        let start = Instant::now();
        if let Some(model) = &self.model {
            self.check_length(question, model.name())?;
        }
        let budget = Budget::new(&self.options.limits);
        let evidence = tokio::time::timeout_at(budget.deadline(), self.retriever.retrieve(question)).await;
        let evidence = evidence.map_err(|_| AskError::OutOfTime(budget.out_of_time()))??;
        let mut usage = Usage { steps: vec![StepUsage::without_model("retrieve", start.elapsed())] };
        let (passages, documents_searched) = (evidence.passages.len(), evidence.documents_searched);
        observe(AskEvent::Retrieval { passages, documents_searched });

        let missing = missing(&evidence);
        let finish = Finish { question, evidence: &evidence, retriever: &*self.retriever, missing: missing.as_deref() };
        // A number that no document has may still be compared with others by a model; anything else named may not.
        let unanswerable = passages == 0 || names_unknown_thing(&evidence);
        let mut answer = match &self.model {
            Some(model) if !unanswerable => {
                let mut writer = Writer {
                    model: &**model,
                    options: &self.options,
                    budget: &budget,
                    usage: &mut usage,
                    observe: &mut *observe,
                };
                let outcome = writer.write(question, &evidence.passages).await;
                finish.written(model.name(), outcome, observe)
            }
            _ => finish.quoted(observe),
        };
        if usage.total().estimated {
            answer.notes.push("The model's server did not count tokens: tokens and cost are estimates.".into());
        }
        answer.usage = usage;
        observe(AskEvent::Done(Box::new(answer.clone())));
        Ok(answer)
    }

    fn check_length(&self, question: &str, model: &str) -> Result<(), AskError> {
        let window = Window::of(&self.options);
        match (window.exceeded_by(question), window.tokens()) {
            (Some(needed), Some(tokens)) => Err(AskError::QuestionTooLong {
                model: model.to_owned(),
                needed,
                window: tokens,
                reply: window.reply(),
            }),
            _ => Ok(()),
        }
    }
}
