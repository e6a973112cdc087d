//! Checking a tree against the schema of its kind: the part of OpenAPI that the definitions use.

use serde_json::Value;
use std::collections::BTreeMap;

use super::error::Place;
use super::node::{Content, Node};

/// A mistake against the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) place: Place,
    pub(crate) field: String,
    pub(crate) problem: String,
    pub(crate) fix: String,
}

/// Everything in `node` that `schema` refuses; `path` names the node.
pub(crate) fn check(node: &Node, schema: &Value, path: &str) -> Vec<Finding> {
    let mut walk = Walk { findings: Vec::new() };
    walk.value(node, schema, path);
    walk.findings
}

struct Walk {
    findings: Vec<Finding>,
}

impl Walk {
    fn add(&mut self, place: Place, field: &str, problem: impl Into<String>, fix: impl Into<String>) {
        self.findings.push(Finding { place, field: field.to_owned(), problem: problem.into(), fix: fix.into() });
    }

    fn value(&mut self, node: &Node, schema: &Value, path: &str) {
        if schema["x-kubernetes-preserve-unknown-fields"] == true {
            return;
        }
        match (schema["type"].as_str().unwrap_or_default(), &node.content) {
            ("object", Content::Map(_)) => self.map(node, schema, path),
            ("array", Content::List(items)) => self.list(node, items, schema, path),
            ("string", Content::Text(text)) => self.text(node, text, schema, path),
            ("integer", Content::Integer(number)) => self.integer(node, *number, schema, path),
            ("boolean", Content::Bool(_)) => {}
            (expected, found) => self.wrong_type(node, expected, found, path),
        }
    }

    fn wrong_type(&mut self, node: &Node, expected: &str, found: &Content, path: &str) {
        let scalar = match found {
            Content::Bool(value) => Some(value.to_string()),
            Content::Integer(value) => Some(value.to_string()),
            Content::Float(value) => Some(value.to_string()),
            Content::Text(text) => Some(text.clone()),
            Content::Null | Content::List(_) | Content::Map(_) => None,
        };
        let fix = match (expected, scalar) {
            ("string", Some(value)) => format!("write it in quotes: \"{value}\""),
            ("integer", Some(value)) if value.parse::<i64>().is_ok() => format!("write it without quotes: {value}"),
            ("boolean", Some(_)) => "write true or false, without quotes".to_owned(),
            ("array", _) => "write a list, each item on its own line after `- `".to_owned(),
            ("object", _) => "write fields below it, each indented".to_owned(),
            _ => format!("write {}", described(expected)),
        };
        self.add(node.place, path, format!("must be {}, but is {}", described(expected), kind_of(found)), fix);
    }

