//! Knowledge bases on a real API server: real Jobs, real garbage collection, and a kubelet that only says how pods end.

use anyhow::{Context, Result, ensure};
use groundwork_cluster_tests::{ControlPlane, Fate, Kubelet, Operator, User};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::bench::{Bench, condition};

pub(crate) fn knowledge_base(name: &str, text: &str) -> Value {
    json!({
        "apiVersion": "groundwork.dev/v1alpha1", "kind": "KnowledgeBase", "metadata": {"name": name},
        "spec": {
            "sources": [{"name": "notes", "type": "Inline", "inline": {"documents": [{"path": "a.md", "content": text}]}}],
            "embedding": {"type": "Hashing", "hashing": {"dimensions": 64}},
            "vectorStore": {"type": "Qdrant", "qdrant": {"url": "http://qdrant.example:6334"}},
        },
    })
}

fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, last) = pointer.rsplit_once('/').unwrap_or_default();
    object.pointer_mut(parent).and_then(Value::as_object_mut).map(|map| map.insert(last.to_owned(), value));
    object
}

async fn kubelet(
    bench: &Bench<'_>,
    decide: impl FnMut(&groundwork_config::Ingestion) -> Fate + Send + 'static,
) -> Result<Kubelet> {
    Ok(Kubelet::run(bench.plane.client(User::Admin).await?, &bench.namespace, decide))
}

async fn synced(bench: &Bench<'_>, operator: &Operator<'_>, name: &str) -> Result<Value> {
    bench.comes_to(operator, ("kb", name), ("Synced", "True", "Complete")).await?;
    bench.comes_to(operator, ("kb", name), ("Reconciling", "False", "Reconciled")).await
}

/// Waits until a knowledge base was synced by another Job than `before`.
async fn synced_again(bench: &Bench<'_>, operator: &Operator<'_>, before: &Value) -> Result<Value> {
    let name = before["metadata"]["name"].as_str().context("it has a name")?;
    let what = format!("{name} was ingested once more");
    operator
        .wait_until(&what, async || {
            let now = bench.get("kb", name).await?;
            let (new, old) = (&now["status"]["lastRun"], &before["status"]["lastRun"]);
            ensure!(new["job"] != old["job"] && new["outcome"] == "Complete", "{}", now["status"]);
            Ok(true)
        })
        .await?;
    synced(bench, operator, name).await
}

/// A knowledge base that is ingested twice, and whose spec then writes a default out: nothing is built for that.
pub(crate) async fn is_ingested(bench: &Bench<'_>, operator: &Operator<'_>) -> Result<()> {
    let kubelet = kubelet(bench, |ingestion| Fate::complete(ingestion, 1)).await?;
    bench.apply(knowledge_base("whole", "One.")).await?;
    let first = synced(bench, operator, "whole").await?;
    bench.apply(knowledge_base("whole", "Two.")).await?;
    let second = synced_again(bench, operator, &first).await?;
    let revision = format!("kb-whole-revision-{}", second["status"]["activeRevision"].as_str().unwrap_or_default());
    let spec = async || {
        let stored = bench.get("configmap", &revision).await?;
        Ok::<_, anyhow::Error>(stored["metadata"]["annotations"]["groundwork.dev/spec-hash"].clone())
    };
    let before = spec().await?;
    bench.apply(with(knowledge_base("whole", "Two."), "/spec/chunking", json!({"childTokens": 100}))).await?;
    operator.wait_until("the other spelling is remembered", async || Ok(spec().await? != before)).await?;
    let third = synced(bench, operator, "whole").await?;
    ensure!(third["status"]["lastRun"] == second["status"]["lastRun"], "{}", third["status"]);
    ensure!(kubelet.started().len() == 2, "{:?}", kubelet.problem());
    Ok(())
}

