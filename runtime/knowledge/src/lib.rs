//! What a knowledge base knows: loading, chunking, embedding, storing and searching. Ingestion and queries share one
//! vocabulary here, so that a text is cut, folded and embedded in one way only.
//!
//! Names of the parts, in the order in which a document passes them: [`source`] lists, [`load`] normalises, [`chunk`]
//! cuts, [`analyse`] makes keyword terms, [`embed`] makes vectors, [`store`] keeps, [`search`] finds; [`sync`] drives
//! them. The crate knows neither HTTP servers nor Kubernetes.

pub mod analyse;
pub mod chunk;
pub mod document;
pub mod embed;
pub mod identity;
pub mod load;
pub mod search;
pub mod source;
pub mod store;
pub mod sync;
