use super::*;

type Headers<'a> = &'a [(&'a str, &'a str)];

#[tokio::test]
async fn only_own_pages_and_programs_get_in() {
    let app = app(Fake::default(), Limits::default());
    let own = format!("http://localhost:{PORT}");
    let table: [(&str, Headers<'_>, &str); 14] = [
        ("a program", &[], ""),
        ("the own page", &[("origin", &own), ("sec-fetch-site", "same-origin")], ""),
        ("the address instead of the name", &[("host", "127.0.0.1:7878")], ""),
        ("a followed link", &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")], ""),
        ("no Host", &[("host", "")], "Host"),
        ("a rebound name", &[("host", "evil.example:7878")], "Host"),
        ("another port", &[("host", "localhost:9999")], "Host"),
        ("no port", &[("host", "localhost")], "Host"),
        ("another site", &[("origin", "http://evil.example")], "Origin"),
        ("another local server", &[("origin", "http://localhost:3000")], "Origin"),
        ("another loopback name", &[("origin", "http://127.0.0.1:7878")], "Origin"),
        ("a sandboxed frame", &[("origin", "null")], "Origin"),
        (
            "an image of another site",
            &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")],
            "Sec-Fetch-Site",
        ),
        ("a local server's script", &[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors")], "Sec-Fetch-Site"),
    ];
    for (who, headers, refused) in table {
        let reply = send(&app, request("GET /v1/documents", headers, "")).await;
        let expected = if refused.is_empty() { 200 } else { 403 };
        assert_eq!(reply.status.as_u16(), expected, "{who}: {}", reply.text);
        if !refused.is_empty() {
            assert_eq!(reply.failure(), ("forbidden".into(), Some(refused.into())), "{who}");
        }
    }
}

#[tokio::test]
async fn a_target_that_names_another_host_is_refused() {
    let app = app(Fake::default(), Limits::default());
    let reply = send(&app, request("GET http://evil.example/v1/documents", &[], "")).await;
    assert_eq!(reply.failure().0, "forbidden");
}

#[tokio::test]
async fn forms_cannot_change_anything() {
    let app = app(Fake::default(), Limits::default());
    let kinds = ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", ""];
    for path in ["POST /v1/ask", "POST /v1/search", "POST /v1/sync"] {
        for kind in kinds {
            let reply = send(&app, request(path, &[("content-type", kind)], r#"{"question": "a"}"#)).await;
            assert_eq!(reply.status.as_u16(), 415, "{path} {kind}");
            assert_eq!(reply.failure().0, "unsupported_media_type");
        }
    }
    let charset = [("content-type", "application/json; charset=utf-8")];
    assert!(send(&app, request("POST /v1/sync", &charset, "{}")).await.status.is_success());
}

#[tokio::test]
async fn cross_origin_reading_is_never_allowed() {
    let app = app(Fake::default(), Limits::default());
    let preflight = [("origin", "http://evil.example"), ("access-control-request-method", "POST")];
    let reply = send(&app, request("OPTIONS /v1/ask", &preflight, "")).await;
    assert_eq!(reply.status.as_u16(), 403);
    let allowed = send(&app, request("GET /healthz", &[], "")).await;
    for reply in [reply, allowed] {
        assert!(reply.headers.keys().all(|name| !name.as_str().starts_with("access-control")));
    }
}

#[tokio::test]
async fn every_response_carries_the_security_headers() {
    let app = app(Fake::default(), Limits::default());
    for line in ["GET /", "GET /app.js", "GET /healthz", "GET /nothing", "POST /v1/ask"] {
        let reply = send(&app, request(line, &[], "")).await;
        let policy = reply.header("content-security-policy");
        let parts = [
            "default-src 'none'",
            "script-src 'self'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        ];
        assert!(parts.iter().all(|part| policy.contains(part)) && !policy.contains("unsafe"), "{line}: {policy}");
        assert_eq!(reply.header("x-content-type-options"), "nosniff", "{line}");
        assert_eq!(reply.header("referrer-policy"), "no-referrer", "{line}");
    }
}

#[tokio::test]
async fn a_usable_request_id_is_kept_and_any_other_is_replaced() {
    let app = app(Fake::default(), Limits::default());
    let kept = send(&app, request("GET /healthz", &[("x-request-id", "trace-7")], "")).await;
    assert_eq!(kept.header("x-request-id"), "trace-7");
    for other in ["two words", "x".repeat(65).as_str()] {
        let reply = send(&app, request("GET /nothing", &[("x-request-id", other)], "")).await;
        assert_ne!(reply.header("x-request-id"), other);
        assert!(uuid::Uuid::parse_str(reply.header("x-request-id")).is_ok());
        reply.failure();
    }
}
