//! The instance in this process: a folder's knowledge bases, opened, and what can be done with them.

use async_trait::async_trait;
use groundwork_agent::confidence::Signals;
use groundwork_agent::quote::choose;
use groundwork_agent::{AskError, AskEvent as AgentEvent, AskOptions, Asker, ChatModel, RetrieveError, Retriever};
use groundwork_config::{Policy, Retrieval, RuntimeConfig, Serving};
use groundwork_knowledge::identity::{ChunkId, DocumentId};
use groundwork_knowledge::load::ExtractionPool;
use groundwork_knowledge::search::SearchError;
use groundwork_knowledge::store::{ChunkLookup, Filter, Principal, Reader, StoreError};
use groundwork_knowledge::sync::DeleteGuard;
use groundwork_policy::Refusal;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

use super::base::Base;
use super::data::DataFolder;
use super::evidence::Corpus;
use super::lock::{Attempt, Holder, Lock};
use super::service::{Service, ServiceError};
use super::tools::Tools;
use super::{chat, view};
use crate::live::PolicyInForce;
use crate::output::{Problem, chain};
use crate::wire::{
    Answer, AskEvent, AskRequest, ChunkView, DocumentView, DocumentsQuery, DocumentsResponse, ErrorCode, Mode, Scope,
    SearchRequest, SearchResponse, Status, SyncRequest, SyncResponse,
};

/// Longest question in characters.
const MAX_QUESTION: usize = 4000;
/// Upper bound of a chat model's reply in tokens.
const MAX_REPLY_TOKENS: u32 = 1024;

/// A folder's knowledge bases, opened by this process.
pub(crate) struct Instance {
    pub(super) bases: Vec<Base>,
    config: RuntimeConfig,
    folder: PathBuf,
    tools: Arc<Tools>,
    model: Option<Arc<dyn ChatModel>>,
    policy: Arc<PolicyInForce>,
    /// Ends background work.
    pub(super) cancel: CancellationToken,
    /// None where there is no data folder.
    lock: Option<Mutex<Lock>>,
}

/// What an instance may do with its data.
pub(super) enum Access {
    /// Read what is there.
    Read,
    /// Sync as well, extracting documents with these processes.
    Write(Option<ExtractionPool>),
}

impl Instance {
    /// Opens the stores of every knowledge base. The lock is kept as long as the instance lives.
    pub(super) async fn open(
        config: RuntimeConfig,
        folder: &Path,
        data: &DataFolder,
        access: Access,
        lock: Lock,
    ) -> Result<Self, Problem> {
        let tools = Arc::new(Tools::new(config.endpoints.clone()));
        let mut bases = Vec::with_capacity(config.knowledge_bases.len());
        for knowledge_base in &config.knowledge_bases {
            let base = Base::open(knowledge_base, &data.store(&knowledge_base.name), &tools).await?;
            bases.push(match &access {
                Access::Read => base,
                Access::Write(pool) => base.for_writing(pool.clone()).await?,
            });
        }
        let policy = Arc::new(PolicyInForce::fixed(config.policy.clone()));
        let instance = Self::of(config, bases, tools, policy)?;
        Ok(Self { folder: folder.to_owned(), lock: Some(Mutex::new(lock)), ..instance })
    }

    /// Around open knowledge bases, without a folder.
    fn of(
        config: RuntimeConfig,
        bases: Vec<Base>,
        tools: Arc<Tools>,
        policy: Arc<PolicyInForce>,
    ) -> Result<Self, Problem> {
        let model = chat::model(&config)?;
        let cancel = CancellationToken::new();
        Ok(Self { bases, config, folder: PathBuf::new(), tools, model, policy, cancel, lock: None })
    }

    /// Opens the revisions that a pod serves, for reading only. No store is asked yet.
    pub(crate) async fn pinned(serving: &Serving, policy: Arc<PolicyInForce>) -> Result<Self, Problem> {
        let config = serving.config.clone();
        chat::check_key(&config)?;
        let tools = Arc::new(Tools::new(config.endpoints.clone()));
        let bases = super::pinned::open(serving, &tools).await?;
        Self::of(config, bases, tools, policy)
    }

