//! The operator on a real API server, with the chart's rights and nothing more.

use anyhow::{Context, Result, ensure};
use groundwork_cluster_tests::{AuditEvent, ControlPlane, Operator};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeSet;

use crate::bench::{Bench, IMPATIENT, condition};

fn endpoint(name: &str, secret: Option<&str>) -> Value {
    let mut spec = json!({"baseURL": "http://models.example/v1", "model": "tiny", "uses": ["Chat", "Embeddings"]});
    if let Some(secret) = secret {
        spec["apiKey"] = json!({"secretKeyRef": {"name": secret, "key": "api-key"}});
    }
    json!({"apiVersion": "groundwork.dev/v1alpha1", "kind": "ModelEndpoint", "metadata": {"name": name}, "spec": spec})
}

fn knowledge_base(name: &str, endpoint: &str) -> Value {
    json!({
        "apiVersion": "groundwork.dev/v1alpha1", "kind": "KnowledgeBase", "metadata": {"name": name},
        "spec": {
            "sources": [{"name": "notes", "type": "Inline", "inline": {"documents": [{"path": "a.md", "content": "One."}]}}],
            "embedding": {"type": "ModelEndpoint", "modelEndpoint": {"name": endpoint, "dimensions": 8}},
        },
    })
}

fn pipeline(name: &str, endpoint: &str) -> Value {
    json!({
        "apiVersion": "groundwork.dev/v1alpha1", "kind": "AgentPipeline", "metadata": {"name": name},
        "spec": {"knowledgeBases": [{"name": "notes"}], "models": {"default": {"name": endpoint}}},
    })
}

