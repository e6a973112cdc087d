use kube::core::Rule;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{self, NAME_LENGTH};
use crate::{ApiKeySpec, IngestionSpec, KnowledgeBaseStatus, RebuildSpec, StateSpec};

/// A knowledge base: which documents it reads, and how they are cut, indexed and kept up to date.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "groundwork.dev",
    version = "v1alpha1",
    kind = "KnowledgeBase",
    plural = "knowledgebases",
    shortname = "kb",
    category = "groundwork",
    namespaced,
    status = "KnowledgeBaseStatus",
    derive = "PartialEq",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status",
        description = "Whether a revision can be read."
    ),
    printcolumn(
        name = "Synced",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Synced\")].reason",
        description = "How the newest ingestion went."
    ),
    printcolumn(
        name = "Revision",
        type_ = "string",
        json_path = ".status.activeRevision",
        description = "The revision that is read."
    ),
    printcolumn(
        name = "Documents",
        type_ = "integer",
        json_path = ".status.documents",
        description = "Documents that can be found."
    ),
    printcolumn(
        name = "Chunks",
        type_ = "integer",
        json_path = ".status.chunks",
        description = "Their chunks.",
        priority = 1
    ),
    printcolumn(
        name = "LastSync",
        type_ = "date",
        json_path = ".status.lastSync.finishedAt",
        description = "Time since the newest complete ingestion."
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since it was made."
    ),
    doc = "A knowledge base: which documents it reads, and how they are cut, indexed and kept up to date.",
    validation = rules::object_name()
)]
#[x_kube(validation = data_id_is_immutable())]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KnowledgeBaseSpec {
    /// Identity of everything stored for this knowledge base, a UUID in lower case: the ids of documents and chunks
    /// derive from it. Immutable. Set it to adopt data that an object of another name has stored.
    /// Default: the object's uid; in one process (`groundwork up`) derived from namespace and name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 36, max = 36))]
    #[x_kube(validation = data_id())]
    pub data_id: Option<String>,
    /// Where documents come from, 1 to 64. Names are unique; a document's identity is its source's name and its path.
    #[schemars(length(min = 1, max = 64))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub sources: Vec<SourceSpec>,
    /// Which keys of a document's front matter fill its title and its filters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<MetadataSpec>,
    /// How documents are cut. A change builds a new index beside the old one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunking: Option<ChunkingSpec>,
    /// How text becomes keyword terms. A change builds a new index beside the old one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keyword: Option<KeywordSpec>,
    /// How text becomes vectors. A change builds a new index beside the old one.
    /// Default: type Encoder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<EmbeddingSpec>,
    /// When the sources are read, and how documents that disappeared are treated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<SyncSpec>,
    /// Where texts, keywords and vectors are kept. Another store is filled from the sources; the old one is left as it is.
    /// Default: type Embedded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector_store: Option<VectorStoreSpec>,
    /// When a new index is built beside the old one: OnSpecChange, when this spec changed (what else would change it, a newer
    /// operator's defaults or a model's name in a ModelEndpoint, is told by the condition RebuildAvailable and waits);
    /// Always, whenever anything changed; Manual, when the annotation groundwork.dev/rebuild-requested-at gets another
    /// value. Read in a cluster only; `groundwork up` builds at once.
    /// Default: OnSpecChange.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebuild: Option<RebuildSpec>,
    /// Where syncs keep what they have to know of each other. Read in a cluster only.
    /// Default: type PersistentVolumeClaim with a claim that the operator makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<StateSpec>,
    /// The pods that ingest. Read in a cluster only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingestion: Option<IngestionSpec>,
}

/// A store of texts, keywords and vectors.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[x_kube(
    validation = rules::needs("Qdrant", "qdrant"),
    validation = rules::only_with("qdrant", "Qdrant")
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VectorStoreSpec {
    /// Embedded is a file of the process that serves; Qdrant is a server that many processes read.
    pub r#type: VectorStoreType,
    /// Only with type Qdrant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qdrant: Option<QdrantSpec>,
}

