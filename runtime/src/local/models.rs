//! Models named on the command line: `URL#MODEL`, `ollama/NAME`, `openai/NAME`, and the encoders that need none.

use groundwork_config::{Embedding, Endpoint, EndpointUse};
use std::path::PathBuf;
use std::str::FromStr;

/// Where a local Ollama answers.
pub(super) const OLLAMA: &str = "http://127.0.0.1:11434";
const OPENAI: &str = "https://api.openai.com/v1";
/// Length of the hashing encoder's vectors where the command line chooses it.
pub(crate) const HASHING_DIMENSIONS: u32 = 512;

/// A model behind an OpenAI-compatible address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemoteModel {
    base_url: String,
    model: String,
    provider: Provider,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Provider {
    Ollama,
    OpenAi,
    Address,
}

/// What `--embedding-model` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EmbeddingChoice {
    /// No dense arm.
    None,
    /// The encoder in the binary.
    Encoder,
    /// The hashing encoder.
    Hashing,
    /// An endpoint.
    Remote(RemoteModel),
}

impl FromStr for RemoteModel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let forms = "write URL#MODEL (such as http://127.0.0.1:8080/v1#my-model), ollama/NAME or openai/NAME";
        let named = |name: &str, base_url: String, provider| match name.trim() {
            "" => Err(format!("the model's name is missing; {forms}")),
            name => Ok(Self { base_url, model: name.to_owned(), provider }),
        };
        if let Some(name) = text.strip_prefix("ollama/") {
            return named(name, format!("{OLLAMA}/v1"), Provider::Ollama);
        }
        if let Some(name) = text.strip_prefix("openai/") {
            return named(name, OPENAI.to_owned(), Provider::OpenAi);
        }
        let (url, name) = text.split_once('#').ok_or_else(|| format!("no model is named; {forms}"))?;
        let parsed =
            reqwest::Url::parse(url).map_err(|error| format!("the address cannot be read ({error}); {forms}"))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(format!("the address must begin with http:// or https://; {forms}"));
        }
        named(name, url.trim_end_matches('/').to_owned(), Provider::Address)
    }
}

impl FromStr for EmbeddingChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "encoder" => Ok(Self::Encoder),
            "hashing" => Ok(Self::Hashing),
            _ => text.parse().map(Self::Remote).map_err(|error| format!("{error}; or encoder, hashing or none")),
        }
    }
}

impl RemoteModel {
    /// The endpoint under this name. Only the two kinds of address that a person names with a key get one: a key file
    /// goes to `openai/` and to `URL#MODEL`, the environment's key to `openai/` alone.
    pub(crate) fn endpoint(&self, name: &str, use_for: EndpointUse, api_key_file: Option<PathBuf>) -> Endpoint {
        let from_environment = self.provider == Provider::OpenAi && api_key_file.is_none();
        Endpoint {
            api_key_file: api_key_file.filter(|_| self.provider != Provider::Ollama),
            api_key_env: from_environment.then(|| "OPENAI_API_KEY".to_owned()),
            timeout_ms: if self.provider == Provider::OpenAi { 60_000 } else { 120_000 },
            ..Endpoint::new(name, &self.base_url, &self.model, use_for)
        }
    }

    /// How the vectors of this endpoint are made, once their length is known.
    pub(crate) fn embedding(&self, endpoint: &str, dimensions: u32) -> Embedding {
        Embedding::Endpoint {
            endpoint: endpoint.to_owned(),
            model: self.model.clone(),
            dimensions,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            max_batch: 64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(text: &str) -> RemoteModel {
        text.parse().expect("a model")
    }

    #[test]
    fn short_names_stand_for_addresses() {
        let ollama = remote("ollama/qwen3:4b").endpoint("chat", EndpointUse::Chat, None);
        assert_eq!((ollama.base_url.as_str(), ollama.model.as_str()), ("http://127.0.0.1:11434/v1", "qwen3:4b"));
        let own = remote("http://127.0.0.1:8080/v1/#a#b").endpoint("chat", EndpointUse::Chat, None);
        assert_eq!((own.base_url.as_str(), own.model.as_str()), ("http://127.0.0.1:8080/v1", "a#b"));
    }

    #[test]
    fn the_environments_key_goes_to_its_own_provider_only() {
        let key = |text: &str| remote(text).endpoint("chat", EndpointUse::Chat, None).api_key_env;
        assert_eq!(key("openai/gpt-4o-mini").as_deref(), Some("OPENAI_API_KEY"));
        assert_eq!(key("http://127.0.0.1:8080/v1#model"), None);
        assert_eq!(key("ollama/model"), None);
    }

    #[test]
    fn a_wrong_name_says_which_forms_there_are() {
        for wrong in ["gpt-4o", "ollama/", "http://127.0.0.1/v1", "ftp://a#b", "#model", ""] {
            let error = wrong.parse::<RemoteModel>().expect_err(wrong);
            assert!(error.contains("ollama/NAME"), "{wrong}: {error}");
        }
        assert_eq!("hashing".parse::<EmbeddingChoice>(), Ok(EmbeddingChoice::Hashing));
        assert!("hash".parse::<EmbeddingChoice>().expect_err("refused").contains("encoder, hashing or none"));
    }
}
