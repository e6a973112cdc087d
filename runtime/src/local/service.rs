//! What an instance can do, whoever asks: the HTTP server and the commands call the same interface. Two things
//! implement it: the instance in this process, and a client of the instance in another one. The server is
//! `http::serve(service: Arc<dyn Service>, listener: tokio::net::TcpListener, shutdown: CancellationToken)`; it returns
//! when everything in flight was answered after `shutdown`.

use async_trait::async_trait;
use groundwork_knowledge::store::Principal;

use crate::wire::{
    Answer, AskEvent, AskRequest, ChunkView, DocumentView, DocumentsQuery, DocumentsResponse, ErrorBody, ErrorCode,
    ErrorDetail, Scope, SearchRequest, SearchResponse, Status, SyncRequest, SyncResponse,
};

/// An instance that holds documents. All calls may run at the same time; dropping a call's future stops it.
///
/// Before keywords are in, everything but `status` and `sync` fails with [`ErrorCode::NotReady`].
#[async_trait]
pub(crate) trait Service: Send + Sync {
    /// Answers a question; `observe` is called for each event as it happens, the last being `Done`. `request.stream`
    /// is not looked at.
    async fn ask(
        &self,
        principal: &Principal,
        request: AskRequest,
        observe: &mut (dyn FnMut(AskEvent) + Send),
    ) -> Result<Answer, ServiceError>;

    /// Passages with each arm's view.
    async fn search(&self, principal: &Principal, request: SearchRequest) -> Result<SearchResponse, ServiceError>;

    /// A page of documents.
    async fn documents(&self, principal: &Principal, query: DocumentsQuery) -> Result<DocumentsResponse, ServiceError>;

    /// A document with its text.
    async fn document(&self, principal: &Principal, id: &str) -> Result<DocumentView, ServiceError>;

    /// A chunk in its place. A chunk that vanished is [`ErrorCode::Gone`] with its document.
    async fn chunk(&self, principal: &Principal, id: &str, scope: Scope) -> Result<ChunkView, ServiceError>;

    /// Syncs every knowledge base now and returns what that did. Waits for a sync that is running, then runs one.
    async fn sync(&self, request: SyncRequest) -> Result<SyncResponse, ServiceError>;

    /// What the instance is and how far it is. Never waits for a sync.
    async fn status(&self) -> Result<Status, ServiceError>;
}

/// Why a call failed, in the shape that goes over the wire.
#[derive(Debug, thiserror::Error)]
#[error("{}", detail.message)]
pub(crate) struct ServiceError {
    /// Code, message and field; `request_id` is filled by the server.
    pub(crate) detail: Box<ErrorDetail>,
}

impl ServiceError {
    /// An error of this kind.
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let detail = ErrorDetail {
            code,
            message: message.into(),
            field: None,
            document: None,
            document_id: None,
            request_id: None,
        };
        Self { detail: Box::new(detail) }
    }

    /// A field of the request is wrong.
    pub(crate) fn invalid(field: &str, message: impl Into<String>) -> Self {
        let mut error = Self::new(ErrorCode::InvalidRequest, message);
        error.detail.field = Some(field.to_owned());
        error
    }

    /// A chunk of the document `source/path` vanished; `document_id` where the document is still there.
    pub(crate) fn gone(document: String, document_id: Option<String>) -> Self {
        let why = match &document_id {
            Some(_) => "the document has changed since",
            None => "the document is not there any more",
        };
        let mut error = Self::new(ErrorCode::Gone, format!("this passage of {document} is gone: {why}"));
        error.detail.document = Some(document);
        error.detail.document_id = document_id;
        error
    }
}

impl From<ErrorBody> for ServiceError {
    fn from(body: ErrorBody) -> Self {
        Self { detail: Box::new(body.error) }
    }
}
