//! An answer written by a model, sentence by sentence checked against its citations.

use groundwork_policy::{Budget, Call, Refusal};
use std::time::Instant;

use crate::answer::{CitationCheck, Sentence};
use crate::ask::{AskEvent, AskOptions};
use crate::citation::{Book, verify};
use crate::model::{ChatModel, ChatRequest, ChatResponse, ModelError, ReplyFormat, StepUsage, Turn, Usage};
use crate::passage::Passage;
use crate::prompt;
use crate::reply::{Draft, Rejected, Reply, parse};
use crate::window::{Window, prompt_tokens};

/// A failed reply is shown to the model again at most up to here.
const MOST_REPLY_BYTES: usize = 8 * 1024;

/// Asks the model, checks its sentences, and asks once more about those that failed.
pub(crate) struct Writer<'a> {
    pub(crate) model: &'a dyn ChatModel,
    pub(crate) options: &'a AskOptions,
    pub(crate) budget: &'a Budget,
    pub(crate) usage: &'a mut Usage,
    pub(crate) observe: &'a mut (dyn FnMut(AskEvent) + Send),
}

/// What came of it.
pub(crate) enum Outcome<'p> {
    /// At least one sentence passed.
    Written(Written<'p>),
    /// The model says that the sources do not answer.
    Abstained(String),
    /// There were sentences, none of which passed.
    NothingVerified,
}

pub(crate) struct Written<'p> {
    pub(crate) sentences: Vec<Sentence>,
    pub(crate) book: Book<'p>,
    pub(crate) notes: Vec<String>,
    /// Why the policy stopped it before it was done.
    pub(crate) stopped: Option<Refusal>,
}

