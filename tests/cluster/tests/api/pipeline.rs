//! Pipelines on a real API server: real Deployments and ReplicaSets, and a kubelet that only says which pods are ready.

use anyhow::{Context, Result, ensure};
use groundwork_cluster_tests::{ControlPlane, Fate, Kubelet, Operator, User};
use serde_json::{Value, json};

use crate::bench::{Bench, condition};
use crate::knowledge_base::knowledge_base;

fn pipeline(name: &str, base: &str) -> Value {
    json!({
        "apiVersion": "groundwork.dev/v1alpha1", "kind": "AgentPipeline", "metadata": {"name": name},
        "spec": {"knowledgeBases": [{"name": base}], "authentication": {"type": "None"}},
    })
}

async fn kubelet(bench: &Bench<'_>) -> Result<Kubelet> {
    let client = bench.plane.client(User::Admin).await?;
    Ok(Kubelet::run(client, &bench.namespace, |ingestion| Fate::complete(ingestion, 1)))
}

async fn comes_to(bench: &Bench<'_>, operator: &Operator<'_>, name: &str, wanted: [&str; 3]) -> Result<Value> {
    let [kind, status, reason] = wanted;
    bench.comes_to(operator, ("ap", name), (kind, status, reason)).await
}

/// Waits until all pods have the configuration that the status names, and it is not that of `before`.
async fn rolled_out(bench: &Bench<'_>, operator: &Operator<'_>, name: &str, before: &Value) -> Result<Value> {
    let what = format!("{name} is rolled out anew");
    operator
        .wait_until(&what, async || {
            let now = bench.get("ap", name).await?;
            let done = condition(&now, "Progressing")["reason"] == "RolledOut";
            ensure!(done && now["status"]["configHash"] != before["status"]["configHash"], "{}", now["status"]);
            Ok(true)
        })
        .await?;
    comes_to(bench, operator, name, ["Reconciling", "False", "Reconciled"]).await
}

/// A pipeline that waits, comes, follows its knowledge base, and goes.
pub(crate) async fn is_rolled_out(bench: &Bench<'_>, operator: &Operator<'_>) -> Result<()> {
    let kubelet = kubelet(bench).await?;
    bench.apply(pipeline("help", "manual")).await?;
    comes_to(bench, operator, "help", ["ResolvedRefs", "False", "KnowledgeBaseNotFound"]).await?;
    bench.apply(knowledge_base("manual", "One.")).await?;
    let first = rolled_out(bench, operator, "help", &Value::Null).await?;
    ensure!(condition(&first, "Ready")["status"] == "True", "{}", first["status"]);
    let mut recut = knowledge_base("manual", "One.");
    for tokens in [50, 60, 70] {
        let before = bench.get("ap", "help").await?;
        recut["spec"]["chunking"] = json!({"childTokens": tokens});
        bench.apply(recut.clone()).await?;
        rolled_out(bench, operator, "help", &before).await?;
    }
    let configurations = "configmaps,-l,groundwork.dev/pipeline=help,-o,name";
    let arguments: Vec<&str> = std::iter::once("get").chain(configurations.split(',')).collect();
    operator
        .wait_until("only configurations that can be returned to are kept", async || {
            let listed = bench.kubectl(&arguments).await?;
            Ok(listed.lines().filter(|line| line.contains("-config-")).count() == 3)
        })
        .await?;
    ensure!(kubelet.problem().is_none(), "{:?}", kubelet.problem());
    bench.kubectl(&["delete", "ap", "help"]).await?;
    operator
        .wait_until("everything of it is gone", async || {
            let left = [
                "get",
                "deployments,pods,services,sa,pdb,configmaps",
                "-l",
                "groundwork.dev/pipeline=help",
                "-o",
                "name",
            ];
            Ok(bench.kubectl(&left).await?.trim().is_empty())
        })
        .await
}

#[tokio::test]
async fn a_pipeline_follows_what_it_names_and_a_broken_one_keeps_the_pods_before() -> Result<()> {
    let test = "a_pipeline_follows_what_it_names_and_a_broken_one_keeps_the_pods_before";
    let Some(plane) = ControlPlane::shared(test).await? else { return Ok(()) };
    let bench = Bench::new(plane, "ap").await?;
    let kubelet = kubelet(&bench).await?;
    let operator = bench.run("a").await?;
    let desk = waits_for_what_it_names(&bench, &operator).await?;
    is_told_another_policy_without_a_rollout(&bench, &operator).await?;
    keeps_its_pods_while_others_are_broken(&bench, &operator, &kubelet, desk).await?;
    is_left_alone_once_all_is_said(&bench, &operator).await
}

