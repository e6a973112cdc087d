use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

use crate::{Process, binary};

/// What pods of one knowledge base share: the file that says what to ingest, a folder of documents, and the volume with the
/// state.
pub struct Pods {
    place: TempDir,
    /// The file's content; changes hold from the next command on.
    pub ingestion: Value,
}

impl Pods {
    /// A knowledge base `handbook` of one folder, kept in `store`, with vectors of the hashing encoder.
    pub fn new(store: Value) -> Result<Self> {
        let place = TempDir::new()?;
        std::fs::create_dir(place.path().join("policies"))?;
        let contract = json!({
            "chunking": {"strategy": "Structural", "parentTokens": 600, "childTokens": 100, "overlapTokens": 20},
            "keyword": {"language": "English", "foldIdentifiers": true},
            "embedding": {"hashing": {"dimensions": 64}},
            "analyserVersion": 1, "chunkerVersion": 1, "extractorVersion": 1,
        });
        let source = json!({
            "name": "policies", "kind": {"folder": {"path": place.path().join("policies")}}, "include": [], "exclude": [],
        });
        let knowledge_base = json!({
            "name": "handbook", "dataId": data_id(), "sources": [source],
            "metadata": {"title": "title", "date": "date", "tags": "tags"},
            "contract": contract, "sync": {"maxDeletePercent": 30}, "store": store,
        });
        Ok(Self { place, ingestion: json!({"knowledgeBase": knowledge_base, "endpoints": []}) })
    }

    /// The same in a Qdrant server.
    pub fn in_qdrant(url: &str) -> Result<Self> {
        Self::new(json!({"qdrant": {
            "url": url, "apiKeyFile": null, "shards": 1, "replicas": 1, "hnswM": 8, "hnswEfConstruct": 64,
        }}))
    }

    /// Where everything lies.
    pub fn place(&self) -> &Path {
        self.place.path()
    }

    /// The file that says what to ingest.
    pub fn config(&self) -> PathBuf {
        self.place.path().join("ingestion.json")
    }

    /// The volume.
    pub fn data(&self) -> PathBuf {
        self.place.path().join("data")
    }

    /// What decides the revision.
    pub fn contract(&mut self) -> &mut Value {
        &mut self.ingestion["knowledgeBase"]["contract"]
    }

    /// What keys the knowledge base's data: another one for each, since tests may share a server.
    pub fn data_id(&self) -> &str {
        self.ingestion["knowledgeBase"]["dataId"].as_str().unwrap_or_default()
    }

    /// Writes a document.
    pub fn write(&self, path: &str, text: &str) -> Result<()> {
        Ok(std::fs::write(self.place.path().join("policies").join(path), text)?)
    }

    /// The command with the file and the volume.
    pub fn command(&self, arguments: &[&str]) -> Result<Command> {
        std::fs::write(self.config(), serde_json::to_vec_pretty(&self.ingestion)?)?;
        let mut command = Command::new(binary()?);
        command.args(arguments).arg("--config").arg(self.config()).arg("--data-dir").arg(self.data());
        Ok(command)
    }

    /// Ingests to the end; gives what the command did and its report.
    pub fn ingest(&self, arguments: &[&str]) -> Result<(Output, Value)> {
        let output = self.ingestion_command(arguments)?.output()?;
        let report = self.report().with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
        Ok((output, report))
    }

    /// Begins to ingest.
    pub fn start_ingest(&self) -> Result<Process> {
        Process::start(&mut self.ingestion_command(&[])?)
    }

    /// What a pod serves that reads the revision of the contract as it is now, for everybody, answering with quotes.
    pub fn serving(&self, revision: &Value) -> Value {
        let knowledge_base = &self.ingestion["knowledgeBase"];
        let revision = revision.as_str().unwrap_or_default();
        let collection = format!("groundwork-{}-{revision}", self.data_id().replace('-', ""));
        let retrieval = json!({
            "mode": "hybrid", "candidates": 100, "topK": 8, "fusion": "relativeScore", "weights": null,
            "tokenBudget": 4000,
        });
        let pipeline = json!({"name": "answers", "retrieval": retrieval, "chat": null, "temperatureMilli": 0});
        json!({
            "config": {"knowledgeBases": [knowledge_base], "pipeline": pipeline, "endpoints": []},
            "revisions": {"handbook": {"collection": collection, "contract": knowledge_base["contract"]}},
            "authentication": "none",
        })
    }

    fn ingestion_command(&self, arguments: &[&str]) -> Result<Command> {
        let mut command = self.command(&["ingest"])?;
        command.arg("--report").arg(self.place.path().join("report")).args(arguments);
        Ok(command)
    }

    /// What the last ingestion left.
    pub fn report(&self) -> Result<Value> {
        Ok(serde_json::from_slice(&std::fs::read(self.place.path().join("report"))?)?)
    }
}

fn data_id() -> String {
    let random = || RandomState::new().build_hasher().finish();
    let (high, low) = (random(), random());
    let parts = (high >> 32, high >> 16 & 0xffff, high & 0xfff, low >> 48 & 0xfff, low & 0xffff_ffff_ffff);
    format!("{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}", parts.0, parts.1, parts.2, parts.3, parts.4)
}
