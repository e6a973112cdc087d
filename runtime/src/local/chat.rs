//! The chat model of a configuration.

use groundwork_agent::{ChatModel, OpenAiChat};
use groundwork_config::{Endpoint, RuntimeConfig};
use std::sync::Arc;

use crate::output::Problem;

/// Who writes answers without a model.
pub(super) const QUOTES: &str = "quotes from your documents";

/// The pipeline's chat model; `None` where answers quote the documents. Nothing is sent.
pub(super) fn model(config: &RuntimeConfig) -> Result<Option<Arc<dyn ChatModel>>, Problem> {
    let Some(name) = config.pipeline.chat.as_deref() else { return Ok(None) };
    let failed = || Problem::new(format!("failed to set up the chat model {name}"));
    let endpoint = config.endpoint(name).ok_or_else(|| failed().because("no endpoint has this name"))?;
    let chat = OpenAiChat::new(endpoint).map_err(|error| failed().because(error))?;
    Ok(Some(Arc::new(chat)))
}

/// Every key that comes from the environment must be there before work begins.
pub(super) fn check_key(config: &RuntimeConfig) -> Result<(), Problem> {
    config.endpoints.iter().try_for_each(check_endpoint_key)
}

/// The same for one endpoint.
pub(super) fn check_endpoint_key(endpoint: &Endpoint) -> Result<(), Problem> {
    let Some(variable) = endpoint.api_key_env.as_deref() else { return Ok(()) };
    if std::env::var(variable).is_ok_and(|key| !key.trim().is_empty()) {
        return Ok(());
    }
    let message = format!("failed to find the key for {} at {}", endpoint.model, endpoint.base_url);
    Err(Problem::new(message)
        .because(format!("{variable} is not set"))
        .fix(format!("set {variable}, or name a file with `--api-key-file FILE`")))
}
