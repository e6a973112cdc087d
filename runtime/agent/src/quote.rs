//! The answerer without a model: chooses sentences of the documents.
