use axum::Json;
use axum::extract::State;
use std::sync::Arc;

use crate::http::access::Caller;
use crate::http::app::App;
use crate::http::extract::QueryString;
use crate::http::failure::Failure;
use crate::http::openapi::Failures;
use crate::wire::{DocumentsQuery, DocumentsResponse};

/// Lists documents, a page at a time.
#[utoipa::path(
    get,
    path = "/v1/documents",
    tag = "documents",
    params(DocumentsQuery),
    responses((status = 200, description = "A page of documents", body = DocumentsResponse), Failures)
)]
pub(crate) async fn documents(
    State(app): State<Arc<App>>,
    Caller(principal): Caller,
    QueryString(query): QueryString<DocumentsQuery>,
) -> Result<Json<DocumentsResponse>, Failure> {
    Ok(Json(app.service.documents(&principal, query).await?))
}
