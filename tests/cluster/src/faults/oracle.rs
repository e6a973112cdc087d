//! What must hold however a run went.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use super::{Entry, Proxy, Verb};

/// In this time everything is said once the faults have stopped.
const CONVERGED: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);
/// What differs from one run to the next, by its field's name.
const MASKED: [&str; 13] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "lastTransitionTime",
    "time",
    "lastProbeTime",
    "startTime",
    "completionTime",
    "startedAt",
    "finishedAt",
    // Uids of Jobs.
    "job",
    "controller-uid",
    "batch.kubernetes.io/controller-uid",
];

/// An object without what differs from one run to the next. Namespaces differ, too: `namespace` is masked in every text.
pub fn masked(object: &Value, namespace: &str) -> Value {
    match object {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| !MASKED.contains(&name.as_str()));
            // Owners of an object are told apart by their uid among its managed fields.
            let name = |name: &str| if name.starts_with("k:{\"uid\":") { "k:{uid}" } else { name }.to_owned();
            kept.map(|(field, value)| (name(field), masked(value, namespace))).collect()
        }
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(|item| masked(item, namespace)).collect();
            // Owners of fields are kept in the order of their writes.
            if items.iter().all(|item| item["manager"].is_string()) {
                items.sort_by_key(Value::to_string);
            }
            items.into()
        }
        Value::String(text) => text.replace(namespace, "NAMESPACE").into(),
        other => other.clone(),
    }
}

/// How often each object was created and deleted, as `create RESOURCE/NAME`, without Events and Leases.
pub fn side_effects(log: &[Entry]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for entry in log.iter().filter(|entry| !entry.call.is_event() && !entry.call.is_lease()) {
        let what = match entry {
            entry if entry.is_creation() => "create",
            entry if entry.is_deletion() => "delete",
            _ => continue,
        };
        *counts.entry(format!("{what} {}/{}", entry.call.resource, entry.call.name)).or_default() += 1;
    }
    counts
}

/// How often each object, or a part of it, was changed, as `RESOURCE/NAME/PART`, without Events and Leases.
pub fn changes(log: &[Entry]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let changed = |entry: &&&Entry| matches!(entry.call.verb, Verb::Update | Verb::Patch) && entry.is_applied();
    for entry in writes(log).iter().filter(changed).filter(|entry| !entry.call.is_event()) {
        let call = &entry.call;
        *counts.entry(format!("{}/{}/{}", call.resource, call.name, call.subresource)).or_default() += 1;
    }
    counts
}

/// Writes without those of the lease, as the operator sent them.
pub fn writes(log: &[Entry]) -> Vec<&Entry> {
    log.iter().filter(|entry| entry.call.is_write() && !entry.call.is_lease()).collect()
}

/// Waits for a window without any write but those of the lease. A window ends when the requests in it are `enough`: the
/// operator has then looked at everything again and found nothing to do.
///
/// # Errors
/// Where every window has writes, or requests that are waited for do not come.
pub async fn quiet(proxy: &Proxy, enough: impl Fn(&[Entry]) -> bool) -> Result<()> {
    let deadline = Instant::now() + CONVERGED;
    let mut restless = Vec::new();
    loop {
        let start = proxy.count();
        while !enough(&proxy.since(start)) {
            ensure!(Instant::now() < deadline, "the operator asks for too little, or writes on and on: {restless:#?}");
            tokio::time::sleep(POLL).await;
        }
        let window = proxy.since(start);
        if writes(&window).is_empty() {
            return Ok(());
        }
        restless = calls(&window);
    }
}

/// Verbs and names of requests, for messages.
pub fn calls(log: &[Entry]) -> Vec<String> {
    let line = |entry: &Entry| {
        let call = &entry.call;
        let fault = entry.fault.map(|fault| format!(" {fault:?}")).unwrap_or_default();
        format!("{:?} {}/{} {} {:?}{fault}", call.verb, call.resource, call.name, call.subresource, entry.status)
    };
    log.iter().map(line).collect()
}

