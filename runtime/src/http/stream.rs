//! An answer as server-sent events.

use axum::response::sse::{Event, KeepAlive, Sse};
use futures::future::BoxFuture;
use futures::{FutureExt, Stream, stream};
use groundwork_knowledge::store::Principal;
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::Instant;

use crate::http::admission::Permit;
use crate::http::app::App;
use crate::http::bound;
use crate::http::failure::Failure;
use crate::http::finish::{RequestId, error_body};
use crate::wire::{AskEvent, AskRequest};

/// How often a silent stream sends a comment, so that a vanished client is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// Runs the question while its events are read. Dropping the stream, as the server does when the client leaves, stops
/// the run and frees its place.
pub(crate) fn answer(
    app: Arc<App>,
    (principal, request): (Principal, AskRequest),
    id: RequestId,
    permit: Permit,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let limit = app.answer_time();
    let (sender, events) = unbounded_channel();
    let service = app.service.clone();
    let run = async move {
        let mut observe = |event| drop(sender.send(event));
        service.ask(&principal, request, &mut observe).await?;
        Ok(())
    };
    let run = AssertUnwindSafe(run).catch_unwind().map(|ended| ended.unwrap_or_else(|_| Err(bound::crashed())));
    let run = Run {
        app,
        events,
        working: Some(run.boxed()),
        failure: None,
        limit,
        deadline: Instant::now() + limit,
        id,
        _permit: permit,
    };
    Sse::new(stream::unfold(Some(run), next)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

/// A question at work.
struct Run {
    app: Arc<App>,
    events: UnboundedReceiver<AskEvent>,
    /// `None` once it ended; only events that wait, and then its failure, are left.
    working: Option<BoxFuture<'static, Result<(), Failure>>>,
    failure: Option<Failure>,
    limit: Duration,
    deadline: Instant,
    id: RequestId,
    _permit: Permit,
}

/// The next event, and what is left. The last event is `done` or `error`.
async fn next(run: Option<Run>) -> Option<(Result<Event, Infallible>, Option<Run>)> {
    let mut run = run?;
    match run.step().await {
        Ok(Some(event)) => {
            let event = run.written(&event);
            Some((Ok(event), Some(run)))
        }
        Ok(None) => None,
        Err(failure) => Some((Ok(run.failed(failure)), None)),
    }
}

impl Run {
    async fn step(&mut self) -> Result<Option<AskEvent>, Failure> {
        while let Some(working) = self.working.as_mut() {
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => return Ok(Some(event)),
                ended = working => {
                    self.working = None;
                    self.failure = ended.err();
                }
                () = tokio::time::sleep_until(self.deadline) => return Err(bound::too_slow(self.limit)),
                () = self.app.ending.cut.cancelled() => return Err(bound::ending()),
            }
        }
        match (self.events.recv().await, self.failure.take()) {
            (None, Some(failure)) => Err(failure),
            (event, failure) => {
                self.failure = failure;
                Ok(event)
            }
        }
    }

    fn written(&self, event: &AskEvent) -> Event {
        self.app.metrics.event(event);
        let mut data = serde_json::to_value(event).expect("an event is plain data");
        let name = data.as_object_mut().and_then(|fields| fields.remove("event"));
        let name = name.as_ref().and_then(|name| name.as_str()).expect("an event carries its name");
        Event::default().event(name).json_data(&data).expect("JSON has no line ends")
    }

    fn failed(&self, failure: Failure) -> Event {
        let body = error_body(failure.into_detail(), &self.id);
        Event::default().event("error").json_data(body).expect("an error is plain data")
    }
}
