//! A table of objects that break one rule each. A rule of a schema without a row fails.

use serde_json::{Value, json};
use std::collections::BTreeSet;

use super::node::{Content, Node};
use super::tests::{errors, full, reading};

/// Index in the full set, what to change in its spec, and the message after the object's name.
struct Row(usize, Vec<(&'static str, Value)>, &'static str);

const KNOWLEDGE_BASE: usize = 0;
const PIPELINE: usize = 3;
const ENDPOINT: usize = 4;
const NAME: &str = "must be lower-case letters, digits and hyphens, begin with a letter and end with a letter or digit, \
                    for example handbook-2024";
const PATH: &str = "must be a relative path with / between its parts and without empty, . or .. parts, for example \
                    policies/travel.md";
const GLOB: &str = "a pattern must not begin with !: put what is to be left out into exclude, without the !";
const PRICE: &str = "must be a decimal below one million with at most six places, in quotes, for example \"0.15\"";

fn of_sources() -> Vec<Row> {
    let row = |pointer, value, message| Row(KNOWLEDGE_BASE, vec![(pointer, value)], message);
    let claim = json!({"claimName": "first"});
    let documents = json!({"documents": [{"path": "a.md", "content": "A"}]});
    vec![
        row("sources/0/name", json!("Notes"), "spec.sources[0].name: {NAME}"),
        row(
            "sources/0/inline",
            Value::Null,
            "spec.sources[0]: type is Inline: add the field inline, or choose another type",
        ),
        row("sources/1/inline", documents, "spec.sources[1]: inline is set: set type to Inline, or remove inline"),
        row(
            "sources/1/persistentVolumeClaim",
            Value::Null,
            "spec.sources[1]: type is PersistentVolumeClaim: add the field persistentVolumeClaim, or choose another type",
        ),
        row(
            "sources/0/persistentVolumeClaim",
            claim,
            "spec.sources[0]: persistentVolumeClaim is set: set type to PersistentVolumeClaim, or remove \
             persistentVolumeClaim",
        ),
        row("sources/0/include", json!(["*.md", "!a.md"]), "spec.sources[0].include: {GLOB}"),
        row("sources/0/exclude", json!(["!a.md"]), "spec.sources[0].exclude: {GLOB}"),
        row("sources/0/inline/documents/0/path", json!("../a.md"), "spec.sources[0].inline.documents[0].path: {PATH}"),
        row("sources/0/inline/documents/0/path", json!("/a.md"), "spec.sources[0].inline.documents[0].path: {PATH}"),
        row("sources/0/inline/documents/0/path", json!("a//b.md"), "spec.sources[0].inline.documents[0].path: {PATH}"),
        row("sources/0/inline/documents/0/path", json!("a\\b.md"), "spec.sources[0].inline.documents[0].path: {PATH}"),
        row(
            "sources/1/persistentVolumeClaim/path",
            json!("a/./b"),
            "spec.sources[1].persistentVolumeClaim.path: {PATH}",
        ),
        row(
            "sources/1/persistentVolumeClaim/claimName",
            json!("My Claim"),
            "spec.sources[1].persistentVolumeClaim.claimName: must be the name of a PersistentVolumeClaim: lower-case \
             letters, digits, hyphens and dots, for example handbook",
        ),
    ]
}

fn of_knowledge_bases() -> Vec<Row> {
    let row = |pointer, value, message| Row(KNOWLEDGE_BASE, vec![(pointer, value)], message);
    let hashing = json!({"dimensions": 64});
    vec![
        row(
            "dataId",
            json!("6F1C2B7E-3D7A-5C1E-9B57-0A4BE1D2C3F4"),
            "spec.dataId: must be a UUID in lower case, for example 6f1c2b7e-3d7a-5c1e-9b57-0a4be1d2c3f4",
        ),
        row(
            "chunking",
            json!({"childTokens": 601}),
            "spec.chunking: childTokens (100 unless set) must not exceed parentTokens (600 unless set): lower one or raise \
             the other",
        ),
        row(
            "chunking",
            json!({"overlapTokens": 100}),
            "spec.chunking: overlapTokens (20 unless set) must be below childTokens (100 unless set): lower one or raise \
             the other",
        ),
        row(
            "embedding",
            json!({"type": "Hashing"}),
            "spec.embedding: type is Hashing: add the field hashing, or choose another type",
        ),
        row("embedding/hashing", hashing, "spec.embedding: hashing is set: set type to Hashing, or remove hashing"),
        row(
            "embedding",
            json!({"type": "ModelEndpoint"}),
            "spec.embedding: type is ModelEndpoint: add the field modelEndpoint, or choose another type",
        ),
        row(
            "embedding/type",
            json!("Encoder"),
            "spec.embedding: modelEndpoint is set: set type to ModelEndpoint, or remove modelEndpoint",
        ),
        row("embedding/modelEndpoint/name", json!("-a"), "spec.embedding.modelEndpoint.name: {NAME}"),
    ]
}

fn of_pipelines() -> Vec<Row> {
    let row = |pointer, value, message| Row(PIPELINE, vec![(pointer, value)], message);
    vec![
        row("knowledgeBases/0/name", json!("a_b"), "spec.knowledgeBases[0].name: {NAME}"),
        row("models/default/name", json!("7b"), "spec.models.default.name: {NAME}"),
        row(
            "models/default/temperature",
            json!("2.5"),
            "spec.models.default.temperature: must be a decimal from \"0\" to \"2\" with at most three places, in quotes, \
             for example \"0.2\"",
        ),
        row(
            "retrieval/candidates",
            json!(4),
            "spec.retrieval: topK (8 unless set) must not exceed candidates (100 unless set): lower topK or raise \
             candidates",
        ),
        row(
            "retrieval/fusion",
            json!({"type": "Rrf"}),
            "spec.retrieval.fusion: type is Rrf: add the field rrf, or choose another type",
        ),
        row(
            "retrieval/fusion/type",
            json!("RelativeScore"),
            "spec.retrieval.fusion: rrf is set: set type to Rrf, or remove rrf",
        ),
        row(
            "retrieval/weights",
            json!({"keyword": 0, "vector": 0}),
            "spec.retrieval.weights: both weights are 0, so nothing would be found: raise one, or leave weights out",
        ),
    ]
}

fn of_endpoints() -> Vec<Row> {
    let row = |pointer, value, message| Row(ENDPOINT, vec![(pointer, value)], message);
    let url = "spec.baseURL: must begin with http:// or https:// and have no user, query or fragment, for example \
               http://localhost:11434/v1";
    vec![
        row("baseURL", json!("localhost:11434/v1"), url),
        row("baseURL", json!("https://key@models.example/v1"), url),
        row("baseURL", json!("https://models.example/v1?key=1"), url),
        row(
            "apiKey/secretKeyRef/name",
            json!("../etc"),
            "spec.apiKey.secretKeyRef.name: must be the name of a Secret: lower-case letters, digits, hyphens and dots, \
             for example model-credentials",
        ),
        row(
            "apiKey/secretKeyRef/key",
            json!("..data"),
            "spec.apiKey.secretKeyRef.key: must be a key of a Secret: letters, digits, hyphens, dots and underscores, for \
             example api-key",
        ),
        row("prices/input", json!("0,15"), "spec.prices.input: {PRICE}"),
        row("prices/output", json!("1000000"), "spec.prices.output: {PRICE}"),
    ]
}

fn rows() -> Vec<Row> {
    [of_sources(), of_knowledge_bases(), of_pipelines(), of_endpoints()].into_iter().flatten().collect()
}

impl Row {
    fn text(&self) -> String {
        let mut object = full().swap_remove(self.0);
        for (pointer, value) in &self.1 {
            let path = format!("/spec/{pointer}");
            let (parent, last) = path.rsplit_once('/').unwrap();
            let parent = object.pointer_mut(parent).unwrap();
            match parent {
                Value::Array(items) => items[last.parse::<usize>().unwrap()] = value.clone(),
                _ => parent[last] = value.clone(),
            }
        }
        serde_json::to_string_pretty(&object).unwrap()
    }

    fn message(&self) -> String {
        let texts = [("{NAME}", NAME), ("{PATH}", PATH), ("{GLOB}", GLOB), ("{PRICE}", PRICE)];
        texts.iter().fold(self.2.to_owned(), |message, (mark, text)| message.replace(mark, text))
    }
}

#[test]
fn breaking_one_rule_gives_its_message_alone() {
    for row in rows() {
        let found: Vec<String> = errors(&row.text());
        let [only] = found.as_slice() else { panic!("{}: {found:?}", row.message()) };
        let (place, message) = only.split_once(": spec.").unwrap();
        assert_eq!(format!("spec.{message}"), row.message());
        assert!(place.starts_with("test.yaml:") && !place.starts_with("test.yaml:1:"), "{place}");
    }
}

/// Kind, path and message of every rule below `spec`.
fn rules(kind: &str, path: &str, schema: &Value, found: &mut BTreeSet<String>) {
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        if !rule["rule"].as_str().unwrap().contains("oldSelf") {
            found.insert(format!("{kind} {path}: {}", rule["message"].as_str().unwrap()));
        }
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        rules(kind, &format!("{path}.{name}"), property, found);
    }
    if schema["items"].is_object() {
        rules(kind, &format!("{path}[]"), &schema["items"], found);
    }
}

