//! Every bound of every schema refuses the first value beyond it, at its field.

use serde_json::{Value, json};

use super::tests::{errors, full};

/// Calls `visit` with the pointer, path and schema of every value that stands in `value`.
fn walk(pointer: &str, path: &str, value: &Value, schema: &Value, visit: &mut dyn FnMut(&str, &str, &Value)) {
    visit(pointer, path, schema);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(inner) = value.get(name) {
            walk(&format!("{pointer}/{name}"), &format!("{path}.{name}"), inner, property, visit);
        }
    }
    for (index, inner) in value.as_array().into_iter().flatten().enumerate().take(1) {
        walk(&format!("{pointer}/{index}"), &format!("{path}[{index}]"), inner, &schema["items"], visit);
    }
}

fn number(schema: &Value, bound: &str) -> Option<i64> {
    schema[bound].as_f64().map(|number| number as i64)
}

/// Values just beyond the schema's bounds, each with what the message says after the field.
fn beyond(value: &Value, schema: &Value) -> Vec<(Value, String)> {
    let mut found = Vec::new();
    let mut add = |value: Value, message: String| found.push((value, message));
    if let (Some(least), Some(most)) = (number(schema, "minimum"), number(schema, "maximum")) {
        for beyond in [least - 1, most + 1] {
            add(json!(beyond), format!("{beyond} is out of bounds: write a number from {least} to {most}"));
        }
        add(json!("1"), "must be a whole number, but is text: write it without quotes: 1".into());
        add(json!(1.5), "must be a whole number, but is a decimal number: write a whole number".into());
    }
    if schema["enum"].is_array() {
        add(json!("Qqqqqqqq"), "\"Qqqqqqqq\" is not a possible value: choose one of ".into());
    } else if schema["type"] == "string" {
        let most = number(schema, "maxLength").unwrap();
        add(json!("é".repeat(most as usize + 1)), format!("has {} characters: write at most {most}", most + 1));
        if let Some(least) = number(schema, "minLength") {
            add(json!("a".repeat(least as usize - 1)), format!("has {} characters: write at least {least}", least - 1));
        }
        add(json!(1), "must be text, but is a whole number: write it in quotes: \"1\"".into());
        add(json!(["a"]), "must be text, but is a list: write text".into());
    }
    if let Some(most) = number(schema, "maxItems") {
        let items = vec![value[0].clone(); most as usize + 1];
        add(json!(items), format!("has {} items: write at most {most}", most + 1));
        add(json!("a"), "must be a list, but is text: write a list, each item on its own line after `- `".into());
    }
    if number(schema, "minItems").is_some() {
        add(json!([]), "has 0 items: write at least 1".into());
    }
    if schema["type"] == "boolean" {
        add(json!("yes"), "must be true or false, but is text: write true or false, without quotes".into());
    }
    if schema["type"] == "object" {
        add(json!("a"), "must be a group of fields, but is text: write fields below it, each indented".into());
    }
    found
}

#[test]
fn the_first_value_beyond_each_bound_is_refused() {
    let mut checked = 0;
    for object in full() {
        let definition = groundwork_crds::definition(object["kind"].as_str().unwrap()).unwrap();
        let schema = &definition.schema()["properties"]["spec"];
        let mut visit = |pointer: &str, path: &str, schema: &Value| {
            for (value, message) in beyond(object.pointer(pointer).unwrap(), schema) {
                let mut changed = object.clone();
                *changed.pointer_mut(pointer).unwrap() = value;
                let expected = format!("{path}: {message}");
                let found = errors(&serde_json::to_string_pretty(&changed).unwrap());
                assert!(found.iter().any(|error| error.contains(&expected)), "{expected} not in {found:?}");
                checked += 1;
            }
        };
        walk("/spec", "spec", &object["spec"], schema, &mut visit);
    }
    assert!(checked > 150, "only {checked} bounds were found");
}

#[test]
fn leaving_out_any_required_field_is_refused() {
    let mut checked = 0;
    for object in full() {
        let definition = groundwork_crds::definition(object["kind"].as_str().unwrap()).unwrap();
        let schema = &definition.schema()["properties"]["spec"];
        let mut visit = |pointer: &str, path: &str, schema: &Value| {
            for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                let mut changed = object.clone();
                changed.pointer_mut(pointer).unwrap().as_object_mut().unwrap().remove(required);
                let expected = format!("{path}.{required}: is missing: add {required}: ");
                let found = errors(&changed.to_string());
                assert!(found.iter().any(|error| error.contains(&expected)), "{expected} not in {found:?}");
                checked += 1;
            }
        };
        walk("/spec", "spec", &object["spec"], schema, &mut visit);
    }
    assert!(checked > 20, "only {checked} required fields were found");
}

#[test]
fn two_items_of_one_name_are_refused() {
    let rows = [
        (0, "/spec/sources", "spec.sources[2].name: notes is there twice, first in line "),
        (0, "/spec/sources/0/inline/documents", "spec.sources[0].inline.documents[1].path: a.md is there twice, "),
        (3, "/spec/knowledgeBases", "spec.knowledgeBases[2].name: one is there twice, first in line "),
        (4, "/spec/uses", "spec.uses[1]: Chat is there twice, first in line "),
    ];
    for (index, pointer, expected) in rows {
        let mut object = full().swap_remove(index);
        let items = object.pointer_mut(pointer).unwrap().as_array_mut().unwrap();
        items.push(items[0].clone());
        let found = errors(&serde_json::to_string_pretty(&object).unwrap());
        assert!(found.len() == 1 && found[0].contains(expected), "{expected} not in {found:?}");
    }
}
