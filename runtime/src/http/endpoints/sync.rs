use axum::Json;
use axum::extract::State;
use std::sync::Arc;

use crate::http::app::App;
use crate::http::extract::JsonBody;
use crate::http::failure::Failure;
use crate::http::openapi::WorkFailures;
use crate::wire::{SyncRequest, SyncResponse};

/// Brings the index up to date with the folder now, and tells what changed.
#[utoipa::path(
    post,
    path = "/v1/sync",
    tag = "operations",
    request_body(content = SyncRequest, example = json!({"accept_deletes": false, "wait_for_vectors": false})),
    responses((status = 200, description = "What the sync did", body = SyncResponse), WorkFailures)
)]
pub(crate) async fn sync(
    State(app): State<Arc<App>>,
    JsonBody(request): JsonBody<SyncRequest>,
) -> Result<Json<SyncResponse>, Failure> {
    Ok(Json(app.service.sync(request).await?))
}
