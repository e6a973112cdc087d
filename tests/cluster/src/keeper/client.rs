use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Mutex, PoisonError};

use super::{Reply, Request};
use crate::programs::last_lines;

/// Lines of a log that are shown where a program did not come up.
const TAIL: usize = 30;

/// The tests' end of a keeper. Dropping it stops all programs and deletes the folder; so does the end of the process.
pub struct Keeper {
    folder: PathBuf,
    pipes: Mutex<Option<Pipes>>,
    names: Mutex<Vec<String>>,
    process: Child,
}

struct Pipes {
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
}

/// A program to start.
#[derive(Clone, Debug)]
pub struct Command<'a> {
    /// What it is called here; its log is `NAME.log`. No two running programs share a name.
    pub name: &'a str,
    /// The executable.
    pub path: &'a Path,
    /// Arguments.
    pub arguments: Vec<String>,
    /// Environment beside the inherited one.
    pub environment: Vec<(String, String)>,
}

impl Keeper {
    /// Starts a keeper with an empty folder for what its programs write.
    pub fn start() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("groundwork-cluster-").tempdir()?.keep();
        let binary = groundwork_tests::binary()?.with_file_name("groundwork-control-plane");
        let mut process = std::process::Command::new(&binary)
            .arg("keep")
            .arg(&folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("failed to start {}; build it first", binary.display()))?;
        let (Some(requests), Some(replies)) = (process.stdin.take(), process.stdout.take()) else {
            bail!("the keeper has no pipes")
        };
        let pipes = Mutex::new(Some(Pipes { requests, replies: BufReader::new(replies) }));
        Ok(Self { folder, pipes, names: Mutex::default(), process })
    }

    /// The folder that lives as long as the programs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts a program. Its process id.
    pub fn run(&self, program: Command<'_>) -> Result<u32> {
        let name = program.name.to_owned();
        let request = Request::Start {
            log: self.log(program.name),
            program: program.path.to_owned(),
            arguments: program.arguments,
            environment: program.environment,
            name,
        };
        match self.ask(&request)? {
            Reply::Runs { pid } => {
                self.names.lock().unwrap_or_else(PoisonError::into_inner).push(program.name.to_owned());
                Ok(pid)
            }
            other => bail!("failed to start {}: {other:?}", program.name),
        }
    }

    /// Stops a program: SIGTERM, and SIGKILL where it takes more than 3 s. How it ended.
    pub fn stop(&self, name: &str) -> Result<String> {
        match self.ask(&Request::Stop { name: name.to_owned() })? {
            Reply::Ended { how } => {
                self.names.lock().unwrap_or_else(PoisonError::into_inner).retain(|kept| kept != name);
                Ok(how)
            }
            other => bail!("failed to stop {name}: {other:?}"),
        }
    }

    /// Names of what was started and not stopped, oldest first.
    pub fn running(&self) -> Vec<String> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// An error if the program ended by itself.
    pub fn check(&self, name: &str) -> Result<()> {
        match self.ask(&Request::Look { name: name.to_owned() })? {
            Reply::Runs { .. } => Ok(()),
            Reply::Ended { how } => bail!("{name} ended: {how}"),
            Reply::Failed { reason } => bail!(reason),
        }
    }

    /// The last lines that a program printed.
    pub fn tail(&self, name: &str) -> String {
        last_lines(&self.printed(name), TAIL)
    }

    /// Everything that programs of this name printed.
    pub fn printed(&self, name: &str) -> String {
        String::from_utf8_lossy(&std::fs::read(self.log(name)).unwrap_or_default()).into_owned()
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join(name).with_extension("log")
    }

    fn ask(&self, request: &Request) -> Result<Reply> {
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        let pipes = pipes.as_mut().context("the keeper has ended")?;
        let mut line = serde_json::to_string(request)?;
        line.push('\n');
        pipes.requests.write_all(line.as_bytes()).context("failed to ask the keeper")?;
        let mut reply = String::new();
        pipes.replies.read_line(&mut reply).context("failed to hear the keeper")?;
        serde_json::from_str(&reply).with_context(|| format!("the keeper answered {reply:?}"))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Ok(mut pipes) = self.pipes.lock() {
            *pipes = None;
        }
        let _ = self.process.wait();
    }
}
