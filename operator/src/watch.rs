//! One watch a kind: keeps a copy of all objects and says which were touched.

use futures::StreamExt;
use futures::channel::mpsc::{self, UnboundedReceiver, UnboundedSender};
use groundwork_crds::{AgentPipeline, KnowledgeBase, ModelEndpoint, ToolPolicy};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use kube_client::core::DeserializeGuard;
use kube_client::{Api, Client, Resource};
use kube_runtime::WatchStreamExt;
use kube_runtime::controller::ReconcileRequest;
use kube_runtime::reflector::store::Writer;
use kube_runtime::reflector::{ObjectRef, Store};
use kube_runtime::watcher::{self, Event, watcher};
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use crate::client;
use crate::metrics::Metrics;

/// A kind that the operator works with.
pub(crate) trait Watched:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned + Send + Sync + 'static
{
}

impl Watched for KnowledgeBase {}
impl Watched for AgentPipeline {}
impl Watched for ModelEndpoint {}
impl Watched for ToolPolicy {}
impl Watched for Job {}
impl Watched for Deployment {}

/// An object that may have been stored by a newer version: such a one never stops the others.
pub(crate) type Guarded<K> = DeserializeGuard<K>;

/// Which namespaces are watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Namespace(String),
    All,
}

impl Scope {
    fn api<K: Watched>(&self, client: Client) -> Api<Guarded<K>> {
        match self {
            Self::Namespace(namespace) => Api::namespaced(client, namespace),
            Self::All => Api::all(client),
        }
    }
}

/// Objects that wait for their reconciliation.
pub(crate) struct Queue<K: Watched>(UnboundedSender<ReconcileRequest<Guarded<K>>>);

impl<K: Watched> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// The other end of a [`Queue`].
pub(crate) type Requests<K> = UnboundedReceiver<ReconcileRequest<Guarded<K>>>;

impl<K: Watched> Queue<K> {
    /// The scheduler behind it keeps an object once, however often it is added.
    pub(crate) fn new() -> (Self, Requests<K>) {
        let (sender, receiver) = mpsc::unbounded();
        (Self(sender), receiver)
    }

    /// Adds an object. Nothing happens once the controllers have stopped.
    pub(crate) fn add(&self, namespace: &str, name: &str) {
        let request = ReconcileRequest::from(ObjectRef::new(name).within(namespace));
        let _ = self.0.unbounded_send(request);
    }
}

/// Watches a kind until dropped and calls `touched` with each object that came, changed or went: with its old and its new
/// state where it changed, so that whatever it named before is told, too.
pub(crate) async fn watch<K: Watched>(
    client: Client,
    scope: &Scope,
    settings: watcher::Config,
    mut writer: Writer<Guarded<K>>,
    metrics: Arc<Metrics>,
    touched: impl Fn(&Guarded<K>),
) {
    let store = writer.as_reader();
    let mut events = pin!(watcher(scope.api::<K>(client), settings).default_backoff());
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => {
                for object in changed(&mut writer, &store, &event) {
                    touched(&object);
                }
            }
            Err(error) => {
                metrics.watch_failed(&K::kind(&()));
                tracing::warn!(kind = %K::kind(&()), %error, "a watch broke; it is begun anew");
                // The stream's own waiting goes on meanwhile.
                tokio::time::sleep(retry_after(&error).unwrap_or_default()).await;
            }
        }
    }
}

/// How long the API server asks to be left alone.
fn retry_after(error: &watcher::Error) -> Option<Duration> {
    use watcher::Error::{InitialListFailed, WatchFailed, WatchStartFailed};
    match error {
        InitialListFailed(error) | WatchStartFailed(error) | WatchFailed(error) => client::retry_after(error),
        _ => None,
    }
}

/// Takes an event into the store. What is touched by it, in its old and its new state. A new list touches everything: also
/// what it no longer has.
fn changed<K: Watched>(
    writer: &mut Writer<Guarded<K>>,
    store: &Store<Guarded<K>>,
    event: &Event<Guarded<K>>,
) -> Vec<Arc<Guarded<K>>> {
    let before = match event {
        Event::Apply(object) | Event::Delete(object) => store.get(&ObjectRef::from_obj(object)).into_iter().collect(),
        Event::InitDone => store.state(),
        Event::Init | Event::InitApply(_) => Vec::new(),
    };
    writer.apply_watcher_event(event);
    let after = match event {
        Event::Apply(object) | Event::Delete(object) => vec![Arc::new(object.clone())],
        Event::InitDone => store.state(),
        Event::Init | Event::InitApply(_) => Vec::new(),
    };
    before.into_iter().chain(after).collect()
}
