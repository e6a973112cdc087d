//! Watches on their way back to the operator.

use anyhow::Result;
use futures::{Stream, StreamExt, stream};
use http::Response;
use http::header::CONTENT_TYPE;
use reqwest::Body;
use serde_json::json;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::proxy::{Shared, passed_on};
use super::{Call, Fault};

/// A watch whose answer has begun.
struct Open<S> {
    shared: Arc<Shared>,
    call: Call,
    frozen: Arc<AtomicBool>,
    changes: watch::Receiver<()>,
    begun: Instant,
    events: S,
    cut: bool,
}

/// The API server's answer, with what the rules say while it is open.
pub(super) fn pass_on(
    shared: Arc<Shared>,
    call: Call,
    frozen: Arc<AtomicBool>,
    response: reqwest::Response,
) -> Result<Response<Body>> {
    let mut answer = Response::builder().status(response.status()).body(Body::default())?;
    *answer.headers_mut() = passed_on(response.headers());
    let changes = shared.changes.subscribe();
    let events = response.bytes_stream();
    let open = Open { shared, call, frozen, changes, begun: Instant::now(), events: Box::pin(events), cut: false };
    *answer.body_mut() = Body::wrap_stream(stream::unfold(open, async |mut open| {
        let next = open.next().await?;
        Some((next, open))
    }));
    Ok(answer)
}

/// The answer to a watch from a version that the API server no longer has.
pub(super) fn expired() -> Result<Response<Body>> {
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
        "message": "too old resource version", "reason": "Expired", "code": 410,
    });
    let event = format!("{}\n", json!({"type": "ERROR", "object": status}));
    Ok(Response::builder().header(CONTENT_TYPE, "application/json").body(Body::from(event))?)
}

impl<S, B> Open<S>
where
    S: Stream<Item = reqwest::Result<B>> + Unpin,
{
    async fn next(&mut self) -> Option<io::Result<B>> {
        if self.cut {
            return None;
        }
        loop {
            if self.frozen.load(Ordering::Relaxed) {
                return std::future::pending().await;
            }
            let end = match self.shared.fault_of_open(&self.call) {
                Some(Fault::CutWatch(after)) => Some(self.begun + after),
                _ => None,
            };
            let end = async {
                match end {
                    Some(end) => sleep_until(end).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                changed = self.changes.changed() => if changed.is_err() { return None },
                () = end => {
                    self.cut = true;
                    return Some(Err(io::Error::other("cut by a test")));
                }
                event = self.events.next() => return event.map(|event| event.map_err(io::Error::other)),
            }
        }
    }
}
