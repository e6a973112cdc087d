use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use std::sync::Arc;

use crate::http::access::Caller;
use crate::http::app::App;
use crate::http::extract::JsonBody;
use crate::http::failure::Failure;
use crate::http::finish::RequestId;
use crate::http::openapi::WorkFailures;
use crate::http::stream;
use crate::wire::{Answer, AskEvent, AskRequest};

/// Answers a question from the documents.
///
/// With `stream: true` the reply is a stream of server-sent events: `retrieval`, `sentence` (only after its citations
/// passed), `repair`, and `done` with the whole answer, or `error` with an error's body.
#[utoipa::path(
    post,
    path = "/v1/ask",
    tag = "questions",
    request_body(content = AskRequest, example = json!({"question": "How long is the notice period?"})),
    responses(
        (status = 200, description = "The answer", content((Answer = "application/json"), (AskEvent = "text/event-stream"))),
        WorkFailures
    )
)]
pub(crate) async fn ask(
    State(app): State<Arc<App>>,
    Caller(principal): Caller,
    Extension(id): Extension<RequestId>,
    JsonBody(request): JsonBody<AskRequest>,
) -> Result<Response, Failure> {
    let permit = app.admit(&principal).await?;
    if request.stream {
        return Ok(stream::answer(app, (principal, request), id, permit).into_response());
    }
    let answer = app.service.ask(&principal, request, &mut |event| app.metrics.event(&event)).await?;
    Ok(Json(answer).into_response())
}
