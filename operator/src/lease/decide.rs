//! What to do about a lease that was read: pure.

use k8s_openapi::api::coordination::v1::Lease;
use std::time::Duration;
use tokio::time::Instant;

/// Where nobody says how long a lease lasts.
const UNSAID: Duration = Duration::from_secs(15);

/// A lease as it was read, and since when it has been so by this process's clock.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) lease: Lease,
    pub(super) since: Instant,
}

/// The next step.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// There is no lease.
    Create,
    /// It is given back, or its holder has been silent for its whole length.
    Take { transitions: i32 },
    /// It is ours.
    Renew,
    /// It is somebody else's; what was seen of it.
    Wait(Box<Seen>),
}

/// `before` is what the last [`Step::Wait`] said.
pub(super) fn decide(lease: Option<&Lease>, before: Option<&Seen>, identity: &str, now: Instant) -> Step {
    let Some(lease) = lease else { return Step::Create };
    let spec = lease.spec.clone().unwrap_or_default();
    let holder = spec.holder_identity.unwrap_or_default();
    if holder == identity {
        return Step::Renew;
    }
    let transitions = spec.lease_transitions.unwrap_or_default().saturating_add(1);
    if holder.is_empty() {
        return Step::Take { transitions };
    }
    let version = |lease: &Lease| lease.metadata.resource_version.clone();
    let since = before.filter(|seen| version(&seen.lease) == version(lease)).map_or(now, |seen| seen.since);
    let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    if now.duration_since(since) > seconds.map_or(UNSAID, Duration::from_secs) {
        return Step::Take { transitions };
    }
    Step::Wait(Box::new(Seen { lease: lease.clone(), since }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::coordination::v1::LeaseSpec;
    use kube_client::api::ObjectMeta;

    fn lease(holder: &str, version: &str) -> Lease {
        Lease {
            metadata: ObjectMeta { resource_version: Some(version.into()), ..ObjectMeta::default() },
            spec: Some(LeaseSpec {
                holder_identity: Some(holder.into()),
                lease_duration_seconds: Some(15),
                lease_transitions: Some(3),
                ..LeaseSpec::default()
            }),
        }
    }

    fn seen(lease: Lease, since: Instant) -> Box<Seen> {
        Box::new(Seen { lease, since })
    }

    #[test]
    fn without_a_lease_one_is_made() {
        assert_eq!(decide(None, None, "me", Instant::now()), Step::Create);
    }

    #[test]
    fn an_own_lease_is_renewed_and_a_free_one_is_taken() {
        assert_eq!(decide(Some(&lease("me", "1")), None, "me", Instant::now()), Step::Renew);
        assert_eq!(decide(Some(&lease("", "1")), None, "me", Instant::now()), Step::Take { transitions: 4 });
    }

    #[test]
    fn a_lease_of_another_is_taken_after_its_whole_length_without_a_renewal() {
        let start = Instant::now();
        let other = lease("other", "1");
        assert_eq!(decide(Some(&other), None, "me", start), Step::Wait(seen(other.clone(), start)));
        let before = seen(other.clone(), start);
        let early = start + Duration::from_secs(15);
        assert_eq!(decide(Some(&other), Some(&before), "me", early), Step::Wait(before.clone()));
        let late = start + Duration::from_millis(15_001);
        assert_eq!(decide(Some(&other), Some(&before), "me", late), Step::Take { transitions: 4 });
        let renewed = lease("other", "2");
        assert_eq!(decide(Some(&renewed), Some(&before), "me", late), Step::Wait(seen(renewed.clone(), late)));
    }
}
