use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How often a state is looked at again.
const POLL: Duration = Duration::from_millis(20);

/// A running program whose output is kept. Dropping it ends it.
pub struct Process {
    name: String,
    child: Child,
    output: Arc<Mutex<Vec<String>>>,
}

impl Process {
    /// Starts the program and keeps what it prints.
    pub fn start(command: &mut Command) -> Result<Self> {
        Self::start_with(command, Stdio::null())
    }

    /// Starts a program that ends with its standard input: even where this process is killed, it does not stay.
    pub fn start_tied(command: &mut Command) -> Result<Self> {
        Self::start_with(command, Stdio::piped())
    }

    fn start_with(command: &mut Command, input: Stdio) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("failed to start {name}"))?;
        let output = Arc::new(Mutex::new(Vec::new()));
        keep(child.stdout.take(), output.clone());
        keep(child.stderr.take(), output.clone());
        Ok(Self { name, child, output })
    }

    /// Everything printed so far, one line each, both streams.
    pub fn output(&self) -> Vec<String> {
        self.output.lock().expect("no thread panics while it holds the output").clone()
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Waits until `found` finds something in a printed line.
    pub async fn wait_for_line<T>(
        &mut self,
        what: &str,
        found: impl Fn(&str) -> Option<T>,
        limit: Duration,
    ) -> Result<T> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(value) = self.output().iter().find_map(|line| found(line)) {
                return Ok(value);
            }
            if !self.is_running()? || Instant::now() > deadline {
                bail!("{} did not print {what}; it printed:\n{}", self.name, self.output().join("\n"));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Asks it to end (SIGTERM) and waits for that.
    pub async fn terminate(&mut self, limit: Duration) -> Result<ExitStatus> {
        kill_process(self.pid()?, Signal::TERM)?;
        self.wait(limit).await
    }

    /// Waits for its end.
    pub async fn wait(&mut self, limit: Duration) -> Result<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if Instant::now() > deadline {
                bail!("{} did not end within {limit:?}; it printed:\n{}", self.name, self.output().join("\n"));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Ends it at once (SIGKILL) and waits for that.
    pub fn kill(&mut self) -> Result<ExitStatus> {
        self.child.kill()?;
        Ok(self.child.wait()?)
    }

    fn pid(&self) -> Result<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).context("the process id is out of range")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn keep(stream: Option<impl Read + Send + 'static>, output: Arc<Mutex<Vec<String>>>) {
    let Some(stream) = stream else { return };
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            output.lock().expect("no thread panics while it holds the output").push(line);
        }
    });
}
