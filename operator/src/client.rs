//! The two clients: one whose every request needs the lease, and one for the lease itself.

use futures::future::BoxFuture;
use http::{Request, Response};
use kube_client::client::{Body, ClientBuilder};
use kube_client::{Client, Config};
use std::task::{Context, Poll};
use std::time::Duration;
use tower::{BoxError, Layer, Service};

use crate::lease::Leadership;

/// How long the API server may take to begin an answer; a watch begins at once, too.
const ANSWER: Duration = Duration::from_secs(20);
/// How long the lease's calls may take: short, so that several fit into the lease.
const LEASE_ANSWER: Duration = Duration::from_secs(3);
const CONNECT: Duration = Duration::from_secs(5);

/// Why a request was not sent or not waited for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// Another replica may hold the lease.
    #[error("failed to send a request: the lease is not held")]
    NotLeading,
    /// The API server is silent.
    #[error("failed to get an answer of the API server within {} s", .0.as_secs())]
    Silent(Duration),
}

/// The client of everything but the lease. It retries nothing (a reconciliation is retried as a whole), waits for no answer
/// longer than 20 s, and sends nothing while the lease is not held, also right after a pause of the whole process.
pub(crate) fn leading(config: &Config, leadership: Leadership, watch_seconds: u32) -> kube_client::Result<Client> {
    // A body may be silent for as long as a watch may last.
    let config = with_limits(config, Duration::from_secs(u64::from(watch_seconds) + 10));
    let guard = Guard { leadership: Some(leadership), answer: ANSWER };
    Ok(ClientBuilder::try_from(config)?.with_layer(&guard).build())
}

/// The client of the lease and of what must be known before there is one.
pub(crate) fn plain(config: &Config) -> kube_client::Result<Client> {
    let config = with_limits(config, LEASE_ANSWER);
    let guard = Guard { leadership: None, answer: LEASE_ANSWER };
    Ok(ClientBuilder::try_from(config)?.with_layer(&guard).build())
}

fn with_limits(config: &Config, silence: Duration) -> Config {
    let mut config = config.clone();
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT);
    config.write_timeout = Some(ANSWER);
    config.read_timeout = Some(silence);
    config.reset_reader_on_write = true;
    config
}

#[derive(Clone)]
struct Guard {
    leadership: Option<Leadership>,
    answer: Duration,
}

impl<S> Layer<S> for Guard {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { inner, guard: self.clone() }
    }
}

#[derive(Clone)]
struct Guarded<S> {
    inner: S,
    guard: Guard,
}

impl<S, B> Service<Request<Body>> for Guarded<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: 'static,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<B>, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if self.guard.leadership.as_ref().is_some_and(|leadership| !leadership.is_held()) {
            return Box::pin(async { Err(Refused::NotLeading.into()) });
        }
        let answer = self.guard.answer;
        let response = self.inner.call(request);
        Box::pin(async move {
            match tokio::time::timeout(answer, response).await {
                Ok(response) => response.map_err(Into::into),
                Err(_) => Err(Refused::Silent(answer).into()),
            }
        })
    }
}
