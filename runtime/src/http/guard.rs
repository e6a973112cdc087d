//! Keeps other sites' pages away from a server without authentication.
//!
//! A page of another site can make a browser send requests here, and with a name that it lets point to 127.0.0.1 (DNS
//! rebinding) it could even read the replies. So `Host` must be a loopback name with our port, `Origin` must be our
//! own where there is one, and what a browser itself marks as sent by another site is refused.

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::sync::Arc;

use crate::http::app::App;
use crate::http::failure::Failure;
use crate::wire::ErrorCode;

/// Middleware: lets pass what this server's own page, or a program, may have sent.
pub(crate) async fn check(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    match inspect(&request, app.address.port()) {
        Ok(()) => next.run(request).await,
        Err(failure) => failure.into_response(),
    }
}

fn inspect(request: &Request, port: u16) -> Result<(), Failure> {
    let host = header_text(request.headers(), header::HOST.as_str())
        .ok_or_else(|| forbidden("Host", "the header Host is missing"))?;
    let own = |authority: &str| is_own(authority, port);
    if !own(host) || request.uri().authority().is_some_and(|authority| !own(authority.as_str())) {
        return Err(forbidden("Host", format!("the header Host must be localhost:{port} or 127.0.0.1:{port}")));
    }
    if request.headers().contains_key(header::ORIGIN) {
        let origin = header_text(request.headers(), header::ORIGIN.as_str()).unwrap_or("null");
        if origin.strip_prefix("http://") != Some(host) {
            return Err(forbidden("Origin", format!("the header Origin must be http://{host} or absent")));
        }
    }
    match foreign_site(request) {
        true => Err(forbidden("Sec-Fetch-Site", "requests that another site's page makes are refused")),
        false => Ok(()),
    }
}

/// Whether `authority` is a loopback name or address with our port.
fn is_own(authority: &str, port: u16) -> bool {
    let Ok(authority) = authority.parse::<Authority>() else { return false };
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let loopback = host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    let plain = !authority.as_str().contains('@');
    plain && loopback && authority.port_u16().unwrap_or(80) == port
}

/// Whether the browser says that another site's page sent it; following a link to us is fine.
fn foreign_site(request: &Request) -> bool {
    let headers = request.headers();
    let site = header_text(headers, "sec-fetch-site").unwrap_or("none");
    let follows_link = request.method() == Method::GET && header_text(headers, "sec-fetch-mode") == Some("navigate");
    matches!(site, "cross-site" | "same-site") && !follows_link
}

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    values.next().is_none().then(|| first.to_str().ok()).flatten()
}

fn forbidden(field: &str, message: impl Into<String>) -> Failure {
    let mut detail = Failure::field(field, message).into_detail();
    detail.code = ErrorCode::Forbidden;
    detail.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_own_only_with_a_loopback_name_and_our_port() {
        let table = [
            ("localhost:7878", true),
            ("LocalHost:7878", true),
            ("127.0.0.1:7878", true),
            ("127.8.9.1:7878", true),
            ("[::1]:7878", true),
            ("localhost", false),
            ("localhost:7879", false),
            ("evil.example:7878", false),
            ("localhost.evil.example:7878", false),
            ("127.0.0.1.evil.example:7878", false),
            ("evil@localhost:7878", false),
            ("192.168.1.4:7878", false),
            ("0.0.0.0:7878", false),
            ("[::ffff:10.0.0.1]:7878", false),
            ("", false),
        ];
        for (host, expected) in table {
            assert_eq!(is_own(host, 7878), expected, "{host}");
        }
        assert!(is_own("localhost", 80));
    }
}
