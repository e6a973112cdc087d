use axum::Router;
use axum::http::header;
use axum::routing::get;
use std::sync::Arc;
use utoipa::openapi::OpenApi;

use crate::http::app::App;

/// `GET /openapi.json`: the description, written out once.
pub(crate) fn route(description: &OpenApi) -> Router<Arc<App>> {
    let json: Arc<str> = description.to_json().expect("a description is plain data").into();
    let handler = move || async move { ([(header::CONTENT_TYPE, "application/json")], json.to_string()) };
    Router::new().route("/openapi.json", get(handler))
}
