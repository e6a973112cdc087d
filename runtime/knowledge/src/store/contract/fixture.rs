use async_trait::async_trait;
use groundwork_config::Contract;
use jiff::civil::Date;
use sha2::{Digest, Sha256};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use uuid::Uuid;

use crate::analyse::{Token, TokenKind};
use crate::chunk::{Chunk, ChunkedDocument, Parent};
use crate::document::{Format, Locator, NormalisedDocument};
use crate::embed::{EmbedError, EmbedKind, Embedder, EmbedderProfile, Probes};
use crate::identity::{DocumentId, TextHash};
use crate::store::{
    ChunkHit, DocumentWrite, FileStamp, Filter, KeywordQuery, KnowledgeStore, Maintainer, Principal, Reader,
};

/// A document whose parents are the given paragraphs, each one chunk without context.
pub fn document(path: &str, paragraphs: &[&str]) -> DocumentWrite {
    let mut body = String::new();
    let mut parents = Vec::new();
    for paragraph in paragraphs {
        let start = body.len();
        body.push_str(paragraph);
        let chunk = Chunk { span: start..body.len(), context: String::new() };
        body.push('\n');
        parents.push(parent(start..body.len(), parents.len(), vec![chunk]));
    }
    write(path, body, parents)
}

/// A document of one parent with the given chunks, which all have its path as context.
pub fn one_parent(path: &str, chunks: &[&str]) -> DocumentWrite {
    let mut body = String::new();
    let mut spans = Vec::new();
    for text in chunks {
        let start = body.len();
        body.push_str(text);
        spans.push(Chunk { span: start..body.len(), context: path.to_owned() });
        body.push('\n');
    }
    let parents = vec![parent(0..body.len(), 0, spans)];
    write(path, body, parents)
}

fn parent(span: Range<usize>, ordinal: usize, chunks: Vec<Chunk>) -> Parent {
    let line = ordinal as u32 + 1;
    Parent {
        span,
        heading_path: vec![format!("Section {line}")],
        locator: Locator::Lines { first: line, last: line },
        tokens: 10,
        chunks,
    }
}

fn write(path: &str, body: String, parents: Vec<Parent>) -> DocumentWrite {
    DocumentWrite {
        id: id(path),
        source: "docs".into(),
        path: path.into(),
        stamp: Some(stamp(1)),
        content: TextHash::of(&body),
        document: NormalisedDocument::new(Format::Markdown, body),
        chunked: ChunkedDocument { title: path.into(), parents },
    }
}

/// The document with tags.
pub fn tagged(mut document: DocumentWrite, tags: &[&str]) -> DocumentWrite {
    document.document.metadata.tags = tags.iter().map(|&tag| tag.to_owned()).collect();
    document
}

/// The document with a date.
pub fn dated(mut document: DocumentWrite, date: Date) -> DocumentWrite {
    document.document.metadata.date = Some(date);
    document
}

pub(super) fn id(path: &str) -> DocumentId {
    DocumentId::new(Uuid::nil(), "docs", path)
}

pub(super) fn stamp(mtime_ns: i64) -> FileStamp {
    FileStamp { size: 1, mtime_ns, ctime_ns: 0, inode: 0 }
}

pub(super) fn words(words: &[&str]) -> KeywordQuery {
    KeywordQuery { words: words.iter().map(|&word| (word.to_owned(), 1)).collect(), identifiers: Vec::new() }
}

/// A maintainer with a new lease for the default contract.
pub(super) async fn maintainer(store: &dyn KnowledgeStore) -> Arc<dyn Maintainer> {
    let lease = store.lease().await.expect("a lease is given");
    store.maintainer(&lease, &Contract::default()).await.expect("a maintainer is given")
}

/// The store's documents written and active.
pub(super) async fn filled(store: &dyn KnowledgeStore, documents: Vec<DocumentWrite>) -> Arc<dyn Maintainer> {
    let maintainer = maintainer(store).await;
    maintainer.write_documents(1, documents).await.expect("documents are written");
    maintainer.activate().await.expect("the revision is activated");
    maintainer
}

pub(super) async fn reader(store: &dyn KnowledgeStore) -> Arc<dyn Reader> {
    store.reader(&Principal::local()).await.expect("the store answers").expect("a revision is active")
}

/// Paths of the documents of hits, in order.
pub(super) async fn paths(reader: &dyn Reader, hits: &[ChunkHit]) -> Vec<String> {
    let mut paths = Vec::new();
    for hit in hits {
        let document = reader.document(hit.parent.document).await.expect("the store answers");
        paths.push(document.expect("a hit's document is readable").path);
    }
    paths
}

/// Paths of the documents that have a word.
pub(super) async fn found(reader: &dyn Reader, word: &str) -> Vec<String> {
    let hits = reader.search_keywords(&words(&[word]), &Filter::default(), 100).await.expect("the search runs");
    let mut paths = paths(reader, &hits).await;
    paths.sort();
    paths
}

/// Words at white space; one with a digit is an identifier. The contract's scores are worked out with these.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut offset = 0;
    for word in text.split_whitespace() {
        let start = offset + text[offset..].find(word).expect("it is a word of the rest");
        offset = start + word.len();
        let kind = if word.contains(|c: char| c.is_ascii_digit()) { TokenKind::Identifier } else { TokenKind::Word };
        tokens.push(Token { term: word.to_lowercase(), span: start..offset, kind });
    }
    tokens
}

/// An embedder of eight dimensions, one for each of eight classes of words: texts of equal words have equal vectors.
pub struct WordEmbedder {
    profile: EmbedderProfile,
    texts: AtomicU64,
    probes: Option<Probes>,
}

impl WordEmbedder {
    /// An embedder with this identity.
    pub fn new(identity: &str) -> Self {
        let profile = EmbedderProfile {
            identity: identity.to_owned(),
            dimensions: 8,
            max_tokens: None,
            languages: None,
            fusion_weight: 0.5,
            max_batch: 3,
        };
        Self { profile, texts: AtomicU64::new(0), probes: None }
    }

    /// One with this identity whose model may be exchanged; its probes have this direction.
    pub fn exchangeable(identity: &str, direction: usize) -> Self {
        let mut probe = vec![0.0; 8];
        probe[direction] = 1.0;
        Self { probes: Some(Probes(vec![probe; 3])), ..Self::new(identity) }
    }

    /// Texts embedded so far.
    pub fn texts(&self) -> u64 {
        self.texts.load(Ordering::Relaxed)
    }

    /// The vector of a text.
    pub fn vector(text: &str) -> Vec<f32> {
        let mut vector = [0f32; 8];
        for word in text.split_whitespace() {
            vector[usize::from(Sha256::digest(word)[0] % 8)] += 1.0;
        }
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.iter().map(|value| if length > 0.0 { value / length } else { 0.0 }).collect()
    }
}

#[async_trait]
impl Embedder for WordEmbedder {
    fn profile(&self) -> &EmbedderProfile {
        &self.profile
    }

    async fn embed(&self, _kind: EmbedKind, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        assert!(texts.len() <= self.profile.max_batch, "a batch is within the embedder's limit");
        self.texts.fetch_add(texts.len() as u64, Ordering::Relaxed);
        Ok(texts.iter().map(|text| Self::vector(text)).collect())
    }

    async fn probe(&self, _max_age: Duration) -> Result<Option<Probes>, EmbedError> {
        Ok(self.probes.clone())
    }
}
