use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use std::sync::Arc;
use std::time::Duration;

use crate::http::app::App;
use crate::http::openapi::Failures;

/// How long the index may take to say what it holds: a store that does not answer must not take the counters with it.
const STATUS: Duration = Duration::from_secs(3);

/// What the server counted, in Prometheus' text format.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "operations",
    responses((status = 200, description = "Metrics", body = String, content_type = "text/plain"), Failures)
)]
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> impl IntoResponse {
    let status = tokio::time::timeout(STATUS, app.service.status()).await.ok().and_then(Result::ok);
    (
        [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")],
        app.metrics.render(status.as_ref(), app.policy.hash().as_deref()),
    )
}
