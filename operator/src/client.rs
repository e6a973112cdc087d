//! The two clients: one whose every request needs the lease, and one for the lease itself.

use futures::future::BoxFuture;
use http::header::RETRY_AFTER;
use http::{Request, Response, StatusCode};
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
/// Whatever the API server asks for, it is asked again after this time.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Why a request was not sent or not waited for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// Another replica may hold the lease.
    #[error("failed to send a request: the lease is not held")]
    NotLeading,
    /// The API server is silent.
    #[error("failed to get an answer of the API server within {} s", .0.as_secs())]
    Silent(Duration),
    /// The API server has too much to do.
    #[error("failed to be served: the API server is overloaded and asks for {} s of patience", .0.as_secs())]
    Overloaded(Duration),
}

/// How long the API server asks to be left alone.
pub(crate) fn retry_after(error: &kube_client::Error) -> Option<Duration> {
    match error {
        kube_client::Error::Api(status) => {
            let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
            (seconds > 0).then(|| Duration::from_secs(seconds.into()).min(LONGEST_PAUSE))
        }
        kube_client::Error::Service(error) => match error.downcast_ref() {
            Some(Refused::Overloaded(pause)) => Some(*pause),
            _ => None,
        },
        _ => None,
    }
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
            let response = tokio::time::timeout(answer, response).await.map_err(|_| Refused::Silent(answer))?;
            let response = response.map_err(Into::into)?;
            match pause(&response) {
                Some(pause) => Err(Refused::Overloaded(pause).into()),
                None => Ok(response),
            }
        })
    }
}

/// What `Retry-After` of an overloaded API server says. Its flow control answers with a text instead of a status, so that the
/// client would lose it.
fn pause<B>(response: &Response<B>) -> Option<Duration> {
    let overloaded = matches!(response.status(), StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    let seconds = response.headers().get(RETRY_AFTER).filter(|_| overloaded)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_PAUSE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tower::{ServiceExt, service_fn};

    async fn asked(status: u16, retry_after: Option<&'static str>) -> Result<Response<()>, kube_client::Error> {
        let server = service_fn(move |_: Request<Body>| async move {
            let mut response = Response::builder().status(status);
            if let Some(seconds) = retry_after {
                response = response.header(RETRY_AFTER, seconds);
            }
            Ok::<_, BoxError>(response.body(()).unwrap())
        });
        let client = Guard { leadership: None, answer: ANSWER }.layer(server);
        client.oneshot(Request::new(Body::empty())).await.map_err(kube_client::Error::Service)
    }

    #[tokio::test]
    async fn an_overloaded_server_is_waited_for_as_long_as_its_header_says() {
        for (status, header, pause) in [(429, "3", 3), (503, "1", 1), (429, "86400", 300)] {
            let error = asked(status, Some(header)).await.unwrap_err();
            assert_eq!(retry_after(&error), Some(Duration::from_secs(pause)), "{status} {header}");
        }
    }

    #[tokio::test]
    async fn other_answers_pass() {
        for (status, header) in [(429, None), (429, Some("Wed, 21 Oct 2026 07:28:00 GMT")), (200, Some("3"))] {
            assert_eq!(asked(status, header).await.unwrap().status().as_u16(), status);
        }
    }
}
