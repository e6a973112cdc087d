//! One extraction process as its parent sees it.

use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{Answer, ExtractionOptions, Job, MAX_HEADER, MAX_MARKDOWN};
use crate::document::{Format, Mark};

/// Last bytes of a child's standard error that are kept.
const STDERR_BYTES: usize = 4 << 10;
/// How long a child whose pipe broke may take to end by itself, so that its own status can be told.
const GRACE: Duration = Duration::from_secs(1);

/// A running process. Dropping it kills it.
pub(super) struct Child {
    process: tokio::process::Child,
    input: ChildStdin,
    output: ChildStdout,
    complaints: JoinHandle<Vec<u8>>,
    /// Jobs it has done.
    pub(super) jobs: u32,
}

/// What a child answered, unchecked.
pub(super) enum Reply {
    Extracted { markdown: Vec<u8>, title: Option<String>, marks: Vec<Mark>, notes: Vec<String> },
    Refused(String),
}

/// Why a child gave no answer.
pub(super) enum Failure {
    /// A pipe broke: it is dead or dying.
    Pipe,
    /// It sent something that is no frame.
    Protocol(String),
}

impl From<std::io::Error> for Failure {
    fn from(_: std::io::Error) -> Self {
        Self::Pipe
    }
}

impl Child {
    /// Starts a process with empty environment, in a process group of its own: Ctrl-C at the terminal reaches the
    /// parent alone, which then decides.
    pub(super) fn start(options: &ExtractionOptions) -> std::io::Result<Self> {
        let mut command = Command::new(&options.program);
        command
            .args(&options.arguments)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut process = command.spawn()?;
        let input = process.stdin.take().expect("standard input is a pipe");
        let output = process.stdout.take().expect("standard output is a pipe");
        let complaints = tokio::spawn(tail(process.stderr.take().expect("standard error is a pipe")));
        Ok(Self { process, input, output, complaints, jobs: 0 })
    }

    /// The process id, while it lives.
    pub(super) fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Whether it still runs.
    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// Sends a job and reads its answer.
    pub(super) async fn run(&mut self, format: Format, payload: &[u8]) -> Result<Reply, Failure> {
        self.jobs += 1;
        let header = serde_json::to_vec(&Job { format, payload_bytes: payload.len() as u64 })
            .expect("a job holds only a name and a number");
        self.input.write_all(&(header.len() as u32).to_le_bytes()).await?;
        self.input.write_all(&header).await?;
        self.input.write_all(payload).await?;
        self.input.flush().await?;
        self.read_reply().await
    }

    async fn read_reply(&mut self) -> Result<Reply, Failure> {
        let length = self.output.read_u32_le().await?;
        if length > MAX_HEADER {
            return Err(Failure::Protocol(format!("a header of {length} bytes")));
        }
        let header = self.read_bytes(u64::from(length)).await?;
        let answer =
            serde_json::from_slice(&header).map_err(|_| Failure::Protocol("a header that is no JSON".into()))?;
        match answer {
            Answer::Refused { reason } => Ok(Reply::Refused(reason)),
            Answer::Extracted { payload_bytes, .. } if payload_bytes > MAX_MARKDOWN => {
                Err(Failure::Protocol(format!("a text of {payload_bytes} bytes")))
            }
            Answer::Extracted { payload_bytes, title, marks, notes } => {
                Ok(Reply::Extracted { markdown: self.read_bytes(payload_bytes).await?, title, marks, notes })
            }
        }
    }

    /// Reads so many bytes; memory grows with what arrives, not with what was announced.
    async fn read_bytes(&mut self, length: u64) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        (&mut self.output).take(length).read_to_end(&mut bytes).await?;
        if bytes.len() as u64 == length { Ok(bytes) } else { Err(Failure::Pipe) }
    }

    /// Ends it and tells how it ended, and what it last wrote to standard error.
    pub(super) async fn post_mortem(mut self) -> Death {
        let status = match timeout(GRACE, self.process.wait()).await {
            Ok(status) => status.map(|status| status.to_string()),
            Err(_) => self.process.kill().await.map(|()| "it closed its pipe".to_owned()),
        };
        let status = status.unwrap_or_else(|error| error.to_string());
        let complaints = timeout(GRACE, self.complaints).await.ok().and_then(Result::ok).unwrap_or_default();
        Death { status, complaints: String::from_utf8_lossy(&complaints).into_owned() }
    }
}

/// How a child ended.
pub(super) struct Death {
    /// Exit code or signal, for people.
    pub(super) status: String,
    /// The end of its standard error.
    pub(super) complaints: String,
}

/// Reads standard error to its end and gives back its tail.
async fn tail(mut stderr: ChildStderr) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = [0; 1024];
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        kept.extend_from_slice(&buffer[..read]);
        let surplus = kept.len().saturating_sub(STDERR_BYTES);
        kept.drain(..surplus);
    }
    kept
}
