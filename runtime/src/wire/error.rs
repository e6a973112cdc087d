use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The one shape of every error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ErrorBody {
    /// What went wrong.
    pub(crate) error: ErrorDetail,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ErrorDetail {
    /// For programs.
    pub(crate) code: ErrorCode,
    /// For people: what failed, why, and what to do.
    pub(crate) message: String,
    /// The field of the request that is wrong, where one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) field: Option<String>,
    /// `source/path` of the document that a vanished chunk was part of (`gone` only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) document: Option<String>,
    /// Identity of that document where it is still there; `GET /v1/documents/{id}` shows it (`gone` only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) document_id: Option<String>,
    /// Identity of the request, as in the header `x-request-id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<String>,
}

/// Kinds of errors, each with its HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ErrorCode {
    /// 400: the request is malformed; `field` says where.
    InvalidRequest,
    /// 401: no key that is known here; `WWW-Authenticate` says how to send one.
    Unauthenticated,
    /// 403: Host or Origin is not this server.
    Forbidden,
    /// 404: no such route, document or chunk.
    NotFound,
    /// 405: the route does not know this method.
    MethodNotAllowed,
    /// 409: something else is in the way.
    Conflict,
    /// 410: the chunk vanished; `document` names its document, and `document_id` where it is still there.
    Gone,
    /// 413: the body is too large.
    TooLarge,
    /// 415: the body is not JSON.
    UnsupportedMediaType,
    /// 429: too many requests at once; `Retry-After` says when to come back.
    TooManyRequests,
    /// 500: our fault.
    Internal,
    /// 503: keywords are not in yet, no policy can be read, or the server is ending; `Retry-After` says when to come back.
    NotReady,
    /// 504: it took too long.
    Timeout,
}
