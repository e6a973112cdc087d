use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

use crate::http::app::App;
use crate::http::failure::Failure;
use crate::http::openapi::Failures;
use crate::wire::{KnowledgeBaseStatus, Phase, Status};

/// Whether questions can be asked, what that rests on, and how far ingestion is.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct Readiness {
    /// The instance and its knowledge bases.
    #[serde(flatten)]
    pub(crate) status: Status,
    /// Everything that readiness rests on.
    pub(crate) dependencies: Vec<Dependency>,
}

/// A part that must work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Dependency {
    /// `server`, or `knowledge base NAME`.
    pub(crate) name: String,
    /// Whether it works.
    pub(crate) ready: bool,
    /// For people.
    pub(crate) detail: String,
}

/// Whether questions can be asked: 503 before the keywords are in, 200 with progress after. The body is the same.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "operations",
    responses(
        (status = 200, description = "Questions can be asked", body = Readiness),
        (status = 503, description = "Not yet, or not any more", body = Readiness),
        Failures
    )
)]
pub(crate) async fn readyz(State(app): State<Arc<App>>) -> Result<Response, Failure> {
    let readiness = readiness(app.service.status().await?, app.ending.draining.is_cancelled());
    let code = if readiness.status.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let retry = (!readiness.status.ready).then_some([(header::RETRY_AFTER, "1")]);
    Ok((code, retry, Json(readiness)).into_response())
}

fn readiness(mut status: Status, draining: bool) -> Readiness {
    let server = Dependency {
        name: "server".into(),
        ready: !draining,
        detail: if draining { "is ending" } else { "takes requests" }.into(),
    };
    let dependencies = std::iter::once(server).chain(status.knowledge_bases.iter().map(dependency)).collect();
    status.ready &= !draining;
    Readiness { status, dependencies }
}

fn dependency(base: &KnowledgeBaseStatus) -> Dependency {
    let detail = match (&base.revision, base.phase) {
        (None, Phase::Keywords) => format!("reading files: {} of {}", base.files_done, base.files_total),
        (None, _) => "no revision is complete yet".to_owned(),
        (Some(_), Phase::Vectors) => format!("{} of {} vectors", base.vectors, base.chunks - base.without_vector),
        (Some(_), _) => format!("{} documents", base.documents),
    };
    let detail = base.problem.as_ref().map_or(detail.clone(), |problem| format!("{detail}; last sync: {problem}"));
    Dependency { name: format!("knowledge base {}", base.name), ready: base.revision.is_some(), detail }
}
