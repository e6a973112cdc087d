//! What every handler shares.

use groundwork_policy::Throttle;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

use crate::http::access::Access;
use crate::http::admission::{Admission, Permit};
use crate::http::failure::Failure;
use crate::http::metrics::Metrics;
use crate::live::PolicyInForce;
use crate::local::{Service, ServiceError};
use groundwork_knowledge::store::Principal;

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
    /// Who may ask.
    pub(crate) access: Access,
    /// What questions and callers may use.
    pub(crate) policy: Arc<PolicyInForce>,
    /// How often each caller may ask.
    throttle: Throttle,
    /// What was counted.
    pub(crate) metrics: Metrics,
    /// The two steps of ending.
    pub(crate) ending: Ending,
}

impl App {
    /// An application around a service.
    pub(crate) fn new(
        service: Arc<dyn Service>,
        address: SocketAddr,
        (access, policy): (Access, Arc<PolicyInForce>),
        limits: Limits,
    ) -> Arc<Self> {
        let admission = Admission::new(limits.concurrent, limits.queued, limits.queue_time);
        let throttle = Throttle::new(&policy.current().map(|policy| policy.limits.clone()).unwrap_or_default());
        let (metrics, ending) = (Metrics::new(), Ending::default());
        Arc::new(Self { service, address, limits, admission, access, policy, throttle, metrics, ending })
    }

    /// Lets a caller work: within the limits of the policy in force, then when there is a place.
    pub(crate) async fn admit(&self, principal: &Principal) -> Result<Permit, Failure> {
        let policy = self.policy.current().map_err(|refusal| {
            self.metrics.refused(refusal.rule);
            ServiceError::from(refusal)
        })?;
        self.throttle.change(&policy.limits);
        let slot = self.throttle.admit(&principal.subject).map_err(|throttled| {
            self.metrics.refused(throttled.refusal.rule);
            Failure::throttled(throttled)
        })?;
        Ok(self.admission.admit().await?.with(slot))
    }

    /// Whole time of an answer that begins now, its stream included.
    pub(crate) fn answer_time(&self) -> Duration {
        let given = || {
            self.policy.current().map_or(Duration::ZERO, |policy| Duration::from_millis(policy.limits.wall_clock_ms))
        };
        self.limits.ask.unwrap_or_else(|| given() + LATE)
    }
}

/// What an answer whose time is over may take to be sent.
const LATE: Duration = Duration::from_secs(10);

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
    /// Whole time of an answer, its stream included; what the policy gives where left out.
    pub(crate) ask: Option<Duration>,
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
            ask: None,
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
