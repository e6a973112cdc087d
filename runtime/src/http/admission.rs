//! Bounds how much runs and how much waits.

use groundwork_policy::Slot;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::failure::Failure;
use crate::wire::ErrorCode;

/// Lets a bounded number work and a bounded number wait.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    working: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    queue_time: Duration,
}

/// A place among those at work; leaving scope frees it.
#[derive(Debug)]
#[allow(dead_code, reason = "held for their drops")]
pub(crate) struct Permit(OwnedSemaphorePermit, Option<Slot>);

impl Permit {
    /// Holds a caller's own place as long as this one.
    pub(crate) fn with(self, slot: Slot) -> Self {
        Self(self.0, Some(slot))
    }
}

impl Admission {
    /// At most `concurrent` work and `queued` wait, each at most `queue_time`.
    pub(crate) fn new(concurrent: usize, queued: usize, queue_time: Duration) -> Self {
        let waiting = Arc::new(Semaphore::new(queued));
        Self { working: Arc::new(Semaphore::new(concurrent)), waiting, queue_time }
    }

    /// A place, at once or after waiting; a full queue refuses at once.
    pub(crate) async fn admit(&self) -> Result<Permit, Failure> {
        if let Ok(permit) = self.working.clone().try_acquire_owned() {
            return Ok(Permit(permit, None));
        }
        let _waiting = self.waiting.try_acquire().map_err(|_| busy())?;
        match tokio::time::timeout(self.queue_time, self.working.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(Permit(permit, None)),
            Ok(Err(_)) | Err(_) => Err(busy()),
        }
    }
}

fn busy() -> Failure {
    Failure::new(ErrorCode::TooManyRequests, "too many questions at once; try again in a moment")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_works_one_waits_and_the_third_is_refused_at_once() {
        let admission = Admission::new(1, 1, Duration::from_secs(60));
        let first = admission.admit().await.unwrap();
        let waiting = tokio::spawn({
            let admission = admission.clone();
            async move { admission.admit().await }
        });
        tokio::task::yield_now().await;
        assert_eq!(admission.admit().await.unwrap_err().into_detail().code, ErrorCode::TooManyRequests);
        drop(first);
        assert!(waiting.await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn who_waits_too_long_is_refused() {
        let admission = Admission::new(1, 1, Duration::from_millis(30));
        let _first = admission.admit().await.unwrap();
        let started = tokio::time::Instant::now();
        assert!(admission.admit().await.is_err());
        assert!(started.elapsed() >= Duration::from_millis(30));
    }
}
