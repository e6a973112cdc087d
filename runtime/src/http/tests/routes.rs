use axum::http::StatusCode;
use serde_json::json;

use super::*;

#[tokio::test]
async fn every_route_answers() {
    let app = app(Fake::default(), Limits::default());
    let table = [
        ("POST /v1/ask", r#"{"question": "notice?"}"#, 200, "/text", json!("Two weeks. [1]")),
        ("POST /v1/search", r#"{"query": "notice"}"#, 200, "/arms/0/passages", json!(4)),
        ("GET /v1/documents?limit=2&after=x", "", 200, "/next", json!("x")),
        ("GET /v1/documents/d1", "", 200, "/text", json!("Notice: two weeks.")),
        ("GET /v1/documents/d2", "", 404, "/error/code", json!("not_found")),
        ("GET /v1/chunks/c1", "", 200, "/before", json!("")),
        ("GET /v1/chunks/c1?scope=document", "", 200, "/before", json!("whole ")),
        ("GET /v1/chunks/gone", "", 410, "/error/document_id", json!("d1")),
        ("GET /v1/chunks/gone-with-its-document", "", 410, "/error/document", json!("handbook/old.md")),
        ("POST /v1/sync", "", 200, "/reports", json!([])),
        ("GET /healthz", "", 200, "/version", json!(env!("CARGO_PKG_VERSION"))),
        ("GET /readyz", "", 200, "/dependencies/1/name", json!("knowledge base handbook")),
        ("GET /openapi.json", "", 200, "/info/title", json!("Groundwork")),
    ];
    for (line, body, status, pointer, expected) in table {
        let reply = send(&app, request(line, &[], body)).await;
        assert_eq!(reply.status.as_u16(), status, "{line}: {}", reply.text);
        assert_eq!(reply.json().pointer(pointer), Some(&expected), "{line}: {}", reply.text);
        assert_eq!(reply.header("cache-control"), "no-store", "{line}");
    }
}

#[tokio::test]
async fn every_failure_has_one_shape() {
    let app = app(Fake::default(), Limits::default());
    let table = [
        ("GET /nothing", "", 404, "not_found", None),
        ("GET /v1/ask", "", 405, "method_not_allowed", None),
        ("DELETE /", "", 405, "method_not_allowed", None),
        ("POST /v1/ask", "{}", 400, "invalid_request", Some("question")),
        ("POST /v1/ask", "nonsense", 400, "invalid_request", None),
        ("POST /v1/search", r#"{"query": "a", "filter": {"tags": 3}}"#, 400, "invalid_request", Some("filter.tags")),
        ("GET /v1/documents?limit=many", "", 400, "invalid_request", Some("limit")),
        ("GET /v1/chunks/c1?scope=chapter", "", 400, "invalid_request", Some("scope")),
        ("GET /v1/documents/d2", "", 404, "not_found", None),
        ("GET /v1/chunks/gone", "", 410, "gone", None),
    ];
    for (line, body, status, code, field) in table {
        let reply = send(&app, request(line, &[], body)).await;
        assert_eq!(reply.status.as_u16(), status, "{line}: {}", reply.text);
        assert_eq!(reply.failure(), (code.to_owned(), field.map(str::to_owned)), "{line}: {}", reply.text);
    }
}

#[tokio::test]
async fn a_wrong_method_is_told_the_right_ones() {
    let app = app(Fake::default(), Limits::default());
    assert_eq!(send(&app, request("GET /v1/ask", &[], "")).await.header("allow"), "POST");
    assert_eq!(send(&app, request("POST /readyz", &[], "")).await.header("allow"), "GET,HEAD");
}

#[tokio::test]
async fn the_service_decides_the_status() {
    let table = [
        (ErrorCode::NotReady, 503, "2"),
        (ErrorCode::Conflict, 409, ""),
        (ErrorCode::Internal, 500, ""),
        (ErrorCode::InvalidRequest, 400, ""),
    ];
    for (code, status, retry_after) in table {
        let app = app(Fake { behaviour: Behaviour::Fails(code), ..Fake::default() }, Limits::default());
        let reply = send(&app, request("POST /v1/ask", &[], r#"{"question": "a"}"#)).await;
        assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (status, retry_after));
        reply.failure();
    }
}

#[tokio::test]
async fn readiness_is_503_with_progress_until_keywords_are_in() {
    let starting = app(Fake { starting: true, ..Fake::default() }, Limits::default());
    let reply = send(&starting, request("GET /readyz", &[], "")).await;
    assert_eq!((reply.status, reply.header("retry-after")), (StatusCode::SERVICE_UNAVAILABLE, "1"));
    let body = reply.json();
    assert_eq!(body["dependencies"][1]["detail"], "reading files: 2 of 3");
    assert_eq!((&body["ready"], &body["dependencies"][1]["ready"]), (&json!(false), &json!(false)));
    assert!(serde_json::from_value::<Status>(body).is_ok(), "clients read a status from it");

    let ready = app(Fake::default(), Limits::default());
    let body = send(&ready, request("GET /readyz", &[], "")).await.json();
    assert_eq!(body["dependencies"][1]["detail"], "4 of 9 vectors");
}

#[tokio::test]
async fn the_page_needs_nothing_from_elsewhere() {
    let app = app(Fake::default(), Limits::default());
    let table = [
        ("/", "text/html"),
        ("/style.css", "text/css"),
        ("/app.js", "text/javascript"),
        ("/favicon.svg", "image/svg+xml"),
    ];
    for (path, kind) in table {
        let reply = send(&app, request(&format!("GET {path}"), &[], "")).await;
        assert!(reply.status.is_success() && reply.header("content-type").starts_with(kind), "{path}");
        assert_eq!(reply.header("cache-control"), "no-cache");
        let foreign = reply.text.replace("http://www.w3.org/2000/svg", "");
        assert!(!foreign.contains("http://") && !foreign.contains("https://"), "{path}");
        let unsafe_words =
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", " eval(", "style=\"", "onclick"];
        for word in unsafe_words {
            assert!(!reply.text.contains(word), "{path} has {word}");
        }
    }
}

#[tokio::test]
async fn what_was_done_is_counted() {
    let app = app(Fake::default(), Limits::default());
    send(&app, request("POST /v1/ask", &[], r#"{"question": "a"}"#)).await;
    send(&app, request("POST /v1/ask", &[], r#"{"question": "a", "stream": true}"#)).await;
    send(&app, request("POST /v1/search", &[], r#"{"query": "a"}"#)).await;
    send(&app, request("GET /elsewhere/1234", &[], "")).await;
    let reply = send(&app, request("GET /metrics", &[], "")).await;
    assert!(reply.header("content-type").starts_with("text/plain; version=0.0.4"));
    let lines = [
        r#"groundwork_requests_total{route="/v1/ask",status="200"} 2"#,
        r#"groundwork_requests_total{route="unmatched",status="404"} 1"#,
        r#"groundwork_request_duration_seconds_count{route="/v1/search"} 1"#,
        r#"groundwork_answers_total{band="answered",stop_reason="answered"} 2"#,
        r#"groundwork_tokens_total{direction="input",model="a-model",step="answer"} 1400"#,
        r#"groundwork_cost_micros_total{model="a-model",step="answer"} 24"#,
        r#"groundwork_retrieval_hits_total{arm="keyword"} 12"#,
        r#"groundwork_retrieval_duration_seconds_count{arm="keyword"} 3"#,
        r#"groundwork_ingestion{knowledge_base="handbook",what="pending_vectors"} 5"#,
        r#"groundwork_ingestion{knowledge_base="handbook",what="failures"} 2"#,
    ];
    for line in lines {
        assert!(reply.text.lines().any(|found| found == line), "{line}\n{}", reply.text);
    }
}

#[test]
fn every_described_route_names_its_failures() {
    let description = serde_json::to_value(super::super::router::described().to_openapi()).unwrap();
    let paths = description["paths"].as_object().unwrap();
    assert_eq!(paths.len(), 9);
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().unwrap() {
            for status in ["403", "500", "503", "504"] {
                assert!(operation["responses"].get(status).is_some(), "{method} {path} lacks {status}");
            }
        }
    }
    assert!(description["components"]["schemas"].get("ErrorBody").is_some());
}
