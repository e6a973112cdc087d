//! Measuring retrieval and answers.

pub(crate) mod data_set;
pub(crate) mod measure;
pub(crate) mod metrics;
pub(crate) mod report;
pub(crate) mod run_file;
pub(crate) mod significance;
pub(crate) mod target;
pub(crate) mod text_match;