/// Kinds of stores.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum VectorStoreType {
    Embedded,
    Qdrant,
}

/// A Qdrant server. Each revision of the knowledge base is a collection of its own.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QdrantSpec {
    /// Address of its gRPC service, at most 512 characters, for example http://qdrant:6334.
    #[schemars(length(min = 1, max = 512))]
    #[x_kube(validation = qdrant_url())]
    pub url: String,
    /// The key sent with each call.
    /// Default: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<ApiKeySpec>,
    /// Shards of a new collection, 1 to 64. Keyword statistics are each shard's own, so more shards rank words less exactly.
    /// Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64))]
    pub shards: Option<i32>,
    /// Copies of each shard of a new collection, 1 to 16.
    /// Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 16))]
    pub replicas: Option<i32>,
    /// The graph of the vectors of a new collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hnsw: Option<HnswSpec>,
}

/// A hierarchical navigable small world graph. Always written out, so that a server's defaults decide nothing.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HnswSpec {
    /// Edges a node, 4 to 128.
    /// Default: 16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 4, max = 128))]
    pub m: Option<i32>,
    /// Neighbours looked at while it is built, 4 to 2000.
    /// Default: 128.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 4, max = 2000))]
    pub ef_construct: Option<i32>,
}

fn qdrant_url() -> Rule {
    Rule::new("self.matches('^https?://[^/?#@ ]+/?$')").message(
        "must begin with http:// or https:// and have a host, a port and nothing else, for example http://qdrant:6334",
    )
}

/// A named place that documents are read from.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[x_kube(
    validation = rules::needs("Inline", "inline"),
    validation = rules::only_with("inline", "Inline"),
    validation = rules::needs("PersistentVolumeClaim", "persistentVolumeClaim"),
    validation = rules::only_with("persistentVolumeClaim", "PersistentVolumeClaim")
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceSpec {
    /// Name of the source, unique in the knowledge base, at most 40 characters. Part of every document's identity: a
    /// renamed source is a new one.
    #[schemars(length(min = 1, max = NAME_LENGTH))]
    #[x_kube(validation = rules::name())]
    pub name: String,
    /// What kind of place it is; the field of the same name describes it.
    pub r#type: SourceType,
    /// Small documents that stand in this manifest. Only with type Inline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline: Option<InlineSpec>,
    /// A folder on a volume. Only with type PersistentVolumeClaim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<PersistentVolumeClaimSpec>,
    /// Globs (syntax of .gitignore, relative to the source) of the files to read, at most 64.
    /// Default: every file that is not ignored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 255)))]
    #[x_kube(validation = rules::globs())]
    pub include: Vec<String>,
    /// Globs of the files to leave out, at most 64; stronger than include.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 255)))]
    #[x_kube(validation = rules::globs())]
    pub exclude: Vec<String>,
}

/// The kinds of places.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum SourceType {
    Inline,
    PersistentVolumeClaim,
}

/// Documents that stand in the manifest.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InlineSpec {
    /// The documents, 1 to 64, with distinct paths.
    #[schemars(length(min = 1, max = 64))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["path".into()]))]
    pub documents: Vec<InlineDocumentSpec>,
}

/// A document that stands in the manifest.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InlineDocumentSpec {
    /// Relative path, at most 255 characters; its ending decides the format (faq.md is Markdown).
    #[schemars(length(min = 1, max = 255))]
    #[x_kube(validation = rules::relative_path())]
    pub path: String,
    /// The text, at most 65536 characters.
    #[schemars(length(min = 1, max = 65536))]
    pub content: String,
}

