//! Walking fields of manifests and schemas in tests.

use serde_json::Value;
use std::collections::BTreeSet;

/// Sets a value of the spec by its pointer.
pub(crate) fn set(target: &mut Value, pointer: &str, value: Value) {
    let (parent, last) = pointer
        .rsplit_once('/')
        .map_or(("/spec".to_owned(), pointer), |(parent, last)| (format!("/spec/{parent}"), last));
    match target.pointer_mut(&parent).unwrap() {
        Value::Object(map) => drop(map.insert(last.to_owned(), value)),
        other => panic!("{parent} is {other}"),
    }
}

/// The paths of all leaves of a schema.
pub(crate) fn leaves(path: String, schema: &Value, found: &mut BTreeSet<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        properties.iter().for_each(|(name, property)| leaves(format!("{path}.{name}"), property, found));
    } else if schema["items"].is_object() {
        leaves(format!("{path}[]"), &schema["items"], found);
    } else {
        found.insert(path);
    }
}
