//! A store in memory that can be told to fail: for what a real store does not do on demand.

use async_trait::async_trait;
use groundwork_config::Contract;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::chunk::indexed_text;
use crate::document::NormalisedDocument;
use crate::embed::{EmbedKind, Embedder, Probes};
use crate::identity::{ChunkId, DocumentId, TextHash};
use crate::store::*;

#[derive(Default)]
pub(super) struct MemoryStore {
    pub(super) state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) revisions: HashMap<String, Revision>,
    pub(super) active: Option<String>,
    pub(super) reports: Vec<serde_json::Value>,
    /// Successful writes before every further one fails as on a full disk.
    pub(super) room: Option<usize>,
    /// Sizes of the transactions that wrote documents.
    pub(super) batches: Vec<usize>,
    pub(super) touched: usize,
}

#[derive(Default)]
pub(super) struct Revision {
    pub(super) documents: BTreeMap<DocumentId, Kept>,
    pub(super) vectors: HashMap<TextHash, Vec<f32>>,
}

pub(super) struct Kept {
    pub(super) entry: ManifestEntry,
    pub(super) document: Option<NormalisedDocument>,
    /// Exact texts to embed.
    pub(super) texts: Vec<String>,
}

pub(super) struct Handle {
    store: Arc<MemoryStore>,
    revision: String,
    contract: Arc<Contract>,
}

impl MemoryStore {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

/// The store seam on a shared [`MemoryStore`].
#[derive(Clone)]
pub(super) struct Memory(pub(super) Arc<MemoryStore>);

#[async_trait]
impl KnowledgeStore for Memory {
    async fn reader(&self, _: &Principal) -> Result<Option<Arc<dyn Reader>>, StoreError> {
        let active = self.0.state().active.clone();
        let handle = |revision| {
            let contract = Arc::new(Contract::default());
            Arc::new(Handle { store: Arc::clone(&self.0), revision, contract }) as Arc<dyn Reader>
        };
        Ok(active.map(handle))
    }

    async fn lease(&self) -> Result<SyncLease, StoreError> {
        Ok(SyncLease { token: 1 })
    }

    async fn maintainer(&self, _: &SyncLease, contract: &Contract) -> Result<Arc<dyn Maintainer>, StoreError> {
        let (revision, contract) = (contract.hash(), Arc::new(contract.clone()));
        Ok(Arc::new(Handle { store: Arc::clone(&self.0), revision, contract }))
    }
}

impl Handle {
    fn with<T>(&self, change: impl FnOnce(&mut Revision) -> T) -> T {
        change(self.store.state().revisions.entry(self.revision.clone()).or_default())
    }

