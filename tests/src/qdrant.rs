use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;
use tempfile::TempDir;

use crate::Process;
use crate::skip::skip;

/// Environment variable with the address of a real server's gRPC service.
const URL: &str = "QDRANT_URL";
/// Name of the part in the list of required ones.
const PART: &str = "qdrant";
const START: Duration = Duration::from_secs(30);
const STOP: Duration = Duration::from_secs(30);

/// A server of Qdrant's protocol: the one that `QDRANT_URL` names, else a double of its own. Dropping it ends the double
/// and deletes its data.
pub struct Qdrant {
    url: String,
    double: Option<(Process, TempDir)>,
}

impl Qdrant {
    /// A server for a test; where there is none and the double cannot be built, the test is skipped.
    ///
    /// # Panics
    /// Where the double was built and does not start.
    pub async fn start(test: &str) -> Option<Self> {
        if let Ok(url) = std::env::var(URL) {
            return Some(Self { url, double: None });
        }
        static BINARY: OnceLock<Result<PathBuf, String>> = OnceLock::new();
        match BINARY.get_or_init(|| find_or_build().map_err(|error| format!("{error:#}"))) {
            Ok(binary) => Some(Self::double(binary).await.expect("the double starts")),
            Err(reason) => {
                skip(test, PART, reason);
                None
            }
        }
    }

    async fn double(binary: &Path) -> Result<Self> {
        let data = TempDir::new()?;
        let (process, url) = run(binary, data.path()).await?;
        Ok(Self { url, double: Some((process, data)) })
    }

    /// Address of the gRPC service.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Ends the double and starts it on the same data; its address changes. A real server stays as it is.
    ///
    /// # Errors
    /// It does not end, or does not start again.
    pub async fn restart(&mut self) -> Result<()> {
        if let Some((process, data)) = &mut self.double {
            let status = process.terminate(STOP).await?;
            if !status.success() {
                bail!("the double ended with {status}:\n{}", process.output().join("\n"));
            }
            let (again, url) = run(&find_or_build()?, data.path()).await?;
            (*process, self.url) = (again, url);
        }
        Ok(())
    }
}

async fn run(binary: &Path, data: &Path) -> Result<(Process, String)> {
    let mut process = Process::start_tied(Command::new(binary).arg(data))?;
    let address = |line: &str| line.starts_with("http://").then(|| line.to_owned());
    let url = process.wait_for_line("its address", address, START).await?;
    Ok((process, url))
}

/// The double beside the target folder's builds, made by the script where it is missing: that takes minutes.
fn find_or_build() -> Result<PathBuf> {
    let test = std::env::current_exe().context("failed to find the test executable")?;
    let target = test.ancestors().nth(3).context("the test executable lies in no target folder")?;
    let binary = target.join("qdrant-double/debug/qdrant-double");
    if !binary.is_file() {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("hack").join("qdrant-double.sh");
        let built = Command::new(&script).env("CARGO_TARGET_DIR", target).output();
        let built = built.with_context(|| format!("failed to run {}", script.display()))?;
        if !built.status.success() {
            bail!("failed to build the Qdrant double:\n{}", String::from_utf8_lossy(&built.stderr));
        }
    }
    Ok(binary)
}
