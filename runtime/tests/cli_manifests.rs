//! `up` with manifests: models behind endpoints, several knowledge bases, a changed contract.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{HANDBOOK, Models, Place, Up};
use serde_json::{Value, json};

/// A knowledge base of the folder `handbook` with vectors of the endpoint `embedder`.
fn embedded_base(models: &Models, child_tokens: u32) -> Vec<Value> {
    let embedding = json!({ "name": "embedder", "dimensions": 8, "maxBatch": 4 });
    vec![
        base(
            "handbook",
            json!({
                "chunking": { "childTokens": child_tokens, "overlapTokens": 5 },
                "embedding": { "type": "ModelEndpoint", "modelEndpoint": embedding },
            }),
        ),
        endpoint("embedder", models, "Embeddings"),
        pipeline(&["handbook"], None),
    ]
}

fn base(name: &str, more: Value) -> Value {
    let source =
        json!({ "name": name, "type": "PersistentVolumeClaim", "persistentVolumeClaim": { "claimName": name } });
    let mut spec = json!({ "sources": [source] });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    object("KnowledgeBase", name, &spec)
}

fn endpoint(name: &str, models: &Models, use_for: &str) -> Value {
    let spec = json!({ "baseURL": models.url, "model": "m", "uses": [use_for], "timeoutSeconds": 1, "retries": 0 });
    object("ModelEndpoint", name, &spec)
}

fn pipeline(bases: &[&str], chat: Option<&str>) -> Value {
    let bases: Vec<Value> = bases.iter().map(|name| json!({ "name": name })).collect();
    let mut spec = json!({ "knowledgeBases": bases });
    if let Some(name) = chat {
        spec["models"] = json!({ "default": { "name": name } });
    }
    object("AgentPipeline", "main", &spec)
}

fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "groundwork.dev/v1alpha1", "kind": kind, "metadata": { "name": name }, "spec": spec })
}

fn write_manifests(place: &Place, objects: &[Value]) {
    // JSON is YAML, but a manifest is recognised by a line that begins with its apiVersion.
    let document = |object: &Value| {
        let rest: Vec<String> = ["kind", "metadata", "spec"].map(|key| format!("{key}: {}", object[key])).into();
        format!("apiVersion: groundwork.dev/v1alpha1\n{}\n", rest.join("\n"))
    };
    place.write("groundwork.yaml", &objects.iter().map(document).collect::<Vec<_>>().join("---\n"));
}

fn handbook_below(folder: &str) -> Place {
    let place = Place::with(&[]);
    for (path, text) in HANDBOOK {
        place.write(&format!("{folder}/{path}"), text);
    }
    place
}

fn first_base(up: &Up) -> Value {
    up.status().map(|status| status["knowledge_bases"][0].clone()).unwrap_or_default()
}

/// Waits until every chunk has its vector and nothing is built beside.
fn settled(up: &Up) -> Value {
    up.until("settled", |up| {
        let base = first_base(up);
        base["phase"] == "idle" && base["vectors"] == base["chunks"] && base["building_revision"].is_null()
    });
    first_base(up)
}

#[test]
fn vectors_of_an_endpoint_are_made_used_and_kept() {
    let (models, place) = (Models::start(), handbook_below("handbook"));
    write_manifests(&place, &embedded_base(&models, 100));
    let up = Up::of_manifests(&place, &[]).ready();
    let base = settled(&up);
    assert_eq!(base["embedder"], "endpoint/embedder/m/8", "{base}");
    let found = place.run(&["search", "-o", "json", "--mode", "vector", "paid leave a year"]).expect(0).json();
    assert_eq!(found["hits"][0]["arms"][0]["arm"], "vector", "{found}");
    up.signal("INT");
    up.wait().expect(0);
    let before = models.embedded();
    let again = Up::of_manifests(&place, &[]).ready();
    settled(&again);
    assert_eq!(models.embedded(), before, "nothing is embedded twice");
}

#[test]
fn another_model_behind_the_name_is_refused_and_keywords_go_on() {
    let (models, place) = (Models::start(), handbook_below("handbook"));
    write_manifests(&place, &embedded_base(&models, 100));
    let up = Up::of_manifests(&place, &[]).ready();
    let vectors = settled(&up)["vectors"].clone();
    models.exchange();
    place.write("handbook/garden.md", "# Garden\n\nThe gardener comes on Tuesdays.\n");
    let problem = |up: &Up| first_base(up)["problem"].as_str().unwrap_or_default().to_owned();
    up.until("refused", |up| problem(up).contains("is not the one that made the stored vectors"));
    assert!(problem(&up).contains("give the new one another name"), "{}", problem(&up));
    assert_eq!(first_base(&up)["vectors"], vectors, "no vector of the other model");
    let answer = up.ask("When does the gardener come?");
    assert_eq!(answer["band"], "answered", "{answer}");
    assert!(answer["notes"].to_string().contains("Searched by keywords only: the model behind"), "{answer}");
}