/// A folder on a volume.
///
/// In one process (`groundwork up`) a folder stands for the volume: the one given by `--source NAME=PATH`, else the one
/// named by the manifest's annotation `local.groundwork.dev/NAME`, else the one beside the manifest that is named like
/// the source, else the one named like the claim.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PersistentVolumeClaimSpec {
    /// Name of the PersistentVolumeClaim in the same namespace, at most 253 characters.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = claim_name())]
    pub claim_name: String,
    /// Folder inside the volume, at most 255 characters.
    /// Default: the volume's root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    #[x_kube(validation = rules::relative_path())]
    pub path: Option<String>,
}

/// Keys of a document's front matter.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MetadataSpec {
    /// Key of the title; a document without it is titled by its first heading, else by its file name.
    /// Default: title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub title_key: Option<String>,
    /// Key of the date (2024-05-01, a time, or a year), which the filters `from` and `until` compare.
    /// Default: date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub date_key: Option<String>,
    /// Key of the tags: a list, or one text with commas.
    /// Default: tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub tags_key: Option<String>,
}

/// How documents are cut into parents (given to the model) and children (searched).
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = child_fits_parent(), validation = overlap_fits_child())]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChunkingSpec {
    /// Structural cuts at headings first, code at blank lines, tables at rows; Fixed cuts windows of childTokens, blind
    /// to structure.
    /// Default: Structural.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<ChunkingStrategySpec>,
    /// Upper size of a parent, 20 to 8000 tokens (cl100k).
    /// Default: 600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 20, max = 8000))]
    pub parent_tokens: Option<i32>,
    /// Upper size of a child, 10 to 2000 tokens (cl100k).
    /// Default: 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 10, max = 2000))]
    pub child_tokens: Option<i32>,
    /// Tokens (cl100k) that a child shares with the one before it, 0 to 1000 and below childTokens.
    /// Default: 20.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1000))]
    pub overlap_tokens: Option<i32>,
}

/// Where cuts may fall.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum ChunkingStrategySpec {
    Structural,
    Fixed,
}

/// How text becomes keyword terms.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeywordSpec {
    /// Language whose stemmer and stop words are used for text in Latin or Cyrillic script. Chinese, Japanese and
    /// Korean text is always cut into pairs of characters.
    /// Default: English.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<LanguageSpec>,
    /// Whether spellings of an identifier find each other (AX-3000, AX 3000, AX3000).
    /// Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fold_identifiers: Option<bool>,
}

/// Languages with a Snowball stemmer.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum LanguageSpec {
    English,
    German,
    French,
    Spanish,
    Italian,
    Portuguese,
    Dutch,
    Swedish,
    Norwegian,
    Danish,
    Finnish,
    Russian,
}

/// How text becomes vectors.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[x_kube(
    validation = rules::needs("Hashing", "hashing"),
    validation = rules::only_with("hashing", "Hashing"),
    validation = rules::needs("ModelEndpoint", "modelEndpoint"),
    validation = rules::only_with("modelEndpoint", "ModelEndpoint")
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EmbeddingSpec {
    /// Encoder is the encoder inside the binary (English, 384 dimensions, 128 tokens, no network); Hashing needs no
    /// model and works for any language; ModelEndpoint asks a model server; None leaves the vector arm out.
    pub r#type: EmbeddingType,
    /// Feature hashing of words and character sequences. Only with type Hashing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hashing: Option<HashingSpec>,
    /// An embedding model behind a ModelEndpoint. Only with type ModelEndpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_endpoint: Option<ModelEndpointEmbeddingSpec>,
}

/// The kinds of embedders.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum EmbeddingType {
    Encoder,
    Hashing,
    ModelEndpoint,
    None,
}

/// Feature hashing.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HashingSpec {
    /// Length of the vectors, 64 to 4096. More costs memory and separates rare words better.
    #[schemars(range(min = 64, max = 4096))]
    pub dimensions: i32,
}

