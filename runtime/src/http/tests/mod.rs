//! The router around a service that does what each test needs.

mod access;
mod guards;
mod limits;
mod routes;
mod server;
mod streams;

use async_trait::async_trait;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use groundwork_knowledge::store::Principal;
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::Notify;
use tower::ServiceExt;

use super::access::Access;
use super::app::{App, Limits};
use crate::live::PolicyInForce;
use crate::local::{Service, ServiceError};
use crate::wire::*;

const PORT: u16 = 7878;

/// What the service does with a question.
#[derive(Clone, Default)]
enum Behaviour {
    #[default]
    Answers,
    Fails(ErrorCode),
    Panics,
    /// Sends one sentence, then waits for ever; the notification tells when the run was dropped.
    Hangs(Arc<Notify>),
}

#[derive(Default)]
struct Fake {
    behaviour: Behaviour,
    starting: bool,
}

/// Notifies when a run is dropped.
struct Dropped(Arc<Notify>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[async_trait]
impl Service for Fake {
    async fn ask(
        &self,
        _: &Principal,
        request: AskRequest,
        observe: &mut (dyn FnMut(AskEvent) + Send),
    ) -> Result<Answer, ServiceError> {
        observe(AskEvent::Retrieval { passages: 1, documents_searched: 3, arms: vec![arm()] });
        let sentence = Sentence { text: "Two weeks.".into(), citations: vec![1] };
        observe(AskEvent::Sentence { text: sentence.text.clone(), citations: sentence.citations.clone() });
        match &self.behaviour {
            Behaviour::Answers => {
                let answer = answer(&request.question, sentence);
                observe(AskEvent::Done { answer: Box::new(answer.clone()) });
                Ok(answer)
            }
            Behaviour::Fails(code) => Err(ServiceError::new(*code, "as told")),
            Behaviour::Panics => panic!("as told"),
            Behaviour::Hangs(dropped) => {
                let _dropped = Dropped(dropped.clone());
                std::future::pending().await
            }
        }
    }

    async fn search(&self, _: &Principal, request: SearchRequest) -> Result<SearchResponse, ServiceError> {
        Ok(SearchResponse {
            query: request.query,
            mode: Mode::Hybrid,
            hits: vec![],
            arms: vec![arm()],
            documents_searched: 3,
            notes: vec![],
            revisions: vec!["r1".into()],
            elapsed_ms: 2.5,
        })
    }

    async fn documents(&self, _: &Principal, query: DocumentsQuery) -> Result<DocumentsResponse, ServiceError> {
        Ok(DocumentsResponse { documents: vec![summary()], next: query.after })
    }

    async fn document(&self, _: &Principal, id: &str) -> Result<DocumentView, ServiceError> {
        match id {
            "d1" => Ok(DocumentView { summary: summary(), text: "Notice: two weeks.".into() }),
            _ => Err(ServiceError::new(ErrorCode::NotFound, "there is no such document")),
        }
    }

    async fn chunk(&self, _: &Principal, id: &str, scope: Scope) -> Result<ChunkView, ServiceError> {
        match id {
            "gone" => return Err(ServiceError::gone("handbook/notice.md".into(), Some("d1".into()))),
            "gone-with-its-document" => return Err(ServiceError::gone("handbook/old.md".into(), None)),
            _ => {}
        }
        Ok(ChunkView {
            id: id.into(),
            summary: summary(),
            heading_path: vec![],
            locator: "line 1".into(),
            before: if scope == Scope::Document { "whole " } else { "" }.into(),
            quote: "two weeks".into(),
            after: ".".into(),
            context: "Notice".into(),
        })
    }

    async fn sync(&self, _: SyncRequest) -> Result<SyncResponse, ServiceError> {
        Ok(SyncResponse { reports: vec![] })
    }

    async fn status(&self) -> Result<Status, ServiceError> {
        Ok(status(!self.starting))
    }
}

fn arm() -> ArmReport {
    ArmReport { knowledge_base: "handbook".into(), arm: Arm::Keyword, passages: 4, weight: 0.8, elapsed_ms: 2.0 }
}

fn answer(question: &str, sentence: Sentence) -> Answer {
    let step = StepUsage {
        step: "answer".into(),
        input_tokens: 700,
        output_tokens: 20,
        cost_micros: Some(12),
        elapsed_ms: 40,
        estimated: false,
    };
    Answer {
        run_id: "run".into(),
        question: question.into(),
        band: Band::Answered,
        stop_reason: StopReason::Answered,
        written_by: "a-model".into(),
        text: format!("{} [1]", sentence.text),
        sentences: vec![sentence],
        citations: vec![],
        reason: None,
        documents_searched: 3,
        notes: vec![],
        usage: vec![step],
        revisions: vec!["r1".into()],
        policy: "p1".into(),
        elapsed_ms: 41.0,
    }
}

fn summary() -> DocumentSummary {
    DocumentSummary {
        id: "d1".into(),
        knowledge_base: "handbook".into(),
        document: "handbook/notice.md".into(),
        title: "Notice".into(),
        format: "markdown".into(),
        date: None,
        tags: vec![],
        version: 1,
        stale: false,
        chunks: 1,
        bytes: 18,
    }
}

fn status(ready: bool) -> Status {
    let base = KnowledgeBaseStatus {
        name: "handbook".into(),
        phase: if ready { Phase::Vectors } else { Phase::Keywords },
        revision: ready.then(|| "r1".into()),
        building_revision: None,
        files_done: 2,
        files_total: 3,
        documents: 3,
        chunks: 10,
        vectors: 4,
        without_vector: 1,
        failed: 2,
        remaining_seconds: None,
        embedder: Some("hashing".into()),
        last_sync: None,
        problem: None,
    };
    Status {
        version: "0.1.0".into(),
        ready,
        folder: "/docs".into(),
        pipeline: "default".into(),
        written_by: "a-model".into(),
        knowledge_bases: vec![base],
    }
}

/// An application that would listen on [`PORT`].
fn app(fake: Fake, limits: Limits) -> Arc<App> {
    app_with(fake, limits, (Access::Local, groundwork_config::Limits::default()))
}

/// The same for other callers, or under limits of a policy.
fn app_with(fake: Fake, limits: Limits, (access, policy): (Access, groundwork_config::Limits)) -> Arc<App> {
    let policy = PolicyInForce::fixed(groundwork_config::Policy { name: None, limits: policy });
    App::new(Arc::new(fake), ([127, 0, 0, 1], PORT).into(), (access, Arc::new(policy)), limits)
}

/// A response, read whole.
struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The code and field of a failure, after checking that its shape is the one of every failure.
    fn failure(&self) -> (String, Option<String>) {
        let body: ErrorBody = serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text));
        assert!(!body.error.message.is_empty());
        assert_eq!(body.error.request_id.as_deref(), Some(self.header("x-request-id")));
        assert_eq!(self.header("content-type"), "application/json");
        let code = serde_json::to_value(body.error.code).unwrap();
        (code.as_str().unwrap().to_owned(), body.error.field)
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }
}

/// `METHOD PATH` with the headers that a program would send, others on top.
fn request(line: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Request<Body> {
    let (method, path) = line.split_once(' ').unwrap();
    let mut request = Request::builder().method(method).uri(path).body(body.into()).unwrap();
    let host = format!("localhost:{PORT}");
    for (name, value) in [("host", host.as_str()), ("content-type", "application/json")].iter().chain(headers) {
        let name: axum::http::HeaderName = name.parse().unwrap();
        match *value {
            "" => drop(request.headers_mut().remove(name)),
            value => drop(request.headers_mut().insert(name, value.parse().unwrap())),
        }
    }
    request
}

async fn send(app: &Arc<App>, request: Request<Body>) -> Reply {
    let response = super::router::router(app).oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let text = String::from_utf8(to_bytes(body, usize::MAX).await.unwrap().to_vec()).unwrap();
    Reply { status: parts.status, headers: parts.headers, text }
}
