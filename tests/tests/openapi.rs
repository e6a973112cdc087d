//! `/openapi.json` against a running server: it is valid, and what the server says is what it describes.

use anyhow::{Context, Result, ensure};
use groundwork_tests::Groundwork;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

const NOBODY: &str = "00000000-0000-5000-8000-000000000000";

/// The description with what was found to be described rightly.
struct Description {
    document: Value,
    seen: BTreeSet<String>,
}

impl Description {
    /// Checks a reply against the schema of its route and status.
    fn check(&mut self, route: &str, (status, body): &(u16, Value)) -> Result<()> {
        let (method, path) = route.split_once(' ').context("METHOD PATH")?;
        let responses = &self.document["paths"][path][method.to_lowercase()]["responses"];
        let schema = &responses[status.to_string()]["content"]["application/json"]["schema"];
        ensure!(schema.is_object(), "{route} does not describe its reply {status}: {body}");
        self.validate(schema, body).with_context(|| format!("{route} {status}"))?;
        self.seen.insert(route.to_owned());
        Ok(())
    }

    fn validate(&self, schema: &Value, instance: &Value) -> Result<()> {
        let whole = json!({"allOf": [schema], "components": self.document["components"]});
        let validator = jsonschema::validator_for(&whole).map_err(|error| anyhow::anyhow!("bad schema: {error}"))?;
        let errors: Vec<String> =
            validator.iter_errors(instance).map(|error| format!("{}: {error}", error.instance_path())).collect();
        ensure!(errors.is_empty(), "{}\n{instance:#}", errors.join("\n"));
        Ok(())
    }

    /// `METHOD PATH` of everything that is described.
    fn operations(&self) -> BTreeSet<String> {
        let paths = self.document["paths"].as_object().into_iter().flatten();
        paths
            .flat_map(|(path, methods)| {
                let methods = methods.as_object().into_iter().flatten();
                methods.map(move |(method, _)| format!("{} {path}", method.to_uppercase()))
            })
            .collect()
    }
}

fn folder() -> Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    let text = "# Parts\n\nThe pump AX-3000 delivers 40 litres a minute.\n\nIts filter is changed every year.\n";
    std::fs::write(folder.path().join("parts.md"), text)?;
    std::fs::write(folder.path().join("empty.md"), "")?;
    Ok(folder)
}

async fn start(folder: &Path) -> Result<Groundwork> {
    let mut groundwork = Groundwork::up(folder, &["--embedding-model", "hashing"]).await?;
    groundwork.wait_until_idle().await?;
    Ok(groundwork)
}

#[tokio::test]
async fn a_live_server_does_what_its_description_says() -> Result<()> {
    let folder = folder()?;
    let server = start(folder.path()).await?;
    let (_, document) = server.get("/openapi.json").await?;
    let parsed = oas3::from_json(document.to_string())?;
    ensure!(parsed.openapi.starts_with("3.1"), "{}", parsed.openapi);
    let mut description = Description { document, seen: BTreeSet::new() };

    let question = json!({"question": "How much does the AX-3000 deliver?"});
    let answer = server.post("/v1/ask", &question).await?;
    description.check("POST /v1/ask", &answer)?;
    let citation = &answer.1["citations"][0];
    let text = |value: &Value| value.as_str().map(str::to_owned).with_context(|| format!("no text in {answer:?}"));
    let (chunk, found) = (text(&citation["chunk_id"])?, text(&citation["document_id"])?);
    let table = [
        ("GET /v1/chunks/{id}", format!("/v1/chunks/{chunk}"), 200),
        ("GET /v1/chunks/{id}", format!("/v1/chunks/{chunk}?scope=document"), 200),
        ("GET /v1/chunks/{id}", format!("/v1/chunks/{NOBODY}"), 404),
        ("GET /v1/chunks/{id}", "/v1/chunks/nonsense".into(), 404),
        ("GET /v1/documents/{id}", format!("/v1/documents/{found}"), 200),
        ("GET /v1/documents/{id}", format!("/v1/documents/{NOBODY}"), 404),
        ("GET /v1/documents", "/v1/documents?limit=1".into(), 200),
        ("GET /v1/documents", "/v1/documents?limit=0".into(), 400),
        ("GET /v1/documents", "/v1/documents?limit=x".into(), 400),
        ("GET /healthz", "/healthz".into(), 200),
        ("GET /readyz", "/readyz".into(), 200),
    ];
    for (route, path, status) in table {
        let reply = server.get(&path).await?;
        ensure!(reply.0 == status, "{path}: {reply:?}");
        description.check(route, &reply)?;
    }
    let table = [
        ("POST /v1/search", "/v1/search", json!({"query": "filter"}), 200),
        ("POST /v1/search", "/v1/search", json!({"query": ""}), 400),
        ("POST /v1/search", "/v1/search", json!({"query": "a", "top_k": 101}), 400),
        ("POST /v1/ask", "/v1/ask", json!({"question": "Who sells SKU-9981?"}), 200),
        ("POST /v1/ask", "/v1/ask", json!({"question": "a", "filter": {"from": "tomorrow"}}), 400),
        ("POST /v1/sync", "/v1/sync", json!({}), 200),
    ];
    for (route, path, body, status) in table {
        let reply = server.post(path, &body).await?;
        ensure!(reply.0 == status, "{path} {body}: {reply:?}");
        description.check(route, &reply)?;
    }
    let mut unseen = description.operations();
    unseen.retain(|operation| !description.seen.contains(operation) && operation != "GET /metrics");
    ensure!(unseen.is_empty(), "described, but not checked here: {unseen:?}");
    Ok(())
}

#[tokio::test]
async fn every_example_fits_its_schema() -> Result<()> {
    let folder = folder()?;
    let server = start(folder.path()).await?;
    let (_, document) = server.get("/openapi.json").await?;
    let description = Description { document, seen: BTreeSet::new() };
    let mut examples = 0;
    for operation in description.operations() {
        let (method, path) = operation.split_once(' ').context("METHOD PATH")?;
        let body = &description.document["paths"][path][method.to_lowercase()]["requestBody"]["content"];
        let body = &body["application/json"];
        if let Some(example) = body.get("example") {
            description.validate(&body["schema"], example)?;
            let (status, reply) = server.post(path, example).await?;
            ensure!(status == 200, "{operation} refuses its own example: {reply}");
            examples += 1;
        }
    }
    ensure!(examples == 3, "{examples} examples");
    Ok(())
}

#[tokio::test]
async fn sigterm_ends_it_cleanly() -> Result<()> {
    let folder = folder()?;
    let server = start(folder.path()).await?;
    ensure!(server.stop().await?.success());
    Ok(())
}
