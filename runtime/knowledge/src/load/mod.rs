//! From bytes to a [`NormalisedDocument`](crate::document::NormalisedDocument): format detection, decoding,
//! front matter, and extraction in child processes.