/// Created, changed, asked to sync, rebuilt, broken, repaired, deleted: what each step leaves.
#[tokio::test]
async fn a_knowledge_base_is_ingested_followed_and_rebuilt_all_its_life() -> Result<()> {
    let test = "a_knowledge_base_is_ingested_followed_and_rebuilt_all_its_life";
    let Some(plane) = ControlPlane::shared(test).await? else { return Ok(()) };
    let bench = Bench::new(plane, "kb").await?;
    let kubelet = kubelet(&bench, |ingestion| Fate::complete(ingestion, 3)).await?;
    let operator = bench.run("a").await?;

    bench.apply(knowledge_base("notes", "One.")).await?;
    let first = synced(&bench, &operator, "notes").await?;
    let status = &first["status"];
    let revision = status["activeRevision"].as_str().context("a revision is read")?.to_owned();
    ensure!(status["documents"] == 3 && status["lastSync"]["added"] == 3, "{status}");
    ensure!(status["contractHash"].as_str().is_some_and(|hash| hash.starts_with(&revision)), "{status}");
    ensure!(condition(&first, "Ready")["status"] == "True" && status["buildingRevision"].is_null(), "{status}");
    let stored = bench.get("configmap", &format!("kb-notes-revision-{revision}")).await?;
    ensure!(stored["immutable"] == true, "{stored}");
    let job = bench.get("job", "kb-notes-ingest").await?;
    ensure!(job["spec"]["podReplacementPolicy"] == "Failed", "{job}");

    // A changed document: the same revision, another Job.
    bench.apply(knowledge_base("notes", "Two.")).await?;
    let second = synced_again(&bench, &operator, &first).await?;
    ensure!(second["status"]["activeRevision"] == revision.as_str(), "{}", second["status"]);
    // Asked to.
    bench.kubectl(&["annotate", "kb", "notes", "groundwork.dev/sync-requested-at=now"]).await?;
    let third = synced_again(&bench, &operator, &second).await?;
    ensure!(third["status"]["lastRun"]["syncRequestedAt"] == "now", "{}", third["status"]);
    // Another way to cut: another revision, and the old one's contract is kept.
    let chunking = with(knowledge_base("notes", "Two."), "/spec/chunking", json!({"childTokens": 50}));
    bench.apply(chunking.clone()).await?;
    let fourth = synced_again(&bench, &operator, &third).await?;
    ensure!(fourth["status"]["activeRevision"] != revision.as_str(), "{}", fourth["status"]);
    bench.get("configmap", &format!("kb-notes-revision-{revision}")).await?;

    // Broken: what is read stays, and it says what to do. Repaired: nothing is left to do, so nothing runs.
    let broken = with(chunking.clone(), "/spec/sync", json!({"schedule": "61 0 * * *"}));
    bench.apply(broken).await?;
    let invalid = bench.comes_to(&operator, ("kb", "notes"), ("Stalled", "True", "Invalid")).await?;
    let message = condition(&invalid, "Accepted")["message"].as_str().unwrap_or_default().to_owned();
    ensure!(message.contains("spec.sync.schedule"), "{message}");
    ensure!(condition(&invalid, "Ready")["status"] == "True", "{}", invalid["status"]);
    bench.apply(chunking).await?;
    let repaired = synced(&bench, &operator, "notes").await?;
    ensure!(repaired["status"]["lastRun"]["job"] == fourth["status"]["lastRun"]["job"], "{}", repaired["status"]);

    ensure!(kubelet.started().len() == 4 && kubelet.together().is_empty(), "{:?}", kubelet.problem());
    bench.kubectl(&["delete", "kb", "notes"]).await?;
    operator
        .wait_until("everything of it is gone", async || {
            let left = bench.kubectl(&[
                "get",
                "jobs,pods,configmaps,pvc",
                "-l",
                "groundwork.dev/knowledge-base=notes",
                "-o",
                "name",
            ]);
            Ok(left.await?.trim().is_empty())
        })
        .await
}

