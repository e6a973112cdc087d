use axum::Json;
use axum::extract::{Path, State};
use std::sync::Arc;

use crate::http::access::Caller;
use crate::http::app::App;
use crate::http::failure::Failure;
use crate::http::openapi::Failures;
use crate::wire::{DocumentView, ErrorBody};

/// A document with its whole normalised text.
#[utoipa::path(
    get,
    path = "/v1/documents/{id}",
    tag = "documents",
    params(("id" = String, Path, description = "Identity of the document")),
    responses(
        (status = 200, description = "The document", body = DocumentView),
        (status = 404, description = "There is no such document", body = ErrorBody),
        Failures
    )
)]
pub(crate) async fn document(
    State(app): State<Arc<App>>,
    Caller(principal): Caller,
    Path(id): Path<String>,
) -> Result<Json<DocumentView>, Failure> {
    Ok(Json(app.service.document(&principal, &id).await?))
}
