//! Writing documents, and giving a revision's texts their keyword weights once all are there.

use qdrant_client::qdrant::{Filter, PointVectors, RetrievedPoint, Vector};
use std::collections::HashMap;
use uuid::Uuid;

use super::collection::{DENSE, KEYWORDS, PARENT_KEYWORDS, Wanted};
use super::maintainer::QdrantMaintainer;
use super::payload::{self, ChunkPayload, DocumentPayload, Kind, ParentPayload};
use super::points::{NewPoint, Writer, named, parent_text, sparse_vector};
use super::terms::Counted;
use super::{Averages, filter, progress};
use crate::chunk::indexed_text;
use crate::identity::DocumentId;
use crate::store::state::documents::{self, Prepared};
use crate::store::{DocumentWrite, StoreError};

const ACTION: &str = "write documents";
const WEIGH: &str = "weigh the keywords";

/// A document that is not as it was.
struct Changed<'a> {
    document: &'a DocumentWrite,
    version: u32,
    /// Whether an earlier version is there.
    replaces: bool,
}

impl QdrantMaintainer {
    /// Replaces documents.
    pub(super) async fn write(&self, sync_started_ns: i64, new: Vec<DocumentWrite>) -> Result<(), StoreError> {
        let database = self.database()?;
        let _writing = self.shared.writing.lock().await;
        let prepared = new.into_iter().map(documents::prepare).collect::<Result<Vec<_>, _>>()?;
        let (changed, unchanged) = self.intend(&prepared).await?;
        let ids: Vec<_> = changed.iter().map(|changed| changed.document.id).collect();
        fail::fail_point!("store::intend::after");
        let vectors = self.former_vectors(&changed).await?;
        let averages = self.send(&changed, &vectors).await?;
        self.mark(ACTION, &unchanged, false).await?;
        let mut write = self.begin(ACTION).await?;
        let failed = database.failed(ACTION);
        let target = self.target(&mut write, sync_started_ns).await.map_err(&failed)?;
        for document in &prepared {
            documents::write_document(&mut write, target, document).await.map_err(&failed)?;
        }
        let hashes: Vec<_> = vectors.keys().collect();
        progress::keep_vectors(&mut write, self.key, &ids, &hashes).await.map_err(&failed)?;
        progress::finish(&mut write, self.key, &ids).await.map_err(&failed)?;
        if let Some(averages) = averages {
            progress::freeze(&mut write, self.key, averages).await.map_err(&failed)?;
        }
        fail::fail_point!("store::write_documents::before");
        database.commit(ACTION, write).await?;
        fail::fail_point!("store::write_documents::after");
        self.publish().await
    }

