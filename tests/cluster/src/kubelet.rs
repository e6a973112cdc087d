//! The one fake of these tests: a kubelet that runs no container. It reads what a pod's containers would read and writes the
//! status that their end would have; everything between is the real thing.

use anyhow::{Context, Result};
use groundwork_config::{Ingestion, IngestionReport, Serving, revision_id};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube_client::api::{ListParams, Patch, PatchParams};
use kube_client::{Api, Client, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;

const POLL: Duration = Duration::from_millis(50);
const INGESTION: &str = "app.kubernetes.io/component=ingestion";
const RUNTIME: &str = "app.kubernetes.io/component=runtime";
/// Pods of images with this word never become ready.
const BROKEN: &str = "broken";

/// How a pod's container ends.
#[derive(Clone, Debug)]
pub enum Fate {
    /// With this exit code and termination message.
    Ends(i32, String),
    /// Not by itself.
    Runs,
}

impl Fate {
    /// Everything was ingested: `documents` new ones.
    pub fn complete(ingestion: &Ingestion, documents: u64) -> Self {
        Self::Ends(0, Self::report(ingestion, documents).message())
    }

    /// What a complete ingestion says.
    pub fn report(ingestion: &Ingestion, documents: u64) -> IngestionReport {
        IngestionReport {
            config: ingestion.hash(),
            revision: revision_id(&ingestion.knowledge_base.contract),
            complete: true,
            started_at: "2026-01-01T00:00:00Z".into(),
            finished_at: "2026-01-01T00:00:01Z".into(),
            documents,
            chunks: documents,
            added: documents,
            ..IngestionReport::default()
        }
    }
}

/// A pod that was started: its knowledge base and what it read.
#[derive(Clone, Debug)]
pub struct Started {
    /// Uid of the pod.
    pub pod: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// What it read.
    pub ingestion: Ingestion,
}

/// A pod that serves.
#[derive(Clone, Debug)]
pub struct Served {
    /// Its image.
    pub image: String,
    /// What it read.
    pub serving: Serving,
}

#[derive(Default)]
struct Seen {
    started: Vec<Started>,
    served: Vec<Served>,
    known: BTreeSet<String>,
    together: Vec<String>,
    problem: Option<String>,
}

/// A running kubelet; dropping it ends it.
pub struct Kubelet {
    seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
}

impl Kubelet {
    /// Gives every ingestion pod of a namespace the fate that `decide` says, in the order in which they are seen.
    pub fn run(client: Client, namespace: &str, decide: impl FnMut(&Ingestion) -> Fate + Send + 'static) -> Self {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (shared, namespace) = (Arc::clone(&seen), namespace.to_owned());
        let task = tokio::spawn(async move {
            let mut decide = decide;
            loop {
                let looked = async {
                    look(&client, &namespace, &shared, &mut decide).await?;
                    serve(&client, &namespace, &shared).await
                };
                if let Err(error) = looked.await {
                    locked(&shared).problem = Some(format!("{error:#}"));
                }
                tokio::time::sleep(POLL).await;
            }
        });
        Self { seen, task }
    }

    /// The pods that were started so far.
    pub fn started(&self) -> Vec<Started> {
        locked(&self.seen).started.clone()
    }

    /// The pods that were started so far to serve.
    pub fn served(&self) -> Vec<Served> {
        locked(&self.seen).served.clone()
    }

    /// Knowledge bases of which two pods were alive at a time: never any.
    pub fn together(&self) -> Vec<String> {
        locked(&self.seen).together.clone()
    }

    /// The newest failure of the kubelet itself, for the message of a test.
    pub fn problem(&self) -> Option<String> {
        locked(&self.seen).problem.clone()
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn locked(seen: &Mutex<Seen>) -> std::sync::MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn look(
    client: &Client,
    namespace: &str,
    seen: &Mutex<Seen>,
    decide: &mut (impl FnMut(&Ingestion) -> Fate + Send),
) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let listed = pods.list(&ListParams::default().labels(INGESTION)).await?;
    let mut alive: BTreeMap<String, usize> = BTreeMap::new();
    for pod in &listed.items {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending");
        if matches!(phase, "Pending" | "Running") {
            *alive
                .entry(pod.labels().get("groundwork.dev/knowledge-base").cloned().unwrap_or_default())
                .or_default() += 1;
        }
    }
    locked(seen).together.extend(alive.into_iter().filter(|(_, count)| *count > 1).map(|(name, _)| name));
    for pod in listed.items {
        let uid = pod.uid().unwrap_or_default();
        if pod.metadata.deletion_timestamp.is_some() || locked(seen).known.contains(&uid) {
            continue;
        }
        let Some(ingestion) = configuration(client, namespace, &pod).await? else { continue };
        let spec = pod.spec.as_ref().context("a pod has a spec")?;
        let arguments = spec.containers[0].args.clone().unwrap_or_default();
        let fate = decide(&ingestion);
        {
            let mut seen = locked(seen);
            seen.known.insert(uid.clone());
            seen.started.push(Started { pod: uid, arguments, ingestion });
        }
        let status = status(&spec.containers[0].name, &fate);
        let patch = Patch::Merge(json!({"status": status}));
        match pods.patch_status(&pod.name_any(), &PatchParams::default(), &patch).await {
            Err(kube_client::Error::Api(status)) if status.is_not_found() => {}
            other => drop(other?),
        }
    }
    Ok(())
}

/// Makes every pod that serves ready, unless its image is broken.
async fn serve(client: &Client, namespace: &str, seen: &Mutex<Seen>) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    for pod in pods.list(&ListParams::default().labels(RUNTIME)).await?.items {
        let uid = pod.uid().unwrap_or_default();
        if pod.metadata.deletion_timestamp.is_some() || locked(seen).known.contains(&uid) {
            continue;
        }
        let Some(serving) = read(client, namespace, &pod, "serving.json").await? else { continue };
        let image = pod.spec.as_ref().and_then(|spec| spec.containers[0].image.clone()).unwrap_or_default();
        let ready = !image.contains(BROKEN);
        let truth = if ready { "True" } else { "False" };
        let condition =
            |kind: &str| json!({"type": kind, "status": truth, "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let conditions = ["Ready", "ContainersReady"].map(condition);
        let patch = Patch::Merge(json!({"status": {
            "phase": "Running",
            "conditions": conditions,
            "containerStatuses": [{
                "name": "runtime", "image": image, "imageID": "", "ready": ready, "restartCount": 0,
                "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
            }],
        }}));
        match pods.patch_status(&pod.name_any(), &PatchParams::default(), &patch).await {
            Err(kube_client::Error::Api(status)) if status.is_not_found() => continue,
            other => drop(other?),
        }
        let mut seen = locked(seen);
        seen.known.insert(uid);
        seen.served.push(Served { image, serving });
    }
    Ok(())
}

async fn configuration(client: &Client, namespace: &str, pod: &Pod) -> Result<Option<Ingestion>> {
    read(client, namespace, pod, "ingestion.json").await
}

/// What the pod's container would read, once it is there.
async fn read<T: DeserializeOwned>(client: &Client, namespace: &str, pod: &Pod, file: &str) -> Result<Option<T>> {
    let volumes = pod.spec.as_ref().and_then(|spec| spec.volumes.clone()).unwrap_or_default();
    let name = volumes.into_iter().find_map(|volume| volume.config_map).context("the pod mounts a ConfigMap")?.name;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let Some(map) = maps.get_opt(&name).await? else { return Ok(None) };
    let data = map.data.unwrap_or_default();
    let text = data.get(file).context("the ConfigMap has the file that the arguments name")?;
    Ok(Some(serde_json::from_str(text)?))
}

fn status(container: &str, fate: &Fate) -> Value {
    let (phase, state) = match fate {
        Fate::Runs => ("Running", json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}})),
        Fate::Ends(code, message) => {
            let (phase, reason) = if *code == 0 { ("Succeeded", "Completed") } else { ("Failed", "Error") };
            let state = json!({"terminated": {
                "exitCode": code, "reason": reason, "message": message,
                "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:01Z",
            }});
            (phase, state)
        }
    };
    json!({
        "phase": phase,
        "containerStatuses": [{
            "name": container, "image": "", "imageID": "", "ready": phase == "Running", "restartCount": 0, "state": state,
        }],
    })
}
