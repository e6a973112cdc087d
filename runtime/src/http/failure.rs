//! The one shape in which a request fails.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::local::ServiceError;
use crate::wire::{ErrorCode, ErrorDetail};

/// Why a request failed. As a response it carries its [`ErrorDetail`] as an extension; the outermost layer writes the
/// body, because only there the request's id is known.
#[derive(Debug)]
pub(crate) struct Failure(Box<ErrorDetail>);

impl Failure {
    /// A failure without a field.
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self(ServiceError::new(code, message).detail)
    }

    /// A part of the request is wrong.
    pub(crate) fn field(field: &str, message: impl Into<String>) -> Self {
        Self(ServiceError::invalid(field, message).detail)
    }

    /// Code, message and field.
    pub(crate) fn into_detail(self) -> ErrorDetail {
        *self.0
    }
}

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Self {
        Self(error.detail)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = status(self.0.code).into_response();
        if let Some(seconds) = retry_after(self.0.code) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(self.into_detail());
        response
    }
}

/// The HTTP status of a code.
pub(crate) fn status(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::InvalidRequest => StatusCode::BAD_REQUEST,
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
        Self(Box::new(detail))
    }
}
