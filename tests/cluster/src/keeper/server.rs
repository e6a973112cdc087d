use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::OpenOptions;
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Reply, Request};

/// How long a program may take to end by itself. Nothing it holds is worth more: its folder is deleted.
const GRACE: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(10);

/// Serves requests from standard input until it ends, then stops every program and deletes `folder`.
///
/// # Errors
/// Where the folder cannot be deleted. Requests that fail are answered and do not end the keeper.
pub fn keep(folder: &Path) -> Result<()> {
    let mut kept = Kept::default();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let reply = match serde_json::from_str(&line).context("failed to read the request") {
            Ok(request) => kept.answer(request),
            Err(error) => Err(error),
        };
        let reply = reply.unwrap_or_else(|error| Reply::Failed { reason: format!("{error:#}") });
        let text = serde_json::to_string(&reply).context("failed to write the reply")?;
        // Whoever asked may be gone; the end of the input tells.
        let _ = writeln!(std::io::stdout(), "{text}").and_then(|()| std::io::stdout().flush());
    }
    kept.stop_all();
    std::fs::remove_dir_all(folder).with_context(|| format!("failed to delete {}", folder.display()))
}

/// Running programs, oldest first.
#[derive(Default)]
struct Kept(Vec<(String, Child)>);

impl Kept {
    fn answer(&mut self, request: Request) -> Result<Reply> {
        match request {
            Request::Start { name, program, arguments, environment, log } => {
                let log = OpenOptions::new().create(true).append(true).open(log).context("failed to open the log")?;
                let mut command = Command::new(&program);
                command.args(arguments).envs(environment);
                command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
                let child = command.spawn().with_context(|| format!("failed to start {}", program.display()))?;
                let pid = child.id();
                self.0.push((name, child));
                Ok(Reply::Runs { pid })
            }
            Request::Stop { name } => {
                let index = self.index(&name)?;
                let (_, mut child) = self.0.remove(index);
                Ok(Reply::Ended { how: stop(&mut child)? })
            }
            Request::Look { name } => {
                let index = self.index(&name)?;
                let child = &mut self.0[index].1;
                Ok(match child.try_wait()? {
                    Some(status) => Reply::Ended { how: status.to_string() },
                    None => Reply::Runs { pid: child.id() },
                })
            }
        }
    }

    fn index(&self, name: &str) -> Result<usize> {
        self.0.iter().position(|(kept, _)| kept == name).with_context(|| format!("no program is called {name}"))
    }

    fn stop_all(&mut self) {
        while let Some((name, mut child)) = self.0.pop() {
            if let Err(error) = stop(&mut child) {
                eprintln!("failed to stop {name}: {error:#}");
            }
        }
    }
}

/// Asks the program to end, and kills it when it takes too long. How it ended.
fn stop(child: &mut Child) -> Result<String> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).context("the process id is out of range")?;
    if let Some(status) = child.try_wait()? {
        return Ok(status.to_string());
    }
    kill_process(pid, Signal::TERM)?;
    // One that is stopped would never see it.
    kill_process(pid, Signal::CONT)?;
    let deadline = Instant::now() + GRACE;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(status.to_string());
        }
        std::thread::sleep(POLL);
    }
    child.kill()?;
    Ok(child.wait()?.to_string())
}
