//! A target of its own for one evaluation: a set's corpus in a temporary folder, removed with the value.

use async_trait::async_trait;
use groundwork_agent::confidence::Signals;
use groundwork_config::{
    Chunking, ChunkingStrategy, Contract, Embedding, Keyword, KnowledgeBase, MetadataKeys, Pipeline, Policy, Retrieval,
    RetrievalMode, RuntimeConfig, SyncPolicy,
};
use groundwork_knowledge::analyse::Analyser;
use groundwork_knowledge::embed::{Embedder, embedder_for};
use groundwork_knowledge::identity::DocumentId;
use groundwork_knowledge::search::{Hit, SearchRequest, Searcher};
use groundwork_knowledge::store::Principal;
use std::sync::Arc;
use uuid::Uuid;

use super::corpus::{SOURCE, index_corpus};
use super::data_set::CorpusDocument;
use super::fingerprint::fingerprint;
use super::measure::Progress;
use super::target::{Configuration, RankedPassage, Target, collapse};
use crate::local::{DataFolder, Instance, Service};
use crate::wire::{Answer, AskRequest, Mode};

/// Parents asked of the search at first, and at most, for one question.
const FIRST_DEPTH: usize = 100;
const LAST_DEPTH: usize = 6400;
const NAME: &str = "corpus";

/// How a corpus is cut and searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Profile {
    /// The defaults of the product.
    Product,
    /// The setting of published BM25 figures: one chunk a document, title and text, identifiers not folded.
    Reference,
    /// One chunk a document, otherwise the product's defaults.
    Whole,
}

impl Profile {
    /// The contract of this profile.
    pub(crate) fn contract(self, embedding: Embedding) -> Contract {
        let product = Contract { embedding, ..Contract::default() };
        let whole = Chunking { strategy: ChunkingStrategy::Whole, ..Chunking::default() };
        match self {
            Self::Product => product,
            Self::Whole => Contract { chunking: whole, ..product },
            Self::Reference => {
                let keyword = Keyword { fold_identifiers: false, ..Keyword::default() };
                Contract { chunking: whole, keyword, ..product }
            }
        }
    }
}

/// A corpus in a store of its own.
pub(crate) struct Scratch {
    searcher: Searcher,
    instance: Instance,
    retrieval: Retrieval,
    documents: u64,
    corpus_fingerprint: String,
    configuration_fingerprint: String,
    data_id: Uuid,
    _folder: tempfile::TempDir,
}

impl Scratch {
    /// Indexes the corpus.
    pub(crate) async fn build(
        corpus: &[CorpusDocument],
        contract: Contract,
        progress: &mut dyn Progress,
    ) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let data = DataFolder::at(folder.path());
        let config = configuration(contract);
        let knowledge_base = &config.knowledge_bases[0];
        let data_id = knowledge_base.data_id;
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        let embedder = embedder_for(&knowledge_base.contract.embedding, &config.endpoints, threads)?;
        index_corpus(&data.store(NAME), knowledge_base, corpus, embedder.as_deref(), progress).await?;
        let keyword = knowledge_base.contract.keyword.clone();
        let retrieval = config.pipeline.retrieval.clone();
        let texts = corpus.iter().flat_map(|document| [&document.id, &document.title, &document.text]);
        let corpus_fingerprint = fingerprint(texts.map(String::as_bytes));
        let configuration_fingerprint = fingerprint([serde_json::to_vec(&config)?.as_slice()]);
        let instance = Instance::open_scratch(config, folder.path(), &data).await?;
        let reader = instance.first_reader(&Principal::local()).await?;
        let analyser = Analyser::new(&keyword);
        Ok(Self {
            searcher: Searcher { reader, analyser, embedder: embedder as Option<Arc<dyn Embedder>> },
            instance,
            retrieval,
            documents: corpus.len() as u64,
            corpus_fingerprint,
            configuration_fingerprint,
            data_id,
            _folder: folder,
        })
    }

    /// What speaks for an answer to the question, with some documents left out as if they had never been there.
    pub(crate) async fn signals(&self, question: &str, without: &[String]) -> anyhow::Result<Signals> {
        let excluded = without.iter().map(|id| DocumentId::new(self.data_id, SOURCE, id)).collect();
        Ok(self.instance.signals(&Principal::local(), question, excluded).await?)
    }

    async fn hits(&self, question: &str, configuration: &Configuration, depth: usize) -> anyhow::Result<Vec<Hit>> {
        let request = SearchRequest {
            mode: match configuration.mode {
                Mode::Keyword => RetrievalMode::Keyword,
                Mode::Vector => RetrievalMode::Vector,
                Mode::Hybrid => RetrievalMode::Hybrid,
            },
            fusion: configuration.fusion.unwrap_or(self.retrieval.fusion),
            candidates: depth,
            top_k: depth,
            ..SearchRequest::new(question, &self.retrieval)
        };
        Ok(self.searcher.search(&request).await?.hits)
    }
}

fn configuration(contract: Contract) -> RuntimeConfig {
    let knowledge_base = KnowledgeBase {
        name: NAME.into(),
        data_id: Uuid::new_v5(&Uuid::NAMESPACE_URL, b"groundwork.dev/evaluation"),
        sources: Vec::new(),
        metadata: MetadataKeys::default(),
        contract,
        sync: SyncPolicy::default(),
        store: groundwork_config::Store::default(),
    };
    let pipeline =
        Pipeline { name: "evaluation".into(), retrieval: Retrieval::default(), chat: None, temperature_milli: 0 };
    RuntimeConfig { knowledge_bases: vec![knowledge_base], pipeline, endpoints: Vec::new(), policy: Policy::default() }
}

#[async_trait]
impl Target for Scratch {
    fn documents(&self) -> u64 {
        self.documents
    }

    fn corpus_fingerprint(&self) -> String {
        self.corpus_fingerprint.clone()
    }

    fn configuration_fingerprint(&self) -> String {
        self.configuration_fingerprint.clone()
    }

    async fn rank(
        &self,
        question: &str,
        configuration: &Configuration,
        documents: usize,
    ) -> anyhow::Result<Vec<RankedPassage>> {
        // Fusion looks at the product's number of candidates; more are asked for only where they hold too few documents.
        let mut depth = FIRST_DEPTH;
        loop {
            let hits = self.hits(question, configuration, depth).await?;
            let passages: Vec<RankedPassage> = hits.iter().map(passage).collect();
            if collapse(&passages).len() >= documents || hits.len() < depth || depth >= LAST_DEPTH {
                return Ok(passages);
            }
            depth *= 4;
        }
    }

    async fn answer(&self, question: &str) -> anyhow::Result<Answer> {
        let request = AskRequest { question: question.to_owned(), ..AskRequest::default() };
        let answer = self.instance.ask(&Principal::local(), request, &mut |_| {}).await?;
        Ok(without_source(answer, SOURCE))
    }

    fn top_k(&self) -> usize {
        self.retrieval.top_k as usize
    }
}

fn passage(hit: &Hit) -> RankedPassage {
    RankedPassage { document: hit.parent.document.path.clone(), tokens: hit.parent.tokens }
}

/// Judgements name documents without their source.
fn without_source(mut answer: Answer, source: &str) -> Answer {
    for citation in &mut answer.citations {
        if let Some(path) = citation.excerpt.document.strip_prefix(source).and_then(|path| path.strip_prefix('/')) {
            citation.excerpt.document = path.to_owned();
        }
    }
    answer
}