/// Checks all statuses that were written: they are about a generation that exists, they never go back to an older one, and
/// an object was called ready only where it `can_be`.
pub fn statuses_are_true(log: &[Entry], can_be: impl Fn(&Value) -> bool) -> Result<()> {
    let is_status = |entry: &&Entry| entry.call.verb == Verb::Patch && entry.call.subresource == "status";
    let mut newest: HashMap<String, (u64, i64)> = HashMap::new();
    for entry in log.iter().filter(is_status).filter(|entry| entry.is_applied()) {
        let object = entry.object.as_ref().context("a status was answered without its object")?;
        let generation = object["metadata"]["generation"].as_i64().context("an object has a generation")?;
        let observed = object["status"]["observedGeneration"].as_i64().context("a status observes a generation")?;
        ensure!(observed <= generation, "a generation that does not exist is observed: {object:#}");
        let uid = object["metadata"]["uid"].as_str().context("an object has a uid")?;
        let version = version(object).context("an object has a version")?;
        let (last_version, last_observed) = newest.entry(uid.to_owned()).or_default();
        // Answers may overtake each other, versions do not.
        if version > *last_version {
            ensure!(observed >= *last_observed, "the observed generation goes back from {last_observed}: {object:#}");
            (*last_version, *last_observed) = (version, observed);
        }
        for condition in object["status"]["conditions"].as_array().into_iter().flatten() {
            let about = condition["observedGeneration"].as_i64();
            ensure!(about.is_some_and(|about| about <= generation), "a condition is about no generation: {object:#}");
            let ready = condition["type"] == "Ready" && condition["status"] == "True";
            ensure!(!ready || observed < generation || can_be(object), "it is not ready: {object:#}");
        }
    }
    Ok(())
}

/// Versions of one store grow.
pub fn version(object: &Value) -> Option<u64> {
    object["metadata"]["resourceVersion"].as_str()?.parse().ok()
}

/// Checks that no text has a secret, and that no program panicked. `texts` are named.
pub fn nothing_leaked(secret: &str, texts: &[(&str, String)]) -> Result<()> {
    for (name, text) in texts {
        if let Some(line) = text.lines().find(|line| line.contains(secret) || line.contains("panicked")) {
            bail!("{name} has the secret or a panic: {line}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_differs_is_masked() {
        let object = json!({
            "metadata": {"name": "a", "namespace": "kill-1", "uid": "1", "resourceVersion": "7", "generation": 2},
            "status": {"conditions": [{"message": "namespace kill-1 has none", "lastTransitionTime": "2026-01-01"}]},
        });
        let wanted = json!({
            "metadata": {"name": "a", "namespace": "NAMESPACE", "generation": 2},
            "status": {"conditions": [{"message": "namespace NAMESPACE has none"}]},
        });
        assert_eq!(masked(&object, "kill-1"), wanted);
    }

    fn written(version: &str, generation: i64, observed: i64, ready: &str) -> Entry {
        let path = "/apis/groundwork.dev/v1alpha1/namespaces/n/modelendpoints/a/status";
        let object = json!({
            "metadata": {"uid": "1", "resourceVersion": version, "generation": generation},
            "status": {
                "observedGeneration": observed,
                "conditions": [{"type": "Ready", "status": ready, "observedGeneration": observed}],
            },
        });
        Entry {
            call: super::super::Call::parse(&http::Method::PATCH, &path.parse().unwrap()),
            fault: None,
            status: Some(200),
            object: Some(object),
            at: Instant::now(),
        }
    }

    #[test]
    fn a_status_that_goes_back_or_lies_is_found() {
        let good = [written("1", 1, 1, "False"), written("2", 2, 2, "True")];
        assert!(statuses_are_true(&good, |_| true).is_ok());
        assert!(statuses_are_true(&good, |_| false).is_err());
        assert!(statuses_are_true(&[written("1", 2, 2, "False"), written("2", 2, 1, "False")], |_| true).is_err());
        assert!(statuses_are_true(&[written("1", 1, 2, "False")], |_| true).is_err());
    }
}
