//! Which replica works: a Lease as client-go's leader election uses it, with a client of its own that retries nothing.
//!
//! Two safety margins keep two replicas apart. A holder trusts a renewal for two thirds of the lease, counted from before it
//! was sent. Another replica takes over only after it has seen the same renewal for a whole lease by its own clock, so clocks
//! need not agree.

mod decide;

use decide::{Seen, Step, decide};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube_client::api::{ObjectMeta, PostParams};
use kube_client::{Api, Client};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::names::MANAGER;

/// Whether this replica may send requests, readable from anywhere.
#[derive(Clone, Debug)]
pub(crate) struct Leadership {
    until: watch::Receiver<Option<Instant>>,
}

impl Leadership {
    /// Whether the lease is held at this moment. True only up to a time that was set beforehand, so it is right also after
    /// the process stood still.
    pub(crate) fn is_held(&self) -> bool {
        self.until.borrow().is_some_and(|until| Instant::now() < until)
    }
}

/// Whose lease it is and how long it lasts.
#[derive(Clone, Debug)]
pub(crate) struct LeaseSettings {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Unique among replicas and restarts.
    pub(crate) identity: String,
    pub(crate) duration: Duration,
}

impl LeaseSettings {
    /// How long a renewal is trusted.
    fn trusted(&self) -> Duration {
        self.duration * 2 / 3
    }

    /// Time between two tries.
    fn retry(&self) -> Duration {
        self.duration * 2 / 15
    }
}

/// Takes the lease, keeps it and gives it back.
pub(crate) struct Elector {
    api: Api<Lease>,
    settings: LeaseSettings,
    until: watch::Sender<Option<Instant>>,
    seen: Option<Seen>,
}

impl Elector {
    pub(crate) fn new(client: Client, settings: LeaseSettings) -> (Self, Leadership) {
        let (until, receiver) = watch::channel(None);
        let api = Api::namespaced(client, &settings.namespace);
        (Self { api, settings, until, seen: None }, Leadership { until: receiver })
    }

    /// Returns once the lease is held.
    pub(crate) async fn acquire(&mut self) {
        loop {
            match self.attempt().await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => tracing::warn!(lease = self.settings.name, %error, "failed to take the lease"),
            }
            tokio::time::sleep(self.settings.retry()).await;
        }
    }

    /// Keeps the lease; returns once it is lost.
    pub(crate) async fn hold(&mut self) {
        loop {
            tokio::time::sleep(self.settings.retry()).await;
            let Some(until) = *self.until.borrow() else { return };
            match tokio::time::timeout_at(until, self.attempt()).await {
                Ok(Ok(true)) => {}
                Ok(Ok(false)) => return self.lose(),
                Ok(Err(error)) => tracing::warn!(lease = self.settings.name, %error, "failed to renew the lease"),
                Err(_) => return self.lose(),
            }
        }
    }

    /// Gives the lease back, so that another replica need not wait for its end. Nothing may be sent any more from now on.
    pub(crate) async fn release(&mut self) {
        let held = self.until.borrow().is_some();
        self.lose();
        if held && let Err(error) = self.give_back().await {
            tracing::warn!(lease = self.settings.name, %error, "failed to give the lease back; it ends by itself");
        }
    }

    async fn give_back(&mut self) -> kube_client::Result<()> {
        let known = match self.seen.take() {
            Some(seen) => Some(seen.lease),
            // A renewal failed or was under way: nobody knows what became of it.
            None => self.api.get_opt(&self.settings.name).await?,
        };
        let Some(mut lease) = known else { return Ok(()) };
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_ref() == Some(&self.settings.identity) {
            (spec.holder_identity, spec.lease_duration_seconds) = (Some(String::new()), Some(1));
            self.replace(&lease).await?;
        }
        Ok(())
    }

    fn lose(&self) {
        self.until.send_replace(None);
    }

    /// One try to take or renew it; false where somebody else has it.
    async fn attempt(&mut self) -> kube_client::Result<bool> {
        let start = Instant::now();
        // What was written last is the newest unless somebody else wrote; then the write conflicts.
        let known = if self.until.borrow().is_some() { self.seen.take() } else { None };
        let lease = match known {
            Some(seen) => Some(seen.lease),
            None => self.api.get_opt(&self.settings.name).await?,
        };
        let written = match decide(lease.as_ref(), self.seen.as_ref(), &self.settings.identity, start) {
            Step::Create => self.api.create(&PostParams::default(), &self.lease(None)).await,
            Step::Take { transitions } => self.replace(&self.lease(lease.map(|old| (old, transitions)))).await,
            Step::Renew => {
                let transitions = lease.as_ref().and_then(|old| old.spec.as_ref()?.lease_transitions);
                self.replace(&self.lease(lease.map(|old| (old, transitions.unwrap_or_default())))).await
            }
            Step::Wait(seen) => {
                self.seen = Some(*seen);
                return Ok(false);
            }
        };
        match written {
            Ok(lease) => {
                self.seen = Some(Seen { lease, since: start });
                self.until.send_replace(Some(start + self.settings.trusted()));
                Ok(true)
            }
            Err(kube_client::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {
                // Perhaps an own write whose answer was lost: the next try reads it.
                self.until.borrow().map_or(Ok(false), |_| Err(kube_client::Error::Api(status)))
            }
            Err(error) => Err(error),
        }
    }

    async fn replace(&self, lease: &Lease) -> kube_client::Result<Lease> {
        self.api.replace(&self.settings.name, &PostParams::default(), lease).await
    }

    fn lease(&self, old: Option<(Lease, i32)>) -> Lease {
        let now = MicroTime(jiff::Timestamp::now());
        let identity = Some(self.settings.identity.clone());
        let held = old.as_ref().and_then(|(old, _)| old.spec.clone()).filter(|spec| spec.holder_identity == identity);
        let metadata = old.as_ref().map_or_else(
            || ObjectMeta { name: Some(self.settings.name.clone()), ..ObjectMeta::default() },
            |(old, _)| ObjectMeta { managed_fields: None, ..old.metadata.clone() },
        );
        let spec = LeaseSpec {
            acquire_time: held.and_then(|spec| spec.acquire_time).or(Some(now.clone())),
            holder_identity: identity,
            lease_duration_seconds: i32::try_from(self.settings.duration.as_secs()).ok(),
            lease_transitions: Some(old.map_or(0, |(_, transitions)| transitions)),
            renew_time: Some(now),
            ..LeaseSpec::default()
        };
        Lease { metadata, spec: Some(spec) }
    }
}

/// Unique among replicas and restarts of one.
pub(crate) fn identity(pod_name: Option<&str>) -> String {
    let host = || std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    let name = pod_name.map(str::to_owned).or_else(host).unwrap_or_else(|| MANAGER.to_owned());
    format!("{name}_{}", uuid::Uuid::new_v4())
}
