use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use super::{Place, Ran};

const DEADLINE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);

/// A running `groundwork up`; killed when dropped.
pub(crate) struct Up {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub(crate) url: String,
    pub(crate) serving: Value,
}

impl Up {
    /// Starts it on a free port with the hashing encoder and waits for its address.
    pub(crate) fn start(place: &Place, arguments: &[&str]) -> Self {
        Self::of_manifests(place, &[&["--embedding-model", "hashing"], arguments].concat())
    }

    /// The same with the embedder that the manifests name.
    pub(crate) fn of_manifests(place: &Place, arguments: &[&str]) -> Self {
        let all = [&["up", "--port", "0", "-o", "json"], arguments].concat();
        let mut child = place.command(&all).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        while !text.ends_with("}\n") {
            assert!(stdout.read_line(&mut text).unwrap() > 0, "up ended before it said where it answers: {text}");
        }
        let serving: Value = serde_json::from_str(&text).unwrap();
        let url = serving["url"].as_str().unwrap().to_owned();
        Self { child, stdout, url, serving }
    }

    /// Waits until questions can be asked.
    pub(crate) fn ready(self) -> Self {
        self.until("ready", |up| up.get("/readyz").is_some_and(|(status, _)| status == 200));
        self
    }

    /// Polls until something holds.
    pub(crate) fn until(&self, what: &str, test: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !test(self) {
            assert!(start.elapsed() < DEADLINE, "not {what} within {DEADLINE:?}");
            std::thread::sleep(POLL);
        }
    }

    /// `GET path`: status and body; nothing where it does not answer.
    pub(crate) fn get(&self, path: &str) -> Option<(u16, String)> {
        Self::reply(self.send("GET", path, "")?)
    }

    /// Asks a question and reads the answer.
    pub(crate) fn ask(&self, question: &str) -> Value {
        let (status, body) = Self::reply(self.begin_to_ask(question)).unwrap();
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    /// Asks a question and leaves the answer to whoever reads the connection.
    pub(crate) fn begin_to_ask(&self, question: &str) -> TcpStream {
        self.send("POST", "/v1/ask", &serde_json::json!({ "question": question }).to_string()).unwrap()
    }

    fn send(&self, method: &str, path: &str, body: &str) -> Option<TcpStream> {
        let address = self.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).ok()?;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).ok()?;
        Some(stream)
    }

    fn reply(mut stream: TcpStream) -> Option<(u16, String)> {
        let mut reply = String::new();
        stream.read_to_string(&mut reply).ok()?;
        let status = reply.split(' ').nth(1)?.parse().ok()?;
        Some((status, reply.split_once("\r\n\r\n")?.1.to_owned()))
    }

    /// The body of `/readyz`.
    pub(crate) fn status(&self) -> Option<Value> {
        serde_json::from_str(&self.get("/readyz")?.1).ok()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        let status = std::process::Command::new("kill").args(["-s", name, &self.pid().to_string()]).status();
        assert!(status.unwrap().success());
    }

    /// Waits for its end.
    pub(crate) fn wait(mut self) -> Ran {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < DEADLINE, "it did not end within {DEADLINE:?}");
            std::thread::sleep(POLL);
        };
        let mut stdout = String::new();
        self.stdout.read_to_string(&mut stdout).unwrap();
        Ran { code: status.code().unwrap_or(-1), stdout, stderr: String::new() }
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
