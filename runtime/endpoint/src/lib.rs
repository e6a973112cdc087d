//! Calls to one model endpoint, whatever is asked of it: chat and embeddings share this client.
//!
//! One place holds what every call must keep: the key is read from its file at each try and never logged, redirects and
//! proxies are off (a key goes to the declared address and nowhere else), a rate limit and a bound on requests in
//! flight, one retry layer for what may pass (429, 5xx, a broken connection; never a timeout, since the work may still
//! be running), and a bound on the size of a reply.

mod error;
mod retry;

#[cfg(test)]
mod tests;

pub use error::{CallError, ClientError};

use backon::{ExponentialBuilder, Retryable};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use groundwork_config::Endpoint;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Client, Response, Url};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::Semaphore;

/// A reply larger than this is refused.
pub const MAX_REPLY_BYTES: usize = 64 * 1024 * 1024;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Client of one endpoint. Limits hold for all its callers together, so an endpoint should have one client a process.
#[derive(Debug)]
pub struct EndpointClient {
    name: String,
    base: String,
    key_file: Option<PathBuf>,
    key_variable: Option<String>,
    retries: usize,
    http: Client,
    rate: Option<DefaultDirectRateLimiter>,
    in_flight: Semaphore,
}

impl EndpointClient {
    /// A client with the endpoint's limits. Nothing is sent.
    pub fn new(endpoint: &Endpoint) -> Result<Self, ClientError> {
        let timeout = Duration::from_millis(endpoint.timeout_ms.max(1));
        let http = Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT.min(timeout))
            .timeout(timeout)
            .user_agent(concat!("groundwork/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|source| ClientError::Build { endpoint: endpoint.name.clone(), source })?;
        Ok(Self {
            name: endpoint.name.clone(),
            base: base_url(endpoint)?,
            key_file: endpoint.api_key_file.clone(),
            key_variable: endpoint.api_key_env.clone(),
            retries: endpoint.retries as usize,
            http,
            rate: endpoint.requests_per_minute.and_then(NonZeroU32::new).map(rate_limiter),
            in_flight: Semaphore::new(endpoint.concurrency.max(1) as usize),
        })
    }

    /// Posts JSON to `base/path` and gives the reply's body, at most `max_bytes` long.
    pub async fn post(&self, path: &str, body: &serde_json::Value, max_bytes: usize) -> Result<Vec<u8>, CallError> {
        let backoff = ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(250))
            .with_max_delay(Duration::from_secs(20))
            .with_jitter()
            .with_max_times(self.retries);
        (|| self.try_post(path, body, max_bytes))
            .retry(backoff)
            .when(CallError::may_pass)
            .adjust(retry::delay)
            .notify(|error, wait| tracing::debug!(endpoint = %self.name, %error, ?wait, "trying again"))
            .await
    }

    async fn try_post(&self, path: &str, body: &serde_json::Value, max_bytes: usize) -> Result<Vec<u8>, CallError> {
        let key = self.key().await?;
        if let Some(rate) = &self.rate {
            rate.until_ready().await;
        }
        let _permit = self.in_flight.acquire().await.expect("the semaphore is never closed");
        let mut request = self.http.post(format!("{}{path}", self.base)).json(body);
        if let Some(key) = &key {
            request = request.header(AUTHORIZATION, key.header.clone());
        }
        let response = request.send().await.map_err(error::transport)?;
        let status = response.status();
        if status.is_success() {
            return read(response, max_bytes).await;
        }
        let retry_after = retry::retry_after(response.headers());
        let text = read(response, error::MAX_REASON_BYTES).await.unwrap_or_else(|error| error.to_string().into_bytes());
        let secret = key.as_ref().map(|key| key.text.as_str());
        Err(CallError::Status { status: status.as_u16(), reason: error::reason(&text, secret), retry_after })
    }

    /// Read at every try: a mounted key changes without a restart, and the file is small beside a model call.
    async fn key(&self) -> Result<Option<Key>, CallError> {
        let (place, text) = match (&self.key_file, &self.key_variable) {
            (Some(path), _) => {
                let text = tokio::fs::read_to_string(path).await.map_err(|error| error.to_string());
                (path.display().to_string(), text)
            }
            (None, Some(variable)) => {
                let text = std::env::var(variable).map_err(|error| error.to_string());
                (format!("the environment variable {variable}"), text)
            }
            (None, None) => return Ok(None),
        };
        text.and_then(|text| Key::new(text.trim())).map(Some).map_err(|reason| CallError::Key { place, reason })
    }
}

struct Key {
    header: HeaderValue,
    text: String,
}

impl Key {
    fn new(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("it is empty".into());
        }
        let mut header = HeaderValue::from_str(&format!("Bearer {text}"))
            .map_err(|_| "it holds characters that no HTTP header may have".to_owned())?;
        header.set_sensitive(true);
        Ok(Self { header, text: text.to_owned() })
    }
}

/// Without its trailing slash; a key inside the address would end in logs, so it is refused.
fn base_url(endpoint: &Endpoint) -> Result<String, ClientError> {
    let invalid = |reason: &str| ClientError::BaseUrl { endpoint: endpoint.name.clone(), reason: reason.to_owned() };
    let url = Url::parse(endpoint.base_url.trim_end_matches('/')).map_err(|error| invalid(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(invalid("only http and https are possible"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid("it must not hold a user name or password; use the API key file"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(invalid("it must end with the path, such as https://models.example/v1"));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// A tenth of the minute's requests may come at once, the rest is spread: a full burst would let twice the limit pass
/// within the first minute.
fn rate_limiter(per_minute: NonZeroU32) -> DefaultDirectRateLimiter {
    let burst = NonZeroU32::new(per_minute.get() / 10).unwrap_or(NonZeroU32::MIN);
    RateLimiter::direct(Quota::per_minute(per_minute).allow_burst(burst))
}

async fn read(mut response: Response, max_bytes: usize) -> Result<Vec<u8>, CallError> {
    if response.content_length().is_some_and(|length| length > max_bytes as u64) {
        return Err(CallError::TooLarge { limit: max_bytes });
    }
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.map_err(error::transport)? {
        if body.len() + part.len() > max_bytes {
            return Err(CallError::TooLarge { limit: max_bytes });
        }
        body.extend_from_slice(&part);
    }
    Ok(body)
}
