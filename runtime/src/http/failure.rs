//! The one shape in which a request fails.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use groundwork_policy::Throttled;

use crate::local::ServiceError;
use crate::wire::{ErrorCode, ErrorDetail};

/// Why a request failed. As a response it carries its [`ErrorDetail`] as an extension; the outermost layer writes the
/// body, because only there the request's id is known.
#[derive(Debug)]
pub(crate) struct Failure {
    detail: Box<ErrorDetail>,
    /// Seconds, where more is known than the code says.
    retry_after: Option<u64>,
}

impl Failure {
    /// A caller asks more than the policy lets her.
    pub(crate) fn throttled(throttled: Throttled) -> Self {
        let seconds = throttled.retry_after.as_secs() + u64::from(throttled.retry_after.subsec_nanos() > 0);
        let failure = Self::new(ErrorCode::TooManyRequests, throttled.refusal.message);
        Self { retry_after: Some(seconds.max(1)), ..failure }
    }

    /// A failure without a field.
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        ServiceError::new(code, message).into()
    }

    /// A part of the request is wrong.
    pub(crate) fn field(field: &str, message: impl Into<String>) -> Self {
        ServiceError::invalid(field, message).into()
    }

    /// Code, message and field.
    pub(crate) fn into_detail(self) -> ErrorDetail {
        *self.detail
    }
}

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Self {
        Self { detail: error.detail, retry_after: None }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let code = self.detail.code;
        let mut response = status(code).into_response();
        if let Some(seconds) = self.retry_after.or_else(|| retry_after(code)) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if code == ErrorCode::Unauthenticated {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"groundwork\""));
        }
        response.extensions_mut().insert(self.into_detail());
        response
    }
}

/// The HTTP status of a code.
pub(crate) fn status(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::InvalidRequest => StatusCode::BAD_REQUEST,
        ErrorCode::Unauthenticated => StatusCode::UNAUTHORIZED,
        ErrorCode::Forbidden => StatusCode::FORBIDDEN,
        ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        ErrorCode::Conflict => StatusCode::CONFLICT,
        ErrorCode::Gone => StatusCode::GONE,
        ErrorCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ErrorCode::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        ErrorCode::NotReady => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::Timeout => StatusCode::GATEWAY_TIMEOUT,
    }
}

/// Seconds after which asking again makes sense.
fn retry_after(code: ErrorCode) -> Option<u64> {
    match code {
        ErrorCode::TooManyRequests => Some(1),
        ErrorCode::NotReady => Some(2),
        _ => None,
    }
}

impl From<ErrorDetail> for Failure {
    fn from(detail: ErrorDetail) -> Self {
        Self { detail: Box::new(detail), retry_after: None }
    }
}