#[test]
fn every_rule_has_a_row() {
    let mut expected = BTreeSet::new();
    for definition in groundwork_crds::definitions() {
        rules(definition.kind(), "spec", &definition.schema()["properties"]["spec"], &mut expected);
    }
    let kinds = full();
    let plain = |text: String| ["0", "1"].iter().fold(text, |text, index| text.replace(&format!("[{index}]"), "[]"));
    let found: BTreeSet<String> = rows()
        .iter()
        .map(|row| format!("{} {}", kinds[row.0]["kind"].as_str().unwrap(), plain(row.message())))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn an_identity_cannot_change_appear_or_vanish() {
    let definition = groundwork_crds::definition("KnowledgeBase").unwrap();
    let with = full().swap_remove(KNOWLEDGE_BASE);
    let mut other = with.clone();
    other["spec"]["dataId"] = json!("00000000-0000-5000-8000-000000000000");
    let mut without = with.clone();
    without["spec"].as_object_mut().unwrap().remove("dataId");
    let broken = |new: &Value, old: &Value| groundwork_crds::cel::violations(definition, new, Some(old));
    for (new, old) in [(&other, &with), (&without, &with), (&with, &without)] {
        let found = broken(new, old);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "spec");
        assert!(found[0].message.starts_with("dataId is immutable: keep it as it was"));
    }
    assert_eq!(broken(&with, &with), []);
    assert_eq!(broken(&without, &without), []);
}

/// As `kubectl` reads them, `yes` included.
#[test]
fn yaml_types_are_kept() {
    let documents = super::node::parse("a: [1, 1.5, yes, true, '1', null, 2024-05-01]\n").ok().unwrap();
    let Content::List(items) = &documents[0].get("a").unwrap().content else { panic!("a list") };
    let kinds: Vec<String> = items.iter().map(Node::json).map(|value| value.to_string()).collect();
    assert_eq!(kinds, ["1", "1.5", "true", "true", "\"1\"", "null", "\"2024-05-01\""]);
    assert!(reading("{}").errors[0].to_string().contains("holds no manifest"));
}