    fn writing(&self, action: &'static str) -> Result<(), StoreError> {
        match &mut self.store.state().room {
            Some(0) => Err(StoreError::DiskFull { action, path: "data".into() }),
            Some(room) => {
                *room -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn count(&self) -> Counts {
        self.with(|revision| {
            let texts = revision.documents.values().flat_map(|kept| &kept.texts);
            let has = |text: &&String| revision.vectors.contains_key(&TextHash::of(text));
            Counts {
                documents: revision.documents.values().filter(|kept| kept.document.is_some()).count() as u64,
                chunks: texts.clone().count() as u64,
                vectors: texts.filter(has).count() as u64,
                without_vector: 0,
                failed: revision.documents.values().filter(|kept| kept.entry.failure.is_some()).count() as u64,
            }
        })
    }
}

fn texts_of(write: &DocumentWrite) -> Vec<String> {
    let chunks = write.chunked.parents.iter().flat_map(|parent| &parent.chunks);
    chunks.map(|chunk| indexed_text(&chunk.context, &write.document.body[chunk.span.clone()])).collect()
}

#[async_trait]
impl Maintainer for Handle {
    fn revision(&self) -> String {
        self.revision.clone()
    }

    async fn is_active(&self) -> Result<bool, StoreError> {
        Ok(self.store.state().active.as_ref() == Some(&self.revision))
    }

    async fn manifest(&self) -> Result<Vec<ManifestEntry>, StoreError> {
        Ok(self.with(|revision| revision.documents.values().map(|kept| kept.entry.clone()).collect()))
    }

    async fn write_documents(&self, started: i64, documents: Vec<DocumentWrite>) -> Result<(), StoreError> {
        self.writing("write documents")?;
        self.store.state().batches.push(documents.len());
        self.with(|revision| {
            for write in documents {
                let version = revision.documents.get(&write.id).map_or(0, |kept| kept.entry.version) + 1;
                let texts = texts_of(&write);
                let DocumentWrite { id, source, path, stamp, content, document, .. } = write;
                let entry =
                    ManifestEntry { id, source, path, stamp, content, synced_at_ns: started, version, failure: None };
                revision.documents.insert(id, Kept { entry, document: Some(document), texts });
            }
        });
        Ok(())
    }

    async fn touch_documents(&self, started: i64, stamps: Vec<(DocumentId, FileStamp)>) -> Result<(), StoreError> {
        self.writing("touch documents")?;
        self.store.state().touched += stamps.len();
        self.with(|revision| {
            for (id, stamp) in stamps {
                let entry = &mut revision.documents.get_mut(&id).unwrap().entry;
                (entry.stamp, entry.synced_at_ns) = (Some(stamp), started);
            }
        });
        Ok(())
    }

    async fn record_failures(&self, started: i64, failures: Vec<DocumentFailure>) -> Result<(), StoreError> {
        self.writing("record failures")?;
        self.with(|revision| {
            for failure in failures {
                let DocumentFailure { id, source, path, stamp, content, reason } = failure;
                let failure = Some(reason);
                let entry =
                    ManifestEntry { id, source, path, stamp, content, synced_at_ns: started, version: 0, failure };
                match revision.documents.get_mut(&id) {
                    Some(kept) => kept.entry = ManifestEntry { version: kept.entry.version, ..entry },
                    None => {
                        revision.documents.insert(id, Kept { entry, document: None, texts: Vec::new() });
                    }
                }
            }
        });
        Ok(())
    }

    async fn delete_documents(&self, ids: &[DocumentId]) -> Result<u64, StoreError> {
        self.writing("delete documents")?;
        Ok(self.with(|revision| ids.iter().filter_map(|id| revision.documents.remove(id)).count() as u64))
    }

    async fn embed_pending(&self, embedder: &dyn Embedder, limit: usize) -> Result<EmbedProgress, StoreError> {
        self.writing("embed")?;
        let pending: Vec<String> = self.with(|revision| {
            let texts = revision.documents.values().flat_map(|kept| kept.texts.iter().cloned());
            texts.filter(|text| !revision.vectors.contains_key(&TextHash::of(text))).take(limit).collect()
        });
        let vectors = embedder.embed(EmbedKind::Passage, &pending).await?;
        let embedded = vectors.len() as u64;
        self.with(|revision| revision.vectors.extend(pending.iter().map(|text| TextHash::of(text)).zip(vectors)));
        let counts = self.count();
        Ok(EmbedProgress { embedded, reused: 0, skipped: 0, remaining: counts.chunks - counts.vectors })
    }

    async fn flush(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        Ok(self.count())
    }

    async fn record_report(&self, report: serde_json::Value) -> Result<(), StoreError> {
        self.store.state().reports.push(report);
        Ok(())
    }

    async fn activate(&self) -> Result<(), StoreError> {
        self.store.state().active = Some(self.revision.clone());
        Ok(())
    }

    async fn digest(&self) -> Result<String, StoreError> {
        Ok(String::new())
    }
}

#[async_trait]
impl Reader for Handle {
    fn revision(&self) -> String {
        self.revision.clone()
    }

    fn contract(&self) -> Arc<Contract> {
        Arc::clone(&self.contract)
    }

    async fn search_keywords(&self, _: &KeywordQuery, _: &Filter, _: usize) -> Result<Vec<ChunkHit>, StoreError> {
        Ok(Vec::new())
    }

    async fn search_vectors(&self, _: &[f32], _: &Filter, _: usize) -> Result<Vec<ChunkHit>, StoreError> {
        Ok(Vec::new())
    }

    async fn parents(&self, _: &[ParentKey]) -> Result<Vec<Arc<ParentText>>, StoreError> {
        Ok(Vec::new())
    }

    async fn chunk(&self, _: ChunkId) -> Result<ChunkLookup, StoreError> {
        Ok(ChunkLookup::Unknown)
    }

    async fn document(&self, _: DocumentId) -> Result<Option<DocumentSummary>, StoreError> {
        Ok(None)
    }

    async fn body(&self, id: DocumentId) -> Result<Option<String>, StoreError> {
        Ok(self.with(|revision| revision.documents.get(&id)?.document.as_ref().map(|document| document.body.clone())))
    }

    async fn documents(
        &self,
        _: &Filter,
        _: Option<(String, String)>,
        _: usize,
    ) -> Result<Vec<DocumentSummary>, StoreError> {
        Ok(Vec::new())
    }

    async fn term_statistics(&self, _: &KeywordQuery) -> Result<TermStatistics, StoreError> {
        Ok(TermStatistics::default())
    }

    async fn similar_terms(&self, _: &str, _: usize) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    async fn probes(&self) -> Result<Option<Probes>, StoreError> {
        Ok(None)
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        Ok(self.count())
    }
}
