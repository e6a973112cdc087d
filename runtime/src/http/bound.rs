//! Bounds every request in time and keeps a panic from taking the connection with it.

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use crate::http::app::App;
use crate::http::failure::Failure;
use crate::wire::ErrorCode;

/// Middleware: ends what takes too long, what panics and what outlives the server. Dropping the handler's future stops
/// its work.
pub(crate) async fn bound(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let limit = limit_of(request.extensions().get::<MatchedPath>(), &app);
    let handled = AssertUnwindSafe(next.run(request)).catch_unwind();
    tokio::select! {
        response = handled => response.unwrap_or_else(|_| crashed().into_response()),
        () = tokio::time::sleep(limit) => too_slow(limit).into_response(),
        () = app.ending.cut.cancelled() => ending().into_response(),
    }
}

fn limit_of(route: Option<&MatchedPath>, app: &App) -> Duration {
    match route.map(MatchedPath::as_str) {
        Some("/v1/ask") => app.answer_time(),
        Some("/v1/sync") => app.limits.sync,
        _ => app.limits.request,
    }
}

/// The handler panicked; its message went to standard error.
pub(crate) fn crashed() -> Failure {
    Failure::new(ErrorCode::Internal, "this request hit a defect of the server; its log has the details")
}

/// The request outlived its bound.
pub(crate) fn too_slow(limit: Duration) -> Failure {
    Failure::new(ErrorCode::Timeout, format!("no answer within {} s", limit.as_secs_f32()))
}

/// The server ends.
pub(crate) fn ending() -> Failure {
    Failure::new(ErrorCode::NotReady, "the server is ending")
}
