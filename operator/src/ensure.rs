//! Brings an object to what is wanted of it, and writes nothing where it says so already.

use kube_client::api::{Patch, PatchParams};
use kube_client::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Debug;

use crate::controller::Error;
use crate::names::MANAGER;

/// Applies the object where the one that is there differs in any field that is wanted. What is there afterwards.
pub(crate) async fn ensure<K>(client: &Client, wanted: &K) -> Result<K, Error>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize,
{
    let (name, kind) = (wanted.name_any(), K::kind(&()));
    let api: Api<K> = Api::namespaced(client.clone(), &wanted.namespace().unwrap_or_default());
    let there = api.get_opt(&name).await.map_err(Error::api(format!("read the {kind} {name}")))?;
    let json = |object: &K| serde_json::to_value(object).expect("an object is JSON");
    if let Some(there) = there.filter(|there| says(&json(there), &json(wanted))) {
        return Ok(there);
    }
    let applied = api.patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(wanted)).await;
    applied.map_err(Error::api(format!("apply the {kind} {name}")))
}

/// Whether a value says everything that another one says; fields that others or defaults have set may stand beside.
fn says(there: &Value, wanted: &Value) -> bool {
    match (there, wanted) {
        (Value::Object(there), Value::Object(wanted)) => {
            wanted.iter().all(|(name, wanted)| there.get(name).is_some_and(|there| says(there, wanted)))
        }
        (Value::Array(there), Value::Array(wanted)) => {
            there.len() == wanted.len() && there.iter().zip(wanted).all(|(there, wanted)| says(there, wanted))
        }
        (Value::String(a), Value::String(b)) => a == b || amount(a).is_some_and(|one| amount(b) == Some(one)),
        _ => there == wanted,
    }
}

/// An amount in thousandths: the API server writes `1000m` as `1` and `1024Mi` as `1Gi`.
fn amount(text: &str) -> Option<u128> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let unit: u128 = match suffix {
        "m" => 1,
        "" => 1000,
        "k" => 1000 * 1000,
        "M" => 1000 * 1000_u128.pow(2),
        "G" => 1000 * 1000_u128.pow(3),
        "T" => 1000 * 1000_u128.pow(4),
        "P" => 1000 * 1000_u128.pow(5),
        "E" => 1000 * 1000_u128.pow(6),
        "Ki" => 1000 * 1024,
        "Mi" => 1000 * 1024_u128.pow(2),
        "Gi" => 1000 * 1024_u128.pow(3),
        "Ti" => 1000 * 1024_u128.pow(4),
        "Pi" => 1000 * 1024_u128.pow(5),
        "Ei" => 1000 * 1024_u128.pow(6),
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let places = u32::try_from(fraction.len()).ok().filter(|places| *places < 18)?;
    let all: u128 = format!("{whole}{fraction}").parse().ok()?;
    all.checked_mul(unit).map(|thousandths| thousandths.div_ceil(10_u128.pow(places)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_others_have_set_stands_beside() {
        let there = json!({"a": 1, "b": [{"name": "x", "default": true}], "c": {"cpu": "1", "memory": "1Gi"}});
        for same in [json!({}), json!({"b": [{"name": "x"}]}), json!({"c": {"cpu": "1000m", "memory": "1024Mi"}})] {
            assert!(says(&there, &same), "{same}");
        }
        for other in [json!({"a": 2}), json!({"b": []}), json!({"d": 1}), json!({"c": {"cpu": "1100m"}})] {
            assert!(!says(&there, &other), "{other}");
        }
    }

    #[test]
    fn amounts_are_compared_by_value() {
        for (a, b) in [("0.5", "500m"), ("1.5Gi", "1536Mi"), ("2", "2000m"), ("1e", "x")] {
            assert_eq!(amount(a), amount(b), "{a} {b}");
        }
        assert_ne!(amount("1G"), amount("1Gi"));
        assert_eq!(amount("handbook"), None);
    }
}
