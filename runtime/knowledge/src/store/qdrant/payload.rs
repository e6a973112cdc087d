//! What points carry besides vectors, and the ids of points that are not chunks.

use qdrant_client::Payload;
use qdrant_client::qdrant::{PointId, Value, VectorsOutput, vector_output};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use uuid::Uuid;

use crate::document::Locator;
use crate::identity::{ChunkId, DocumentId};
use crate::store::state::database::engine;
use crate::store::state::rows::Embedded;
use crate::store::{Counts, DocumentSummary, ParentKey, Principal, StoreError};

/// On everything that everybody may read. Names of subjects and groups have another sign before them.
pub(super) const EVERYBODY: &str = "*";

/// What a point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Chunk,
    Parent,
    Document,
    Gone,
    State,
}

impl Kind {
    /// As it stands in the payload.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Chunk => "chunk",
            Self::Parent => "parent",
            Self::Document => "document",
            Self::Gone => "gone",
            Self::State => "state",
        }
    }
}

/// Whose a point is and who may see it: on every chunk, parent and document, for filters.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) kind: Kind,
    pub(super) document: DocumentId,
    /// Rises with each change of the document.
    pub(super) version: u32,
    /// The call that wrote it: two writes of a version that was never committed differ.
    pub(super) write: Uuid,
    /// [`EVERYBODY`], or subjects and groups as [`grantee`] writes them. Without one, nobody reads the point.
    pub(super) access: Vec<String>,
    pub(super) tags: Vec<String>,
    /// As [`day`] writes it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) date: Option<i64>,
}

/// A searched window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ChunkPayload {
    #[serde(flatten)]
    pub(super) place: Place,
    /// Ordinal of its parent.
    pub(super) parent: u32,
    /// Id of its parent's point.
    pub(super) parent_point: Uuid,
    pub(super) text: String,
    pub(super) context: String,
    /// Hash of the text that is embedded.
    pub(super) text_hash: String,
    /// Length of the analysed text.
    pub(super) words: u64,
    /// Distinct terms, for statistics; see [`super::terms`].
    pub(super) terms: Vec<String>,
}

/// What a search needs of a chunk.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ChunkPlace {
    pub(super) document: DocumentId,
    pub(super) version: u32,
    pub(super) parent: u32,
}

impl ChunkPlace {
    /// Its fields.
    pub(super) const FIELDS: [&'static str; 3] = ["document", "version", "parent"];

    pub(super) fn key(&self) -> ParentKey {
        ParentKey { document: self.document, ordinal: self.parent }
    }
}

/// A section-sized part of the body.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ParentPayload {
    #[serde(flatten)]
    pub(super) place: Place,
    pub(super) ordinal: u32,
    pub(super) offset: u64,
    pub(super) tokens: u32,
    pub(super) heading_path: Vec<String>,
    pub(super) locator: Locator,
    pub(super) text: String,
    /// Length of the analysed text.
    pub(super) words: u64,
    /// In the order of the text.
    pub(super) chunks: Vec<PlacedChunk>,
}

/// Where a chunk lies in its parent's text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PlacedChunk {
    pub(super) id: ChunkId,
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) context: String,
}

/// What readers show of a document.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct DocumentPayload {
    #[serde(flatten)]
    pub(super) place: Place,
    pub(super) summary: DocumentSummary,
    /// Whether a newer state failed to load.
    pub(super) stale: bool,
}

impl DocumentPayload {
    pub(super) fn summary(self) -> DocumentSummary {
        DocumentSummary { stale: self.stale, ..self.summary }
    }
}

/// Where a vanished chunk was.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct GonePayload {
    pub(super) kind: Kind,
    /// Rises: the oldest are forgotten.
    pub(super) sequence: i64,
    pub(super) gone: DocumentId,
    pub(super) source: String,
    pub(super) path: String,
    pub(super) access: Vec<String>,
}

/// How far the revision is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StatePayload {
    pub(super) kind: Kind,
    pub(super) counts: Counts,
    pub(super) embedder: Option<Embedded>,
    pub(super) probes: Option<Vec<Vec<f32>>>,
}

/// A list of those who may read, as points carry it; `None` is everybody.
pub(super) fn access(allowed: Option<&[String]>) -> Vec<String> {
    match allowed {
        None => vec![EVERYBODY.to_owned()],
        Some(names) => names.iter().map(|name| grantee(name)).collect(),
    }
}

fn grantee(name: &str) -> String {
    format!("={name}")
}

/// All entries of access lists that let the principal in.
pub(super) fn keys(principal: &Principal) -> Vec<String> {
    let names = std::iter::once(&principal.subject).chain(&principal.groups);
    std::iter::once(EVERYBODY.to_owned()).chain(names.map(|name| grantee(name))).collect()
}

/// A date as a number that ranges can be asked of: 20240229.
pub(super) fn day(date: jiff::civil::Date) -> i64 {
    i64::from(date.year()) * 10_000 + i64::from(date.month()) * 100 + i64::from(date.day())
}

/// Id of a parent's point.
pub(super) fn parent_point(key: ParentKey) -> Uuid {
    Uuid::new_v5(&key.document.0, format!("parent {}", key.ordinal).as_bytes())
}

/// Id of the point that remembers a vanished chunk.
pub(super) fn gone_point(chunk: ChunkId) -> Uuid {
    Uuid::new_v5(&chunk.0, b"gone")
}

/// Id of the revision's state.
pub(super) fn state_point() -> Uuid {
    Uuid::new_v5(&Uuid::nil(), b"groundwork revision")
}

/// A payload as the protocol has it.
pub(super) fn fields(payload: &impl Serialize) -> HashMap<String, Value> {
    let json = serde_json::to_value(payload).expect("payloads are plain values");
    Payload::try_from(json).expect("payloads are structs").into()
}

/// A payload read back.
pub(super) fn parsed<T: DeserializeOwned>(
    action: &'static str,
    fields: HashMap<String, Value>,
) -> Result<T, StoreError> {
    let json = serde_json::Value::from(Payload::from(fields));
    serde_json::from_value(json).map_err(|error| engine(action, error))
}

/// The id of a point that has a UUID, as all of ours have.
pub(super) fn uuid(id: Option<PointId>) -> Option<Uuid> {
    use qdrant_client::qdrant::point_id::PointIdOptions;
    match id?.point_id_options? {
        PointIdOptions::Uuid(text) => text.parse().ok(),
        PointIdOptions::Num(_) => None,
    }
}

/// An id as the protocol has it.
pub(super) fn point_id(id: Uuid) -> PointId {
    PointId::from(id.to_string())
}

/// A named dense vector of a point; empty where it has none.
pub(super) fn dense(vectors: Option<&VectorsOutput>, name: &str) -> Vec<f32> {
    match vectors.and_then(|vectors| vectors.get_vector_by_name(name)) {
        Some(vector_output::Vector::Dense(dense)) => dense.data,
        _ => Vec::new(),
    }
}
