//! Who asks.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use groundwork_knowledge::store::Principal;
use std::sync::Arc;

use crate::http::app::App;
use crate::http::failure::Failure;
use crate::live::{Keys, Reread};
use crate::wire::ErrorCode;

/// Who may ask.
#[derive(Clone)]
pub(crate) enum Access {
    /// The person at the keyboard: only she reaches the address.
    Local,
    /// Everybody who reaches the address.
    Anybody,
    /// Who has a key.
    Keys(Arc<Reread<Keys>>),
}

/// Whom nobody knows.
const ANONYMOUS: &str = "anonymous";
const SCHEME: &str = "bearer";

impl Access {
    /// Who sends these headers.
    fn principal(&self, headers: &HeaderMap) -> Result<Principal, Failure> {
        let named = |subject: &str| Principal { subject: subject.to_owned(), groups: Vec::new() };
        match self {
            Self::Local => Ok(Principal::local()),
            Self::Anybody => Ok(named(ANONYMOUS)),
            Self::Keys(keys) => {
                let key =
                    bearer(headers).ok_or_else(|| unknown("send a key in the header Authorization: Bearer KEY"))?;
                let keys =
                    keys.current().map_err(|_| unknown("no key can be checked now; see /readyz of the server"))?;
                keys.subject_of(key).map(named).ok_or_else(|| unknown("this key is not known here"))
            }
        }
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next()?.to_str().ok()?;
    let (scheme, key) = value.split_once(' ')?;
    (values.next().is_none() && scheme.eq_ignore_ascii_case(SCHEME)).then(|| key.trim())
}

fn unknown(message: &str) -> Failure {
    Failure::new(ErrorCode::Unauthenticated, message)
}

/// Middleware: finds out who asks, or refuses.
pub(crate) async fn identify(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    match app.access.principal(request.headers()) {
        Ok(principal) => {
            request.extensions_mut().insert(principal);
            next.run(request).await
        }
        Err(failure) => failure.into_response(),
    }
}

/// Who asks, for handlers.
pub(crate) struct Caller(pub(crate) Principal);

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let known = parts.extensions.get::<Principal>().cloned();
        known.map(Self).ok_or_else(|| Failure::new(ErrorCode::Internal, "nobody asked who calls this route"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn a_key_comes_in_one_header_in_one_form() {
        let table = [
            (&["Bearer gwk_1"][..], Some("gwk_1")),
            (&["bearer  gwk_1 "], Some("gwk_1")),
            (&["Basic gwk_1"], None),
            (&["gwk_1"], None),
            (&["Bearer gwk_1", "Bearer gwk_2"], None),
            (&[], None),
        ];
        for (values, expected) in table {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("authorization", HeaderValue::from_static(value));
            }
            assert_eq!(bearer(&headers), expected, "{values:?}");
        }
    }
}
