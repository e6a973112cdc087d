use serde_json::json;
use std::time::Duration;

use super::*;

const STREAM: &str = r#"{"question": "a", "stream": true}"#;

/// Names and data of the events of a stream.
fn events(text: &str) -> Vec<(String, Value)> {
    let blocks = text.split("\n\n").filter(|block| block.contains("event:"));
    let event = |block: &str| {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
        (field("event:"), serde_json::from_str(&field("data:")).unwrap())
    };
    blocks.map(event).collect()
}

fn names(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_str()).collect()
}

#[tokio::test]
async fn events_come_in_order_and_the_last_is_the_whole_answer() {
    let app = app(Fake::default(), Limits::default());
    let reply = send(&app, request("POST /v1/ask", &[], STREAM)).await;
    assert_eq!(reply.header("content-type"), "text/event-stream");
    let events = events(&reply.text);
    assert_eq!(names(&events), ["retrieval", "sentence", "done"]);
    assert_eq!(events[0].1, json!({"passages": 1, "documents_searched": 3}));
    assert_eq!(events[1].1, json!({"text": "Two weeks.", "citations": [1]}));
    let whole = send(&app, request("POST /v1/ask", &[], r#"{"question": "a"}"#)).await.json();
    assert_eq!(events[2].1["answer"], whole);
}

#[tokio::test]
async fn a_stream_that_cannot_go_on_ends_with_an_error_event() {
    let hang = Behaviour::Hangs(Arc::default());
    let table =
        [(Behaviour::Fails(ErrorCode::NotReady), "not_ready"), (Behaviour::Panics, "internal"), (hang, "timeout")];
    for (behaviour, code) in table {
        let app = app(
            Fake { behaviour, ..Fake::default() },
            Limits { ask: Some(Duration::from_millis(200)), ..Limits::default() },
        );
        let reply = send(&app, request("POST /v1/ask", &[("x-request-id", "r7")], STREAM)).await;
        let events = events(&reply.text);
        assert_eq!(names(&events), ["retrieval", "sentence", "error"], "{code}");
        let error = &events[2].1["error"];
        assert_eq!((&error["code"], &error["request_id"]), (&json!(code), &json!("r7")));
    }
}

#[tokio::test]
async fn a_dropped_stream_stops_its_run_and_frees_its_place() {
    let dropped = Arc::new(Notify::new());
    let fake = Fake { behaviour: Behaviour::Hangs(dropped.clone()), ..Fake::default() };
    let app = app(fake, Limits { concurrent: 1, queued: 0, ..Limits::default() });
    let reading = send(&app, request("POST /v1/ask", &[], STREAM));
    assert!(tokio::time::timeout(Duration::from_millis(200), reading).await.is_err());
    dropped.notified().await;
    assert_eq!(send(&app, request("POST /v1/search", &[], r#"{"query": "a"}"#)).await.status.as_u16(), 200);
}
