use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use uuid::Uuid;

use crate::Contract;

/// One knowledge base: what it reads, how often it may shrink, and the contract that its index is built by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct KnowledgeBase {
    /// Name of the manifest.
    pub name: String,
    /// Keys everything that is stored outside the cluster: documents' and chunks' ids derive from it.
    pub data_id: Uuid,
    /// Where documents come from; names are unique.
    pub sources: Vec<Source>,
    /// Front matter keys that fill the filters.
    pub metadata: MetadataKeys,
    /// What the index is built by.
    pub contract: Contract,
    /// How changes are taken over.
    pub sync: SyncPolicy,
    /// Where texts, keywords and vectors are kept.
    #[serde(default)]
    pub store: Store,
}

/// Where texts, keywords and vectors are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Store {
    /// A file in the process's data folder.
    #[default]
    Embedded,
    /// A Qdrant server.
    Qdrant(Qdrant),
}

/// A Qdrant server and the layout of new collections in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Qdrant {
    /// Address of its gRPC service.
    pub url: String,
    /// File that holds the key; read when the store is opened. The key itself is never part of a configuration.
    pub api_key_file: Option<PathBuf>,
    /// Shards of a new collection.
    pub shards: u32,
    /// Copies of each shard of a new collection.
    pub replicas: u32,
    /// Edges a node of the graph of a new collection.
    pub hnsw_m: u32,
    /// Neighbours looked at while that graph is built.
    pub hnsw_ef_construct: u32,
}

/// A named place that documents are read from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Source {
    /// Unique in the knowledge base; part of every document's identity.
    pub name: String,
    /// What kind of place it is.
    pub kind: SourceKind,
    /// Globs (gitignore syntax, relative to the source); empty means everything.
    pub include: Vec<String>,
    /// Globs of what is left out, stronger than `include`.
    pub exclude: Vec<String>,
}

/// The kinds of places.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum SourceKind {
    /// Small documents written into the manifest.
    Inline {
        /// The documents; paths are unique.
        documents: Vec<InlineDocument>,
    },
    /// A folder: a mounted volume in a cluster, a directory beside the manifest on a laptop.
    Folder {
        /// Absolute path of the folder.
        path: PathBuf,
    },
}

/// A document that stands in the manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct InlineDocument {
    /// Relative path, which also decides the format by its ending.
    pub path: String,
    /// The text.
    pub content: String,
}

/// Which front matter keys hold a document's metadata.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct MetadataKeys {
    /// Key of the title; without it the first heading, then the file name.
    pub title: String,
    /// Key of the date (`YYYY-MM-DD`, an RFC 3339 time, or a year).
    pub date: String,
    /// Key of the tags (a list, or one string with commas).
    pub tags: String,
}

impl Default for MetadataKeys {
    fn default() -> Self {
        Self { title: "title".into(), date: "date".into(), tags: "tags".into() }
    }
}

/// How a sync treats what disappeared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SyncPolicy {
    /// A sync that would remove more than this share of the documents (in percent, and more than 10 of them) removes
    /// nothing and says so.
    pub max_delete_percent: u8,
}

impl Default for SyncPolicy {
    fn default() -> Self {
        Self { max_delete_percent: 30 }
    }
}