async fn waits_for_what_it_names(bench: &Bench<'_>, operator: &Operator<'_>) -> Result<Value> {
    let mut desk = pipeline("desk", "notes");
    desk["spec"].as_object_mut().map(|spec| spec.remove("authentication"));
    bench.apply(desk).await?;
    let refused = comes_to(bench, operator, "desk", ["Accepted", "False", "AuthenticationRequired"]).await?;
    ensure!(condition(&refused, "Accepted")["message"].to_string().contains("spec.authentication"), "{refused}");
    let mut desk = pipeline("desk", "notes");
    desk["spec"]["authentication"] = json!({"type": "ApiKeys", "apiKeys": {"secretRef": {"name": "callers"}}});
    desk["spec"]["toolPolicyRef"] = json!({"name": "narrow"});
    desk["spec"]["runtime"] = json!({"replicas": 2, "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}}});
    bench.apply(desk.clone()).await?;
    comes_to(bench, operator, "desk", ["ResolvedRefs", "False", "KnowledgeBaseNotFound"]).await?;
    bench.apply(knowledge_base("notes", "One.")).await?;
    comes_to(bench, operator, "desk", ["ResolvedRefs", "False", "PolicyNotFound"]).await?;
    bench.apply(policy(1000)).await?;
    comes_to(bench, operator, "desk", ["ResolvedRefs", "False", "SecretNotFound"]).await?;
    bench.kubectl(&["create", "secret", "generic", "callers", "--from-literal=alice=00"]).await?;
    let first = rolled_out(bench, operator, "desk", &Value::Null).await?;
    ensure!(first["status"]["replicas"] == 2, "{}", first["status"]);
    ensure!(first["status"]["url"] == format!("http://ap-desk.{}.svc", bench.namespace), "{}", first["status"]);
    let base = bench.get("kb", "notes").await?;
    ensure!(first["status"]["revisions"][0]["revision"] == base["status"]["activeRevision"], "{}", first["status"]);
    Ok(desk)
}

/// Another limit: the file changes, no pod does. A policy that is gone: pods are told to deny, and go on.
async fn is_told_another_policy_without_a_rollout(bench: &Bench<'_>, operator: &Operator<'_>) -> Result<()> {
    let told = async || -> Result<Value> {
        let map = bench.get("configmap", "ap-desk-policy").await?;
        Ok(serde_json::from_str(map["data"]["policy.json"].as_str().context("it has the file")?)?)
    };
    ensure!(told().await?["limits"]["tokens"] == 1000);
    let pods = async || bench.kubectl(&["get", "pods", "-l", "groundwork.dev/pipeline=desk", "-o", "name"]).await;
    let before = pods().await?;
    bench.apply(policy(2000)).await?;
    operator.wait_until("the other limit is told", async || Ok(told().await?["limits"]["tokens"] == 2000)).await?;
    bench.kubectl(&["delete", "tp", "narrow"]).await?;
    operator.wait_until("pods are told to deny", async || Ok(told().await?["denied"].is_string())).await?;
    let denied = comes_to(bench, operator, "desk", ["ResolvedRefs", "False", "PolicyNotFound"]).await?;
    ensure!(condition(&denied, "Ready")["status"] == "True", "{}", denied["status"]);
    bench.apply(policy(2000)).await?;
    operator.wait_until("the limit is told again", async || Ok(told().await?["limits"]["tokens"] == 2000)).await?;
    ensure!(pods().await? == before, "no pod was replaced");
    Ok(())
}

async fn keeps_its_pods_while_others_are_broken(
    bench: &Bench<'_>,
    operator: &Operator<'_>,
    kubelet: &Kubelet,
    mut desk: Value,
) -> Result<()> {
    desk["spec"]["runtime"]["image"] = json!("registry.example/broken:1");
    bench.apply(desk.clone()).await?;
    let rolling = comes_to(bench, operator, "desk", ["Progressing", "True", "RollingOut"]).await?;
    ensure!(condition(&rolling, "Ready")["status"] == "True", "{}", rolling["status"]);
    operator
        .wait_until("the broken pod is there", async || {
            Ok(kubelet.served().iter().any(|pod| pod.image.contains("broken")))
        })
        .await?;
    ensure!(bench.get("ap", "desk").await?["status"]["replicas"] == 2, "both pods before go on");
    desk["spec"]["runtime"]["image"] = json!("registry.example/mended:1");
    bench.apply(desk).await?;
    comes_to(bench, operator, "desk", ["Progressing", "True", "RolledOut"]).await?;
    comes_to(bench, operator, "desk", ["Reconciling", "False", "Reconciled"]).await.map(drop)
}

async fn is_left_alone_once_all_is_said(bench: &Bench<'_>, operator: &Operator<'_>) -> Result<()> {
    let writes = || -> Result<Vec<String>> {
        let events = bench.requests()?.into_iter().filter(|event| event.is_write());
        Ok(events.filter(|event| !event.resource().contains("leases")).map(|event| event.uri).collect())
    };
    let looks = || -> Result<usize> {
        let reads = bench.requests()?.into_iter().filter(|event| event.verb == "get");
        Ok(reads.filter(|event| event.resource() == "apps/deployments").count())
    };
    let (before, seen) = (writes()?, looks()?);
    operator.wait_until("it is looked at twice more", async || Ok(looks()? >= seen + 4)).await?;
    ensure!(writes()? == before, "{:?}", &writes()?[before.len()..]);
    Ok(())
}

fn policy(tokens: u32) -> Value {
    json!({
        "apiVersion": "groundwork.dev/v1alpha1", "kind": "ToolPolicy", "metadata": {"name": "narrow"},
        "spec": {"limits": {"tokens": tokens}},
    })
}