    /// Tells changed documents from unchanged ones, and notes that the former are being written.
    async fn intend<'a>(&self, prepared: &'a [Prepared]) -> Result<(Vec<Changed<'a>>, Vec<DocumentId>), StoreError> {
        let database = self.database()?;
        let failed = database.failed(ACTION);
        let mut write = self.begin(ACTION).await?;
        let (mut changed, mut unchanged) = (Vec::new(), Vec::new());
        for new in prepared {
            let document = new.document();
            let known = progress::known(&mut write, self.key, document.id).await.map_err(&failed)?;
            let former = known.as_ref().map_or(0, |known| known.version);
            if known.and_then(|known| known.written).is_some_and(|written| written == new.written()) {
                unchanged.push(document.id);
            } else {
                changed.push(Changed { document, version: former + 1, replaces: former > 0 });
            }
        }
        let ids: Vec<_> = changed.iter().map(|changed| changed.document.id).collect();
        progress::intend(&mut write, self.key, &ids).await.map_err(&failed)?;
        database.commit(ACTION, write).await?;
        Ok((changed, unchanged))
    }

    /// Dense vectors that the documents' chunks have, by the hash of their text: a write replaces a point completely.
    async fn former_vectors(&self, changed: &[Changed<'_>]) -> Result<HashMap<String, Vec<f32>>, StoreError> {
        let former: Vec<Uuid> =
            changed.iter().filter(|changed| changed.replaces).map(|changed| changed.document.id.0).collect();
        if former.is_empty() {
            return Ok(HashMap::new());
        }
        let chunks = Filter::must([filter::kind(Kind::Chunk), filter::any_id("document", former)]);
        let found = self.collection.scroll(ACTION, &chunks, Wanted::Dense(&["text_hash"])).await?;
        let vector = |mut point: RetrievedPoint| {
            let hash = point.payload.remove("text_hash")?.as_str()?.to_owned();
            let vector = payload::dense(point.vectors.as_ref(), DENSE);
            (!vector.is_empty()).then_some((hash, vector))
        };
        Ok(found.into_iter().filter_map(vector).collect())
    }

    /// Writes the points of the documents, then removes those of earlier writes. Gives the averages where they are taken
    /// from this batch: a revision that was active while it was empty.
    async fn send(
        &self,
        changed: &[Changed<'_>],
        vectors: &HashMap<String, Vec<f32>>,
    ) -> Result<Option<Averages>, StoreError> {
        if changed.is_empty() {
            return Ok(None);
        }
        let known = self.averages().await?;
        let fresh = match known {
            None if crate::store::Maintainer::is_active(self).await? => self.averages_of(changed),
            _ => None,
        };
        let write = Uuid::new_v4();
        let writer = Writer { tokenise: &self.tokenise, averages: known.or(fresh), write, vectors };
        let mut points: Vec<NewPoint> = Vec::new();
        for changed in changed {
            points.extend(writer.points(changed.document, changed.version)?);
        }
        self.collection.upsert(ACTION, points).await?;
        fail::fail_point!("store::upsert_points::after");
        let documents = filter::any_id("document", changed.iter().map(|changed| changed.document.id.0));
        let mut earlier = Filter::must([documents]);
        earlier.must_not.push(filter::any_id("write", [write]));
        self.collection.delete(ACTION, earlier).await?;
        fail::fail_point!("store::delete_earlier::after");
        Ok(fresh)
    }

    fn averages_of(&self, changed: &[Changed<'_>]) -> Option<Averages> {
        let (mut chunks, mut parents) = (Mean::default(), Mean::default());
        for Changed { document, .. } in changed {
            for parent in document.chunked.parents.iter().filter(|parent| !parent.chunks.is_empty()) {
                let body = |span: &std::ops::Range<usize>| document.document.body.get(span.clone()).unwrap_or_default();
                let text = parent_text(&document.chunked.title, &parent.heading_path, body(&parent.span));
                parents.add(self.counted(&text).words);
                for chunk in &parent.chunks {
                    chunks.add(self.counted(&indexed_text(&chunk.context, body(&chunk.span))).words);
                }
            }
        }
        Mean::averages(&chunks, &parents)
    }

    fn counted(&self, text: &str) -> Counted {
        Counted::of((self.tokenise)(text))
    }

    /// Gives all texts of the collection their keyword weights, with the averages of all. None where it is empty.
    pub(super) async fn weigh_all(&self) -> Result<Option<Averages>, StoreError> {
        let chunk_filter = Filter::must([filter::kind(Kind::Chunk)]);
        let parent_filter = Filter::must([filter::kind(Kind::Parent)]);
        let (mut chunks, mut parents) = (Mean::default(), Mean::default());
        for point in self.collection.scroll(WEIGH, &chunk_filter, Wanted::Fields(&["words"])).await? {
            chunks.add(words(&point));
        }
        for point in self.collection.scroll(WEIGH, &parent_filter, Wanted::Fields(&["words", "chunks"])).await? {
            if point.payload.get("chunks").and_then(|chunks| chunks.as_list()).is_some_and(|list| !list.is_empty()) {
                parents.add(words(&point));
            }
        }
        let Some(averages) = Mean::averages(&chunks, &parents) else { return Ok(None) };
        self.weigh(&chunk_filter, |point| self.chunk_weights(point, averages)).await?;
        let titles = self.titles().await?;
        self.weigh(&parent_filter, |point| self.parent_weights(point, &titles, averages)).await?;
        fail::fail_point!("store::weigh::after");
        Ok(Some(averages))
    }

    async fn titles(&self) -> Result<HashMap<DocumentId, String>, StoreError> {
        let documents = Filter::must([filter::kind(Kind::Document)]);
        let found = self.collection.scroll(WEIGH, &documents, Wanted::Payload).await?;
        let title = |point: RetrievedPoint| {
            let document: DocumentPayload = payload::parsed(WEIGH, point.payload)?;
            Ok((document.place.document, document.summary.title))
        };
        found.into_iter().map(title).collect()
    }

    async fn weigh(
        &self,
        points: &Filter,
        weights: impl Fn(RetrievedPoint) -> Result<Option<(&'static str, Vector)>, StoreError>,
    ) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let (page, next) = self.collection.page(WEIGH, points, Wanted::Payload, after).await?;
            let mut updates = Vec::new();
            for point in page {
                let id = point.id.clone();
                if let Some((name, vector)) = weights(point)? {
                    let vectors = Some(named(HashMap::from([(name.to_owned(), vector)])));
                    updates.push(PointVectors { id, vectors });
                }
            }
            self.collection.set_vectors(WEIGH, updates).await?;
            match next {
                Some(next) => after = Some(next),
                None => return Ok(()),
            }
        }
    }

    fn chunk_weights(
        &self,
        point: RetrievedPoint,
        averages: Averages,
    ) -> Result<Option<(&'static str, Vector)>, StoreError> {
        let chunk: ChunkPayload = payload::parsed(WEIGH, point.payload)?;
        let weights = self.counted(&indexed_text(&chunk.context, &chunk.text)).weights(averages.chunk);
        Ok(weights.map(|weights| (KEYWORDS, sparse_vector(weights))))
    }

    fn parent_weights(
        &self,
        point: RetrievedPoint,
        titles: &HashMap<DocumentId, String>,
        averages: Averages,
    ) -> Result<Option<(&'static str, Vector)>, StoreError> {
        let parent: ParentPayload = payload::parsed(WEIGH, point.payload)?;
        if parent.chunks.is_empty() {
            return Ok(None);
        }
        let title = titles.get(&parent.place.document).map_or("", String::as_str);
        let text = parent_text(title, &parent.heading_path, &parent.text);
        let weights = self.counted(&text).weights(averages.parent);
        Ok(weights.map(|weights| (PARENT_KEYWORDS, sparse_vector(weights))))
    }
}

fn words(point: &RetrievedPoint) -> u64 {
    point.payload.get("words").and_then(|words| words.as_integer()).unwrap_or(0).unsigned_abs()
}

/// A mean on its way.
#[derive(Default)]
struct Mean {
    texts: u64,
    words: u64,
}

impl Mean {
    fn add(&mut self, words: u64) {
        self.texts += 1;
        self.words += words;
    }

    fn averages(chunks: &Self, parents: &Self) -> Option<Averages> {
        let mean = |mean: &Self| mean.words as f32 / mean.texts.max(1) as f32;
        (chunks.words > 0).then(|| Averages { chunk: mean(chunks), parent: mean(parents) })
    }
}
