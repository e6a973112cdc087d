use std::time::Duration;

use super::*;

const QUESTION: &str = r#"{"question": "a"}"#;

fn hanging() -> (Fake, Arc<Notify>) {
    let dropped = Arc::new(Notify::new());
    (Fake { behaviour: Behaviour::Hangs(dropped.clone()), ..Fake::default() }, dropped)
}

#[tokio::test]
async fn a_large_body_is_refused() {
    let app = app(Fake::default(), Limits { body: 1000, ..Limits::default() });
    let padded = |size: usize| format!("{QUESTION}{}", " ".repeat(size - QUESTION.len()));
    assert_eq!(send(&app, request("POST /v1/ask", &[], padded(1000))).await.status.as_u16(), 200);
    let reply = send(&app, request("POST /v1/ask", &[], padded(1001))).await;
    assert_eq!((reply.status.as_u16(), reply.failure().0.as_str()), (413, "too_large"));
}

#[tokio::test]
async fn a_slow_answer_ends_with_504_and_stops_its_run() {
    let (fake, dropped) = hanging();
    let app = app(fake, Limits { ask: Some(Duration::from_millis(50)), ..Limits::default() });
    let reply = send(&app, request("POST /v1/ask", &[], QUESTION)).await;
    assert_eq!((reply.status.as_u16(), reply.failure().0.as_str()), (504, "timeout"));
    dropped.notified().await;
}

#[tokio::test]
async fn a_panic_is_an_error_like_any_other() {
    let app = app(Fake { behaviour: Behaviour::Panics, ..Fake::default() }, Limits::default());
    let reply = send(&app, request("POST /v1/ask", &[], QUESTION)).await;
    assert_eq!((reply.status.as_u16(), reply.failure().0.as_str()), (500, "internal"));
    assert!(!reply.text.contains("as told"), "what a panic says stays in the log");
    assert!(send(&app, request("GET /healthz", &[], "")).await.status.is_success());
}

#[tokio::test]
async fn a_full_queue_answers_429_while_reading_goes_on() {
    let (fake, _) = hanging();
    let app = app(fake, Limits { concurrent: 1, queued: 0, ..Limits::default() });
    let busy = tokio::spawn({
        let app = app.clone();
        async move { send(&app, request("POST /v1/ask", &[], QUESTION)).await }
    });
    tokio::task::yield_now().await;
    let reply = send(&app, request("POST /v1/search", &[], r#"{"query": "a"}"#)).await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (429, "1"));
    assert_eq!(reply.failure().0, "too_many_requests");
    assert!(send(&app, request("GET /v1/documents", &[], "")).await.status.is_success());
    busy.abort();
}

#[tokio::test]
async fn who_leaves_frees_the_place() {
    let (fake, dropped) = hanging();
    let app = app(fake, Limits { concurrent: 1, queued: 0, ..Limits::default() });
    let asking = send(&app, request("POST /v1/ask", &[], QUESTION));
    assert!(tokio::time::timeout(Duration::from_millis(50), asking).await.is_err());
    dropped.notified().await;
    assert_eq!(send(&app, request("POST /v1/search", &[], r#"{"query": "a"}"#)).await.status.as_u16(), 200);
}

#[tokio::test]
async fn a_caller_who_asks_too_often_is_told_when_to_come_back() {
    let policy = groundwork_config::Limits { requests_per_minute: Some(2), ..groundwork_config::Limits::default() };
    let app = app_with(Fake::default(), Limits::default(), (Access::Local, policy));
    for _ in 0..2 {
        assert_eq!(send(&app, request("POST /v1/ask", &[], QUESTION)).await.status.as_u16(), 200);
    }
    let reply = send(&app, request("POST /v1/search", &[], r#"{"query": "a"}"#)).await;
    let wait: u64 = reply.header("retry-after").parse().unwrap();
    // Two a minute: the next one is due at most 30 s later.
    assert!(reply.status.as_u16() == 429 && (25..=30).contains(&wait), "{wait}");
    assert!(reply.text.contains("limits.requestsPerMinute"), "{}", reply.text);
    assert!(send(&app, request("GET /v1/documents", &[], "")).await.status.is_success());
    let metrics = send(&app, request("GET /metrics", &[], "")).await;
    assert!(metrics.text.contains(r#"groundwork_policy_refusals_total{rule="requests_per_minute"} 1"#));
}

#[tokio::test]
async fn a_caller_has_her_places_back_when_she_leaves() {
    let (fake, dropped) = hanging();
    let policy = groundwork_config::Limits { concurrency: Some(1), ..groundwork_config::Limits::default() };
    let app = app_with(fake, Limits::default(), (Access::Local, policy));
    let busy = tokio::spawn({
        let app = app.clone();
        async move { send(&app, request("POST /v1/ask", &[], QUESTION)).await }
    });
    tokio::task::yield_now().await;
    let reply = send(&app, request("POST /v1/search", &[], r#"{"query": "a"}"#)).await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (429, "1"));
    assert!(reply.text.contains("limits.concurrency"), "{}", reply.text);
    busy.abort();
    dropped.notified().await;
    assert_eq!(send(&app, request("POST /v1/search", &[], r#"{"query": "a"}"#)).await.status.as_u16(), 200);
}