    /// Asks every knowledge base something small: how much it has, or why it does not answer.
    pub(crate) async fn look(&self) -> Vec<(String, Result<String, String>)> {
        futures::future::join_all(self.bases.iter().map(super::pinned::look)).await
    }

    /// Opens stores that an evaluation filled itself, for reading.
    pub(crate) async fn open_scratch(config: RuntimeConfig, folder: &Path, data: &DataFolder) -> Result<Self, Problem> {
        match Lock::attempt(data, &Holder::this_process("eval", folder))? {
            Attempt::Locked(lock) => Self::open(config, folder, data, Access::Read, lock).await,
            Attempt::Held(_) => Err(Problem::new("the scratch folder is in use")),
        }
    }

    /// The reader of the first knowledge base.
    pub(crate) async fn first_reader(&self, principal: &Principal) -> Result<Arc<dyn Reader>, ServiceError> {
        match self.bases.first() {
            Some(base) => base.reader(principal).await,
            None => Err(ServiceError::new(ErrorCode::NotFound, "there is no knowledge base")),
        }
    }

    /// What speaks for an answer to the question, with some documents left out.
    pub(crate) async fn signals(
        &self,
        principal: &Principal,
        question: &str,
        exclude_documents: Vec<DocumentId>,
    ) -> Result<Signals, ServiceError> {
        let filter = Filter { exclude_documents, ..Filter::default() };
        let retrieval = self.config.pipeline.retrieval.clone();
        let corpus = Corpus::open(&self.bases, &self.tools, principal, retrieval, filter).await?;
        let evidence = corpus.retrieve(question).await?;
        Ok(choose(question, &evidence, &corpus).signals)
    }

    /// What a question and a caller may use.
    pub(crate) fn policy(&self) -> Arc<PolicyInForce> {
        Arc::clone(&self.policy)
    }

    /// Says in the lock file where this instance answers.
    pub(crate) fn announce(&self, holder: &Holder) -> Result<(), Problem> {
        let Some(lock) = &self.lock else { return Ok(()) };
        lock.lock().unwrap_or_else(PoisonError::into_inner).announce(holder)
    }

    /// Whether questions can be asked of every knowledge base.
    pub(crate) async fn is_ready(&self) -> bool {
        let local = Principal::local();
        let readers = self.bases.iter().map(|base| base.reader(&local));
        futures::future::try_join_all(readers).await.is_ok()
    }

    /// Closes the stores' files. Calls that come later fail.
    pub(crate) async fn close(&self) {
        futures::future::join_all(self.bases.iter().map(Base::close)).await;
    }

    async fn corpus(
        &self,
        principal: &Principal,
        (mode, top_k): (Option<Mode>, Option<u32>),
        filter: &crate::wire::FilterSpec,
    ) -> Result<Corpus, ServiceError> {
        let mut retrieval: Retrieval = self.config.pipeline.retrieval.clone();
        if let Some(mode) = mode {
            retrieval.mode = view::mode(mode);
        }
        if let Some(top_k) = top_k {
            if !(1..=100).contains(&top_k) {
                return Err(ServiceError::invalid("top_k", format!("top_k is {top_k}; give 1 to 100")));
            }
            retrieval.top_k = top_k;
            retrieval.candidates = retrieval.candidates.max(top_k);
        }
        Corpus::open(&self.bases, &self.tools, principal, retrieval, view::filter(filter)?).await
    }

    fn options(&self, policy: &Policy) -> AskOptions {
        let pipeline = &self.config.pipeline;
        let endpoint = pipeline.chat.as_deref().and_then(|name| self.config.endpoint(name));
        AskOptions {
            temperature: f32::from(pipeline.temperature_milli) / 1000.0,
            max_tokens: MAX_REPLY_TOKENS,
            context_window: endpoint.and_then(|endpoint| endpoint.context_window),
            prices: endpoint.and_then(|endpoint| endpoint.prices),
            limits: policy.limits.clone(),
        }
    }

    /// The base that has a document, with a reader of it.
    async fn with_document(
        &self,
        principal: &Principal,
        id: DocumentId,
    ) -> Result<Option<(&Base, Arc<dyn Reader>)>, ServiceError> {
        for base in &self.bases {
            let reader = base.reader(principal).await?;
            if reader.document(id).await?.is_some() {
                return Ok(Some((base, reader)));
            }
        }
        Ok(None)
    }
}

