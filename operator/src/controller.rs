//! Runs the reconciliations of a kind: bounded concurrency, backoff an object, metrics, no two of one object at a time.

use futures::StreamExt;
use kube_runtime::controller::{Action, Config, applier};
use kube_runtime::reflector::{ObjectRef, Store};
use std::sync::Arc;
use std::time::Duration;

use crate::backoff::Backoffs;
use crate::client;
use crate::context::Context;
use crate::metrics::Outcome;
use crate::watch::{Guarded, Requests, Watched};

/// Changes in quick succession are reconciled once.
const DEBOUNCE: Duration = Duration::from_millis(50);

/// Why a reconciliation is tried again. Mistakes of people are conditions and never come here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The API server could not be asked.
    #[error("failed to {action}: {source}")]
    Api {
        action: String,
        #[source]
        source: Box<kube_client::Error>,
    },
}

impl Error {
    pub(crate) fn api(action: impl Into<String>) -> impl FnOnce(kube_client::Error) -> Self {
        let action = action.into();
        move |source| Self::Api { action, source: Box::new(source) }
    }

    /// How long the API server asks to be left alone.
    fn retry_after(&self) -> Option<Duration> {
        let Self::Api { source, .. } = self;
        client::retry_after(source)
    }
}

/// When an object is looked at again without any change.
pub(crate) type Again = Option<Duration>;

/// A kind with its reconciliation.
pub(crate) trait Reconciled: Watched {
    /// Brings the cluster nearer to what the object says.
    fn reconcile(
        object: Arc<Guarded<Self>>,
        context: Arc<Context>,
    ) -> impl Future<Output = Result<Again, Error>> + Send + 'static;
}

/// Reconciles what `requests` names until its senders are gone; then what runs is finished.
pub(crate) async fn control<K: Reconciled>(store: Store<Guarded<K>>, requests: Requests<K>, context: Arc<Context>) {
    let backoffs = Arc::new(Backoffs::<ObjectRef<Guarded<K>>>::new());
    let limits = Config::default().debounce(DEBOUNCE).concurrency(context.settings.concurrency);
    let reconcile = {
        let backoffs = backoffs.clone();
        move |object: Arc<Guarded<K>>, context: Arc<Context>| Box::pin(measured(object, context, backoffs.clone()))
    };
    let failed = |object: Arc<Guarded<K>>, error: &Error, _| {
        let key = ObjectRef::from_obj(&*object);
        let wait = backoffs.failed(key.clone()).max(error.retry_after().unwrap_or_default());
        tracing::warn!(object = %key, %error, again_in_seconds = wait.as_secs(), "failed to reconcile");
        Action::requeue(wait)
    };
    let requests = requests.map(Ok::<_, std::convert::Infallible>);
    applier(reconcile, failed, context, store, requests, limits).for_each(|_| std::future::ready(())).await;
}

async fn measured<K: Reconciled>(
    object: Arc<Guarded<K>>,
    context: Arc<Context>,
    backoffs: Arc<Backoffs<ObjectRef<Guarded<K>>>>,
) -> Result<Action, Error> {
    let kind = K::kind(&());
    let key = ObjectRef::from_obj(&*object);
    let metrics = context.metrics.clone();
    let running = metrics.begin(&kind);
    let again = K::reconcile(object, context).await?;
    running.end(Outcome::Success);
    backoffs.succeeded(&key);
    Ok(again.map_or_else(Action::await_change, Action::requeue))
}
