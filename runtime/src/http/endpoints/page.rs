use axum::Router;
use axum::http::{HeaderName, header};
use axum::response::IntoResponse;
use axum::routing::get;
use std::sync::Arc;

use crate::http::app::App;
use crate::http::page::{HTML, ICON, SCRIPT, STYLE};

/// The page and its three files.
pub(crate) fn routes(router: Router<Arc<App>>) -> Router<Arc<App>> {
    router
        .route("/", get(async || file("text/html; charset=utf-8", HTML)))
        .route("/style.css", get(async || file("text/css; charset=utf-8", STYLE)))
        .route("/app.js", get(async || file("text/javascript; charset=utf-8", SCRIPT)))
        .route("/favicon.svg", get(async || file("image/svg+xml", ICON)))
}

/// `no-cache`, so that a newer binary's page is never mixed with an older one's script.
fn file(kind: &'static str, content: &'static str) -> impl IntoResponse {
    let headers: [(HeaderName, &str); 2] = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")];
    (headers, content)
}