#[async_trait]
impl Service for Instance {
    async fn ask(
        &self,
        principal: &Principal,
        request: AskRequest,
        observe: &mut (dyn FnMut(AskEvent) + Send),
    ) -> Result<Answer, ServiceError> {
        let start = Instant::now();
        let question = checked("question", &request.question)?;
        let policy = self.policy.current()?;
        let corpus = self.corpus(principal, (request.mode, request.top_k), &request.filter).await?;
        let corpus = Arc::new(corpus);
        let retriever: Arc<dyn Retriever> = Arc::clone(&corpus) as _;
        let asker = Asker { retriever, model: self.model.clone(), options: self.options(&policy) };
        let outcome = asker.ask(&question, &mut |event| observe_agent(event, &corpus, observe)).await?;
        let answer = Answer::new(question, outcome, policy.hash(), milliseconds(start));
        observe(AskEvent::Done { answer: Box::new(answer.clone()) });
        Ok(answer)
    }

    async fn search(&self, principal: &Principal, request: SearchRequest) -> Result<SearchResponse, ServiceError> {
        let start = Instant::now();
        let query = checked("query", &request.query)?;
        let corpus = self.corpus(principal, (request.mode, request.top_k), &request.filter).await?;
        let found = corpus.search(&query).await?;
        let hits = found.hits.iter().enumerate();
        Ok(SearchResponse {
            query,
            mode: request.mode.unwrap_or(view::wire_mode(self.config.pipeline.retrieval.mode)),
            hits: hits.map(|(at, (base, hit))| view::search_hit(at + 1, corpus.name(*base), hit)).collect(),
            arms: corpus.arm_reports(&found.results),
            documents_searched: corpus.documents_searched().await?,
            notes: corpus.notes(&found.results),
            revisions: corpus.revisions(),
            elapsed_ms: milliseconds(start),
        })
    }

    async fn documents(&self, principal: &Principal, query: DocumentsQuery) -> Result<DocumentsResponse, ServiceError> {
        super::documents::page(&self.bases, principal, &query).await
    }

    async fn document(&self, principal: &Principal, id: &str) -> Result<DocumentView, ServiceError> {
        let unknown = || ServiceError::new(ErrorCode::NotFound, format!("there is no document {id}"));
        let document = DocumentId(id.parse().map_err(|_| unknown())?);
        let (base, reader) = self.with_document(principal, document).await?.ok_or_else(unknown)?;
        let summary = reader.document(document).await?.ok_or_else(unknown)?;
        let text = reader.body(document).await?.ok_or_else(unknown)?;
        Ok(DocumentView { summary: view::summary(&base.config().name, &summary), text })
    }

    async fn chunk(&self, principal: &Principal, id: &str, scope: Scope) -> Result<ChunkView, ServiceError> {
        let unknown = || ServiceError::new(ErrorCode::NotFound, format!("there is no chunk {id}"));
        let chunk = ChunkId(id.parse().map_err(|_| unknown())?);
        for base in &self.bases {
            let reader = base.reader(principal).await?;
            let name = &base.config().name;
            match reader.chunk(chunk).await? {
                ChunkLookup::Unknown => {}
                ChunkLookup::Gone(chunk) => {
                    let document = chunk.document.map(|document| document.id.to_string());
                    return Err(ServiceError::gone(format!("{}/{}", chunk.source, chunk.path), document));
                }
                ChunkLookup::Found(chunk) if scope == Scope::Passage => return Ok(view::passage_view(name, &chunk)),
                ChunkLookup::Found(chunk) => {
                    let body = reader.body(chunk.parent.document.id).await?;
                    let whole = body.and_then(|body| view::document_view(name, &chunk, &body));
                    return Ok(whole.unwrap_or_else(|| view::passage_view(name, &chunk)));
                }
            }
        }
        Err(unknown())
    }

