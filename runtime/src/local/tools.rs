//! Embedders and analysers of one process: each made once, whatever asks for it.

use groundwork_config::{Embedding, Endpoint, Keyword};
use groundwork_knowledge::analyse::Analyser;
use groundwork_knowledge::embed::{Embedder, EmbedderError, embedder_for};
use groundwork_knowledge::store::embedded::Tokenise;
use std::sync::{Arc, Mutex, PoisonError};

/// `None` where there is no dense arm.
type Maybe = Option<Arc<dyn Embedder>>;

/// Makes embedders and analysers and keeps them.
pub(super) struct Tools {
    endpoints: Vec<Endpoint>,
    threads: usize,
    embedders: Mutex<Vec<(Embedding, Maybe)>>,
    analysers: Mutex<Vec<(Keyword, Analyser)>>,
}

impl Tools {
    /// With the endpoints of a configuration; encoders take all cores but one.
    pub(super) fn new(endpoints: Vec<Endpoint>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        let threads = cores.saturating_sub(1).max(1);
        Self { endpoints, threads, embedders: Mutex::default(), analysers: Mutex::default() }
    }

    /// The embedder of a contract; `None` where it has no dense arm.
    pub(super) fn embedder(&self, embedding: &Embedding) -> Result<Maybe, EmbedderError> {
        let mut made = self.embedders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, embedder)) = made.iter().find(|(other, _)| other == embedding) {
            return Ok(embedder.clone());
        }
        let embedder = embedder_for(embedding, &self.endpoints, self.threads)?;
        made.push((embedding.clone(), embedder.clone()));
        Ok(embedder)
    }

    /// The analyser of a contract as the store takes it.
    pub(super) fn tokenise(&self, keyword: &Keyword) -> Tokenise {
        let analyser = self.analyser(keyword);
        Arc::new(move |text| analyser.analyse(text))
    }

    /// The analyser of a contract.
    pub(super) fn analyser(&self, keyword: &Keyword) -> Analyser {
        let mut made = self.analysers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, analyser)) = made.iter().find(|(other, _)| other == keyword) {
            return analyser.clone();
        }
        let analyser = Analyser::new(keyword);
        made.push((keyword.clone(), analyser.clone()));
        analyser
    }
}
