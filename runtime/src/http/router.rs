//! Routes and the layers around them.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use std::sync::Arc;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::http::app::App;
use crate::http::endpoints::{ask, chunk, document, documents, healthz, metrics, openapi, page, readyz, search, sync};
use crate::http::openapi::Description;
use crate::http::{bound, finish, guard};

/// Everything, ready to serve.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let (router, description) = described().split_for_parts();
    page::routes(router.merge(openapi::route(&description)))
        .fallback(finish::not_found)
        .method_not_allowed_fallback(finish::method_not_allowed)
        .layer(DefaultBodyLimit::max(app.limits.body))
        .layer(from_fn_with_state(app.clone(), bound::bound))
        .layer(from_fn_with_state(app.clone(), guard::check))
        .layer(from_fn_with_state(app.clone(), finish::finish))
        .with_state(app.clone())
}

/// The routes that `/openapi.json` describes.
pub(crate) fn described() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(ask::ask))
        .routes(routes!(search::search))
        .routes(routes!(documents::documents))
        .routes(routes!(document::document))
        .routes(routes!(chunk::chunk))
        .routes(routes!(sync::sync))
        .routes(routes!(healthz::healthz))
        .routes(routes!(readyz::readyz))
        .routes(routes!(metrics::metrics))
}
