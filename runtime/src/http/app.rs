//! What every handler shares.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

use crate::http::admission::Admission;
use crate::http::metrics::Metrics;
use crate::local::Service;

/// What every handler shares.
pub(crate) struct App {
    /// The instance that is served.
    pub(crate) service: Arc<dyn Service>,
    /// Where the server listens; guards compare with it.
    pub(crate) address: SocketAddr,
    /// Bounds of time, size and number.
    pub(crate) limits: Limits,
    /// Who may work at the same time.
    pub(crate) admission: Admission,
    /// What was counted.
    pub(crate) metrics: Metrics,
    /// The two steps of ending.
    pub(crate) ending: Ending,
}

impl App {
    /// An application around a service.
    pub(crate) fn new(service: Arc<dyn Service>, address: SocketAddr, limits: Limits) -> Arc<Self> {
        let admission = Admission::new(limits.concurrent, limits.queued, limits.queue_time);
        Arc::new(Self { service, address, limits, admission, metrics: Metrics::new(), ending: Ending::default() })
    }
}

/// Bounds of time, size and number.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Bytes of a request's body.
    pub(crate) body: usize,
    /// Questions and searches at work at the same time.
    pub(crate) concurrent: usize,
    /// Questions and searches that wait for a place; further ones are answered 429.
    pub(crate) queued: usize,
    /// How long one waits for a place before it is answered 429.
    pub(crate) queue_time: Duration,
    /// Whole time of an answer, its stream included.
    pub(crate) ask: Duration,
    /// Whole time of a sync that somebody waits for.
    pub(crate) sync: Duration,
    /// Whole time of every other request.
    pub(crate) request: Duration,
    /// How long running requests may go on after the server was asked to end.
    pub(crate) drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 1_000_000,
            concurrent: 8,
            queued: 32,
            queue_time: Duration::from_secs(10),
            ask: Duration::from_secs(180),
            sync: Duration::from_secs(3600),
            request: Duration::from_secs(30),
            drain: Duration::from_secs(10),
        }
    }
}

/// The two steps of ending: first no new work, later no work at all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ending {
    /// No new connections and no new work.
    pub(crate) draining: CancellationToken,
    /// Whatever still runs ends now, streams with an event.
    pub(crate) cut: CancellationToken,
}
