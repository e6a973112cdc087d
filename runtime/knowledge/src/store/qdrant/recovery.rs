//! A collection whose file of syncs was lost: what a sync must not do twice is read back from its points.

use qdrant_client::qdrant::Filter;

use super::collection::Wanted;
use super::filter;
use super::maintainer::QdrantMaintainer;
use super::payload::{self, DocumentPayload, Kind, StatePayload};
use crate::embed::Probes;
use crate::store::StoreError;
use crate::store::state::vectors;

const ACTION: &str = "read the manifest back from the collection";

impl QdrantMaintainer {
    /// Notes the documents of the collection where the file knows none: with their versions, as not yet read. The next
    /// sync writes them again, keeps the vectors of equal texts, and deletes those whose files are gone. Gives whether
    /// there were any.
    pub(super) async fn recover(&self) -> Result<bool, StoreError> {
        let database = self.database()?;
        let failed = database.failed(ACTION);
        let known: bool = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM document WHERE revision = ?)")
            .bind(self.key)
            .fetch_one(database.readers())
            .await
            .map_err(&failed)?;
        if known {
            return Ok(false);
        }
        let points = Filter::must([filter::kind(Kind::Document)]);
        let found = self.collection.scroll(ACTION, &points, Wanted::Payload).await?;
        if found.is_empty() {
            return Ok(false);
        }
        let state = vec![payload::point_id(payload::state_point())];
        let state = self.collection.get(ACTION, state, Wanted::Payload).await?.pop();
        let state: Option<StatePayload> = state.map(|point| payload::parsed(ACTION, point.payload)).transpose()?;
        let mut write = self.begin(ACTION).await?;
        for point in found {
            let document: DocumentPayload = payload::parsed(ACTION, point.payload)?;
            sqlx::query(
                "INSERT INTO document (revision, id, source, path, version, title, content, synced_at, generation) \
                 VALUES (?, ?, ?, ?, ?, ?, zeroblob(32), 0, 0)",
            )
            .bind(self.key)
            .bind(document.place.document.0.as_bytes().as_slice())
            .bind(document.summary.source)
            .bind(document.summary.path)
            .bind(document.place.version)
            .bind(document.summary.title)
            .execute(&mut *write)
            .await
            .map_err(&failed)?;
        }
        if let Some(StatePayload { embedder: Some(embedder), probes, .. }) = state {
            vectors::adopt(&mut write, self.key, &embedder.identity, embedder.dimensions).await.map_err(&failed)?;
            if let Some(probes) = probes {
                let probes = Probes(probes);
                vectors::record_probes(&mut write, &embedder.identity, &probes).await.map_err(&failed)?;
            }
        }
        database.commit(ACTION, write).await?;
        Ok(true)
    }
}
