use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, RETRY_AFTER, TRANSFER_ENCODING};
use http::{HeaderMap, Request, Response, request};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use reqwest::Body;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::rules::Rules;
use super::{Call, Fault, Rule, Verb, watching};
use crate::{ControlPlane, files};

/// A request and what became of it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What was asked.
    pub call: Call,
    /// What happened to it on its way.
    pub fault: Option<Fault>,
    /// What the API server answered, where it heard of it.
    pub status: Option<u16>,
    /// The object that the API server answered a write with.
    pub object: Option<Value>,
    /// When it was answered, or when it came where it was not.
    pub at: Instant,
}

impl Entry {
    /// Whether the API server carried it out.
    pub fn is_applied(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }

    /// Whether it made an object: server-side apply says so by its status alone.
    pub fn is_creation(&self) -> bool {
        self.call.is_write() && self.status == Some(201)
    }

    /// Whether it deleted.
    pub fn is_deletion(&self) -> bool {
        matches!(self.call.verb, Verb::Delete | Verb::DeleteCollection) && self.is_applied()
    }
}

/// A reverse proxy in front of the API server. It lives in the runtime of its test and ends when dropped.
pub struct Proxy {
    url: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

/// What all connections work with.
pub(super) struct Shared {
    upstream: String,
    client: reqwest::Client,
    state: Mutex<State>,
    /// Tells watches that are open of new rules.
    pub(super) changes: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    rules: Rules,
    log: Vec<Entry>,
    victim: Option<Pid>,
    /// Watches that are open, and whether they are frozen.
    open: Vec<(Call, Weak<AtomicBool>)>,
    /// What each list was answered with last.
    lists: HashMap<Call, Bytes>,
}

impl Proxy {
    /// One in front of a control plane, without rules: everything passes.
    pub async fn start(plane: &ControlPlane) -> Result<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let authority = std::fs::read(files::authority(plane.folder())).context("failed to read the authority")?;
        let client = reqwest::Client::builder()
            .no_proxy()
            .http1_only()
            .tls_certs_only(reqwest::Certificate::from_pem_bundle(&authority)?)
            .build()?;
        let shared = Arc::new(Shared {
            upstream: plane.url().to_owned(),
            client,
            state: Mutex::default(),
            changes: watch::Sender::new(()),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let server = tokio::spawn(serve(listener, shared.clone()));
        Ok(Self { url, shared, server })
    }

    /// What the operator takes for the API server.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Replaces all rules; the new ones have counted nothing. Watches that are open hear of them, too:
    /// whatever the API server sends after this call is under the new rules.
    pub fn set(&self, rules: Vec<Rule>) {
        let mut state = self.shared.state();
        state.rules = Rules::new(rules);
        let State { rules, open, .. } = &mut *state;
        open.retain(|(call, frozen)| {
            let Some(frozen) = frozen.upgrade() else { return false };
            if matches!(rules.fault_of_open(call), Some(Fault::FreezeWatch | Fault::Silent)) {
                frozen.store(true, Ordering::Relaxed);
            }
            true
        });
        drop(state);
        self.shared.changes.send_replace(());
    }

    /// How many requests there were.
    pub fn count(&self) -> usize {
        self.shared.state().log.len()
    }

    /// All requests but the first ones.
    pub fn since(&self, first: usize) -> Vec<Entry> {
        self.shared.state().log.get(first..).unwrap_or_default().to_vec()
    }

    /// The process that [`Fault::Kill`] kills, once.
    pub(crate) fn aim_at(&self, pid: Pid) {
        self.shared.state().victim = Some(pid);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    // Connections end with this task.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let shared = shared.clone();
        let service = service_fn(move |request| answer(shared.clone(), request));
        connections.spawn(async move {
            // Its errors are the faults.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

/// An error cuts the connection.
async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<Body>> {
    let (head, body) = request.into_parts();
    let body = collect(body).await?;
    let mut call = Call::parse(&head.method, &head.uri);
    if call.verb == Verb::Create {
        call.name = name_in(&body);
    }
    let fault = shared.state().rules.fault(&call);
    let unheard = |status| shared.note(Entry { call: call.clone(), fault, status, object: None, at: Instant::now() });
    match fault {
        Some(Fault::Refuse { status, retry_after }) => {
            unheard(None);
            return refusal(status, retry_after);
        }
        Some(Fault::CutBefore) => {
            unheard(None);
            bail!("cut before it was sent");
        }
        Some(Fault::Silent) => {
            unheard(None);
            return std::future::pending().await;
        }
        Some(Fault::ExpireWatch) if call.verb == Verb::Watch => {
            unheard(None);
            return watching::expired();
        }
        Some(Fault::OldList) if call.verb == Verb::List => {
            unheard(None);
            let list = shared.state().lists.get(&call).cloned().context("nothing like it was listed before")?;
            return Ok(Response::builder().header(CONTENT_TYPE, "application/json").body(Body::from(list))?);
        }
        Some(Fault::Delay(time)) => tokio::time::sleep(time).await,
        _ => {}
    }
    let request = shared.request(head, body);
    if call.verb == Verb::Watch {
        let frozen = shared.opened(&call, fault);
        let response = request.send().await?;
        unheard(Some(response.status().as_u16()));
        return watching::pass_on(shared, call, frozen, response);
    }
    // What was sent is noted also where the operator hangs up meanwhile.
    tokio::spawn(async move { shared.carry_out(call, fault, request).await }).await?
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn fault_of_open(&self, call: &Call) -> Option<Fault> {
        self.state().rules.fault_of_open(call)
    }

    /// Keeps an eye on a watch. Whether it is frozen: for ever, since a connection whose other end is gone does not come back.
    pub(super) fn opened(&self, call: &Call, fault: Option<Fault>) -> Arc<AtomicBool> {
        let frozen = Arc::new(AtomicBool::new(fault == Some(Fault::FreezeWatch)));
        self.state().open.push((call.clone(), Arc::downgrade(&frozen)));
        frozen
    }

    fn note(&self, entry: Entry) {
        self.state().log.push(entry);
    }

    fn request(&self, head: request::Parts, body: Vec<u8>) -> reqwest::RequestBuilder {
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut headers = head.headers;
        for name in [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
            headers.remove(name);
        }
        self.client.request(head.method, format!("{}{path}", self.upstream)).headers(headers).body(body)
    }

    async fn carry_out(
        &self,
        call: Call,
        fault: Option<Fault>,
        request: reqwest::RequestBuilder,
    ) -> Result<Response<Body>> {
        let response = request.send().await?;
        let (status, headers) = (response.status(), passed_on(response.headers()));
        let body = response.bytes().await?;
        if call.verb == Verb::List && status.is_success() {
            self.state().lists.insert(call.clone(), body.clone());
        }
        let object = if call.is_write() { serde_json::from_slice(&body).ok() } else { None };
        self.note(Entry { call, fault, status: Some(status.as_u16()), object, at: Instant::now() });
        match fault {
            Some(Fault::LoseAnswer) => bail!("the answer is lost"),
            Some(Fault::Misreport { status }) => return refusal(status, None),
            Some(Fault::Kill) => {
                let victim = self.state().victim.take();
                kill_process(victim.context("there is nobody to kill")?, Signal::KILL)?;
                bail!("nobody waits for the answer");
            }
            _ => {}
        }
        let mut answer = Response::builder().status(status).body(Body::from(body))?;
        *answer.headers_mut() = headers;
        Ok(answer)
    }
}

/// The headers of an answer that are about its content.
pub(super) fn passed_on(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    for name in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
        headers.remove(name);
    }
    headers
}

/// As the API server refuses: 429 comes from its flow control, which answers with a text.
fn refusal(status: u16, retry_after: Option<u32>) -> Result<Response<Body>> {
    let reason = match status {
        409 => "Conflict",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "InternalError",
    };
    let text = json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
        "message": "refused by a test", "reason": reason, "code": status,
    });
    let (kind, text) = match status {
        429 => ("text/plain; charset=utf-8", "Too many requests, please try again later.\n".to_owned()),
        _ => ("application/json", text.to_string()),
    };
    let mut answer = Response::builder().status(status).header(CONTENT_TYPE, kind);
    if let Some(seconds) = retry_after {
        answer = answer.header(RETRY_AFTER, seconds);
    }
    Ok(answer.body(Body::from(text))?)
}

async fn collect(body: Incoming) -> Result<Vec<u8>> {
    let mut body = pin!(body);
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        if let Ok(data) = frame?.into_data() {
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes)
}

fn name_in(body: &[u8]) -> String {
    let object: Value = serde_json::from_slice(body).unwrap_or_default();
    let name = |field: &str| object["metadata"][field].as_str().map(str::to_owned);
    name("name").or_else(|| name("generateName")).unwrap_or_default()
}
