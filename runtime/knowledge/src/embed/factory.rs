use groundwork_config::{Embedding, Endpoint, EndpointUse};
use groundwork_endpoint::ClientError;
use std::sync::Arc;

use super::{CrateEncoder, Embedder, EndpointEmbedder, EndpointEmbedding, HashingEmbedder};

/// A contract's embedder cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum EmbedderError {
    /// The contract names an endpoint that is not there.
    #[error("failed to find the embedding endpoint {name}; endpoints for embeddings: {known}")]
    UnknownEndpoint {
        /// Name in the contract.
        name: String,
        /// Those that may be used for embeddings.
        known: String,
    },
    /// The endpoint is not for embeddings.
    #[error("failed to use the endpoint {name} for embeddings; add Embeddings to its uses")]
    WrongUse {
        /// Name of the endpoint.
        name: String,
    },
    /// The endpoint's settings are wrong.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// The embedder that a contract names; `None` where it has no dense arm. `threads` bounds the encoder in the crate.
/// Nothing is loaded or sent.
pub fn embedder_for(
    embedding: &Embedding,
    endpoints: &[Endpoint],
    threads: usize,
) -> Result<Option<Arc<dyn Embedder>>, EmbedderError> {
    Ok(Some(match embedding {
        Embedding::None => return Ok(None),
        Embedding::Encoder => Arc::new(CrateEncoder::new(threads)),
        Embedding::Hashing { dimensions } => Arc::new(HashingEmbedder::new(*dimensions as usize)),
        Embedding::Endpoint { endpoint, model, dimensions, query_prefix, passage_prefix, max_batch } => {
            let settings = EndpointEmbedding {
                model: model.clone(),
                dimensions: *dimensions as usize,
                query_prefix: query_prefix.clone(),
                passage_prefix: passage_prefix.clone(),
                max_batch: *max_batch as usize,
            };
            Arc::new(EndpointEmbedder::new(find(endpoint, endpoints)?, settings)?)
        }
    }))
}

fn find<'a>(name: &str, endpoints: &'a [Endpoint]) -> Result<&'a Endpoint, EmbedderError> {
    let usable = |endpoint: &&Endpoint| endpoint.uses.contains(&EndpointUse::Embeddings);
    let Some(endpoint) = endpoints.iter().find(|endpoint| endpoint.name == name) else {
        let known: Vec<&str> = endpoints.iter().filter(usable).map(|endpoint| endpoint.name.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(EmbedderError::UnknownEndpoint { name: name.to_owned(), known });
    };
    if usable(&endpoint) { Ok(endpoint) } else { Err(EmbedderError::WrongUse { name: name.to_owned() }) }
}