#[test]
fn a_changed_chunking_is_built_beside_while_answers_keep_coming() {
    let (models, place) = (Models::start(), handbook_below("handbook"));
    let sentences: Vec<String> = (1..60).map(|n| format!("Rule {n} of the workshop is kept by everybody.")).collect();
    place.write("handbook/rules.md", &format!("# Rules\n\n{}\n", sentences.join(" ")));
    write_manifests(&place, &embedded_base(&models, 100));
    let up = Up::of_manifests(&place, &[]).ready();
    let before = settled(&up);
    up.signal("INT");
    up.wait().expect(0);

    models.hold();
    write_manifests(&place, &embedded_base(&models, 30));
    let up = Up::of_manifests(&place, &[]).ready();
    up.until("built beside", |up| {
        let base = first_base(up);
        !base["last_sync"].is_null() && !base["building_revision"].is_null()
    });
    let answer = up.ask("What is the late fee?");
    assert_eq!((&answer["band"], &answer["revisions"][0]), (&json!("answered"), &before["revision"]), "{answer}");
    models.release();
    let after = settled(&up);
    assert_ne!(after["revision"], before["revision"]);
    assert!(after["chunks"].as_u64() > before["chunks"].as_u64(), "{after}");
    let answer = up.ask("What is the late fee?");
    assert_eq!((&answer["band"], &answer["revisions"][0]), (&json!("answered"), &after["revision"]), "{answer}");
}

#[test]
fn several_knowledge_bases_answer_together() {
    let place = Place::with(&[
        ("rules/fees.md", "# Fees\n\nThe late fee is 3 EUR for each day.\n"),
        ("garden/visits.md", "# Garden\n\nThe gardener comes on Tuesdays.\n"),
    ]);
    let hashing = || json!({ "embedding": { "type": "Hashing", "hashing": { "dimensions": 64 } } });
    let objects = [base("rules", hashing()), base("garden", hashing()), pipeline(&["rules", "garden"], None)];
    write_manifests(&place, &objects);
    let up = Up::of_manifests(&place, &[]).ready();
    for (question, document) in
        [("What is the late fee?", "rules/fees.md"), ("When does the gardener come?", "garden/visits.md")]
    {
        let answer = up.ask(question);
        assert_eq!((&answer["band"], &answer["citations"][0]["document"]), (&json!("answered"), &json!(document)));
        assert_eq!(answer["revisions"].as_array().unwrap().len(), 2, "{answer}");
        assert_eq!(answer["documents_searched"], 2);
    }
    let found = place.run(&["search", "-o", "json", "late fee gardener Tuesdays"]).expect(0).json();
    let mut bases: Vec<&str> =
        found["hits"].as_array().unwrap().iter().map(|hit| hit["knowledge_base"].as_str().unwrap()).collect();
    bases.sort_unstable();
    assert_eq!(bases, ["garden", "rules"], "{found}");
}

/// An `up` whose answers a model should write that takes every question and never answers.
fn up_with_a_hanging_model(models: &Models, timeout_seconds: u32) -> (Place, Up) {
    let place = handbook_below("handbook");
    let mut chat = endpoint("chat", models, "Chat");
    chat["spec"]["timeoutSeconds"] = json!(timeout_seconds);
    write_manifests(&place, &[base("handbook", json!({})), chat, pipeline(&["handbook"], Some("chat"))]);
    let up = Up::start(&place, &[]).ready();
    (place, up)
}

#[test]
fn a_chat_model_that_hangs_is_given_up_at_its_deadline_and_the_documents_are_quoted() {
    let models = Models::start();
    let (_place, up) = up_with_a_hanging_model(&models, 1);
    let answer = up.ask("What is the late fee?");
    assert_eq!((&answer["band"], &answer["stop_reason"]), (&json!("answered"), &json!("model_failed")), "{answer}");
    assert_eq!(answer["written_by"], "quotes from your documents");
    assert!(answer["notes"].to_string().contains("no reply within the endpoint's timeout"), "{answer}");
}

#[test]
fn a_client_that_leaves_ends_the_request_to_the_model() {
    let models = Models::start();
    let (_place, up) = up_with_a_hanging_model(&models, 600);
    let asking = up.begin_to_ask("What is the late fee?");
    models.wait_for_chat();
    drop(asking);
    models.wait_until_left();
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let models = Models::start();
    let (_place, up) = up_with_a_hanging_model(&models, 600);
    let _asking = up.begin_to_ask("What is the late fee?");
    models.wait_for_chat();
    up.signal("INT");
    up.until("ending", |up| up.get("/healthz").is_none_or(|(status, _)| status != 200));
    up.signal("INT");
    up.wait().expect(130);
}