impl Writer<'_> {
    pub(crate) async fn write<'p>(
        &mut self,
        question: &str,
        passages: &'p [Passage],
    ) -> Result<Outcome<'p>, ModelError> {
        let (passages, notes) = self.fitting(question, passages)?;
        let mut turns = vec![Turn::User(prompt::question(question, passages))];
        let (format, response) = self.first(&turns).await?;
        let mut written = Written { sentences: Vec::new(), book: Book::new(passages), notes, stopped: None };
        let failed = match parse(&response.text, &format) {
            Ok(Reply::Abstain(reason)) => return Ok(Outcome::Abstained(reason)),
            Ok(Reply::Sentences(drafts)) => self.accept(drafts, passages, &mut written),
            Err(rejected) => vec![rejected],
        };
        let mut abstained = None;
        if !failed.is_empty() {
            (self.observe)(AskEvent::Repair { failed: failed.len() });
            turns.push(Turn::Assistant(shortened(response.text)));
            turns.push(Turn::User(prompt::repair(&failed)));
            abstained = self.repair(turns, &format, passages, &mut written).await?;
        }
        Ok(match (written.sentences.is_empty(), abstained) {
            (false, _) => Outcome::Written(written),
            (true, Some(reason)) => Outcome::Abstained(reason),
            (true, None) => Outcome::NothingVerified,
        })
    }

    /// The best passages that fit into the model's context window, and a note where that is not all of them.
    fn fitting<'p>(&self, question: &str, passages: &'p [Passage]) -> Result<(&'p [Passage], Vec<String>), ModelError> {
        let window = Window::of(self.options);
        let (kept, all) = (window.sources(question, passages), passages.len());
        let (model, tokens) = (self.model.name(), window.tokens().unwrap_or_default());
        if kept == all {
            return Ok((passages, Vec::new()));
        }
        if kept == 0 {
            let reason = format!("no passage fits into its context window of {tokens} tokens beside the question");
            return Err(ModelError::Refused { model: model.to_owned(), reason });
        }
        let note = format!(
            "{model} was given {kept} of {all} passages, the best ones: its context window of {tokens} tokens has no \
             room for more."
        );
        Ok((&passages[..kept], vec![note]))
    }

    /// The first reply, in the strongest format that the server takes.
    async fn first(&mut self, turns: &[Turn]) -> Result<(ReplyFormat, ChatResponse), ModelError> {
        let start = Instant::now();
        let mut refusal = None;
        for format in prompt::formats() {
            match self.complete(self.request(&format, turns.to_vec())).await {
                Err(error @ ModelError::FormatUnsupported { .. }) => {
                    tracing::debug!(%error, "trying a weaker reply format");
                    refusal = Some(error);
                }
                Err(error) => return Err(error),
                Ok(response) => {
                    self.record("answer", &response, start);
                    return Ok((format, response));
                }
            }
        }
        Err(refusal.expect("there is at least one format"))
    }

    /// One turn for everything that failed; gives the reason if the model now abstains. A model that fails here costs
    /// only the sentences that failed before.
    async fn repair(
        &mut self,
        turns: Vec<Turn>,
        format: &ReplyFormat,
        passages: &[Passage],
        written: &mut Written<'_>,
    ) -> Result<Option<String>, ModelError> {
        let start = Instant::now();
        let mut left_out = 0;
        let mut abstained = None;
        let request = self.request(format, turns);
        if !Window::of(self.options).fits(&request) {
            written.notes.push("Sentences that failed their check were left out: another try has no room.".into());
            return Ok(None);
        }
        match self.complete(request).await {
            Err(error) if written.sentences.is_empty() => return Err(error),
            Err(ModelError::Policy(refusal)) => {
                written.notes.push(format!("Sentences that failed their check were left out: {refusal}."));
                written.stopped = Some(refusal);
            }
            Err(error) => written.notes.push(format!("Some sentences were left out: {error}.")),
            Ok(response) => {
                self.record("repair", &response, start);
                match parse(&response.text, format) {
                    Ok(Reply::Sentences(drafts)) => left_out = self.accept(drafts, passages, written).len(),
                    Ok(Reply::Abstain(reason)) => abstained = Some(reason),
                    Err(_) => left_out = 1,
                }
            }
        }
        if left_out > 0 {
            written.notes.push("Sentences whose quotes could not be found in the documents were left out.".into());
        }
        Ok(abstained)
    }

    /// Keeps the sentences that have a passing citation and gives back the others.
    fn accept(&mut self, drafts: Vec<Draft>, passages: &[Passage], written: &mut Written<'_>) -> Vec<Rejected> {
        let mut failed = Vec::new();
        for draft in drafts {
            match cite(draft, passages, &mut written.book) {
                Ok(sentence) if written.sentences.iter().any(|other| other.text == sentence.text) => {}
                Ok(sentence) => {
                    (self.observe)(AskEvent::Sentence(sentence.clone()));
                    written.sentences.push(sentence);
                }
                Err(rejected) => failed.push(rejected),
            }
        }
        failed
    }

    /// The only way to the model: out of the run's budget, and cut at its deadline.
    async fn complete(&mut self, mut request: ChatRequest) -> Result<ChatResponse, ModelError> {
        let call = Call {
            input_tokens: prompt_tokens(&request),
            output_tokens: request.max_tokens.into(),
            prices: self.options.prices,
        };
        let permit = self.budget.reserve(call).map_err(ModelError::Policy)?;
        request.max_tokens = u32::try_from(permit.output_tokens()).unwrap_or(request.max_tokens);
        let reply = tokio::time::timeout_at(self.budget.deadline(), self.model.complete(request)).await;
        let reply = reply.unwrap_or_else(|_| Err(ModelError::Policy(self.budget.out_of_time())));
        match &reply {
            Ok(response) => permit.settle(response.input_tokens, response.output_tokens),
            // Servers bill no request that they refuse as malformed.
            Err(ModelError::FormatUnsupported { .. }) => permit.settle(0, 0),
            Err(_) => {}
        }
        reply
    }

    fn request(&self, format: &ReplyFormat, turns: Vec<Turn>) -> ChatRequest {
        ChatRequest {
            system: prompt::system(format),
            turns,
            format: format.clone(),
            temperature: self.options.temperature,
            max_tokens: Window::of(self.options).reply(),
        }
    }

    fn record(&mut self, step: &str, response: &ChatResponse, start: Instant) {
        let prices = self.options.prices.as_ref();
        self.usage.steps.push(StepUsage::of(step, response, prices, start.elapsed()));
    }
}

/// The sentence with those of its citations that pass; without any it is rejected.
fn cite(draft: Draft, passages: &[Passage], book: &mut Book<'_>) -> Result<Sentence, Rejected> {
    if draft.citations.is_empty() {
        return Err(Rejected::Uncited { text: draft.text });
    }
    let mut citations = Vec::new();
    let mut failures = Vec::new();
    for claim in draft.citations {
        match verify(passages, claim.source, &claim.quote) {
            Ok(found) => {
                debug_assert_ne!(found.check, CitationCheck::None);
                citations.push(book.cite(found.passage, found.range, found.check));
            }
            Err(failure) => failures.push((claim.quote, failure.to_string())),
        }
    }
    citations.dedup();
    if citations.is_empty() {
        return Err(Rejected::Quotes { text: draft.text, failures });
    }
    Ok(Sentence { text: draft.text, citations })
}

fn shortened(mut reply: String) -> String {
    reply.truncate(reply.floor_char_boundary(MOST_REPLY_BYTES));
    reply
}