/// An embedding model behind a ModelEndpoint.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelEndpointEmbeddingSpec {
    /// Name of a ModelEndpoint in the same namespace whose uses contain Embeddings.
    #[schemars(length(min = 1, max = NAME_LENGTH))]
    #[x_kube(validation = rules::name())]
    pub name: String,
    /// Length of the model's vectors, 1 to 8192; an answer of another length is refused.
    #[schemars(range(min = 1, max = 8192))]
    pub dimensions: i32,
    /// Text put before every question, at most 512 characters, for models that want one ("query: ").
    /// Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub query_prefix: Option<String>,
    /// Text put before every passage, at most 512 characters ("passage: ").
    /// Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub passage_prefix: Option<String>,
    /// Texts a request, 1 to 2048.
    /// Default: 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2048))]
    pub max_batch: Option<i32>,
}

/// When the sources are read, and how documents that disappeared are treated.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = time_zone_needs_schedule())]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SyncSpec {
    /// When to sync by itself: the five fields of a crontab, at most 100 characters ("30 2 * * 1-5"). Each knowledge base
    /// starts up to a minute later, always the same; a time that was missed is made up for once. Read in a cluster only.
    /// Default: after changes of this spec, and when the annotation groundwork.dev/sync-requested-at gets another value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 9, max = 100))]
    #[x_kube(validation = schedule())]
    pub schedule: Option<String>,
    /// Time zone of the schedule, at most 64 characters, for example Europe/Berlin. Read in a cluster only.
    /// Default: UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    #[x_kube(validation = time_zone())]
    pub time_zone: Option<String>,
    /// Whether no ingestion is started, whatever asks for one; one that runs goes on. Read in a cluster only.
    /// Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// A sync that would remove more than this share of the documents, in percent (0 to 100), and more than 10 of them,
    /// removes nothing and says so.
    /// Default: 30.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub max_delete_percent: Option<i32>,
}

fn data_id() -> Rule {
    Rule::new("self.matches('^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$')")
        .message("must be a UUID in lower case, for example 6f1c2b7e-3d7a-5c1e-9b57-0a4be1d2c3f4")
}

fn data_id_is_immutable() -> Rule {
    Rule::new("has(self.dataId) == has(oldSelf.dataId) && (!has(self.dataId) || self.dataId == oldSelf.dataId)")
        .message("dataId is immutable: keep it as it was, or create another knowledge base")
}

fn schedule() -> Rule {
    Rule::new("self.matches('^[-0-9A-Za-z*/,?#]+( [-0-9A-Za-z*/,?#]+){4}$')").message(
        "must be the five fields of a crontab with single spaces: minute, hour, day, month, weekday, for example 30 2 * * 1-5",
    )
}

fn time_zone() -> Rule {
    Rule::new("self.matches('^[A-Za-z][-+A-Za-z0-9_]*(/[-+A-Za-z0-9_]+)*$')")
        .message("must be the name of a time zone, for example Europe/Berlin")
}

fn time_zone_needs_schedule() -> Rule {
    Rule::new("!has(self.timeZone) || has(self.schedule)")
        .message("timeZone is that of schedule: add schedule, or remove timeZone")
}

fn claim_name() -> Rule {
    Rule::new("self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')").message(
        "must be the name of a PersistentVolumeClaim: lower-case letters, digits, hyphens and dots, for example handbook",
    )
}

fn child_fits_parent() -> Rule {
    Rule::new("(has(self.childTokens) ? self.childTokens : 100) <= (has(self.parentTokens) ? self.parentTokens : 600)")
        .message(
            "childTokens (100 unless set) must not exceed parentTokens (600 unless set): lower one or raise the other",
        )
}

fn overlap_fits_child() -> Rule {
    Rule::new("(has(self.overlapTokens) ? self.overlapTokens : 20) < (has(self.childTokens) ? self.childTokens : 100)")
        .message(
            "overlapTokens (20 unless set) must be below childTokens (100 unless set): lower one or raise the other",
        )
}
