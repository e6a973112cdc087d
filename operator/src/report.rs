//! Writes what a reconciliation found: the status where it differs, and an Event where readiness changed.

use groundwork_crds::condition::{READY, SYNCED};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_client::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube_client::{Api, Resource, ResourceExt};
use kube_runtime::events::{Event, EventType};
use serde_json::{Map, Value, json};

use crate::conditions::{Fact, conditions};
use crate::context::Context;
use crate::controller::Error;
use crate::names::MANAGER;
use crate::watch::{Guarded, Watched};

/// Conditions whose changes are Events.
const ANNOUNCED: [&str; 2] = [READY, SYNCED];
/// Longest note of an Event that the API accepts, in bytes; a character has up to four.
const NOTE: usize = 1024 / 4;

/// What a reconciliation found of an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Findings {
    pub(crate) facts: Vec<Fact>,
    /// The fields of the status beside its conditions and observedGeneration.
    pub(crate) fields: Map<String, Value>,
}

/// Reports findings about the object as it was read. Asks nothing of the API server where the copy already says them; else
/// the newest status is read, since a copy may lag behind an own write, and written where it differs.
pub(crate) async fn report<K: Watched>(
    object: &Guarded<K>,
    copy: Option<&Value>,
    findings: &Findings,
    context: &Context,
) -> Result<(), Error> {
    let generation = object.meta().generation.unwrap_or_default();
    let now = Timestamp::now();
    if copy.is_some_and(|copy| says(copy, &status(copy, findings, generation, now))) {
        return Ok(());
    }
    let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
    let resource = ApiResource::erase::<K>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(context.client.clone(), &namespace, &resource);
    let described = || format!("{} {namespace}/{name}", resource.kind);
    let read = api.get_opt(&name).await.map_err(Error::api(format!("read the status of {}", described())))?;
    // One that is gone needs no status, and a change made meanwhile is reconciled by itself.
    let Some(live) = read.filter(|live| live.metadata.uid == object.meta().uid) else { return Ok(()) };
    if live.metadata.generation.unwrap_or_default() != generation {
        return Ok(());
    }
    let old = live.data.get("status").cloned().unwrap_or_default();
    let new = status(&old, findings, generation, now);
    if says(&old, &new) {
        return Ok(());
    }
    let body = json!({
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, "uid": live.metadata.uid},
        "status": new,
    });
    api.patch_status(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&body))
        .await
        .map_err(Error::api(format!("write the status of {}", described())))?;
    context.metrics.status_written(&resource.kind);
    announce(&live, &resource, &old, findings, context).await;
    Ok(())
}

fn status(old: &Value, findings: &Findings, generation: i64, now: Timestamp) -> Value {
    let conditions = conditions(&conditions_of(old), &findings.facts, generation, now);
    let mut status = findings.fields.clone();
    status.insert("observedGeneration".into(), generation.into());
    status.insert("conditions".into(), serde_json::to_value(conditions).expect("conditions are JSON"));
    Value::Object(status)
}

/// Whether a status says everything that another says; conditions of other writers may stand beside.
fn says(status: &Value, wanted: &Value) -> bool {
    let (Some(status), Some(wanted)) = (status.as_object(), wanted.as_object()) else { return false };
    let there = conditions_of_map(status);
    let conditions = conditions_of_map(wanted).iter().all(|condition| there.contains(condition));
    let fields = |map: &Map<String, Value>| -> Map<String, Value> {
        map.iter().filter(|(key, _)| *key != "conditions").map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    conditions && fields(status) == fields(wanted)
}

fn conditions_of(status: &Value) -> Vec<Condition> {
    status.as_object().map(conditions_of_map).unwrap_or_default()
}

fn conditions_of_map(status: &Map<String, Value>) -> Vec<Condition> {
    let conditions = status.get("conditions").cloned().unwrap_or_default();
    serde_json::from_value(conditions).unwrap_or_default()
}

/// An Event for each condition that people wait for and that got another status or reason. That it cannot be written is no
/// reason to reconcile again.
async fn announce(live: &DynamicObject, resource: &ApiResource, old: &Value, findings: &Findings, context: &Context) {
    let before = conditions_of(old);
    for fact in findings.facts.iter().filter(|fact| ANNOUNCED.contains(&fact.kind)) {
        let truth = fact.truth.name();
        let same = |condition: &Condition| {
            condition.type_ == fact.kind && condition.status == truth && condition.reason == fact.reason.name()
        };
        if before.iter().any(same) {
            continue;
        }
        let event = Event {
            type_: if fact.reason.remedy().is_some() { EventType::Warning } else { EventType::Normal },
            reason: fact.reason.name().to_owned(),
            note: Some(note(&fact.message)),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        let reference = live.object_ref(resource);
        if let Err(error) = context.recorder.publish(&event, &reference).await {
            tracing::warn!(kind = resource.kind, name = live.name_any(), %error, "failed to publish an event");
        }
    }
}

/// As much as an Event may say.
fn note(message: &str) -> String {
    message.chars().take(NOTE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::Truth;
    use groundwork_crds::condition::Reason;

    fn findings(users: i32) -> Findings {
        Findings {
            facts: vec![Fact::new(READY, Truth::True, Reason::Available, "It can be used.")],
            fields: Map::from_iter([("users".to_owned(), users.into())]),
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_status_that_says_it_already_is_not_written() {
        let written = status(&Value::Null, &findings(1), 3, at(1));
        assert!(!says(&Value::Null, &written));
        assert!(says(&written, &status(&written, &findings(1), 3, at(2))));
        assert!(!says(&written, &status(&written, &findings(2), 3, at(2))));
        assert!(!says(&written, &status(&written, &findings(1), 4, at(2))));
    }

    #[test]
    fn a_condition_of_another_writer_is_left_alone() {
        let mut written = status(&Value::Null, &findings(1), 3, at(1));
        let mut foreign = written["conditions"][0].clone();
        foreign["type"] = "Foreign".into();
        written["conditions"].as_array_mut().unwrap().push(foreign);
        let next = status(&written, &findings(1), 3, at(2));
        assert!(says(&written, &next));
        assert_eq!(next["conditions"].as_array().unwrap().len(), 1);
    }
}
