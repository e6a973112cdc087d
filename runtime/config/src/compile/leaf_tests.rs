//! Every field of the API has a reader: for each leaf of each schema, a row changes that leaf in a full set of manifests,
//! and the compiled configuration must change with it. A leaf without a row, a row without a leaf, or a change that
//! nobody reads fails. What only the operator reads (`OPERATOR_FIELDS`) is tested there in the same way.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::{Objects, Options, Volume, compile};
use crate::RuntimeConfig;

/// Index of each object in [`base`].
const BASE: &str = "/0";
const STORED: &str = "/1";
const PIPELINE: &str = "/3";
const CHAT: &str = "/4";
const POLICY: &str = "/7";

/// A full set: two knowledge bases that are named, one that is not, a pipeline, a chat model, two embedding
/// models, and two policies.
fn base() -> Value {
    serde_json::from_str(include_str!("../../../../crds/fixtures/full.json")).unwrap()
}

/// The object, the leaf's pointer in its spec with its new value, and what must change beside it to stay valid.
type Row = (&'static str, &'static str, Value, Vec<(&'static str, Value)>);

fn rows() -> Vec<Row> {
    [rows_of_knowledge_bases(), rows_of_pipelines(), rows_of_policies(), rows_of_endpoints()].concat()
}

fn row(object: &'static str, leaf: &'static str, value: Value) -> Row {
    (object, leaf, value, Vec::new())
}

fn rows_of_knowledge_bases() -> Vec<Row> {
    vec![
        row(BASE, "dataId", json!("00000000-0000-5000-8000-000000000000")),
        row(BASE, "sources/0/name", json!("papers")),
        (
            BASE,
            "sources/0/type",
            json!("PersistentVolumeClaim"),
            vec![
                ("sources/0/inline", Value::Null),
                ("sources/0/persistentVolumeClaim", json!({"claimName": "second"})),
            ],
        ),
        row(BASE, "sources/0/inline/documents/0/path", json!("z.md")),
        row(BASE, "sources/0/inline/documents/0/content", json!("Z")),
        row(BASE, "sources/1/persistentVolumeClaim/claimName", json!("second")),
        row(BASE, "sources/1/persistentVolumeClaim/path", json!("other")),
        row(BASE, "sources/0/include/0", json!("*.txt")),
        row(BASE, "sources/0/exclude/0", json!("old*")),
        row(BASE, "metadata/titleKey", json!("name")),
        row(BASE, "metadata/dateKey", json!("valid-from")),
        row(BASE, "metadata/tagsKey", json!("labels")),
        row(BASE, "chunking/strategy", json!("Fixed")),
        row(BASE, "chunking/parentTokens", json!(501)),
        row(BASE, "chunking/childTokens", json!(91)),
        row(BASE, "chunking/overlapTokens", json!(11)),
        row(BASE, "keyword/language", json!("French")),
        row(BASE, "keyword/foldIdentifiers", json!(false)),
        (BASE, "embedding/type", json!("None"), vec![("embedding/modelEndpoint", Value::Null)]),
        row("/1", "embedding/hashing/dimensions", json!(128)),
        row(BASE, "embedding/modelEndpoint/name", json!("other")),
        row(BASE, "embedding/modelEndpoint/dimensions", json!(9)),
        row(BASE, "embedding/modelEndpoint/queryPrefix", json!("query: ")),
        row(BASE, "embedding/modelEndpoint/passagePrefix", json!("passage: ")),
        row(BASE, "embedding/modelEndpoint/maxBatch", json!(6)),
        row(BASE, "sync/maxDeletePercent", json!(41)),
        (STORED, "vectorStore/type", json!("Embedded"), vec![("vectorStore/qdrant", Value::Null)]),
        row(STORED, "vectorStore/qdrant/url", json!("http://localhost:6335")),
        row(STORED, "vectorStore/qdrant/credentials/secretKeyRef/name", json!("r")),
        row(STORED, "vectorStore/qdrant/credentials/secretKeyRef/key", json!("l")),
        row(STORED, "vectorStore/qdrant/shards", json!(3)),
        row(STORED, "vectorStore/qdrant/replicas", json!(2)),
        row(STORED, "vectorStore/qdrant/hnsw/m", json!(25)),
        row(STORED, "vectorStore/qdrant/hnsw/efConstruct", json!(201)),
    ]
}

fn rows_of_pipelines() -> Vec<Row> {
    vec![
        row(PIPELINE, "knowledgeBases/0/name", json!("three")),
        // That endpoint names no prices, which a bound of cost asks for.
        (PIPELINE, "models/default/name", json!("other"), vec![("toolPolicyRef/name", json!("wide"))]),
        row(PIPELINE, "models/default/temperature", json!("0.3")),
        row(PIPELINE, "retrieval/mode", json!("Keyword")),
        row(PIPELINE, "retrieval/candidates", json!(51)),
        row(PIPELINE, "retrieval/topK", json!(6)),
        row(PIPELINE, "retrieval/tokenBudget", json!(901)),
        (PIPELINE, "retrieval/fusion/type", json!("RelativeScore"), vec![("retrieval/fusion/rrf", Value::Null)]),
        row(PIPELINE, "retrieval/fusion/rrf/k", json!(31)),
        row(PIPELINE, "retrieval/weights/keyword", json!(71)),
        row(PIPELINE, "retrieval/weights/vector", json!(31)),
        row(PIPELINE, "toolPolicyRef/name", json!("wide")),
    ]
}

fn rows_of_policies() -> Vec<Row> {
    vec![
        row(POLICY, "limits/wallClockSeconds", json!(61)),
        row(POLICY, "limits/tokens", json!(20001)),
        row(POLICY, "limits/cost", json!("0.06")),
        row(POLICY, "limits/requestsPerMinute", json!(31)),
        row(POLICY, "limits/concurrency", json!(3)),
    ]
}

fn rows_of_endpoints() -> Vec<Row> {
    vec![
        row(CHAT, "baseURL", json!("http://localhost:9/v1")),
        row(CHAT, "model", json!("n")),
        row(CHAT, "apiKey/secretKeyRef/name", json!("t")),
        row(CHAT, "apiKey/secretKeyRef/key", json!("l")),
        (CHAT, "uses/0", json!("Embeddings"), vec![("uses", json!(["Embeddings", "Chat"]))]),
        row(CHAT, "contextWindow", json!(4096)),
        row(CHAT, "prices/input", json!("0.16")),
        row(CHAT, "prices/output", json!("0.7")),
        row(CHAT, "limits/requestsPerMinute", json!(61)),
        row(CHAT, "limits/concurrency", json!(3)),
        row(CHAT, "timeoutSeconds", json!(31)),
        row(CHAT, "retries", json!(2)),
    ]
}

fn objects(set: &Value) -> Objects {
    let mut objects = Objects::default();
    for one in set.as_array().unwrap() {
        match one["kind"].as_str().unwrap() {
            "KnowledgeBase" => objects.knowledge_bases.push(serde_json::from_value(one.clone()).unwrap()),
            "AgentPipeline" => objects.pipelines.push(serde_json::from_value(one.clone()).unwrap()),
            "ToolPolicy" => objects.policies.push(serde_json::from_value(one.clone()).unwrap()),
            _ => objects.endpoints.push(serde_json::from_value(one.clone()).unwrap()),
        }
    }
    objects
}

fn compiled(set: &Value) -> RuntimeConfig {
    let volume = |name: &str| Volume { namespace: "default".into(), knowledge_base: "one".into(), name: name.into() };
    let volumes = BTreeMap::from([
        (volume("first"), PathBuf::from("/volumes/first")),
        (volume("second"), PathBuf::from("/volumes/second")),
    ]);
    let options = Options { pipeline: None, volumes, secrets_dir: "/secrets".into() };
    compile(&objects(set), &options).unwrap()
}

fn set(target: &mut Value, object: &str, pointer: &str, value: Value) {
    let path = format!("{object}/spec/{pointer}");
    let (parent, last) = path.rsplit_once('/').unwrap();
    match target.pointer_mut(parent).unwrap() {
        Value::Object(map) => drop(map.insert(last.to_owned(), value)),
        Value::Array(items) => items[last.parse::<usize>().unwrap()] = value,
        other => panic!("{parent} is {other}"),
    }
}

/// `sources/0/name` as the schema's walk names it: `sources[].name`.
fn schema_path(pointer: &str) -> String {
    let step = |path: String, part: &str| match part.parse::<usize>() {
        Ok(_) => format!("{path}[]"),
        Err(_) => format!("{path}.{part}"),
    };
    pointer.split('/').fold(String::new(), step)
}

fn leaves(path: String, schema: &Value, found: &mut BTreeSet<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        properties.iter().for_each(|(name, property)| leaves(format!("{path}.{name}"), property, found));
    } else if schema["items"].is_object() {
        leaves(format!("{path}[]"), &schema["items"], found);
    } else {
        found.insert(path);
    }
}

#[test]
fn every_leaf_of_the_schemas_has_a_row() {
    let mut expected = BTreeSet::new();
    for definition in groundwork_crds::definitions() {
        leaves(definition.kind().to_owned(), &definition.schema()["properties"]["spec"], &mut expected);
    }
    let of_the_operator = |path: &str| {
        let below =
            |field: &&str| path.strip_prefix(*field).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        groundwork_crds::OPERATOR_FIELDS.iter().any(below)
    };
    expected.retain(|path| !of_the_operator(path));
    let set = base();
    let kind = |object: &str| set.pointer(object).unwrap()["kind"].as_str().unwrap().to_owned();
    let found: BTreeSet<String> = rows().iter().map(|(object, leaf, ..)| kind(object) + &schema_path(leaf)).collect();
    assert_eq!(found, expected);
}

#[test]
fn changing_any_leaf_changes_the_configuration() {
    let before = compiled(&base());
    for (object, leaf, value, beside) in rows() {
        let mut changed = base();
        set(&mut changed, object, leaf, value);
        beside.into_iter().for_each(|(pointer, value)| set(&mut changed, object, pointer, value));
        assert_ne!(compiled(&changed), before, "nobody reads {object} {leaf}");
    }
}

#[test]
fn compiling_twice_gives_equal_bytes() {
    let bytes = || serde_json::to_vec(&compiled(&base())).unwrap();
    assert_eq!(bytes(), bytes());
}
