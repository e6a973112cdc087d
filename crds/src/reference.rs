//! The API reference for people, written from the schemas.

use serde_json::Value;
use std::fmt::Write;

use crate::{API_VERSION, Definition, definitions};

/// The reference of all kinds as Markdown.
pub fn reference() -> String {
    let mut text = format!(
        "# API reference\n\nGenerated from the schemas by `make generate`; `groundwork crds` prints the definitions. All \
         kinds are namespaced, of version `{API_VERSION}` and category `groundwork`. The name of an object has at most 40 \
         characters. A field that is not listed is refused.\n"
    );
    for definition in definitions() {
        kind(&mut text, definition);
    }
    text
}

fn kind(text: &mut String, definition: &Definition) {
    let schema = definition.schema();
    let description = schema["description"].as_str().unwrap_or_default();
    let short = definition.short_names().join(", ");
    line(text, &format!("\n## {}\n\n{description} Short name: `{short}`.", definition.kind()));
    object(text, definition.kind(), "spec", &schema["properties"]["spec"]);
}

fn object(text: &mut String, kind: &str, path: &str, schema: &Value) {
    let Some(properties) = schema["properties"].as_object() else { return };
    line(text, &format!("\n### {kind} {path}\n\n| field | type | meaning |\n|---|---|---|"));
    for (name, property) in properties {
        let required = contains(&schema["required"], name);
        let meaning = property["description"].as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|");
        let required = if required { "Required. " } else { "" };
        line(text, &format!("| `{name}` | {} | {required}{meaning} |", type_of(property)));
    }
    rules(text, schema);
    for (name, property) in properties {
        object(text, kind, &format!("{path}.{name}"), property);
        object(text, kind, &format!("{path}.{name}[]"), &property["items"]);
    }
}

fn rules(text: &mut String, schema: &Value) {
    let own = messages(schema).map(|message| format!("- {message}"));
    let properties = schema["properties"].as_object().into_iter().flatten();
    // A struct's own rules are listed with the struct.
    let leaves = properties.filter(|(_, field)| field["properties"].is_null());
    let of_leaves =
        leaves.flat_map(|(name, field)| messages(field).map(move |message| format!("- `{name}` {message}")));
    let all: Vec<String> = own.chain(of_leaves).collect();
    if !all.is_empty() {
        line(text, &format!("\nRules:\n\n{}", all.join("\n")));
    }
}

fn messages(schema: &Value) -> impl Iterator<Item = &str> {
    schema["x-kubernetes-validations"].as_array().into_iter().flatten().filter_map(|rule| rule["message"].as_str())
}

fn type_of(schema: &Value) -> String {
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values.iter().filter_map(Value::as_str).map(|value| format!("`{value}`")).collect();
        return values.join(", ");
    }
    match schema["type"].as_str().unwrap_or_default() {
        "integer" => format!("integer{}", bounds(schema, "minimum", "maximum", "")),
        "string" => format!("string{}", bounds(schema, "minLength", "maxLength", " characters")),
        "array" => format!("list of {}{}", type_of(&schema["items"]), bounds(schema, "minItems", "maxItems", " items")),
        other => other.to_owned(),
    }
}

fn bounds(schema: &Value, least: &str, most: &str, unit: &str) -> String {
    match (whole(&schema[least]), whole(&schema[most])) {
        (Some(least), Some(most)) if least == most => format!(", {most}{unit}"),
        (Some(least), Some(most)) => format!(", {least} to {most}{unit}"),
        (None, Some(most)) => format!(", at most {most}{unit}"),
        (Some(least), None) => format!(", at least {least}{unit}"),
        (None, None) => String::new(),
    }
}

/// Bounds of integers are written as floats in OpenAPI.
fn whole(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_f64().map(|number| number as i64))
}

fn contains(list: &Value, name: &str) -> bool {
    list.as_array().is_some_and(|names| names.iter().any(|other| other == name))
}

fn line(text: &mut String, content: &str) {
    writeln!(text, "{content}").expect("writing to a string does not fail");
}