    fn map(&mut self, node: &Node, schema: &Value, path: &str) {
        let empty = serde_json::Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&empty);
        // Of a map, whose names are free.
        let any = Some(&schema["additionalProperties"]).filter(|any| any.is_object());
        for entry in node.entries() {
            let field = join(path, &entry.key);
            match properties.get(&entry.key).or(any) {
                Some(_) if entry.node.is_null() => {}
                Some(property) => self.value(&entry.node, property, &field),
                None => {
                    let known: Vec<&str> = properties.keys().map(String::as_str).collect();
                    self.add(
                        entry.place,
                        &field,
                        format!("unknown field {}", entry.key),
                        suggestion(&entry.key, &known),
                    );
                }
            }
        }
        for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if node.get(required).is_none() {
                let meaning = properties.get(required).and_then(|one| one["description"].as_str()).unwrap_or_default();
                let field = join(path, required);
                self.add(node.place, &field, "is missing", format!("add {required}: {}", first_sentence(meaning)));
            }
        }
    }

    fn list(&mut self, node: &Node, items: &[Node], schema: &Value, path: &str) {
        let count = items.len() as i64;
        self.bounds(node, count, (&schema["minItems"], &schema["maxItems"]), path, "items");
        for (index, item) in items.iter().enumerate() {
            self.value(item, &schema["items"], &format!("{path}[{index}]"));
        }
        match schema["x-kubernetes-list-type"].as_str() {
            Some("map") => {
                let key = schema["x-kubernetes-list-map-keys"][0].as_str().unwrap_or("name");
                self.distinct(items, path, &|item| item.get(key).and_then(Node::text), Some(key));
            }
            Some("set") => self.distinct(items, path, &|item| item.text(), None),
            _ => {}
        }
    }

    fn distinct(&mut self, items: &[Node], path: &str, identity: &dyn Fn(&Node) -> Option<&str>, key: Option<&str>) {
        let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
        for (index, item) in items.iter().enumerate() {
            let Some(value) = identity(item) else { continue };
            let Some(line) = seen.get(value) else {
                seen.insert(value, item.place.line);
                continue;
            };
            let field = key.map_or(format!("{path}[{index}]"), |key| format!("{path}[{index}].{key}"));
            let place = key.and_then(|key| item.get(key)).unwrap_or(item).place;
            let fix = if key.is_some() { "rename one, or remove it" } else { "remove one" };
            self.add(place, &field, format!("{value} is there twice, first in line {line}"), fix);
        }
    }

    fn text(&mut self, node: &Node, text: &str, schema: &Value, path: &str) {
        if let Some(values) = schema["enum"].as_array() {
            let known: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            if !known.contains(&text) {
                self.add(node.place, path, format!("{text:?} is not a possible value"), suggestion(text, &known));
            }
            return;
        }
        let length = text.chars().count() as i64;
        self.bounds(node, length, (&schema["minLength"], &schema["maxLength"]), path, "characters");
    }

    fn integer(&mut self, node: &Node, number: i64, schema: &Value, path: &str) {
        let (least, most) = (whole(&schema["minimum"]), whole(&schema["maximum"]));
        if least.is_some_and(|least| number < least) || most.is_some_and(|most| number > most) {
            let fix = format!("write a number from {} to {}", shown(least), shown(most));
            self.add(node.place, path, format!("{number} is out of bounds"), fix);
        }
    }

    fn bounds(&mut self, node: &Node, size: i64, (least, most): (&Value, &Value), path: &str, unit: &str) {
        let (least, most) = (whole(least), whole(most));
        if least.is_some_and(|least| size < least) {
            let fix = format!("write at least {}", shown(least));
            self.add(node.place, path, format!("has {size} {unit}"), fix);
        }
        if most.is_some_and(|most| size > most) {
            let fix = format!("write at most {}", shown(most));
            self.add(node.place, path, format!("has {size} {unit}"), fix);
        }
    }
}

/// What to write instead of an unknown word.
pub(crate) fn suggestion(word: &str, known: &[&str]) -> String {
    let lower = word.to_lowercase();
    let distance = |other: &&&str| strsim::damerau_levenshtein(&lower, &other.to_lowercase());
    let nearest = known.iter().min_by_key(distance).filter(|other| distance(other) <= 2.max(word.len() / 4));
    match nearest {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => format!("choose one of {}", known.join(", ")),
    }
}

fn join(path: &str, field: &str) -> String {
    if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") }
}

fn shown(bound: Option<i64>) -> String {
    bound.map_or_else(|| "any".to_owned(), |bound| bound.to_string())
}

/// Bounds of integers are written as floats in OpenAPI.
fn whole(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_f64().map(|number| number as i64))
}

fn first_sentence(text: &str) -> String {
    let line = text.split('\n').collect::<Vec<_>>().join(" ");
    line.split_inclusive(". ").next().unwrap_or_default().trim_end_matches(['.', ' ']).to_owned()
}

fn described(expected: &str) -> &str {
    match expected {
        "string" => "text",
        "integer" => "a whole number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "a group of fields",
        other => other,
    }
}

fn kind_of(content: &Content) -> &'static str {
    match content {
        Content::Null => "empty",
        Content::Bool(_) => "true or false",
        Content::Integer(_) => "a whole number",
        Content::Float(_) => "a decimal number",
        Content::Text(_) => "text",
        Content::List(_) => "a list",
        Content::Map(_) => "a group of fields",
    }
}
