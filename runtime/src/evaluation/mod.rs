//! Measuring retrieval and answers.
