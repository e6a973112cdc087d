//! One suite for every embedder: what the seam promises, whoever computes the vectors.

use groundwork_config::{Embedding, Endpoint, EndpointUse};
use proptest::prelude::*;
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::endpoint::tests::endpoint as embeddings_endpoint;
use super::*;

const SAMPLES: [&str; 6] = [
    "How many vacation days do we get?",
    "员工每年有十五天年假。",
    "SKU-4471 🙂 e\u{301}",
    "",
    " \n\t",
    "naïve Ünïcode\0",
];

async fn check(embedder: &dyn Embedder) {
    let texts: Vec<String> = SAMPLES.map(str::to_owned).to_vec();
    let profile = embedder.profile();
    assert!(!profile.identity.is_empty() && (0.0..=1.0).contains(&profile.fusion_weight));
    for kind in [EmbedKind::Query, EmbedKind::Passage] {
        let vectors = embedder.embed(kind, &texts).await.unwrap();
        assert_eq!(vectors, embedder.embed(kind, &texts).await.unwrap(), "deterministic");
        assert_eq!(vectors.len(), texts.len());
        for (text, vector) in texts.iter().zip(&vectors) {
            assert_vector(profile, text, vector);
            let alone = embedder.embed(kind, std::slice::from_ref(text)).await.unwrap();
            let distance = alone[0].iter().zip(vector).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(distance < 1e-5, "order: {text:?} alone differs by {distance}");
        }
    }
    assert_eq!(embedder.embed(EmbedKind::Passage, &[]).await.unwrap(), Vec::<Vec<f32>>::new());
    let whole: Vec<String> = (0..profile.max_batch + 1).map(|n| format!("word{n}")).collect();
    assert_eq!(embedder.embed(EmbedKind::Passage, &whole).await.unwrap().len(), whole.len());
    let long = ["长 text ".repeat(20_000)];
    assert_vector(profile, &long[0], &embedder.embed(EmbedKind::Passage, &long).await.unwrap()[0]);
}

fn assert_vector(profile: &EmbedderProfile, text: &str, vector: &[f32]) {
    assert_eq!(vector.len(), profile.dimensions);
    assert!(vector.iter().all(|value| value.is_finite()));
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    let expected = if text.trim().is_empty() { 0.0 } else { 1.0 };
    assert!((length - expected).abs() < 1e-4, "{text:?} has length {length}");
}

#[tokio::test]
async fn the_hashing_embedder_keeps_the_contract() {
    for dimensions in [64, 512] {
        check(&HashingEmbedder::new(dimensions)).await;
    }
}

#[tokio::test]
async fn the_encoder_in_the_crate_keeps_the_contract() {
    check(&CrateEncoder::new(2)).await;
}

#[tokio::test]
async fn an_endpoint_keeps_the_contract() {
    let server = MockServer::start().await;
    Mock::given(method("POST")).and(path("/v1/embeddings")).respond_with(vectors_of_lengths).mount(&server).await;
    let endpoints = [embeddings_endpoint(server.uri() + "/v1")];
    let embedding = Embedding::Endpoint {
        endpoint: "models".into(),
        model: "m".into(),
        dimensions: 3,
        query_prefix: "q: ".into(),
        passage_prefix: String::new(),
        max_batch: 3,
    };
    let embedder = embedder_for(&embedding, &endpoints, 1).unwrap().unwrap();
    check(&*embedder).await;
}

/// A server that keeps to the protocol: at most three texts, none empty, newest index first.
fn vectors_of_lengths(request: &Request) -> ResponseTemplate {
    let body: Value = request.body_json().unwrap();
    let texts = body["input"].as_array().unwrap();
    if texts.len() > 3 || texts.iter().any(|text| text.as_str().unwrap().trim().is_empty()) {
        return ResponseTemplate::new(400);
    }
    let vector = |text: &Value| json!([text.as_str().unwrap().len(), 1, text.as_str().unwrap().chars().count()]);
    let items = texts.iter().enumerate().map(|(index, text)| json!({"index": index, "embedding": vector(text)}));
    ResponseTemplate::new(200).set_body_json(json!({"data": items.rev().collect::<Vec<_>>()}))
}

#[test]
fn a_contract_that_names_a_missing_or_unfit_endpoint_is_refused() {
    let embedding = |endpoint: &str| Embedding::Endpoint {
        endpoint: endpoint.into(),
        model: "m".into(),
        dimensions: 3,
        query_prefix: String::new(),
        passage_prefix: String::new(),
        max_batch: 3,
    };
    let chat =
        Endpoint { name: "chat".into(), uses: vec![EndpointUse::Chat], ..embeddings_endpoint("http://h".into()) };
    let endpoints = [embeddings_endpoint("http://h".into()), chat];
    let error = |name: &str| embedder_for(&embedding(name), &endpoints, 1).err().map(|error| error.to_string());
    assert_eq!(
        error("other").unwrap(),
        "failed to find the embedding endpoint other; endpoints for embeddings: models"
    );
    assert!(error("chat").unwrap().contains("add Embeddings to its uses"));
    assert_eq!(error("models"), None);
    assert!(embedder_for(&Embedding::None, &[], 1).unwrap().is_none());
}

#[test]
fn the_encoders_identity_names_its_weights() {
    let info = pocket_encoder::model_info();
    let encoder = CrateEncoder::new(1);
    let profile = encoder.profile();
    assert_eq!(profile.identity, format!("pocket-encoder/minilm-l3-q4-g32-v1@{}", info.revision));
    assert_eq!((profile.dimensions, profile.max_tokens, profile.fusion_weight), (384, Some(128), 0.2));
}

#[tokio::test]
async fn the_encoder_puts_paraphrases_closer_than_strangers() {
    let texts = ["How do I send a file?", "Transfer a document", "The cat sleeps all day"].map(str::to_owned);
    let vectors = CrateEncoder::new(1).embed(EmbedKind::Passage, &texts).await.unwrap();
    let cosine = |a: usize, b: usize| vectors[a].iter().zip(&vectors[b]).map(|(a, b)| a * b).sum::<f32>();
    assert!(cosine(0, 1) > cosine(0, 2) + 0.2, "{} {}", cosine(0, 1), cosine(0, 2));
}

proptest! {
    #[test]
    fn hashing_gives_unit_vectors_for_any_text(text in ".{0,200}") {
        let vector = HashingEmbedder::new(256).vector(&text);
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        prop_assert!(length == 0.0 || (length - 1.0).abs() < 1e-4);
        prop_assert_eq!(vector.iter().all(|value| *value == 0.0), !text.chars().any(char::is_alphanumeric));
    }
}
