use super::*;
use crate::model::Turn;
use groundwork_config::EndpointUse;
use serde_json::{Value, json};
use wiremock::matchers::{body_partial_json, method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

pub(crate) fn endpoint(base_url: String) -> Endpoint {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let endpoint = Endpoint::new("chat", &base_url, "m", EndpointUse::Chat);
    Endpoint { timeout_ms: 5000, retries: 0, concurrency: 2, ..endpoint }
}

pub(crate) fn completion(text: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({
        "choices": [{ "message": { "role": "assistant", "content": text } }],
        "usage": { "prompt_tokens": 120, "completion_tokens": 8 },
    }))
}

fn request(format: ReplyFormat) -> ChatRequest {
    ChatRequest {
        system: "Be brief.".into(),
        turns: vec![Turn::User("Hi".into()), Turn::Assistant("Yes?".into()), Turn::User("Why?".into())],
        format,
        temperature: 0.2,
        max_tokens: 50,
    }
}

fn schema() -> ReplyFormat {
    ReplyFormat::JsonSchema { name: "answer".into(), schema: json!({"type": "object"}) }
}

async fn reply(response: ResponseTemplate, format: ReplyFormat) -> Result<ChatResponse, ModelError> {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(response).mount(&server).await;
    OpenAiChat::new(&endpoint(server.uri())).unwrap().complete(request(format)).await
}

#[tokio::test]
async fn a_request_carries_turns_settings_and_schema() {
    let server = MockServer::start().await;
    let expected = json!({
        "model": "m",
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "Hi" },
            { "role": "assistant", "content": "Yes?" },
            { "role": "user", "content": "Why?" },
        ],
        "temperature": 0.2,
        "max_tokens": 50,
        "stream": false,
        "response_format": {
            "type": "json_schema",
            "json_schema": { "name": "answer", "strict": true, "schema": { "type": "object" } },
        },
    });
    Mock::given(path("/v1/chat/completions"))
        .and(body_partial_json(expected))
        .respond_with(completion("Because."))
        .expect(1)
        .mount(&server)
        .await;
    let chat = OpenAiChat::new(&endpoint(server.uri() + "/v1")).unwrap();
    let response = chat.complete(request(schema())).await.unwrap();
    assert_eq!(
        response,
        ChatResponse { text: "Because.".into(), input_tokens: 120, output_tokens: 8, estimated: false }
    );
}

#[tokio::test]
async fn refused_formats_are_remembered_and_not_asked_again() {
    let server = MockServer::start().await;
    let refuse = |request: &Request| {
        let body: Value = request.body_json().unwrap();
        match body["response_format"]["type"].as_str() {
            Some("json_schema") => {
                ResponseTemplate::new(400).set_body_json(json!({"error": {"message": "response_format is unknown"}}))
            }
            _ => completion("{}"),
        }
    };
    Mock::given(method("POST")).respond_with(refuse).expect(2).mount(&server).await;
    let chat = OpenAiChat::new(&endpoint(server.uri())).unwrap();
    for _ in 0..2 {
        let refused = chat.complete(request(schema())).await;
        assert!(matches!(refused, Err(ModelError::FormatUnsupported { .. })));
    }
    assert!(chat.complete(request(ReplyFormat::JsonMode)).await.is_ok());
}

#[tokio::test]
async fn a_vague_refusal_is_remembered_once_a_weaker_format_works() {
    let server = MockServer::start().await;
    let refuse = |request: &Request| {
        let body: Value = request.body_json().unwrap();
        if body.get("response_format").is_some() { ResponseTemplate::new(422) } else { completion("1. Yes.") }
    };
    Mock::given(method("POST")).respond_with(refuse).expect(3).mount(&server).await;
    let chat = OpenAiChat::new(&endpoint(server.uri())).unwrap();
    for format in [schema(), ReplyFormat::JsonMode] {
        assert!(matches!(chat.complete(request(format)).await, Err(ModelError::FormatUnsupported { .. })));
    }
    assert!(chat.complete(request(ReplyFormat::Text)).await.is_ok());
    for format in [schema(), ReplyFormat::JsonMode] {
        assert!(matches!(chat.complete(request(format)).await, Err(ModelError::FormatUnsupported { .. })));
    }
}

#[tokio::test]
async fn other_refusals_are_final_and_name_the_fix() {
    for (status, words, expected) in [
        (401, "no", "check the endpoint's API key"),
        (404, "The model `m` does not exist", "check baseURL and model"),
        (400, "This model's maximum context length is 4096 tokens", "maximum context length"),
    ] {
        let response = ResponseTemplate::new(status).set_body_json(json!({"error": {"message": words}}));
        let error = reply(response, schema()).await.unwrap_err();
        assert!(matches!(error, ModelError::Refused { .. }) && error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn busy_servers_are_unavailable() {
    for status in [429, 500, 503] {
        let error = reply(ResponseTemplate::new(status), ReplyFormat::Text).await.unwrap_err();
        assert!(matches!(error, ModelError::Unavailable { .. }), "{error}");
    }
}

#[tokio::test]
async fn tokens_that_nobody_counted_are_estimated_and_marked() {
    let body = json!({"choices": [{"message": {"content": "年假 abcd"}}]});
    let response = reply(ResponseTemplate::new(200).set_body_json(body), ReplyFormat::Text).await.unwrap();
    // "Be brief." is 3, "Hi" 1, "Yes?" 1, "Why?" 1; the reply has two characters beyond ASCII and five within.
    assert_eq!((response.input_tokens, response.output_tokens, response.estimated), (6, 4, true));
}

#[tokio::test]
async fn broken_or_hostile_replies_are_refused() {
    for (body, word) in [
        ("<html>".to_owned(), "not a chat completion"),
        (r#"{"choices":[]}"#.to_owned(), "no choice"),
        (r#"{"choices":[{"message":{"content":null}}]}"#.to_owned(), "empty"),
        (r#"{"choices":[{"message":{"content":null,"refusal":"not allowed"}}]}"#.to_owned(), "refused: not allowed"),
        (format!(r#"{{"choices":[{{"message":{{"content":"{}"}}}}]}}"#, "x".repeat(MAX_REPLY_BYTES)), "larger than"),
    ] {
        let error = reply(ResponseTemplate::new(200).set_body_string(body), ReplyFormat::Text).await.unwrap_err();
        assert!(matches!(error, ModelError::Refused { .. }) && error.to_string().contains(word), "{error}");
    }
}
