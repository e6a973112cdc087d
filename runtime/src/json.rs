//! Reading JSON, so that every mistake names its field.

use serde::de::DeserializeOwned;

/// Why JSON could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    /// What kind of mistake it is.
    pub(crate) kind: MistakeKind,
    /// The field that is wrong, where one is: `sources[0].name`.
    pub(crate) field: Option<String>,
    /// What is wrong and what is allowed.
    pub(crate) reason: String,
    /// Where it was noticed, from 1.
    pub(crate) line: usize,
}

/// Kinds of mistakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MistakeKind {
    /// It is not JSON.
    Syntax,
    /// A field, or a variant of one, that is not known here.
    Unknown,
    /// Everything else.
    Value,
}

/// Reads the whole text.
pub(crate) fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, Mistake> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        mistake(&path, error.inner())
    })?;
    reader.end().map_err(|error| mistake(".", &error))?;
    Ok(value)
}

fn mistake(path: &str, error: &serde_json::Error) -> Mistake {
    let message = error.to_string();
    let line = error.line();
    if !error.is_data() {
        return Mistake { kind: MistakeKind::Syntax, field: None, reason: message, line };
    }
    let unknown = message.starts_with("unknown field `") || message.starts_with("unknown variant `");
    let kind = if unknown { MistakeKind::Unknown } else { MistakeKind::Value };
    let reason = message.split(" at line ").next().unwrap_or(&message).to_owned();
    Mistake { kind, field: join(path, named_field(&message)), reason, line }
}

/// The field that serde names in its message where the path is that of the object around it.
pub(crate) fn named_field(message: &str) -> Option<&str> {
    let (_, rest) = ["missing field `", "unknown field `", "duplicate field `"]
        .iter()
        .find_map(|opening| message.split_once(opening))?;
    rest.split('`').next()
}

/// The path with the field at its end; nothing where neither is known.
pub(crate) fn join(path: &str, name: Option<&str>) -> Option<String> {
    match (path, name) {
        ("." | "?", name) => name.map(str::to_owned),
        (path, Some(name)) if path != name && !path.ends_with(&format!(".{name}")) => Some(format!("{path}.{name}")),
        (path, _) => Some(path.to_owned()),
    }
}
