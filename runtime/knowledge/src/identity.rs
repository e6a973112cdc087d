//! Identities: the same document, chunk or text has the same id in every store, on every machine, after every re-run.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use unicode_normalization::UnicodeNormalization;
use uuid::Uuid;

/// Identity of a document: uuid5(data id, source, NFC relative path).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DocumentId(pub Uuid);

impl DocumentId {
    /// The id of the document at `path` (with `/`, relative to its source).
    pub fn new(data_id: Uuid, source: &str, path: &str) -> Self {
        let name = format!("{source}\0{}", path.nfc().collect::<String>());
        Self(Uuid::new_v5(&data_id, name.as_bytes()))
    }
}

impl fmt::Display for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Identity of a chunk: uuid5(document, hash of its span's text, n-th occurrence of that text in the document).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChunkId(pub Uuid);

impl ChunkId {
    /// The id of the `occurrence`-th (from 0) chunk of `document` whose span reads `text`.
    pub fn new(document: DocumentId, text: &str, occurrence: u32) -> Self {
        let name = format!("{}#{occurrence}", TextHash::of(text));
        Self(Uuid::new_v5(&document.0, name.as_bytes()))
    }
}

impl fmt::Display for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// SHA-256 of a text's bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextHash(pub [u8; 32]);

impl TextHash {
    /// Hash of the text.
    pub fn of(text: &str) -> Self {
        Self::of_bytes(text.as_bytes())
    }

    /// Hash of raw bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for TextHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TextHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
