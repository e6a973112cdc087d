//! Over real connections: what only a connection can show.

use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::http::address::bind;
use crate::http::router::router;
use crate::http::serve::answer;

const BOUND: Duration = Duration::from_secs(10);

struct Running {
    address: std::net::SocketAddr,
    shutdown: CancellationToken,
    server: JoinHandle<std::io::Result<()>>,
}

async fn start(behaviour: Behaviour, drain: Duration) -> Running {
    let listener = bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let shutdown = CancellationToken::new();
    let limits = Limits { drain, ..Limits::default() };
    let service = Arc::new(Fake { behaviour, ..Fake::default() });
    let policy = Arc::new(PolicyInForce::fixed(groundwork_config::Policy::default()));
    let app = App::new(service, address, (Access::Local, policy), limits);
    let server = tokio::spawn({
        let shutdown = shutdown.clone();
        async move { answer(&app, router(&app), listener, shutdown).await }
    });
    Running { address, shutdown, server }
}

impl Running {
    /// Sends a question and reads until the reply has `until`.
    async fn ask(&self, body: &str, until: &str) -> (TcpStream, String) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let head = format!(
            "POST /v1/ask HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        let mut text = String::new();
        while !text.contains(until) {
            let mut buffer = [0; 4096];
            let read = tokio::time::timeout(BOUND, stream.read(&mut buffer)).await.unwrap().unwrap();
            assert!(read > 0, "the connection ended early: {text}");
            text.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
        (stream, text)
    }

    async fn ended(self) {
        tokio::time::timeout(BOUND, self.server).await.unwrap().unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_client_that_leaves_stops_the_run() {
    for (body, until) in [(r#"{"question": "a"}"#, ""), (r#"{"question": "a", "stream": true}"#, "event: sentence")] {
        let dropped = Arc::new(Notify::new());
        let running = start(Behaviour::Hangs(dropped.clone()), BOUND).await;
        let (stream, _) = running.ask(body, until).await;
        if until.is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        drop(stream);
        tokio::time::timeout(BOUND, dropped.notified()).await.expect("the run is dropped");
        running.server.abort();
    }
}

#[tokio::test]
async fn an_idle_server_ends_at_once() {
    let running = start(Behaviour::Answers, BOUND).await;
    let (_idle, _) = running.ask(r#"{"question": "a"}"#, "Two weeks").await;
    let started = std::time::Instant::now();
    running.shutdown.cancel();
    running.ended().await;
    assert!(started.elapsed() < BOUND / 2, "an idle connection does not hold it");
}

#[tokio::test]
async fn a_stream_that_outlives_the_bound_ends_with_an_event() {
    let running = start(Behaviour::Hangs(Arc::default()), Duration::from_millis(50)).await;
    let (mut stream, _) = running.ask(r#"{"question": "a", "stream": true}"#, "event: sentence").await;
    running.shutdown.cancel();
    let mut rest = String::new();
    tokio::time::timeout(BOUND, stream.read_to_string(&mut rest)).await.unwrap().unwrap();
    assert!(rest.contains("event: error") && rest.contains("the server is ending"), "{rest}");
    running.ended().await;
}