    async fn sync(&self, request: SyncRequest) -> Result<SyncResponse, ServiceError> {
        let deletes = if request.accept_deletes { DeleteGuard::Accepted } else { DeleteGuard::Enforced };
        let mut reports = Vec::with_capacity(self.bases.len());
        for base in &self.bases {
            let report = base.sync(deletes, &self.cancel).await?;
            if request.wait_for_vectors {
                base.vectors_settled().await;
            }
            let settled = base.progress().borrow().last_sync.clone();
            reports.push(settled.filter(|_| request.wait_for_vectors).unwrap_or(report));
        }
        Ok(SyncResponse { reports })
    }

    async fn status(&self) -> Result<Status, ServiceError> {
        let mut knowledge_bases = Vec::with_capacity(self.bases.len());
        for base in &self.bases {
            knowledge_bases.push(base.status().await?);
        }
        Ok(Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ready: knowledge_bases.iter().all(|base| base.revision.is_some()),
            folder: self.folder.display().to_string(),
            pipeline: self.config.pipeline.name.clone(),
            written_by: self.model.as_ref().map_or(chat::QUOTES, |model| model.name()).to_owned(),
            knowledge_bases,
        })
    }
}

/// The text without space around it; refused where empty or too long.
fn checked(field: &str, text: &str) -> Result<String, ServiceError> {
    let text = text.trim();
    match text.chars().count() {
        0 => Err(ServiceError::invalid(field, format!("the {field} is empty; write what you want to know"))),
        length if length > MAX_QUESTION => {
            let message = format!("the {field} has {length} characters; at most {MAX_QUESTION} are read");
            Err(ServiceError::invalid(field, message))
        }
        _ => Ok(text.to_owned()),
    }
}

/// The agent's `Done` is not passed on: the caller's carries run id and time too.
fn observe_agent(event: AgentEvent, corpus: &Corpus, observe: &mut (dyn FnMut(AskEvent) + Send)) {
    match event {
        AgentEvent::Retrieval { passages, documents_searched } => {
            observe(AskEvent::Retrieval { passages: passages as u64, documents_searched, arms: corpus.take_arms() });
        }
        AgentEvent::Sentence(sentence) => {
            observe(AskEvent::Sentence { text: sentence.text, citations: sentence.citations });
        }
        AgentEvent::Repair { failed } => observe(AskEvent::Repair { failed: failed as u64 }),
        AgentEvent::Done(_) => {}
    }
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1000.0
}

impl From<Refusal> for ServiceError {
    fn from(refusal: Refusal) -> Self {
        Self::new(ErrorCode::NotReady, format!("{} (rule {})", refusal.message, refusal.rule.name()))
    }
}

impl From<AskError> for ServiceError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Retrieve(error) => error.into(),
            AskError::QuestionTooLong { .. } => Self::invalid("question", error.to_string()),
            AskError::OutOfTime(_) => Self::new(ErrorCode::Timeout, error.to_string()),
        }
    }
}

impl From<RetrieveError> for ServiceError {
    fn from(error: RetrieveError) -> Self {
        match error.0.downcast::<ServiceError>() {
            Ok(error) => *error,
            Err(error) => Self::new(ErrorCode::Internal, format!("failed to search the documents: {}", chain(&*error))),
        }
    }
}

impl From<StoreError> for ServiceError {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Filter { field, .. } => Self::invalid(&format!("filter.{field}"), error.to_string()),
            StoreError::LeaseLost { .. } => Self::new(ErrorCode::Conflict, error.to_string()),
            _ => Self::new(ErrorCode::Internal, chain(&error)),
        }
    }
}

impl From<SearchError> for ServiceError {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Store(error) => error.into(),
            SearchError::NoEmbedder => Self::invalid("mode", error.to_string()),
            error => Self::new(ErrorCode::Internal, chain(&error)),
        }
    }
}

impl From<groundwork_knowledge::embed::EmbedderError> for ServiceError {
    fn from(error: groundwork_knowledge::embed::EmbedderError) -> Self {
        Self::new(ErrorCode::Internal, chain(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_trimmed_and_bounded() {
        assert_eq!(checked("question", "  who?\n").ok().as_deref(), Some("who?"));
        for wrong in ["", "  \n", &"x".repeat(MAX_QUESTION + 1)] {
            let error = checked("question", wrong).expect_err("refused");
            assert_eq!(error.detail.field.as_deref(), Some("question"));
        }
    }
}
