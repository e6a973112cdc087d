//! YAML as a tree that knows where its values stand.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::{Location, Spanned};
use std::fmt;

use super::error::{ManifestError, Place};

/// A value with its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) content: Content,
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) place: Place,
    pub(crate) node: Node,
}

/// Text that is not YAML.
pub(crate) struct Malformed {
    place: Place,
    problem: String,
    fix: &'static str,
}

impl Malformed {
    fn of(error: &serde_saphyr::Error) -> Self {
        let place = error.location().map(place).unwrap_or_default();
        if is_too_large(error) {
            return Self {
                place,
                problem: "is too large when it is read: aliases (*name) that repeat each other, deep nesting or very \
                          many values"
                    .into(),
                fix: "write repeated parts out instead of using anchors (&name) and aliases, nest less, or split it \
                      into several files",
            };
        }
        let problem = format!("is not YAML: {}", one_line(&error.without_snippet().to_string()));
        Self { place, problem, fix: "correct the YAML there" }
    }

    pub(crate) fn into_error(self, file: &str) -> ManifestError {
        ManifestError { place: self.place, ..ManifestError::of_file(file, self.problem, self.fix) }
    }
}

/// Whether the parser gave up at one of the bounds that keep a few lines from filling the memory.
fn is_too_large(error: &serde_saphyr::Error) -> bool {
    use serde_saphyr::Error;
    match error {
        Error::WithSnippet { error, .. } | Error::AliasError { error, .. } => is_too_large(error),
        Error::Budget { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => true,
        // The scanner's own bound of nesting has no variant.
        other => other.to_string().contains("recursion limit"),
    }
}

/// The documents of a file.
pub(crate) fn parse(text: &str) -> Result<Vec<Node>, Malformed> {
    let documents: Vec<Spanned<Content>> = serde_saphyr::from_multiple(text).map_err(|error| Malformed::of(&error))?;
    Ok(documents.into_iter().map(Node::from).collect())
}

impl Node {
    /// The value of a key that is there and not null.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        let entry = self.entries().iter().find(|entry| entry.key == key)?;
        (!entry.node.is_null()).then_some(&entry.node)
    }

    /// The entries of a map; none for anything else.
    pub(crate) fn entries(&self) -> &[Entry] {
        if let Content::Map(entries) = &self.content { entries } else { &[] }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.content, Content::Null)
    }

    /// The text of a text value.
    pub(crate) fn text(&self) -> Option<&str> {
        if let Content::Text(text) = &self.content { Some(text) } else { None }
    }

    /// The place of the value at `path` (`spec.sources[0].name`), or of the deepest value above it that exists.
    pub(crate) fn locate(&self, path: &str) -> Place {
        let mut node = self;
        for step in path.split(['.', '[']).filter(|step| !step.is_empty()) {
            let next = match &node.content {
                Content::List(items) => {
                    step.trim_end_matches(']').parse().ok().and_then(|index: usize| items.get(index))
                }
                _ => node.get(step),
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        node.place
    }

    /// The value as JSON. Null entries are left out, as the API server does.
    pub(crate) fn json(&self) -> Value {
        match &self.content {
            Content::Null => Value::Null,
            Content::Bool(value) => (*value).into(),
            Content::Integer(value) => (*value).into(),
            Content::Float(value) => (*value).into(),
            Content::Text(text) => text.as_str().into(),
            Content::List(items) => items.iter().map(Node::json).collect(),
            Content::Map(entries) => {
                let present = entries.iter().filter(|entry| !entry.node.is_null());
                present.map(|entry| (entry.key.clone(), entry.node.json())).collect()
            }
        }
    }
}

impl From<Spanned<Content>> for Node {
    fn from(spanned: Spanned<Content>) -> Self {
        Self { place: place(spanned.referenced), content: spanned.value }
    }
}

fn place(location: Location) -> Place {
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Place { line: small(location.line()), column: small(location.column()) }
}

fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim().to_owned()
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content::Null)
    }

    fn visit_none<E>(self) -> Result<Content, E> {
        Ok(Content::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Content, D::Error> {
        Content::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Content, E> {
        Ok(Content::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Content, E> {
        Ok(Content::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Content, E> {
        Ok(i64::try_from(value).map_or(Content::Float(value as f64), Content::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Content, E> {
        Ok(Content::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Content, E> {
        Ok(Content::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Content, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Spanned<Content>>()? {
            list.push(Node::from(item));
        }
        Ok(Content::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Content, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = pairs.next_entry::<Spanned<String>, Spanned<Content>>()? {
            entries.push(entry(key, value));
        }
        Ok(Content::Map(entries))
    }
}

/// A list or map is pointed at by its key: its own first line may be far below.
fn entry(key: Spanned<String>, value: Spanned<Content>) -> Entry {
    let at_key = place(key.referenced);
    let mut node = Node::from(value);
    if matches!(node.content, Content::Null | Content::List(_) | Content::Map(_)) {
        node.place = at_key;
    }
    Entry { key: key.value, place: at_key, node }
}
