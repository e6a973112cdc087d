use anyhow::{Result, bail};
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::groundwork::{client, read};
use crate::{Process, binary};

const START: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);

/// A running `groundwork serve` on two free ports. Dropping it ends it.
pub struct Pod {
    /// The process.
    pub process: Process,
    url: String,
    health: String,
    client: Client,
}

impl Pod {
    /// Serves what `serving` says, from a file in `place`, and waits for its addresses.
    pub async fn start(place: &Path, serving: &Value, arguments: &[&str]) -> Result<Self> {
        let config = place.join("serving.json");
        std::fs::write(&config, serde_json::to_vec(serving)?)?;
        let mut command = Command::new(binary()?);
        command.arg("serve").arg("--config").arg(config).args(arguments);
        command.args(["--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"]);
        let mut process = Process::start(&mut command)?;
        let url = process.wait_for_line("its address", |line| after(line, "questions: "), START).await?;
        let health = process.wait_for_line("its other address", |line| after(line, "health: "), START).await?;
        Ok(Self { process, url, health, client: client()? })
    }

    /// A request to the port for questions, with a key where there is one.
    pub fn request(&self, method: &str, path: &str, key: &str) -> Result<RequestBuilder> {
        let request = self.client.request(method.parse()?, format!("{}{path}", self.url));
        Ok(if key.is_empty() { request } else { request.bearer_auth(key) })
    }

    /// A JSON reply of the port for questions.
    pub async fn get(&self, path: &str, key: &str) -> Result<(u16, Value)> {
        read(self.request("GET", path, key)?).await
    }

    /// Asks a question.
    pub async fn ask(&self, question: &str, key: &str) -> Result<(u16, Value)> {
        read(self.request("POST", "/v1/ask", key)?.json(&json!({"question": question}))).await
    }

    /// What the health port says.
    pub async fn ready(&self) -> Result<(u16, Value)> {
        read(self.client.get(format!("{}/readyz", self.health))).await
    }

    /// The metrics.
    pub async fn metrics(&self) -> Result<String> {
        Ok(self.client.get(format!("{}/metrics", self.health)).send().await?.text().await?)
    }

    /// Waits until the health port says something.
    pub async fn until(&self, what: &str, reached: impl Fn(u16, &Value) -> bool) -> Result<Value> {
        let deadline = Instant::now() + START;
        loop {
            let (status, body) = self.ready().await?;
            if reached(status, &body) {
                return Ok(body);
            }
            if Instant::now() > deadline {
                bail!("the pod did not get to where {what}: {body}\n{}", self.process.output().join("\n"));
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

fn after(line: &str, word: &str) -> Option<String> {
    line.strip_prefix(word).map(str::to_owned)
}
