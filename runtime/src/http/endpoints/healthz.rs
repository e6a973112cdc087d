use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::openapi::Failures;

/// That the process answers.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// Version of the binary.
    #[schema(example = "0.1.0")]
    pub(crate) version: &'static str,
}

/// Whether the process lives. Looks at nothing else.
#[utoipa::path(
    get,
    path = "/healthz",
    tag = "operations",
    responses((status = 200, description = "It lives", body = Health), Failures)
)]
pub(crate) async fn healthz() -> Json<Health> {
    Json(Health { version: env!("CARGO_PKG_VERSION") })
}
