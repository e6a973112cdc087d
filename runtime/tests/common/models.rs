use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

const DEADLINE: Duration = Duration::from_secs(60);
const DIMENSIONS: usize = 8;

/// A server of OpenAI's API on a free port: vectors of words, and a chat model that never answers.
pub(crate) struct Models {
    pub(crate) url: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    now: Mutex<Now>,
    changed: Condvar,
}

#[derive(Default)]
struct Now {
    /// Requests for vectors wait.
    held: bool,
    /// Which model stands behind the name.
    model: usize,
    /// Texts embedded.
    embedded: usize,
    /// Chat requests that came.
    chats: usize,
    /// Chat requests whose caller left.
    left: usize,
}

impl Models {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || serve(&state, stream));
            }
        });
        Self { url, state }
    }

    /// Lets requests for vectors wait until [`Models::release`].
    pub(crate) fn hold(&self) {
        self.change(|now| now.held = true);
    }

    pub(crate) fn release(&self) {
        self.change(|now| now.held = false);
    }

    /// Puts another model behind the same name.
    pub(crate) fn exchange(&self) {
        self.change(|now| now.model += 1);
    }

    pub(crate) fn embedded(&self) -> usize {
        self.state.now.lock().unwrap().embedded
    }

    /// Waits until a chat request is there.
    pub(crate) fn wait_for_chat(&self) {
        self.wait("chat request", |now| now.chats > 0);
    }

    /// Waits until the caller of a chat request left.
    pub(crate) fn wait_until_left(&self) {
        self.wait("caller that left", |now| now.left > 0);
    }

    fn change(&self, change: impl FnOnce(&mut Now)) {
        change(&mut self.state.now.lock().unwrap());
        self.state.changed.notify_all();
    }

    fn wait(&self, what: &str, test: impl Fn(&Now) -> bool) {
        let now = self.state.now.lock().unwrap();
        let waited = self.state.changed.wait_timeout_while(now, DEADLINE, |now| !test(now)).unwrap().1;
        assert!(!waited.timed_out(), "no {what} within {DEADLINE:?}");
    }
}

fn serve(state: &State, stream: TcpStream) {
    let Some((path, body)) = request(&stream) else { return };
    if path.ends_with("/embeddings") {
        let reply = embeddings(state, &body).to_string();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length:";
        let _ = write!(&stream, "{head} {}\r\n\r\n{reply}", reply.len());
        return;
    }
    state.now.lock().unwrap().chats += 1;
    state.changed.notify_all();
    // Ends when the caller closes the connection, one way or the other.
    let _ = (&stream).read(&mut [0]);
    state.now.lock().unwrap().left += 1;
    state.changed.notify_all();
}

fn request(stream: &TcpStream) -> Option<(String, Value)> {
    let mut reader = BufReader::new(stream);
    let (mut path, mut length) = (None, 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim().to_lowercase();
        if line.is_empty() {
            break;
        }
        path = path.or_else(|| line.split(' ').nth(1).map(str::to_owned));
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path?, serde_json::from_slice(&body).ok()?))
}

fn embeddings(state: &State, body: &Value) -> Value {
    let now = state.now.lock().unwrap();
    let mut now = state.changed.wait_while(now, |now| now.held).unwrap();
    let texts = body["input"].as_array().unwrap();
    now.embedded += texts.len();
    let item = |(index, text): (usize, &Value)| json!({ "index": index, "embedding": vector(text, now.model) });
    json!({ "data": texts.iter().enumerate().map(item).collect::<Vec<_>>() })
}

/// Words counted in classes; another model has other classes.
fn vector(text: &Value, model: usize) -> [f32; DIMENSIONS] {
    let mut vector = [0.0; DIMENSIONS];
    for word in text.as_str().unwrap().split_whitespace() {
        let class = word.bytes().map(usize::from).sum::<usize>() + 3 * model;
        vector[class % DIMENSIONS] += 1.0;
    }
    vector
}
