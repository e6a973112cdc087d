use jiff::{Timestamp, fmt::rfc2822};
use reqwest::header::{HeaderMap, RETRY_AFTER};
use std::time::Duration;

use crate::CallError;

/// A server that asks for a longer pause is not waited for.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Pause before the next try: what the server asks for, or else the planned one. `None` gives up.
pub(crate) fn delay(error: &CallError, planned: Option<Duration>) -> Option<Duration> {
    let planned = planned?;
    match error {
        CallError::Status { retry_after: Some(wait), .. } if *wait > MAX_WAIT => None,
        CallError::Status { retry_after: Some(wait), .. } => Some(*wait),
        _ => Some(planned),
    }
}

/// Seconds or a date (RFC 9110, section 10.2.3); a date in the past is no wait.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = rfc2822::DateTimeParser::new().parse_zoned(value).ok()?.timestamp();
    Some(Duration::try_from(date.duration_since(Timestamp::now())).unwrap_or(Duration::ZERO))
}
