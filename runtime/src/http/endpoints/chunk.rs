use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

use crate::http::access::Caller;
use crate::http::app::App;
use crate::http::extract::QueryString;
use crate::http::failure::Failure;
use crate::http::openapi::Failures;
use crate::wire::{ChunkView, ErrorBody, Scope};

/// How much text comes around the chunk.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ChunkQuery {
    /// `passage` where left out.
    #[param(inline, required = false)]
    pub(crate) scope: Scope,
}

/// A chunk in its place: what a citation opens.
#[utoipa::path(
    get,
    path = "/v1/chunks/{id}",
    tag = "documents",
    params(("id" = String, Path, description = "Identity of the chunk"), ChunkQuery),
    responses(
        (status = 200, description = "The chunk with the text around it", body = ChunkView),
        (status = 404, description = "There never was such a chunk, as far as is remembered", body = ErrorBody),
        (
            status = 410,
            description = "It vanished: `document` names its document, and `document_id` where that is still there",
            body = ErrorBody
        ),
        Failures
    )
)]
pub(crate) async fn chunk(
    State(app): State<Arc<App>>,
    Caller(principal): Caller,
    Path(id): Path<String>,
    QueryString(query): QueryString<ChunkQuery>,
) -> Result<Json<ChunkView>, Failure> {
    Ok(Json(app.service.chunk(&principal, &id, query.scope).await?))
}
