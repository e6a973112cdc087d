use async_trait::async_trait;
use pocket_encoder::Encoder;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Arc, OnceLock};

use super::{EmbedError, EmbedKind, Embedder, EmbedderProfile};

/// Bound of the encoder for one text; it reads 128 tokens of it anyway.
const MAX_TEXT_BYTES: usize = 64 * 1024;
const MAX_BATCH: usize = 64;

/// The sentence encoder inside the binary: MiniLM-L3 with 4-bit weights, English, 384 dimensions, 128 tokens. Weights
/// are unpacked at the first text, not before.
#[derive(Clone)]
pub struct CrateEncoder {
    profile: EmbedderProfile,
    threads: usize,
    pools: Arc<Pools>,
}

/// A question must not wait behind a batch of passages, so each kind has threads of its own.
#[derive(Default)]
struct Pools {
    passages: OnceLock<ThreadPool>,
    queries: OnceLock<ThreadPool>,
}

impl CrateEncoder {
    /// An encoder whose passages take at most `threads` threads, at least 1; questions take one more while they run.
    pub fn new(threads: usize) -> Self {
        let info = pocket_encoder::model_info();
        let profile = EmbedderProfile {
            identity: format!("{}@{}", info.id, info.revision),
            dimensions: info.dimensions,
            max_tokens: Some(info.max_tokens),
            languages: Some(vec!["eng"]),
            fusion_weight: 0.2,
            max_batch: MAX_BATCH,
        };
        Self { profile, threads: threads.max(1), pools: Arc::default() }
    }

    fn run(&self, kind: EmbedKind, texts: &[String]) -> Result<Vec<Vec<f32>>, String> {
        let encoder = Encoder::new().map_err(|error| error.to_string())?;
        let dimensions = self.profile.dimensions;
        self.pool(kind).install(|| texts.par_iter().map(|text| encode(&encoder, text, dimensions)).collect())
    }

    /// The matrix products inside use the pool they run in, so its size bounds all of the work.
    fn pool(&self, kind: EmbedKind) -> &ThreadPool {
        let (cell, threads, name) = match kind {
            EmbedKind::Query => (&self.pools.queries, 1, "encode-query"),
            EmbedKind::Passage => (&self.pools.passages, self.threads, "encode-passages"),
        };
        cell.get_or_init(|| {
            let builder = ThreadPoolBuilder::new().num_threads(threads).thread_name(move |n| format!("{name}-{n}"));
            builder.build().expect("the system grants this process a few more threads")
        })
    }
}

#[async_trait]
impl Embedder for CrateEncoder {
    fn profile(&self) -> &EmbedderProfile {
        &self.profile
    }

    async fn embed(&self, kind: EmbedKind, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let (encoder, owned) = (self.clone(), texts.to_vec());
        let vectors = tokio::task::spawn_blocking(move || encoder.run(kind, &owned)).await;
        vectors.unwrap_or_else(|error| Err(error.to_string())).map_err(|reason| EmbedError::Refused {
            identity: self.profile.identity.clone(),
            texts: texts.len(),
            reason,
        })
    }
}

fn encode(encoder: &Encoder, text: &str, dimensions: usize) -> Result<Vec<f32>, String> {
    let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
    if text.trim().is_empty() {
        return Ok(vec![0.0; dimensions]);
    }
    let mut vectors = encoder.embed(&[text]).map_err(|error| error.to_string())?;
    vectors.pop().ok_or_else(|| "the encoder gave no vector".into())
}
