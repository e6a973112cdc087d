//! Measuring retrieval and answers.

pub(crate) mod abstention;
mod corpus;
pub(crate) mod data_set;
mod fingerprint;
pub(crate) mod labels;
pub(crate) mod measure;
mod metrics;
pub(crate) mod report;
mod run_file;
pub(crate) mod running;
pub(crate) mod scratch;
mod significance;
pub(crate) mod target;
mod text_match;
