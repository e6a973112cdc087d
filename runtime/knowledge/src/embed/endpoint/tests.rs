use super::*;
use groundwork_config::EndpointUse;
use serde_json::Value;
use wiremock::matchers::{body_partial_json, method};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

pub(in crate::embed) fn endpoint(base_url: String) -> Endpoint {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let endpoint = Endpoint::new("models", &base_url, "unused", EndpointUse::Embeddings);
    Endpoint { timeout_ms: 5000, retries: 0, concurrency: 2, ..endpoint }
}

fn settings() -> EndpointEmbedding {
    EndpointEmbedding {
        model: "m".into(),
        dimensions: 2,
        query_prefix: "query: ".into(),
        passage_prefix: String::new(),
        max_batch: 2,
    }
}

async fn embedder(response: ResponseTemplate) -> (MockServer, EndpointEmbedder) {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(response).mount(&server).await;
    let embedder = EndpointEmbedder::new(&endpoint(server.uri() + "/v1"), settings()).unwrap();
    (server, embedder)
}

async fn refusal(texts: usize, body: &str) -> String {
    let (_server, embedder) = embedder(ResponseTemplate::new(200).set_body_string(body)).await;
    let texts = vec!["text".to_owned(); texts];
    let error = embedder.embed(EmbedKind::Passage, &texts).await.unwrap_err();
    assert!(matches!(error, EmbedError::Refused { .. }), "{error}");
    error.to_string()
}

#[tokio::test]
async fn replies_that_cannot_be_used_refuse_the_batch() {
    for (texts, body, word) in [
        (1, r#"{"data":[{"index":0,"embedding":[1,0,0]}]}"#, "set embedding.dimensions to 3"),
        (1, r#"{"data":[{"index":0,"embedding":[1,NaN]}]}"#, "not a list of embeddings"),
        (1, r#"{"data":[{"index":0,"embedding":[1,null]}]}"#, "not a list of embeddings"),
        (1, r#"{"data":[{"index":0,"embedding":[1,1e39]}]}"#, "not a list of embeddings"),
        (1, r#"{"data":[{"index":0,"embedding":[0,0]}]}"#, "all zero"),
        (2, r#"{"data":[{"index":0,"embedding":[1,0]}]}"#, "1 vectors for 2 texts"),
        (2, r#"{"data":[{"index":0,"embedding":[1,0]},{"index":0,"embedding":[1,0]}]}"#, "index 0 twice"),
        (1, r#"{"data":[{"index":7,"embedding":[1,0]}]}"#, "index 7"),
        (1, "<html>", "not a list of embeddings"),
        (1, "", "not a list of embeddings"),
    ] {
        let error = refusal(texts, body).await;
        assert!(error.contains(word) && error.contains("endpoint/models/m/2"), "{body}: {error}");
    }
}

#[tokio::test]
async fn one_bad_reply_among_several_requests_refuses_them_all() {
    let server = MockServer::start().await;
    let good = |request: &Request| {
        let body: Value = request.body_json().unwrap();
        let wrong = body["input"][0] == "c";
        let data: Vec<_> = (0..body["input"].as_array().unwrap().len())
            .map(|index| json!({"index": index, "embedding": if wrong { vec![1.0] } else { vec![1.0, 0.0] }}))
            .collect();
        ResponseTemplate::new(200).set_body_json(json!({ "data": data }))
    };
    Mock::given(method("POST")).respond_with(good).mount(&server).await;
    let embedder = EndpointEmbedder::new(&endpoint(server.uri()), settings()).unwrap();
    let texts: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
    assert!(embedder.embed(EmbedKind::Passage, &texts).await.is_err());
    assert_eq!(embedder.embed(EmbedKind::Passage, &texts[..2]).await.unwrap().len(), 2);
}

#[tokio::test]
async fn vectors_follow_their_index_and_are_scaled() {
    let body = r#"{"data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":[3,4]}]}"#;
    let (_server, embedder) = embedder(ResponseTemplate::new(200).set_body_string(body)).await;
    let vectors = embedder.embed(EmbedKind::Passage, &["a".to_owned(), "b".to_owned()]).await.unwrap();
    assert_eq!(vectors, [vec![0.6, 0.8], vec![0.0, 1.0]]);
}

#[tokio::test]
async fn a_query_carries_its_prefix_and_the_model() {
    let server = MockServer::start().await;
    let reply = ResponseTemplate::new(200).set_body_string(r#"{"data":[{"embedding":[1,0]}]}"#);
    let asked = body_partial_json(json!({"model": "m", "input": ["query: why"]}));
    Mock::given(asked).respond_with(reply).expect(1).mount(&server).await;
    let embedder = EndpointEmbedder::new(&endpoint(server.uri()), settings()).unwrap();
    embedder.embed(EmbedKind::Query, &["why".to_owned()]).await.unwrap();
}

#[tokio::test]
async fn probes_are_asked_for_again_when_they_are_too_old() {
    let body = r#"{"data":[{"index":0,"embedding":[1,0]}]}"#;
    let pair = r#"{"data":[{"embedding":[1,0]},{"embedding":[0,1]}]}"#;
    let server = MockServer::start().await;
    let two = body_partial_json(json!({"input": [PROBE_SENTENCES[0], PROBE_SENTENCES[1]]}));
    let one = body_partial_json(json!({"input": [PROBE_SENTENCES[2]]}));
    for (asked, reply) in [(two, pair), (one, body)] {
        let reply = ResponseTemplate::new(200).set_body_string(reply);
        Mock::given(asked).respond_with(reply).expect(2).mount(&server).await;
    }
    let embedder = EndpointEmbedder::new(&endpoint(server.uri()), settings()).unwrap();
    let probes = embedder.probe(Duration::from_secs(60)).await.unwrap();
    assert_eq!(probes, Some(Probes(vec![vec![1.0, 0.0], vec![0.0, 1.0], vec![1.0, 0.0]])));
    assert_eq!(embedder.probe(Duration::from_secs(60)).await.unwrap(), probes);
    assert_eq!(embedder.probe(Duration::ZERO).await.unwrap(), probes);
}

#[tokio::test]
async fn a_busy_server_is_unavailable_and_a_bad_key_is_refused() {
    let (_server, busy) = embedder(ResponseTemplate::new(503)).await;
    let error = busy.embed(EmbedKind::Query, &["a".to_owned()]).await.unwrap_err();
    assert!(matches!(error, EmbedError::Unavailable { .. }), "{error}");
    let (_server, closed) = embedder(ResponseTemplate::new(401)).await;
    let error = closed.embed(EmbedKind::Query, &["a".to_owned()]).await.unwrap_err().to_string();
    assert!(error.contains("check the endpoint's API key"), "{error}");
}

#[test]
fn other_prefixes_are_another_embedder() {
    let plain = EndpointEmbedding { query_prefix: String::new(), ..settings() };
    assert_eq!(identity("models", &plain), "endpoint/models/m/2");
    assert_ne!(identity("models", &plain), identity("models", &settings()));
}
