//! A document as points.

use qdrant_client::qdrant::{DenseVector, NamedVectors, PointStruct, SparseVector, Vector, Vectors, vector};
use serde::Serialize;
use std::collections::HashMap;
use uuid::Uuid;

use super::Averages;
use super::collection::{DENSE, KEYWORDS, PARENT_KEYWORDS};
use super::payload::{self, ChunkPayload, DocumentPayload, Kind, ParentPayload, Place, PlacedChunk};
use super::terms::Counted;
use crate::analyse::Tokenise;
use crate::chunk::{Parent, indexed_text, section_context};
use crate::identity::TextHash;
use crate::store::state::documents::{Placed, placed};
use crate::store::{DocumentSummary, DocumentWrite, ParentKey, StoreError};

/// A point and about how large it is.
pub(super) struct NewPoint {
    pub(super) point: PointStruct,
    pub(super) bytes: usize,
}

/// What a document's points depend on besides the document.
pub(super) struct Writer<'a> {
    pub(super) tokenise: &'a Tokenise,
    /// Unknown while a revision is built: its texts get their weights when all are there.
    pub(super) averages: Option<Averages>,
    /// Marks all points of this call.
    pub(super) write: Uuid,
    /// Dense vectors by the hash of their text.
    pub(super) vectors: &'a HashMap<String, Vec<f32>>,
}

impl Writer<'_> {
    /// All points of a document.
    pub(super) fn points(&self, new: &DocumentWrite, version: u32) -> Result<Vec<NewPoint>, StoreError> {
        let mut points = Vec::new();
        let mut chunks = placed(new)?.into_iter().peekable();
        let mut count = 0;
        for (ordinal, parent) in new.chunked.parents.iter().enumerate() {
            let key = ParentKey { document: new.id, ordinal: ordinal as u32 };
            let mut own = Vec::new();
            while let Some(chunk) = chunks.next_if(|chunk| chunk.parent == ordinal) {
                points.push(self.chunk(new, version, key, &chunk));
                own.push(PlacedChunk {
                    id: chunk.id,
                    first: chunk.range.start as u64,
                    last: chunk.range.end as u64,
                    context: chunk.context.to_owned(),
                });
            }
            count += own.len() as u32;
            points.push(self.parent(new, version, (key, parent), own));
        }
        points.push(self.document(new, version, count));
        Ok(points)
    }

    fn place(&self, kind: Kind, new: &DocumentWrite, version: u32) -> Place {
        let metadata = &new.document.metadata;
        Place {
            kind,
            document: new.id,
            version,
            write: self.write,
            access: payload::access(None),
            tags: metadata.tags.clone(),
            date: metadata.date.map(payload::day),
        }
    }

    fn chunk(&self, new: &DocumentWrite, version: u32, key: ParentKey, chunk: &Placed<'_>) -> NewPoint {
        let indexed = indexed_text(chunk.context, chunk.text);
        let counted = Counted::of((self.tokenise)(&indexed));
        let text_hash = TextHash::of(&indexed).to_string();
        let mut vectors = HashMap::new();
        if let Some(dense) = self.vectors.get(&text_hash) {
            vectors.insert(DENSE.to_owned(), dense_vector(dense.clone()));
        }
        if let Some(weights) = self.averages.and_then(|averages| counted.weights(averages.chunk)) {
            vectors.insert(KEYWORDS.to_owned(), sparse_vector(weights));
        }
        let payload = ChunkPayload {
            place: self.place(Kind::Chunk, new, version),
            parent: key.ordinal,
            parent_point: payload::parent_point(key),
            text: chunk.text.to_owned(),
            context: chunk.context.to_owned(),
            text_hash,
            words: counted.words,
            terms: counted.distinct(),
        };
        new_point(chunk.id.0, vectors, &payload, 2 * indexed.len())
    }

    fn parent(
        &self,
        new: &DocumentWrite,
        version: u32,
        (key, parent): (ParentKey, &Parent),
        chunks: Vec<PlacedChunk>,
    ) -> NewPoint {
        let text = new.document.body.get(parent.span.clone()).unwrap_or_default();
        let counted = Counted::of((self.tokenise)(&parent_text(&new.chunked.title, &parent.heading_path, text)));
        let mut vectors = HashMap::new();
        // A parent without chunks is never searched, and counts in no statistics.
        let averages = self.averages.filter(|_| !chunks.is_empty());
        if let Some(weights) = averages.and_then(|averages| counted.weights(averages.parent)) {
            vectors.insert(PARENT_KEYWORDS.to_owned(), sparse_vector(weights));
        }
        let payload = ParentPayload {
            place: self.place(Kind::Parent, new, version),
            ordinal: key.ordinal,
            offset: parent.span.start as u64,
            tokens: parent.tokens,
            heading_path: parent.heading_path.clone(),
            locator: parent.locator.clone(),
            text: text.to_owned(),
            words: counted.words,
            chunks,
        };
        new_point(payload::parent_point(key), vectors, &payload, 2 * text.len())
    }

    fn document(&self, new: &DocumentWrite, version: u32, chunks: u32) -> NewPoint {
        let summary = DocumentSummary {
            id: new.id,
            source: new.source.clone(),
            path: new.path.clone(),
            title: new.chunked.title.clone(),
            format: new.document.format,
            metadata: new.document.metadata.clone(),
            version,
            stale: false,
            chunks,
            bytes: new.document.body.len() as u64,
        };
        let payload = DocumentPayload { place: self.place(Kind::Document, new, version), summary, stale: false };
        new_point(new.id.0, HashMap::new(), &payload, 0)
    }
}

/// The text that a parent is searched by.
pub(super) fn parent_text(title: &str, heading_path: &[String], text: &str) -> String {
    indexed_text(&section_context(title, heading_path), text)
}

/// A point of one of our payloads.
pub(super) fn new_point(
    id: Uuid,
    vectors: HashMap<String, Vector>,
    payload: &impl Serialize,
    bytes: usize,
) -> NewPoint {
    let bytes = bytes + 2048 + vectors.len() * 1024;
    let point = PointStruct {
        id: Some(payload::point_id(id)),
        payload: payload::fields(payload),
        vectors: Some(named(vectors)),
    };
    NewPoint { point, bytes }
}

/// Vectors by name.
pub(super) fn named(vectors: HashMap<String, Vector>) -> Vectors {
    Vectors { vectors_options: Some(qdrant_client::qdrant::vectors::VectorsOptions::Vectors(NamedVectors { vectors })) }
}

/// A dense vector as points have it.
pub(super) fn dense_vector(data: Vec<f32>) -> Vector {
    Vector { vector: Some(vector::Vector::Dense(DenseVector { data })), ..Vector::default() }
}

/// Keyword weights as points have them.
pub(super) fn sparse_vector(weights: SparseVector) -> Vector {
    Vector { vector: Some(vector::Vector::Sparse(weights)), ..Vector::default() }
}
