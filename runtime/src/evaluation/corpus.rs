//! Indexing a set's own corpus.

use groundwork_config::KnowledgeBase;
use groundwork_knowledge::chunk::Chunker;
use groundwork_knowledge::document::{Format, Metadata, NormalisedDocument};
use groundwork_knowledge::embed::Embedder;
use groundwork_knowledge::identity::{DocumentId, TextHash};
use groundwork_knowledge::store::embedded::{EmbeddedOptions, EmbeddedStore};
use groundwork_knowledge::store::{DocumentWrite, KnowledgeStore, Maintainer};
use std::path::Path;

use super::data_set::CorpusDocument;
use super::measure::Progress;

/// Source name of a set's own corpus.
pub(crate) const SOURCE: &str = "corpus";
/// Documents written in one transaction.
const BATCH: usize = 256;
/// Chunks embedded in one transaction.
const EMBED_BATCH: usize = 256;

/// Writes a corpus into the store below `folder` and makes it the active revision.
pub(crate) async fn index_corpus(
    folder: &Path,
    knowledge_base: &KnowledgeBase,
    corpus: &[CorpusDocument],
    embedder: Option<&dyn Embedder>,
    progress: &mut dyn Progress,
) -> anyhow::Result<()> {
    let store = EmbeddedStore::open(folder, EmbeddedOptions::default()).await?;
    let lease = store.lease().await?;
    let maintainer = store.maintainer(&lease, &knowledge_base.contract).await?;
    let chunker = Chunker::new(&knowledge_base.contract.chunking);
    for (index, batch) in corpus.chunks(BATCH).enumerate() {
        let writes = batch.iter().map(|document| write(knowledge_base, &chunker, document)).collect();
        maintainer.write_documents(0, writes).await?;
        progress.advance("index", (index * BATCH + batch.len()).min(corpus.len()), corpus.len());
    }
    maintainer.flush().await?;
    if let Some(embedder) = embedder {
        embed_all(&*maintainer, embedder, progress).await?;
    }
    maintainer.activate().await?;
    store.close().await;
    Ok(())
}

async fn embed_all(
    maintainer: &dyn Maintainer,
    embedder: &dyn Embedder,
    progress: &mut dyn Progress,
) -> anyhow::Result<()> {
    let total = usize::try_from(maintainer.counts().await?.chunks)?;
    loop {
        let step = maintainer.embed_pending(embedder, EMBED_BATCH).await?;
        let remaining = usize::try_from(step.remaining)?;
        progress.advance("embed", total.saturating_sub(remaining), total);
        if remaining == 0 {
            return Ok(maintainer.flush().await?);
        }
    }
}

fn write(knowledge_base: &KnowledgeBase, chunker: &Chunker, document: &CorpusDocument) -> DocumentWrite {
    let title = Some(document.title.trim().to_owned()).filter(|title| !title.is_empty());
    let body = if document.text.trim().is_empty() { document.title.clone() } else { document.text.clone() };
    let normalised = NormalisedDocument {
        body: body.replace("\r\n", "\n").replace('\r', "\n"),
        format: Format::Text,
        front_matter: None,
        title,
        metadata: Metadata::default(),
        marks: Vec::new(),
        notes: Vec::new(),
    };
    DocumentWrite {
        id: DocumentId::new(knowledge_base.data_id, SOURCE, &document.id),
        source: SOURCE.into(),
        path: document.id.clone(),
        stamp: None,
        content: TextHash::of(&document.text),
        chunked: chunker.chunk(&document.id, &normalised),
        document: normalised,
    }
}
