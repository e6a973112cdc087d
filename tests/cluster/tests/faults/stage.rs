use anyhow::{Context, Result, bail};
use groundwork_cluster_tests::faults::{Entry, Proxy, oracle};
use groundwork_cluster_tests::{ControlPlane, Installation, Operator, User};
use kube_client::Client;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Secrets are looked for every second, a watch lasts five seconds and a lease three: the shortest that the chart takes.
const IMPATIENT: [&str; 5] = [
    "operator.missingSecretSeconds=1",
    "operator.foundSecretSeconds=1",
    "operator.watchSeconds=5",
    "operator.leaseSeconds=3",
    "ingestion.retrySeconds=1",
];
/// The value of every Secret: it may stand nowhere else.
pub(crate) const CANARY: &str = "canary-91c4e7";
const GROUP: &str = "/apis/groundwork.dev/v1alpha1";
/// Where the kinds are whose objects are compared: ours and those that are made from them.
const COMPARED: [&str; 9] = [
    "/apis/groundwork.dev/v1alpha1/modelendpoints",
    "/apis/groundwork.dev/v1alpha1/knowledgebases",
    "/apis/groundwork.dev/v1alpha1/agentpipelines",
    "/api/v1/configmaps",
    "/api/v1/secrets",
    "/api/v1/services",
    "/api/v1/persistentvolumeclaims",
    "/apis/apps/v1/deployments",
    "/apis/batch/v1/jobs",
];

/// A namespace with an operator that talks through a proxy of its own.
pub(crate) struct Stage<'a> {
    pub(crate) plane: &'a ControlPlane,
    pub(crate) namespace: String,
    pub(crate) proxy: Proxy,
    installation: Installation,
    client: Client,
    started: AtomicUsize,
}

impl<'a> Stage<'a> {
    pub(crate) async fn new(plane: &'a ControlPlane, prefix: &str) -> Result<Self> {
        plane.install_definitions().await?;
        let namespace = plane.namespace(prefix).await?;
        let installation = plane.install_operator(&namespace, &IMPATIENT).await?;
        let (proxy, client) = (Proxy::start(plane).await?, plane.client(User::Admin).await?);
        Ok(Self { plane, namespace, proxy, installation, client, started: AtomicUsize::new(0) })
    }

