use axum::Json;
use axum::extract::State;
use std::sync::Arc;

use crate::http::access::Caller;
use crate::http::app::App;
use crate::http::extract::JsonBody;
use crate::http::failure::Failure;
use crate::http::openapi::WorkFailures;
use crate::wire::{SearchRequest, SearchResponse};

/// Finds passages without answering, with each arm's rank and score.
#[utoipa::path(
    post,
    path = "/v1/search",
    tag = "questions",
    request_body(content = SearchRequest, example = json!({"query": "notice period", "top_k": 5})),
    responses((status = 200, description = "Passages, best first", body = SearchResponse), WorkFailures)
)]
pub(crate) async fn search(
    State(app): State<Arc<App>>,
    Caller(principal): Caller,
    JsonBody(request): JsonBody<SearchRequest>,
) -> Result<Json<SearchResponse>, Failure> {
    let _permit = app.admit(&principal).await?;
    let response = app.service.search(&principal, request).await?;
    app.metrics.arms(&response.arms);
    Ok(Json(response))
}
