use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use std::sync::Arc;

use crate::http::app::App;
use crate::http::openapi::Failures;

/// What the server counted, in Prometheus' text format.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "operations",
    responses((status = 200, description = "Metrics", body = String, content_type = "text/plain"), Failures)
)]
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> impl IntoResponse {
    let status = app.service.status().await.ok();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], app.metrics.render(status.as_ref()))
}
