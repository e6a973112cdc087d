//! `/healthz`, `/readyz` and `/metrics`.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;

use crate::metrics::Metrics;

/// How far the operator is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "phase", rename_all = "camelCase")]
pub(crate) enum Phase {
    /// Not ready: the cluster's definitions are looked at.
    Definitions { message: String },
    /// Ready: another replica works, this one takes over when that one stops.
    Standby,
    /// Not ready: the lease is held, the first lists are under way.
    Listing,
    /// Ready: reconciles.
    Working,
    /// Not ready: ends.
    Stopping,
}

impl Phase {
    fn is_ready(&self) -> bool {
        matches!(self, Self::Standby | Self::Working)
    }
}

/// What the server answers from.
#[derive(Clone)]
pub(crate) struct Health {
    phase: Arc<Mutex<Phase>>,
    metrics: Arc<Metrics>,
}

impl Health {
    pub(crate) fn new(metrics: Arc<Metrics>) -> Self {
        let phase = Phase::Definitions { message: "the definitions have not been read yet".to_owned() };
        Self { phase: Arc::new(Mutex::new(phase)), metrics }
    }

    pub(crate) fn set(&self, phase: Phase) {
        tracing::info!(phase = ?phase, "phase");
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }

    fn phase(&self) -> Phase {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Serves until dropped.
pub(crate) async fn serve(listener: TcpListener, health: Health) -> std::io::Result<()> {
    let router = Router::new()
        // The process answers at all: nothing else is asked, so that no outage of the API server restarts it.
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(readiness))
        .route("/metrics", get(metrics))
        .with_state(health);
    axum::serve(listener, router).await
}

async fn readiness(State(health): State<Health>) -> Response {
    let phase = health.phase();
    let status = if phase.is_ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(phase)).into_response()
}

async fn metrics(State(health): State<Health>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], health.metrics.text()).into_response()
}
