use std::sync::Arc;

use super::*;
use crate::live::{Keys, Reread, hash, new_key};

const QUESTION: &str = r#"{"question": "a"}"#;

fn keyed(limits: groundwork_config::Limits) -> (Arc<App>, [String; 2], tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let keys = ["alice", "bob"].map(|caller| {
        let key = new_key().unwrap();
        std::fs::write(folder.path().join(caller), hash(&key)).unwrap();
        format!("Bearer {key}")
    });
    let path = folder.path().to_owned();
    let access = Access::Keys(Arc::new(Reread::new("keys", move || Keys::read(&path))));
    (app_with(Fake::default(), Limits::default(), (access, limits)), keys, folder)
}

#[tokio::test]
async fn who_has_no_key_is_told_how_to_send_one_and_sees_the_page() {
    let (app, [alice, _], _folder) = keyed(groundwork_config::Limits::default());
    let routes = ["POST /v1/ask", "POST /v1/search", "GET /v1/documents", "GET /v1/documents/d1", "GET /v1/chunks/c1"];
    for route in routes {
        for headers in [&[][..], &[("authorization", "Bearer gwk_guess")]] {
            let reply = send(&app, request(route, headers, QUESTION)).await;
            assert_eq!((reply.status.as_u16(), reply.failure().0.as_str()), (401, "unauthenticated"), "{route}");
            assert_eq!(reply.header("www-authenticate"), "Bearer realm=\"groundwork\"");
        }
    }
    assert_eq!(
        send(&app, request("POST /v1/ask", &[("authorization", alice.as_str())], QUESTION)).await.status.as_u16(),
        200
    );
    for route in ["GET /", "GET /openapi.json"] {
        assert_eq!(send(&app, request(route, &[], "")).await.status.as_u16(), 200, "{route}");
    }
}

#[tokio::test]
async fn each_caller_has_a_rate_of_her_own() {
    let limits = groundwork_config::Limits { requests_per_minute: Some(1), ..groundwork_config::Limits::default() };
    let (app, [alice, bob], _folder) = keyed(limits);
    for (key, expected) in [(&alice, 200), (&alice, 429), (&bob, 200)] {
        let reply = send(&app, request("POST /v1/ask", &[("authorization", key.as_str())], QUESTION)).await;
        assert_eq!(reply.status.as_u16(), expected, "{}", reply.text);
    }
}

#[tokio::test]
async fn without_a_policy_every_question_is_refused_and_nothing_else() {
    let policy = PolicyInForce::of_file("/does/not/exist/policy.json".into());
    let app = App::new(
        Arc::new(Fake::default()),
        ([127, 0, 0, 1], PORT).into(),
        (Access::Anybody, Arc::new(policy)),
        Limits::default(),
    );
    for (route, body) in [("POST /v1/ask", QUESTION), ("POST /v1/search", r#"{"query": "a"}"#)] {
        let reply = send(&app, request(route, &[], body)).await;
        assert_eq!((reply.status.as_u16(), reply.failure().0.as_str()), (503, "not_ready"), "{route}");
        assert!(reply.text.contains("policy.json") && reply.text.contains("rule unreadable"), "{}", reply.text);
        assert!(!reply.header("retry-after").is_empty());
    }
    assert_eq!(send(&app, request("GET /v1/documents", &[], "")).await.status.as_u16(), 200);
    let metrics = send(&app, request("GET /metrics", &[], "")).await.text;
    assert!(metrics.contains(r#"groundwork_policy_refusals_total{rule="unreadable"} 2"#), "{metrics}");
    assert!(!metrics.contains("groundwork_policy_in_force{"), "{metrics}");
}
