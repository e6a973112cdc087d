use super::*;
use groundwork_config::EndpointUse;
use serde_json::json;
use std::time::Instant;
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

fn endpoint(base_url: String) -> Endpoint {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let endpoint = Endpoint::new("models", &base_url, "m", EndpointUse::Chat);
    Endpoint { timeout_ms: 2000, concurrency: 2, ..endpoint }
}

async fn post(endpoint: &Endpoint) -> Result<Vec<u8>, CallError> {
    EndpointClient::new(endpoint).unwrap().post("/chat", &json!({}), 1000).await
}

#[tokio::test]
async fn a_server_error_is_tried_again_until_it_passes() {
    let server = MockServer::start().await;
    let busy = ResponseTemplate::new(503).insert_header("retry-after", "0");
    Mock::given(method("POST")).respond_with(busy).up_to_n_times(2).expect(2).mount(&server).await;
    Mock::given(path("/v1/chat")).respond_with(ResponseTemplate::new(200).set_body_string("ok")).mount(&server).await;
    assert_eq!(post(&endpoint(server.uri() + "/v1/")).await.unwrap(), b"ok");
}

#[tokio::test]
async fn tries_end_with_the_servers_words() {
    let server = MockServer::start().await;
    let busy = ResponseTemplate::new(429)
        .insert_header("retry-after", "0")
        .set_body_json(json!({"error": {"message": "slow\ndown"}}));
    Mock::given(method("POST")).respond_with(busy).expect(3).mount(&server).await;
    let error = post(&endpoint(server.uri())).await.unwrap_err();
    assert_eq!(error.to_string(), "the server answered 429: slow down");
}

#[tokio::test]
async fn a_refusal_a_redirect_and_a_timeout_are_not_tried_again() {
    for status in [400, 401, 404, 302, 501] {
        let server = MockServer::start().await;
        let refusal = ResponseTemplate::new(status).insert_header("location", "/elsewhere");
        Mock::given(method("POST")).respond_with(refusal).expect(1).mount(&server).await;
        let error = post(&endpoint(server.uri())).await.unwrap_err();
        assert!(matches!(error, CallError::Status { status: got, .. } if got == status), "{error}");
    }
    let server = MockServer::start().await;
    let slow = ResponseTemplate::new(200).set_delay(Duration::from_secs(30));
    Mock::given(method("POST")).respond_with(slow).expect(1).mount(&server).await;
    let quick = Endpoint { timeout_ms: 100, ..endpoint(server.uri()) };
    assert_eq!(post(&quick).await.unwrap_err(), CallError::Timeout);
}

#[tokio::test]
async fn a_pause_of_an_hour_is_not_waited_for() {
    let server = MockServer::start().await;
    let busy = ResponseTemplate::new(429).insert_header("retry-after", "3600");
    Mock::given(method("POST")).respond_with(busy).expect(1).mount(&server).await;
    let start = Instant::now();
    assert!(post(&endpoint(server.uri())).await.is_err());
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn the_key_is_read_again_when_its_file_changes_and_never_shown() {
    let server = MockServer::start().await;
    let echo = |key: &str| ResponseTemplate::new(401).set_body_string(format!("bad key {key}"));
    for key in ["first-secret", "second-secret"] {
        let bearer = header("authorization", format!("Bearer {key}").as_str());
        Mock::given(bearer).respond_with(echo(key)).expect(1).mount(&server).await;
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let endpoint = Endpoint { api_key_file: Some(file.path().into()), ..endpoint(server.uri()) };
    let client = EndpointClient::new(&endpoint).unwrap();
    for key in ["first-secret\n", "second-secret\n"] {
        std::fs::write(file.path(), key).unwrap();
        let error = client.post("/chat", &json!({}), 1000).await.unwrap_err();
        assert_eq!(error.to_string(), "the server answered 401: bad key ***");
        assert!(!format!("{client:?} {error:?}").contains("secret"));
    }
}

#[tokio::test]
async fn a_missing_key_is_named_by_its_place() {
    let missing = Endpoint { api_key_file: Some("/nowhere/key".into()), ..endpoint("http://127.0.0.1:9/v1".into()) };
    assert!(post(&missing).await.unwrap_err().to_string().contains("/nowhere/key"));
    let unset =
        Endpoint { api_key_env: Some("GROUNDWORK_NO_SUCH_KEY".into()), ..endpoint("http://127.0.0.1:9/v1".into()) };
    assert!(post(&unset).await.unwrap_err().to_string().contains("GROUNDWORK_NO_SUCH_KEY"));
}

#[tokio::test]
async fn a_reply_above_the_bound_is_refused() {
    let server = MockServer::start().await;
    let large = ResponseTemplate::new(200).set_body_string("x".repeat(1001));
    Mock::given(method("POST")).respond_with(large).expect(1).mount(&server).await;
    assert_eq!(post(&endpoint(server.uri())).await.unwrap_err(), CallError::TooLarge { limit: 1000 });
}

#[tokio::test]
async fn a_closed_port_is_a_connection_failure() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let endpoint = Endpoint { retries: 0, ..endpoint(format!("http://{address}/v1")) };
    let error = post(&endpoint).await.unwrap_err();
    assert!(matches!(error, CallError::Connection(_)), "{error}");
    assert!(error.is_unavailable());
}

#[test]
fn addresses_that_cannot_work_are_refused() {
    for (address, word) in [
        ("models.example", "relative"),
        ("ftp://models.example/v1", "http"),
        ("http://key@models.example/v1", "user name"),
        ("http://models.example/v1?key=1", "path"),
    ] {
        let error = EndpointClient::new(&endpoint(address.into())).unwrap_err().to_string();
        assert!(error.contains(word) && error.contains("models"), "{address}: {error}");
    }
}

#[tokio::test]
async fn requests_in_flight_stay_below_the_limit_and_the_rate_holds() {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(ResponseTemplate::new(200)).mount(&server).await;
    let limited = Endpoint { requests_per_minute: Some(600), ..endpoint(server.uri()) };
    let client = EndpointClient::new(&limited).unwrap();
    assert_eq!(client.in_flight.available_permits(), 2);
    let rate = client.rate.as_ref().unwrap();
    let passed = (0..600).filter(|_| rate.check().is_ok()).count();
    assert!((60..=70).contains(&passed), "a tenth of the minute at once, not {passed}");
}

#[test]
fn retry_after_takes_seconds_and_dates() {
    let parse = |value: &str| {
        let mut headers = reqwest::header::HeaderMap::new();
        headers.insert("retry-after", value.parse().unwrap());
        retry::retry_after(&headers)
    };
    assert_eq!(parse("7"), Some(Duration::from_secs(7)));
    assert_eq!(parse("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
    assert_eq!(parse("soon"), None);
}
