use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Raised whenever the tokens of any text change; part of the contract, so that an index is rebuilt and not mixed.
pub const ANALYSER_VERSION: u32 = 1;
/// Raised whenever parents, chunks or contexts of any document change.
pub const CHUNKER_VERSION: u32 = 1;
/// Raised whenever the Markdown extracted from PDF, DOCX, XLSX or HTML changes.
pub const EXTRACTOR_VERSION: u32 = 1;

/// Everything that decides what an index contains. Two equal contracts give the same chunks, tokens and vectors; a
/// changed one is a new revision, built beside the old.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Contract {
    /// How documents are cut.
    pub chunking: Chunking,
    /// How text becomes keyword terms.
    pub keyword: Keyword,
    /// How text becomes vectors.
    pub embedding: Embedding,
    /// [`ANALYSER_VERSION`] of the build that made the contract.
    pub analyser_version: u32,
    /// [`CHUNKER_VERSION`] of the build that made the contract.
    pub chunker_version: u32,
    /// [`EXTRACTOR_VERSION`] of the build that made the contract.
    pub extractor_version: u32,
}

impl Contract {
    /// Hex SHA-256 of the contract's canonical JSON (fields in declaration order).
    pub fn hash(&self) -> String {
        let json = serde_json::to_vec(self).expect("a contract holds only strings and numbers");
        Sha256::digest(json).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Default for Contract {
    fn default() -> Self {
        Self {
            chunking: Chunking::default(),
            keyword: Keyword::default(),
            embedding: Embedding::Encoder,
            analyser_version: ANALYSER_VERSION,
            chunker_version: CHUNKER_VERSION,
            extractor_version: EXTRACTOR_VERSION,
        }
    }
}

/// How a document is cut into parents (given to the model) and chunks (searched).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Chunking {
    /// Where cuts may fall.
    pub strategy: ChunkingStrategy,
    /// Upper size of a parent, in cl100k tokens.
    pub parent_tokens: u32,
    /// Upper size of a chunk, in cl100k tokens.
    pub child_tokens: u32,
    /// Tokens that a chunk shares with the one before it; below `child_tokens`.
    pub overlap_tokens: u32,
}

impl Default for Chunking {
    fn default() -> Self {
        Self { strategy: ChunkingStrategy::Structural, parent_tokens: 600, child_tokens: 100, overlap_tokens: 20 }
    }
}

/// Where a chunker may cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChunkingStrategy {
    /// At headings first, then sliding windows inside a parent; code at blank lines and indentation, tables at rows.
    Structural,
    /// Windows of `child_tokens` with `overlap_tokens`, blind to structure.
    Fixed,
    /// The whole document is one parent and one chunk. Only for evaluation against published numbers.
    Whole,
}

/// How text becomes keyword terms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Keyword {
    /// Stemmer and stop words of Latin-script text; CJK text is always cut into bigrams.
    pub language: Language,
    /// Whether spellings of an identifier fold together (`AX-3000` = `AX 3000` = `AX3000`).
    pub fold_identifiers: bool,
}

impl Default for Keyword {
    fn default() -> Self {
        Self { language: Language::English, fold_identifiers: true }
    }
}

/// Languages with a Snowball stemmer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Language {
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Embedding {
    /// No dense arm.
    None,
    /// The encoder inside the binary (English, 384 dimensions, 128 tokens).
    Encoder,
    /// Feature hashing of words and character n-grams: any language, no model.
    Hashing {
        /// Length of the vectors, 64 to 4096.
        dimensions: u32,
    },
    /// An OpenAI-compatible `/v1/embeddings` endpoint.
    Endpoint {
        /// Name of the [`crate::Endpoint`].
        endpoint: String,
        /// Model name, copied here since it decides the vectors.
        model: String,
        /// Length of the vectors, checked on every answer.
        dimensions: u32,
        /// Put before every query.
        query_prefix: String,
        /// Put before every passage.
        passage_prefix: String,
        /// Texts a request, 1 to 2048.
        max_batch: u32,
    },
}
