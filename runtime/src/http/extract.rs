//! Reads requests; every rejection names the field and what is allowed.

use axum::RequestPartsExt;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, FailedToBufferBody};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use serde::de::DeserializeOwned;

use crate::http::failure::Failure;
use crate::json::{self, Mistake, MistakeKind};
use crate::wire::ErrorCode;

/// A JSON body. Only `application/json` is read: a form that another site's page posts cannot have that type.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        if !is_json(request.headers()) {
            let message = "send the body as JSON with the header content-type: application/json";
            return Err(Failure::new(ErrorCode::UnsupportedMediaType, message));
        }
        let bytes = Bytes::from_request(request, state).await.map_err(unreadable)?;
        parse_json(&bytes).map(Self)
    }
}

/// A query string.
pub(crate) struct QueryString<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send + 'static> FromRequestParts<S> for QueryString<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        match parts.extract::<Query<T>>().await {
            Ok(Query(value)) => Ok(Self(value)),
            Err(rejection) => Err(wrong_query(&rejection.body_text())),
        }
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

fn unreadable(rejection: BytesRejection) -> Failure {
    match rejection {
        BytesRejection::FailedToBufferBody(FailedToBufferBody::LengthLimitError(_)) => {
            Failure::new(ErrorCode::TooLarge, "the body is larger than this server reads (1 MB)")
        }
        _ => Failure::new(ErrorCode::InvalidRequest, "the body ended early"),
    }
}

/// Reads JSON; an empty body is an empty object.
fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    // The fields of a list would be taken in the order of the code, which is nobody's business.
    if bytes.trim_ascii_start().starts_with(b"[") {
        return Err(Failure::new(ErrorCode::InvalidRequest, "the body must be a JSON object"));
    }
    json::parse(bytes).map_err(wrong_json)
}

fn wrong_json(mistake: Mistake) -> Failure {
    match (mistake.kind, mistake.field) {
        (MistakeKind::Syntax, _) => {
            Failure::new(ErrorCode::InvalidRequest, format!("the body is not valid JSON: {}", mistake.reason))
        }
        (_, Some(field)) => Failure::field(&field, format!("{field}: {}", mistake.reason)),
        (_, None) => Failure::new(ErrorCode::InvalidRequest, mistake.reason),
    }
}

fn wrong_query(text: &str) -> Failure {
    let reason = text.split_once("query string: ").map_or(text, |(_, reason)| reason);
    let path = reason.split_once(": ").map_or(".", |(path, _)| path);
    let path = if path.contains(' ') { "." } else { path };
    match json::join(path, json::named_field(reason)) {
        Some(field) => Failure::field(&field, format!("{field}: {}", reason.trim_start_matches(&format!("{field}: ")))),
        None => Failure::new(ErrorCode::InvalidRequest, reason.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{AskRequest, DocumentsQuery, SyncRequest};

    fn wrong(body: &str) -> (Option<String>, String) {
        let detail = parse_json::<AskRequest>(body.as_bytes()).unwrap_err().into_detail();
        (detail.field, detail.message)
    }

    #[test]
    fn a_wrong_body_names_the_field_and_what_is_allowed() {
        let table = [
            (r#"{}"#, Some("question"), "missing field `question`"),
            (r#"{"question": 4}"#, Some("question"), "expected a string"),
            (r#"{"question": "a", "mode": "fuzzy"}"#, Some("mode"), "expected one of `keyword`, `vector`, `hybrid`"),
            (r#"{"question": "a", "topk": 3}"#, Some("topk"), "expected one of `question`, `mode`, `top_k`"),
            (r#"{"question": "a", "top_k": -1}"#, Some("top_k"), "expected u32"),
            (r#"{"question": "a", "filter": {"paths": [1]}}"#, Some("filter.paths[0]"), "expected a string"),
            (r#"{"question": "a", "filter": {"path": []}}"#, Some("filter.path"), "expected one of `paths`"),
            (r#"["a", null, null, null, false]"#, None, "must be a JSON object"),
            (r#"{"question": "a""#, None, "not valid JSON"),
            (r#"{"question": "a"} x"#, None, "not valid JSON"),
        ];
        for (body, field, message) in table {
            let (got_field, got_message) = wrong(body);
            assert_eq!(got_field.as_deref(), field, "{body}: {got_message}");
            assert!(got_message.contains(message), "{body}: {got_message}");
        }
    }

    #[test]
    fn an_empty_body_is_an_empty_object() {
        assert_eq!(parse_json::<SyncRequest>(b"").unwrap(), SyncRequest::default());
    }

    #[tokio::test]
    async fn a_wrong_query_names_the_field() {
        let table = [("limit=x", "limit", "invalid digit"), ("offset=3", "offset", "unknown field `offset`")];
        for (query, field, message) in table {
            let request = axum::http::Request::get(format!("/?{query}")).body(()).unwrap();
            let (mut parts, ()) = request.into_parts();
            let result = QueryString::<DocumentsQuery>::from_request_parts(&mut parts, &()).await;
            let detail = result.err().unwrap().into_detail();
            assert_eq!(detail.field.as_deref(), Some(field), "{}", detail.message);
            assert!(detail.message.contains(message), "{}", detail.message);
        }
    }
}
