use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Which arms a search runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// Words only (BM25).
    Keyword,
    /// Meaning only (vectors).
    Vector,
    /// Both, fused.
    Hybrid,
}

/// Which documents may be found. Empty lists do not restrict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct FilterSpec {
    /// Globs on `source/path`; any may match.
    #[schema(max_items = 64)]
    pub(crate) paths: Vec<String>,
    /// Tags; any may match.
    #[schema(max_items = 64)]
    pub(crate) tags: Vec<String>,
    /// Documents dated on this day or later (`YYYY-MM-DD`). Undated documents never match a date bound.
    pub(crate) from: Option<String>,
    /// Documents dated on this day or earlier (`YYYY-MM-DD`).
    pub(crate) until: Option<String>,
}

/// Search without answering.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchRequest {
    /// The question as typed.
    #[schema(min_length = 1, max_length = 4000)]
    pub(crate) query: String,
    /// Which arms run; the pipeline's mode where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<Mode>,
    /// Passages returned, 1 to 100; the pipeline's number where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100)]
    pub(crate) top_k: Option<u32>,
    /// Which documents.
    #[serde(default)]
    pub(crate) filter: FilterSpec,
}

/// What a search found, with each arm's view: the debugging view of retrieval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SearchResponse {
    /// The question as typed.
    pub(crate) query: String,
    /// Which arms were asked for.
    pub(crate) mode: Mode,
    /// Best first.
    pub(crate) hits: Vec<SearchHit>,
    /// What each arm of each knowledge base did.
    pub(crate) arms: Vec<ArmReport>,
    /// Documents that the search covered.
    pub(crate) documents_searched: u64,
    /// Things a person should know, such as vectors that are not complete yet.
    pub(crate) notes: Vec<String>,
    /// Identity of each revision that was read.
    pub(crate) revisions: Vec<String>,
    /// Wall time in milliseconds.
    pub(crate) elapsed_ms: f64,
}

/// A found passage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SearchHit {
    /// From 1.
    pub(crate) rank: u32,
    /// Fused score; comparable within one response only.
    pub(crate) score: f32,
    /// The knowledge base it is from.
    pub(crate) knowledge_base: String,
    /// The best matching chunk in its passage.
    #[serde(flatten)]
    pub(crate) excerpt: Excerpt,
    /// How each arm saw the passage; an arm that did not find it is left out.
    pub(crate) arms: Vec<ArmScore>,
}

/// Text of a document with the passage around it: `before + quote + after` is the passage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Excerpt {
    /// The chunk; `GET /v1/chunks/{id}` opens it.
    pub(crate) chunk_id: String,
    /// The document.
    pub(crate) document_id: String,
    /// `source/path`.
    pub(crate) document: String,
    /// Title.
    pub(crate) title: String,
    /// Headings above.
    pub(crate) heading_path: Vec<String>,
    /// `lines 3-9`, `page 2`, `sheet Prices, rows 4-8`.
    pub(crate) locator: String,
    /// Text right before the quote, same passage.
    pub(crate) before: String,
    /// The text itself, verbatim from the document.
    pub(crate) quote: String,
    /// Text right after the quote, same passage.
    pub(crate) after: String,
}

impl Excerpt {
    /// Where it stands, for people: `handbook/fees.md, lines 3-9 (Fees > Late returns)`.
    pub(crate) fn place(&self) -> String {
        let place = format!("{}, {}", self.document, self.locator);
        match self.heading_path.is_empty() {
            true => place,
            false => format!("{place} ({})", self.heading_path.join(" > ")),
        }
    }
}

/// A retrieval arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Arm {
    /// BM25.
    Keyword,
    /// Vectors.
    Vector,
}

/// How one arm ranked a passage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ArmScore {
    /// `keyword` or `vector`.
    pub(crate) arm: String,
    /// Rank in that arm, from 1.
    pub(crate) rank: u32,
    /// The arm's own score: BM25 or cosine.
    pub(crate) score: f32,
}

/// What one arm did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ArmReport {
    /// The knowledge base it searched.
    pub(crate) knowledge_base: String,
    /// Which arm.
    pub(crate) arm: Arm,
    /// Distinct passages it handed to fusion.
    pub(crate) passages: u64,
    /// Its weight in the fusion.
    pub(crate) weight: f32,
    /// Time it took, in milliseconds.
    pub(crate) elapsed_ms: f64,
}
