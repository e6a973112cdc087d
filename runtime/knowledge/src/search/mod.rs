//! Retrieval: arms, fusion, parents, token budget.

mod arm;
mod fusion;
mod passages;
mod searcher;
mod types;

#[cfg(test)]
mod tests;

pub use passages::{SelectedPassage, select_passages};
pub use searcher::Searcher;
pub use types::{Arm, ArmHit, ArmReport, Hit, SearchError, SearchRequest, SearchResult};