/// The whole life of an endpoint, and what the operator did meanwhile: every right of its role, and nothing else.
#[tokio::test]
async fn an_endpoint_is_reported_truthfully_all_its_life_with_the_charts_rights() -> Result<()> {
    let test = "an_endpoint_is_reported_truthfully_all_its_life_with_the_charts_rights";
    let Some(plane) = ControlPlane::shared(test).await? else { return Ok(()) };
    let bench = Bench::new(plane, "life").await?;
    let operator = bench.run("a").await?;
    operator.wait_until_working().await?;

    bench.apply(endpoint("open", None)).await?;
    let open = bench.reaches(&operator, "open", "Ready", "True", "Available").await?;
    let told: Vec<_> = ["Accepted", "ResolvedRefs", "Reconciling", "Stalled"]
        .map(|kind| condition(&open, kind)["status"].as_str().unwrap_or_default().to_owned())
        .into();
    ensure!(told == ["True", "True", "False", "False"] && open["status"]["users"] == 0, "{}", open["status"]);

    bench.apply(endpoint("closed", Some("models"))).await?;
    let waiting = bench.reaches(&operator, "closed", "ResolvedRefs", "False", "SecretNotFound").await?;
    let message = condition(&waiting, "ResolvedRefs")["message"].as_str().unwrap_or_default().to_owned();
    ensure!(message.contains("spec.apiKey.secretKeyRef.name") && message.contains("create it"), "{message}");
    ensure!(condition(&waiting, "Reconciling")["status"] == "True", "{}", waiting["status"]);

    bench.kubectl(&["create", "secret", "generic", "models", "--from-literal=other=x"]).await?;
    bench.reaches(&operator, "closed", "ResolvedRefs", "False", "SecretKeyNotFound").await?;
    for _ in 0..2 {
        // A canary: this value may stand nowhere but in the Secret.
        bench.kubectl(&["patch", "secret", "models", "-p", r#"{"stringData": {"api-key": "canary-7f3a"}}"#]).await?;
        bench.reaches(&operator, "closed", "Ready", "True", "Available").await?;
        bench.kubectl(&["patch", "secret", "models", "-p", r#"{"stringData": {"api-key": ""}}"#]).await?;
        bench.reaches(&operator, "closed", "ResolvedRefs", "False", "SecretKeyEmpty").await?;
    }
    users_are_told(&bench, &operator).await?;
    a_policy_tells_its_limits(&bench, &operator).await?;
    crate::knowledge_base::is_ingested(&bench, &operator).await?;
    crate::pipeline::is_rolled_out(&bench, &operator).await?;

    let events = bench.kubectl(&["get", "events.events.k8s.io", "-o", "json"]).await?;
    let noted = |reason: &str| events.contains(&format!("\"reason\": \"{reason}\""));
    ensure!(noted("Available") && noted("WaitingForReferences"), "{events}");
    let objects = bench.kubectl(&["get", "me", "-o", "json"]).await?;
    let (_, metrics) = operator.get("/metrics").await?;
    for text in [&events, &objects, &metrics, &operator.log()] {
        ensure!(!text.contains("canary-7f3a"), "the key's value leaked: {text}");
    }

    bench.kubectl(&["delete", "me", "open", "closed"]).await?;
    ensure!(operator.end(Signal::TERM).await?.contains("exit status: 0"), "SIGTERM ends it cleanly");
    let requests = bench.requests()?;
    let forbidden: Vec<_> = requests.iter().filter(|event| event.is_forbidden()).collect();
    ensure!(forbidden.is_empty(), "{forbidden:?}");
    let mut used: BTreeSet<String> =
        requests.iter().map(|event| format!("{} {}", event.verb, event.resource())).collect();
    // An apply that makes the object needs the right to create beside that to patch.
    let made = requests.iter().filter(|event| event.verb == "patch" && event.code() == 201);
    used.extend(made.map(|event| format!("create {}", event.resource())));
    let unused: Vec<_> = bench.installation.rights().into_iter().filter(|right| !used.contains(right)).collect();
    ensure!(unused.is_empty(), "rights that nothing used: {unused:?}");
    Ok(())
}

async fn users_are_told(bench: &Bench<'_>, operator: &Operator<'_>) -> Result<()> {
    let used_by = async |wanted: Value| {
        let what = format!("open is used by {wanted}");
        operator
            .wait_until(&what, async || {
                let status = bench.endpoint("open").await?["status"].clone();
                let count = wanted.as_array().map_or(0, Vec::len);
                ensure!(status["users"] == count && (count == 0 || status["usedBy"] == wanted), "{status}");
                Ok(true)
            })
            .await
    };
    let (base, asks) =
        (json!({"kind": "KnowledgeBase", "name": "notes"}), json!({"kind": "AgentPipeline", "name": "desk"}));
    bench.apply(knowledge_base("notes", "open")).await?;
    bench.apply(pipeline("desk", "open")).await?;
    used_by(json!([asks, base])).await?;
    bench.apply(knowledge_base("notes", "closed")).await.context("the endpoint that was named before is told, too")?;
    used_by(json!([asks])).await?;
    bench.kubectl(&["delete", "ap", "desk"]).await?;
    used_by(json!([])).await
}

async fn a_policy_tells_its_limits(bench: &Bench<'_>, operator: &Operator<'_>) -> Result<()> {
    let policy = |tokens: u32| {
        json!({
            "apiVersion": "groundwork.dev/v1alpha1", "kind": "ToolPolicy", "metadata": {"name": "narrow"},
            "spec": {"limits": {"tokens": tokens, "cost": "0.05"}},
        })
    };
    let tells = async |value: &str, users: u32| {
        let what = format!("the policy tells {value:?} and {users} users");
        operator
            .wait_until(&what, async || {
                let policy: Value =
                    serde_json::from_str(&bench.kubectl(&["get", "tp", "narrow", "-o", "json"]).await?)?;
                let limits = policy["status"]["compiledTo"].as_array().cloned().unwrap_or_default();
                let fields: Vec<_> = limits.iter().map(|limit| limit["field"].as_str().unwrap_or_default()).collect();
                ensure!(
                    fields == ["spec.limits.wallClockSeconds", "spec.limits.tokens", "spec.limits.cost"],
                    "{policy}"
                );
                ensure!(limits[1]["value"] == value && limits[1]["layer"] == "Runtime", "{policy}");
                ensure!(policy["status"]["users"] == users, "{policy}");
                ensure!(condition(&policy, "Accepted")["status"] == "True", "{policy}");
                Ok(true)
            })
            .await
    };
    bench.apply(policy(1000)).await?;
    tells("1000 tokens a question", 0).await?;
    let mut desk = pipeline("desk", "open");
    desk["spec"]["toolPolicyRef"] = json!({"name": "narrow"});
    bench.apply(desk).await?;
    bench.apply(policy(2000)).await?;
    tells("2000 tokens a question", 1).await
}

#[tokio::test]
async fn nothing_is_written_once_all_is_said_also_after_a_kill() -> Result<()> {
    let test = "nothing_is_written_once_all_is_said_also_after_a_kill";
    let Some(plane) = ControlPlane::shared(test).await? else { return Ok(()) };
    let bench = Bench::new(plane, "quiet").await?;
    let operator = bench.run("a").await?;
    bench.kubectl(&["create", "secret", "generic", "models", "--from-literal=api-key=x"]).await?;
    for index in 0..5 {
        bench.apply(endpoint(&format!("one-{index}"), Some("models"))).await?;
        bench.reaches(&operator, &format!("one-{index}"), "Ready", "True", "Available").await?;
    }
    let versions = async || bench.kubectl(&["get", "me", "-o", "jsonpath={.items[*].metadata.resourceVersion}"]).await;
    let before = versions().await?;
    let looks = |requests: &[AuditEvent]| requests.iter().filter(|event| event.resource() == "secrets").count();
    let writes = |requests: &[AuditEvent]| {
        let counted = |event: &&AuditEvent| event.is_write() && !event.resource().contains("leases");
        requests.iter().filter(counted).count()
    };
    let start = bench.requests()?;
    operator
        .wait_until("every Secret was looked at twice more", async || {
            Ok(looks(&bench.requests()?) >= looks(&start) + 10)
        })
        .await?;
    ensure!(writes(&bench.requests()?) == writes(&start), "something is written again and again");
    ensure!(versions().await? == before);

    operator.end(Signal::KILL).await?;
    let start = bench.requests()?;
    let operator = bench.run("b").await?;
    operator.wait_until_working().await?;
    operator
        .wait_until("every Secret was looked at by the next", async || {
            Ok(looks(&bench.requests()?) >= looks(&start) + 5)
        })
        .await?;
    ensure!(
        writes(&bench.requests()?) == writes(&start) && versions().await? == before,
        "the next one writes it all again"
    );
    Ok(())
}

#[tokio::test]
async fn one_of_two_replicas_works_and_the_other_takes_over() -> Result<()> {
    let test = "one_of_two_replicas_works_and_the_other_takes_over";
    let Some(plane) = ControlPlane::shared(test).await? else { return Ok(()) };
    let bench = Bench::new(plane, "lease").await?;
    let first = bench.run("a").await?;
    first.wait_until_working().await?;
    let second = bench.run("b").await?;
    second.wait_until("it waits for the lease", async || Ok(second.phase().await? == "standby")).await?;
    ensure!(second.get("/readyz").await?.0 == 200, "a replica that waits is ready");

    // Given back: the next one need not wait for the lease's end.
    ensure!(first.end(Signal::TERM).await?.contains("exit status: 0"));
    second.wait_until_working().await?;
    bench.apply(endpoint("after-term", None)).await?;
    bench.reaches(&second, "after-term", "Ready", "True", "Available").await?;

    // Paused past the lease's end: another works, and the paused one sends nothing when it goes on.
    let third = bench.run("c").await?;
    third.wait_until("it waits for the lease", async || Ok(third.phase().await? == "standby")).await?;
    second.signal(Signal::STOP)?;
    third.wait_until_working().await?;
    let before = bench.requests()?.len();
    second.signal(Signal::CONT)?;
    bench.apply(endpoint("after-pause", None)).await?;
    bench.reaches(&third, "after-pause", "Ready", "True", "Available").await?;
    let how = second.ended().await?;
    ensure!(how.contains("exit status: 1"), "{how}");
    ensure!(second.printed().contains("lost the lease"), "{}", second.log());
    let late: Vec<_> = bench
        .requests()?
        .into_iter()
        .skip(before)
        .filter(|event| {
            event.stage == "ResponseComplete"
                && event.user.has_credential(second.credential())
                && event.verb != "watch"
                && !event.resource().contains("leases")
        })
        .collect();
    ensure!(late.is_empty(), "requests of a replica without the lease: {late:?}");
    ensure!(
        bench.requests()?.iter().any(|event| event.user.has_credential(second.credential())),
        "the log tells them apart"
    );

    // Killed: another works after the lease's end.
    let fourth = bench.run("d").await?;
    third.end(Signal::KILL).await?;
    fourth.wait_until_working().await
}

#[tokio::test]
async fn missing_and_old_definitions_are_waited_for_with_the_command_to_run() -> Result<()> {
    let test = "missing_and_old_definitions_are_waited_for_with_the_command_to_run";
    let Some(plane) = ControlPlane::own(test).await? else { return Ok(()) };
    let namespace = plane.namespace("early").await?;
    let installation = plane.install_operator(&namespace, &IMPATIENT).await?;
    let operator = plane.run_operator(&installation, "a").await?;
    operator
        .wait_until("it says what is missing", async || {
            let (status, text) = operator.get("/readyz").await?;
            Ok(status == 503 && text.contains("no definition of KnowledgeBase") && text.contains("kubectl apply"))
        })
        .await?;
    plane.install_definitions().await?;
    operator.wait_until_working().await
}