#[tokio::test]
async fn what_a_knowledge_base_names_is_waited_for_and_what_it_lacks_is_told() -> Result<()> {
    let test = "what_a_knowledge_base_names_is_waited_for_and_what_it_lacks_is_told";
    let Some(plane) = ControlPlane::shared(test).await? else { return Ok(()) };
    let bench = Bench::new(plane, "refs").await?;
    let _kubelet = kubelet(&bench, |ingestion| Fate::complete(ingestion, 1)).await?;
    let operator = bench.run("a").await?;

    let mut embedded = knowledge_base("file", "One.");
    embedded["spec"].as_object_mut().map(|spec| spec.remove("vectorStore"));
    bench.apply(embedded).await?;
    let refused = bench.comes_to(&operator, ("kb", "file"), ("Accepted", "False", "StoreRequired")).await?;
    ensure!(condition(&refused, "Accepted")["message"].to_string().contains("spec.vectorStore"), "{refused}");

    let mut base = knowledge_base("all", "One.");
    base["spec"]["sources"] = json!([
        {"name": "files", "type": "PersistentVolumeClaim", "persistentVolumeClaim": {"claimName": "docs"}},
    ]);
    base["spec"]["embedding"] = json!({"type": "ModelEndpoint", "modelEndpoint": {"name": "model", "dimensions": 8}});
    base["spec"]["vectorStore"]["qdrant"]["credentials"] = json!({"secretKeyRef": {"name": "store", "key": "key"}});
    bench.apply(base).await?;
    let waits = async |reason: &str| bench.comes_to(&operator, ("kb", "all"), ("ResolvedRefs", "False", reason)).await;
    waits("EndpointNotFound").await?;
    let endpoint = |uses: Value| {
        json!({
            "apiVersion": "groundwork.dev/v1alpha1", "kind": "ModelEndpoint", "metadata": {"name": "model"},
            "spec": {
                "baseURL": "http://models.example/v1", "model": "tiny", "uses": uses,
                "apiKey": {"secretKeyRef": {"name": "models", "key": "key"}},
            },
        })
    };
    bench.apply(endpoint(json!(["Chat"]))).await?;
    waits("EndpointNotForThis").await?;
    bench.apply(endpoint(json!(["Chat", "Embeddings"]))).await?;
    let missing = waits("SecretNotFound").await?;
    let message = condition(&missing, "ResolvedRefs")["message"].to_string();
    ensure!(message.contains("spec.vectorStore.qdrant.credentials.secretKeyRef.name"), "{message}");
    bench.kubectl(&["create", "secret", "generic", "store", "--from-literal=key=canary-91c4"]).await?;
    let missing = waits("SecretNotFound").await?;
    let message = condition(&missing, "ResolvedRefs")["message"].to_string();
    ensure!(message.contains("models") || message.contains("store"), "{message}");
    bench.kubectl(&["create", "secret", "generic", "models", "--from-literal=key=canary-55d0"]).await?;
    let missing = waits("ClaimNotFound").await?;
    ensure!(condition(&missing, "Ready")["reason"] == "WaitingForReferences", "{}", missing["status"]);
    bench
        .apply(json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "docs"},
            "spec": {"accessModes": ["ReadOnlyMany"], "resources": {"requests": {"storage": "1Gi"}}},
        }))
        .await?;
    synced(&bench, &operator, "all").await?;
    let pod = bench.get("job", "kb-all-ingest").await?["spec"]["template"]["spec"].to_string();
    ensure!(pod.contains("\"secretName\":\"models\"") && pod.contains("\"secretName\":\"store\""), "{pod}");
    let all = bench.kubectl(&["get", "kb,cm,jobs,events.events.k8s.io", "-o", "json"]).await?;
    ensure!(!all.contains("canary-") && !operator.log().contains("canary-"), "the value of a Secret leaked");
    Ok(())
}

/// A Job that dies, one that says nothing, one whose report is not complete: each is told, and tried again.
#[tokio::test]
async fn an_ingestion_that_goes_wrong_is_told_and_repeated_and_switches_nothing() -> Result<()> {
    let test = "an_ingestion_that_goes_wrong_is_told_and_repeated_and_switches_nothing";
    let Some(plane) = ControlPlane::shared(test).await? else { return Ok(()) };
    let bench = Bench::new(plane, "wrong").await?;
    let run = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&run);
    let kubelet = kubelet(&bench, move |ingestion| match count.fetch_add(1, Ordering::SeqCst) {
        0 => Fate::Ends(137, String::new()),
        1 => Fate::Ends(0, String::new()),
        2 => {
            let mut report = Fate::report(ingestion, 1);
            (report.complete, report.problem) = (false, Some("12 of 20 documents are gone".to_owned()));
            Fate::Ends(0, report.message())
        }
        _ => Fate::complete(ingestion, 1),
    })
    .await?;
    let operator = bench.run("a").await?;
    let base = with(knowledge_base("notes", "One."), "/spec/ingestion", json!({"backoffLimit": 0}));
    bench.apply(base).await?;
    let reached = async |reason: &str| {
        let what = format!("it says {reason}");
        operator
            .wait_until(&what, async || {
                let events = bench.kubectl(&["get", "events.events.k8s.io", "-o", "json"]).await?;
                Ok(events.contains(&format!("\"reason\": \"{reason}\"")))
            })
            .await
    };
    for reason in ["IngestionFailed", "ReportLost", "Incomplete"] {
        reached(reason).await?;
    }
    let done = synced(&bench, &operator, "notes").await?;
    ensure!(done["status"]["lastRun"]["failures"] == 0, "{}", done["status"]);
    ensure!(kubelet.started().len() == 4 && kubelet.together().is_empty(), "{:?}", kubelet.problem());
    Ok(())
}