    /// One more replica behind the proxy of this stage.
    pub(crate) async fn operator(&self) -> Result<Operator<'a>> {
        self.operator_through(&self.proxy).await
    }

    pub(crate) async fn operator_through(&self, proxy: &Proxy) -> Result<Operator<'a>> {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        self.plane.run_operator_through(&self.installation, &format!("r{number}"), proxy).await
    }

    /// Runs `play` while an operator runs that is started again whenever it ends. The last one and how many ended.
    pub(crate) async fn supervised(&self, play: impl Future<Output = Result<()>>) -> Result<(Operator<'a>, usize)> {
        let mut play = pin!(play);
        let mut operator = self.operator().await?;
        let mut ended = 0;
        loop {
            tokio::select! {
                played = &mut play => {
                    played.with_context(|| format!("in {} after {ended} restarts", self.namespace))?;
                    return Ok((operator, ended));
                }
                _ = operator.ended_whenever() => {
                    ended += 1;
                    operator = self.operator().await?;
                }
            }
        }
    }

    /// Applies an object as a person would.
    pub(crate) async fn apply(&self, object: &Value) -> Result<()> {
        let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
        let (group, name) = (group_of(object), object["metadata"]["name"].as_str().unwrap_or_default());
        let path = format!("{group}/namespaces/{}/{kind}s/{name}?fieldManager=person&force=true", self.namespace);
        let request = http::Request::patch(path).header("content-type", "application/apply-patch+yaml");
        self.client.request::<Value>(request.body(serde_json::to_vec(object)?)?).await.map(drop).context("applying")
    }

    /// Deletes an object and waits until it is gone.
    pub(crate) async fn delete(&self, resource: &str, name: &str) -> Result<()> {
        let path = format!("{GROUP}/namespaces/{}/{resource}/{name}", self.namespace);
        self.client.request::<Value>(http::Request::delete(&path).body(Vec::new())?).await?;
        self.plane
            .wait_until("it is gone", async || match self.read(&path).await {
                Err(kube_client::Error::Api(status)) if status.code == 404 => Ok(true),
                other => Ok(other.map(|_| false)?),
            })
            .await
    }

    /// Waits until no object of a kind in the group `batch` has these labels.
    pub(crate) async fn gone(&self, resource: &str, labels: &str) -> Result<()> {
        let path = format!("/apis/batch/v1/namespaces/{}/{resource}?labelSelector={labels}", self.namespace);
        self.plane
            .wait_until("they are gone", async || {
                Ok(self.read(&path).await?["items"].as_array().is_some_and(Vec::is_empty))
            })
            .await
    }

    /// An object of ours.
    pub(crate) async fn object(&self, resource: &str, name: &str) -> Result<Value> {
        Ok(self.read(&format!("{GROUP}/namespaces/{}/{resource}/{name}", self.namespace)).await?)
    }

    /// The version at which a Secret came, which nobody has changed since.
    pub(crate) async fn secret_since(&self, name: &str) -> Result<u64> {
        let secret = self.read(&format!("/api/v1/namespaces/{}/secrets/{name}", self.namespace)).await?;
        oracle::version(&secret).context("a Secret has a version")
    }

    async fn read(&self, path: &str) -> kube_client::Result<Value> {
        let request = http::Request::get(path).body(Vec::new());
        self.client.request(request.map_err(kube_client::Error::HttpError)?).await
    }

    /// Waits until an object has a condition about its newest generation, and its status is about it.
    pub(crate) async fn reaches(&self, resource: &str, name: &str, wanted: [&str; 3]) -> Result<Value> {
        let [kind, status, reason] = wanted;
        self.plane
            .wait_until(&format!("{name} has {kind}={status} {reason}"), async || {
                let object = self.object(resource, name).await?;
                let found = condition(&object, kind);
                let generation = &object["metadata"]["generation"];
                let newest =
                    found["observedGeneration"] == *generation && object["status"]["observedGeneration"] == *generation;
                if newest && found["status"] == status && found["reason"] == reason {
                    return Ok(true);
                }
                bail!("{}", object["status"])
            })
            .await?;
        self.object(resource, name).await
    }

    /// Everything in the namespace but what the chart installed, masked.
    pub(crate) async fn state(&self) -> Result<BTreeMap<String, Value>> {
        let mut state = BTreeMap::new();
        for collection in COMPARED {
            let (group, resource) = collection.rsplit_once('/').context("a collection has a resource")?;
            let list = self.read(&format!("{group}/namespaces/{}/{resource}", self.namespace)).await?;
            for object in list["items"].as_array().into_iter().flatten() {
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                let installed = self.installation.objects().iter().any(|other| other["metadata"]["name"] == name);
                if !installed {
                    state.insert(format!("{resource}/{name}"), oracle::masked(object, &self.namespace));
                }
            }
        }
        Ok(state)
    }

    /// All requests of operators so far.
    pub(crate) fn log(&self) -> Vec<Entry> {
        self.proxy.since(0)
    }

    /// What everybody can read: logs, statuses, Events and metrics.
    pub(crate) async fn texts(&self, last: &Operator<'_>) -> Result<Vec<(&'static str, String)>> {
        let keeper = self.plane.keeper();
        let logs = 0..self.started.load(Ordering::Relaxed);
        let logs: String =
            logs.map(|number| keeper.printed(&format!("operator-{}-r{number}", self.namespace))).collect();
        let events = self.read(&format!("/apis/events.k8s.io/v1/namespaces/{}/events", self.namespace)).await?;
        let (_, metrics) = last.get("/metrics").await?;
        let mut texts = vec![("the log", logs), ("an Event", events.to_string()), ("the metrics", metrics)];
        for collection in COMPARED.iter().filter(|collection| !collection.ends_with("/secrets")) {
            let (group, resource) = collection.rsplit_once('/').context("a collection has a resource")?;
            let list = self.read(&format!("{group}/namespaces/{}/{resource}", self.namespace)).await?;
            texts.push(("an object", list.to_string()));
        }
        Ok(texts)
    }
}

fn group_of(object: &Value) -> String {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    if version == "v1" { "/api/v1".to_owned() } else { format!("/apis/{version}") }
}

pub(crate) fn condition(object: &Value, kind: &str) -> Value {
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default()
}

/// A Secret with a key for models.
pub(crate) fn secret(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"api-key": CANARY}})
}
