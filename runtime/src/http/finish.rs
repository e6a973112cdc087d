//! The outermost layer: gives each request an id, writes the body of failures, sets security headers, counts.

use axum::Json;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use std::time::Instant;

use crate::http::app::App;
use crate::http::failure::Failure;
use crate::wire::{ErrorBody, ErrorCode, ErrorDetail};

/// Identity of a request; the caller's own where it sent a usable one.
#[derive(Clone, Debug)]
pub(crate) struct RequestId(pub(crate) String);

/// Longest id that is taken over from a caller.
const MAX_ID: usize = 64;
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Sent with every response. The page needs its own script, style and icon and nothing else.
const SECURITY: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

/// Middleware around everything else.
pub(crate) async fn finish(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let id = RequestId(request_id(request.headers()));
    let started = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map_or("unmatched".into(), |path| path.as_str().to_owned());
    request.extensions_mut().insert(id.clone());
    let mut response = with_body(next.run(request).await, &id);
    complete_headers(response.headers_mut(), &id);
    let elapsed = started.elapsed();
    app.metrics.request(&route, response.status(), elapsed);
    tracing::debug!(%method, route, status = response.status().as_u16(), ?elapsed, request_id = id.0, "request");
    response
}

fn request_id(headers: &HeaderMap) -> String {
    let usable = |id: &&str| !id.is_empty() && id.len() <= MAX_ID && id.bytes().all(|byte| byte.is_ascii_graphic());
    let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok()).filter(usable);
    given.map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned)
}

/// Writes the body of a failure, with the request's id.
fn with_body(mut response: Response, id: &RequestId) -> Response {
    let Some(detail) = response.extensions_mut().remove::<ErrorDetail>() else { return response };
    let (mut parts, _) = response.into_parts();
    let (written, body) = Json(error_body(detail, id)).into_response().into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.extend(written.headers);
    Response::from_parts(parts, body)
}

/// A failure's body.
pub(crate) fn error_body(detail: ErrorDetail, id: &RequestId) -> ErrorBody {
    ErrorBody { error: ErrorDetail { request_id: Some(id.0.clone()), ..detail } }
}

fn complete_headers(headers: &mut HeaderMap, id: &RequestId) {
    for (name, value) in SECURITY {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Ok(value) = HeaderValue::from_str(&id.0) {
        headers.insert(REQUEST_ID, value);
    }
}

/// A route that does not exist.
pub(crate) async fn not_found(request: Request) -> Failure {
    let path = request.uri().path();
    Failure::new(ErrorCode::NotFound, format!("there is nothing at {path}; GET /openapi.json lists what is there"))
}

/// A method that the route does not know; the header `Allow` names those it knows.
pub(crate) async fn method_not_allowed(request: Request) -> Failure {
    let (method, path) = (request.method(), request.uri().path());
    Failure::new(ErrorCode::MethodNotAllowed, format!("{path} does not answer {method}; see the header Allow"))
}
