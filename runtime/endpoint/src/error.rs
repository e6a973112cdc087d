use std::time::Duration;

/// Longest error body that is read; only its beginning is shown.
pub(crate) const MAX_REASON_BYTES: usize = 64 * 1024;
const MAX_REASON_CHARACTERS: usize = 300;

/// An endpoint's settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The base address is wrong.
    #[error("failed to use baseURL of the endpoint {endpoint}: {reason}")]
    BaseUrl {
        /// Name of the endpoint.
        endpoint: String,
        /// What is wrong and how to fix it.
        reason: String,
    },
    /// No HTTP client could be made.
    #[error("failed to set up the client of the endpoint {endpoint}")]
    Build {
        /// Name of the endpoint.
        endpoint: String,
        /// Why.
        #[source]
        source: reqwest::Error,
    },
}

/// A call brought no reply, after all retries.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The server answered with an error.
    #[error("the server answered {status}: {reason}")]
    Status {
        /// HTTP status.
        status: u16,
        /// The server's words, shortened, without the key.
        reason: String,
        /// How long it asks to wait.
        retry_after: Option<Duration>,
    },
    /// Not reached, or the connection broke.
    #[error("the connection failed: {0}")]
    Connection(String),
    /// No whole reply within the endpoint's timeout.
    #[error("no reply within the endpoint's timeout")]
    Timeout,
    /// The reply is larger than the bound.
    #[error("the reply is larger than {limit} bytes")]
    TooLarge {
        /// The bound.
        limit: usize,
    },
    /// The key cannot be used.
    #[error("failed to read the API key from {place}: {reason}")]
    Key {
        /// Path of the file, or the environment variable.
        place: String,
        /// Why.
        reason: String,
    },
}

impl CallError {
    /// Whether the same call may succeed later: 429, 5xx or a broken connection.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Status { status, .. } => *status == 429 || (500..600).contains(status) && *status != 501,
            Self::Connection(_) => true,
            Self::Timeout | Self::TooLarge { .. } | Self::Key { .. } => false,
        }
    }

    /// Whether the endpoint is out of reach for now, rather than refusing what was asked.
    pub fn is_unavailable(&self) -> bool {
        self.may_pass() || matches!(self, Self::Timeout)
    }
}

/// The causes matter (`connection refused`), the address does not: it is the caller's, who names the endpoint.
pub(crate) fn transport(error: reqwest::Error) -> CallError {
    if error.is_timeout() {
        return CallError::Timeout;
    }
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        text = inner.to_string();
        cause = inner.source();
    }
    CallError::Connection(text)
}

/// The message of an OpenAI-style error body, or the body's beginning, on one line and without the key.
pub(crate) fn reason(body: &[u8], secret: Option<&str>) -> String {
    let text = message(body).unwrap_or_else(|| String::from_utf8_lossy(body).into_owned());
    let text = match secret {
        Some(secret) => text.replace(secret, "***"),
        None => text,
    };
    let line = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let line = line.collect::<Vec<_>>().join(" ");
    if line.is_empty() { "(no text)".into() } else { line.chars().take(MAX_REASON_CHARACTERS).collect() }
}

fn message(body: &[u8]) -> Option<String> {
    let json: serde_json::Value = serde_json::from_slice(body).ok()?;
    let error = json.get("error").unwrap_or(&json);
    let message = error.get("message").unwrap_or(error);
    message.as_str().map(str::to_owned)
}
