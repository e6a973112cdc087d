use serde::Deserialize;
use serde_json::{Value, json};

use crate::model::{ChatRequest, ChatResponse, ReplyFormat, Turn, estimated_tokens};

/// The request as OpenAI's API describes it.
pub(super) fn request(model: &str, request: &ChatRequest) -> Value {
    let message = |role: &str, content: &str| json!({ "role": role, "content": content });
    let system = std::iter::once(message("system", &request.system));
    let turns = request.turns.iter().map(|turn| match turn {
        Turn::User(text) => message("user", text),
        Turn::Assistant(text) => message("assistant", text),
    });
    let mut body = json!({
        "model": model,
        "messages": system.chain(turns).collect::<Vec<_>>(),
        "temperature": rounded(request.temperature),
        "max_tokens": request.max_tokens,
        "stream": false,
    });
    if let Some(format) = response_format(&request.format) {
        body["response_format"] = format;
    }
    body
}

/// Thousandths, so that 0.2 is not sent as 0.20000000298.
fn rounded(temperature: f32) -> f64 {
    (f64::from(temperature) * 1000.0).round() / 1000.0
}

fn response_format(format: &ReplyFormat) -> Option<Value> {
    match format {
        ReplyFormat::JsonSchema { name, schema } => {
            let schema = json!({ "name": name, "strict": true, "schema": schema });
            Some(json!({ "type": "json_schema", "json_schema": schema }))
        }
        ReplyFormat::JsonMode => Some(json!({ "type": "json_object" })),
        ReplyFormat::Text => None,
    }
}

#[derive(Deserialize)]
struct Reply {
    choices: Vec<Choice>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
    refusal: Option<String>,
}

#[derive(Deserialize)]
struct Tokens {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

/// The text and the tokens; what the server did not count is estimated.
pub(super) fn response(reply: &[u8], request: &ChatRequest) -> Result<ChatResponse, String> {
    let reply: Reply =
        serde_json::from_slice(reply).map_err(|error| format!("its reply is not a chat completion: {error}"))?;
    let message = reply.choices.into_iter().next().ok_or("its reply has no choice")?.message;
    let text = match (message.content, message.refusal) {
        (Some(text), _) if !text.trim().is_empty() => text,
        (_, Some(refusal)) => return Err(format!("it refused: {}", refusal.chars().take(300).collect::<String>())),
        _ => return Err("its reply is empty".into()),
    };
    let counted = reply.usage.map(|usage| (usage.prompt_tokens, usage.completion_tokens));
    let (input, output) = counted.unwrap_or_default();
    Ok(ChatResponse {
        input_tokens: input.unwrap_or_else(|| estimate_prompt(request)),
        output_tokens: output.unwrap_or_else(|| estimated_tokens(&text)),
        estimated: input.is_none() || output.is_none(),
        text,
    })
}

fn estimate_prompt(request: &ChatRequest) -> u64 {
    let turns = request.turns.iter().map(|turn| match turn {
        Turn::User(text) | Turn::Assistant(text) => estimated_tokens(text),
    });
    estimated_tokens(&request.system) + turns.sum::<u64>()
}
