use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};
use tempfile::TempDir;

use crate::Process;

/// How long a small folder may take until its keywords are in, on a busy machine.
const START: Duration = Duration::from_secs(60);
/// How long an idle instance may take to end.
const STOP: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);

/// The program as cargo built it: beside the folder of the test executables.
pub fn binary() -> Result<PathBuf> {
    let test = std::env::current_exe().context("failed to find the test executable")?;
    let debug = test.parent().and_then(Path::parent).context("the test executable lies in no target folder")?;
    let binary = debug.join("groundwork");
    if !binary.is_file() {
        bail!("{} does not exist; build it first: cargo build -p groundwork", binary.display());
    }
    Ok(binary)
}

/// A running `groundwork up` with data of its own. Dropping it ends it and deletes its data.
pub struct Groundwork {
    process: Process,
    url: String,
    client: reqwest::Client,
    _data: TempDir,
}

impl Groundwork {
    /// Serves `folder` on a free port and waits until questions can be asked.
    pub async fn up(folder: &Path, arguments: &[&str]) -> Result<Self> {
        let data = TempDir::new()?;
        let mut command = Command::new(binary()?);
        command.arg("up").arg(folder).args(["--port", "0"]).arg("--data-dir").arg(data.path()).args(arguments);
        let mut process = Process::start(&mut command)?;
        let url = process.wait_for_line("its address", loopback_url, START).await?;
        let mut started = Self { process, url, client: client()?, _data: data };
        started.wait_until("keywords are in", |status| status["ready"] == true).await?;
        Ok(started)
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The port it listens on.
    pub fn port(&self) -> Option<u16> {
        self.url.rsplit(':').next().and_then(|port| port.parse().ok())
    }

    /// Everything it printed so far.
    pub fn output(&self) -> Vec<String> {
        self.process.output()
    }

    /// A client that talks to it.
    pub fn client(&self) -> &reqwest::Client {
        &self.client
    }

    /// Waits until vectors are complete.
    pub async fn wait_until_idle(&mut self) -> Result<()> {
        let idle = |status: &Value| {
            let bases = status["knowledge_bases"].as_array();
            bases.is_some_and(|bases| bases.iter().all(|base| base["phase"] == "idle"))
        };
        self.wait_until("it is idle", idle).await
    }

    /// A JSON reply with its status.
    pub async fn get(&self, path: &str) -> Result<(u16, Value)> {
        read(self.client.get(format!("{}{path}", self.url))).await
    }

    /// A JSON reply with its status.
    pub async fn post(&self, path: &str, body: &Value) -> Result<(u16, Value)> {
        read(self.client.post(format!("{}{path}", self.url)).json(body)).await
    }

    /// Asks it to end and waits for that.
    pub async fn stop(mut self) -> Result<ExitStatus> {
        self.process.terminate(STOP).await
    }

    async fn wait_until(&mut self, what: &str, reached: impl Fn(&Value) -> bool) -> Result<()> {
        let deadline = Instant::now() + START;
        let mut last = Value::Null;
        while !reached(&last) {
            if !self.process.is_running()? || Instant::now() > deadline {
                bail!("groundwork did not get to where {what}; last: {last}\n{}", self.output().join("\n"));
            }
            tokio::time::sleep(POLL).await;
            if let Ok((_, status)) = self.get("/readyz").await {
                last = status;
            }
        }
        Ok(())
    }
}

pub(crate) async fn read(request: reqwest::RequestBuilder) -> Result<(u16, Value)> {
    let response = request.send().await?;
    let status = response.status().as_u16();
    let text = response.text().await?;
    Ok((status, serde_json::from_str(&text).with_context(|| format!("{status}: {text}"))?))
}

pub(crate) fn client() -> Result<reqwest::Client> {
    crate::browser::install_crypto();
    Ok(reqwest::Client::builder().no_proxy().timeout(START).build()?)
}

fn loopback_url(line: &str) -> Option<String> {
    let start = line.find("http://127.0.0.1:")?;
    let url = &line[start..];
    let port = url.trim_start_matches("http://127.0.0.1:");
    let digits = port.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(port.len());
    (digits > 0).then(|| format!("http://127.0.0.1:{}", &port[..digits]))
}
