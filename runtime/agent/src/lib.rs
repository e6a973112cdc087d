//! From a question to an answer whose citations were checked.
//!
//! The crate knows passages and models, not stores and not HTTP servers: [`Retriever`] and [`ChatModel`] are its only
//! windows. Every answer, whoever wrote it, leaves through [`citation`]: a sentence without a passing citation does
//! not reach a caller.

pub mod answer;
pub mod ask;
pub mod chat;
pub mod citation;
pub mod confidence;
pub mod model;
pub mod passage;
pub mod quote;
pub mod segment;

mod function_words;
mod missing;
mod prompt;
mod reply;
mod terms;
mod window;
mod writer;

#[cfg(test)]
mod testing;

pub use answer::{Answer, Band, Citation, CitationCheck, Sentence, StopReason};
pub use ask::{AskError, AskEvent, AskOptions, Asker};
pub use chat::OpenAiChat;
pub use model::{ChatModel, ChatRequest, ChatResponse, ModelError, Usage};
pub use passage::{Evidence, Passage, RetrieveError, Retriever};