/// An edit while an index is built: the build ends, the newest spec wins, and no two pods write at a time.
#[tokio::test]
async fn an_edit_during_a_build_replaces_it() -> Result<()> {
    let test = "an_edit_during_a_build_replaces_it";
    let Some(plane) = ControlPlane::shared(test).await? else { return Ok(()) };
    let bench = Bench::new(plane, "edit").await?;
    let kubelet = kubelet(&bench, |ingestion| match ingestion.knowledge_base.contract.chunking.child_tokens {
        59 => Fate::complete(ingestion, 1),
        _ => Fate::Runs,
    })
    .await?;
    let operator = bench.run("a").await?;
    for tokens in 50..60 {
        bench.apply(with(knowledge_base("notes", "One."), "/spec/chunking", json!({"childTokens": tokens}))).await?;
    }
    let done = synced(&bench, &operator, "notes").await?;
    let started = kubelet.started();
    let last = started.last().context("a pod ran")?;
    ensure!(last.ingestion.knowledge_base.contract.chunking.child_tokens == 59, "the newest spec was built last");
    ensure!(kubelet.together().is_empty(), "{:?}", kubelet.together());
    ensure!(done["status"]["lastRun"]["configHash"] == last.ingestion.hash().as_str(), "{}", done["status"]);
    Ok(())
}

/// Many at once, in the middle of which the operator is killed: all are ingested, never more than may be at a time, each as
/// often as it must, and then nothing is written any more.
#[tokio::test]
async fn many_at_once_are_all_ingested_a_few_at_a_time_also_over_a_kill() -> Result<()> {
    let test = "many_at_once_are_all_ingested_a_few_at_a_time_also_over_a_kill";
    let Some(plane) = ControlPlane::shared(test).await? else { return Ok(()) };
    let bench = Bench::new(plane, "many").await?;
    let kubelet = kubelet(&bench, |ingestion| Fate::complete(ingestion, 1)).await?;
    let operator = bench.run("a").await?;
    let count = 40;
    let all: Vec<Value> = (0..count).map(|index| knowledge_base(&format!("kb-{index:03}"), "One.")).collect();
    bench.apply(json!({"apiVersion": "v1", "kind": "List", "items": all})).await?;
    operator.wait_until("a quarter is in", async || Ok(kubelet.started().len() >= count / 4)).await?;
    operator.end(Signal::KILL).await?;
    let operator = bench.run("b").await?;
    operator
        .wait_until("all are in", async || {
            let bases: Value = serde_json::from_str(&bench.kubectl(&["get", "kb", "-o", "json"]).await?)?;
            let ready = bases["items"].as_array().into_iter().flatten();
            let ready = ready.filter(|base| condition(base, "Synced")["status"] == "True").count();
            ensure!(ready == count, "{ready} of {count}; {:?}", kubelet.problem());
            Ok(true)
        })
        .await?;
    ensure!(kubelet.started().len() == count, "{} pods for {count} knowledge bases", kubelet.started().len());
    ensure!(kubelet.together().is_empty(), "{:?}", kubelet.together());
    let writes = || -> Result<usize> {
        let counted =
            |event: &&groundwork_cluster_tests::AuditEvent| event.is_write() && !event.resource().contains("leases");
        Ok(bench.requests()?.iter().filter(counted).count())
    };
    // Told apart from silence by a later request that is seen.
    let before = writes()?;
    bench.kubectl(&["annotate", "kb", "kb-000", "note=read"]).await?;
    bench.kubectl(&["annotate", "kb", "kb-000", "groundwork.dev/sync-requested-at=now"]).await?;
    let object = bench.get("kb", "kb-000").await?;
    synced_again(&bench, &operator, &object).await?;
    let touched: Vec<String> = bench
        .requests()?
        .into_iter()
        .filter(|event| event.is_write() && !event.resource().contains("leases"))
        .skip(before)
        .map(|event| format!("{} {}", event.verb, event.resource()))
        .collect();
    ensure!(touched.len() < 12, "one sync takes a few writes, and nothing else is written: {touched:?}");
    Ok(())
}
