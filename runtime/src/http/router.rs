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
use crate::http::health::{self, Health};
use crate::http::openapi::Description;
use crate::http::{access, bound, finish, guard};

/// Everything on one loopback address, ready to serve.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let (router, description) = described().split_for_parts();
    let guarded = bounded(identified(router, &description, app), app);
    finished(guarded.layer(from_fn_with_state(app.clone(), guard::check)), app)
}

/// What callers of a network use. Which names lead here is not known, so `Host` is not looked at; a page of another site
/// still cannot send JSON or read a reply.
pub(crate) fn api_router(app: &Arc<App>) -> Router {
    let (router, description) = questions().split_for_parts();
    finished(bounded(identified(router, &description, app), app), app)
}

/// What a cluster asks of a pod, on a port of its own.
pub(crate) fn health_router(app: &Arc<App>, health: Arc<Health>) -> Router {
    let routes = OpenApiRouter::new().routes(routes!(healthz::healthz)).routes(routes!(metrics::metrics));
    let (router, _) = routes.split_for_parts();
    finished(bounded(router.merge(health::route(health)), app), app)
}

/// The routes, whose callers are known, with the page and the description for everybody.
fn identified(routes: Router<Arc<App>>, description: &utoipa::openapi::OpenApi, app: &Arc<App>) -> Router<Arc<App>> {
    let routes = routes.route_layer(from_fn_with_state(app.clone(), access::identify));
    page::routes(routes.merge(openapi::route(description)))
}

fn bounded(routes: Router<Arc<App>>, app: &Arc<App>) -> Router<Arc<App>> {
    routes
        .fallback(finish::not_found)
        .method_not_allowed_fallback(finish::method_not_allowed)
        .layer(DefaultBodyLimit::max(app.limits.body))
        .layer(from_fn_with_state(app.clone(), bound::bound))
}

fn finished(routes: Router<Arc<App>>, app: &Arc<App>) -> Router {
    routes.layer(from_fn_with_state(app.clone(), finish::finish)).with_state(app.clone())
}

/// The routes for questions.
fn questions() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(ask::ask))
        .routes(routes!(search::search))
        .routes(routes!(documents::documents))
        .routes(routes!(document::document))
        .routes(routes!(chunk::chunk))
}

/// The routes that `/openapi.json` of a local instance describes.
pub(crate) fn described() -> OpenApiRouter<Arc<App>> {
    questions()
        .routes(routes!(sync::sync))
        .routes(routes!(healthz::healthz))
        .routes(routes!(readyz::readyz))
        .routes(routes!(metrics::metrics))
}
