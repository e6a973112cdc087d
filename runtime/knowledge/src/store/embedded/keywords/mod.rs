//! The keyword index of a revision: derived from the store's file, may be deleted at any time.
//!
//! It holds chunks and their parents, each with fields of its own, for a chunk's score has a share of its parent. A
//! parent lies directly before its chunks: both are added in one group, which the engine keeps in one segment and in
//! order, also when it merges segments.
//!
//! Deleted and replaced chunks stay in the index's segments until they are merged away (a segment is merged when a
//! fifth of it is dead), but they count nowhere: [`search::KeywordView`] scores with the statistics of the living
//! chunks, so that equal stores give equal scores whatever their history was.

mod search;

pub(super) use search::KeywordView;

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tantivy::indexer::{LogMergePolicy, UserOperation};
use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::PreTokenizedString;
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, TantivyDocument, TantivyError, Term};

use super::Tokenise;
use crate::analyse::{Token, TokenKind};
use crate::identity::ChunkId;

/// Upper size of what the writer keeps in memory before it makes a segment; the engine's least.
const WRITER_BYTES: usize = 15_000_000;
/// Share of dead chunks from which on a segment is rewritten.
const DEAD_SHARE: f32 = 0.2;
/// Raised when the index's fields change.
const LAYOUT: u32 = 2;

/// What an index was built from; kept in each commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    /// Identity of the store's file.
    pub(super) store: String,
    /// Hash of the revision's contract.
    pub(super) revision: String,
    /// [`LAYOUT`].
    layout: u32,
    /// Generation that it holds completely.
    pub(super) generation: i64,
}

impl Origin {
    pub(super) fn new(store: &str, revision: &str, generation: i64) -> Self {
        Self { store: store.to_owned(), revision: revision.to_owned(), layout: LAYOUT, generation }
    }

    /// Whether an index of this origin can be caught up to a revision that remembers deletions since `floor`.
    pub(super) fn can_become(&self, wanted: &Self, floor: i64) -> bool {
        let same = (&self.store, &self.revision, self.layout) == (&wanted.store, &wanted.revision, wanted.layout);
        same && self.generation <= wanted.generation && self.generation >= floor
    }
}

/// A parent with its chunks on its way into the index.
pub(super) struct KeywordParent {
    pub(super) document: u32,
    pub(super) ordinal: u32,
    /// Context and span, as [`crate::chunk::indexed_text`] joins them.
    pub(super) text: String,
    pub(super) chunks: Vec<KeywordChunk>,
}

/// A chunk of it.
pub(super) struct KeywordChunk {
    pub(super) id: ChunkId,
    /// Context and span, as [`crate::chunk::indexed_text`] joins them.
    pub(super) text: String,
}

#[derive(Clone, Copy)]
pub(super) struct Fields {
    chunk: TextFields,
    parent: TextFields,
    document: Field,
    ordinal: Field,
    chunk_high: Field,
    chunk_low: Field,
}

/// Where the text of chunks or of parents is.
#[derive(Clone, Copy)]
struct TextFields {
    words: Field,
    identifiers: Field,
    /// Number of words.
    length: Field,
}

/// The index with its writer. All methods block.
pub(super) struct KeywordIndex {
    index: Index,
    reader: IndexReader,
    fields: Fields,
    tokenise: Tokenise,
    writer: Mutex<Option<IndexWriter>>,
}

impl KeywordIndex {
    /// Opens the index in `directory` and gives the generation it holds; a missing, damaged or foreign one, or one
    /// ahead of the store, is made anew, with generation 0.
    pub(super) fn open(
        directory: &Path,
        wanted: &Origin,
        floor: i64,
        tokenise: Tokenise,
    ) -> Result<(Self, i64), TantivyError> {
        let (schema, fields) = layout();
        let existing = open_existing(directory, &schema).filter(|(_, origin)| origin.can_become(wanted, floor));
        let (index, generation) = match existing {
            Some((index, origin)) => (index, origin.generation),
            None => (create(directory, schema)?, 0),
        };
        match index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into() {
            Ok(reader) => Ok((Self { index, reader, fields, tokenise, writer: Mutex::default() }, generation)),
            Err(_) => {
                let index = create(directory, layout().0)?;
                let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
                Ok((Self { index, reader, fields, tokenise, writer: Mutex::default() }, 0))
            }
        }
    }

    /// Forgets all chunks of a document.
    pub(super) fn delete(&self, document: u32) -> Result<(), TantivyError> {
        self.with_writer(|writer| {
            writer.delete_term(Term::from_field_u64(self.fields.document, document.into()));
            Ok(())
        })
    }

    /// Adds parents with their chunks; visible after [`Self::commit`].
    pub(super) fn add(&self, parents: &[KeywordParent]) -> Result<(), TantivyError> {
        self.with_writer(|writer| {
            parents.iter().try_for_each(|parent| {
                let mut entries = vec![UserOperation::Add(self.parent(parent))];
                entries.extend(parent.chunks.iter().map(|chunk| UserOperation::Add(self.chunk(parent, chunk))));
                writer.run(entries).map(drop)
            })
        })
    }

    /// Makes durable and visible what was added and deleted.
    pub(super) fn commit(&self, origin: &Origin) -> Result<(), TantivyError> {
        self.with_writer(|writer| {
            let mut commit = writer.prepare_commit()?;
            commit.set_payload(&serde_json::to_string(origin).expect("an origin holds only strings and numbers"));
            fail::fail_point!("store::keyword_commit::before");
            commit.commit()?;
            fail::fail_point!("store::keyword_commit::after");
            Ok(())
        })
    }

    /// What can be searched now.
    pub(super) fn view(&self, previous: Option<&KeywordView>) -> Result<KeywordView, TantivyError> {
        self.reader.reload()?;
        KeywordView::new(self.reader.searcher(), self.fields, previous)
    }

    fn with_writer<T>(
        &self,
        action: impl FnOnce(&mut IndexWriter) -> Result<T, TantivyError>,
    ) -> Result<T, TantivyError> {
        let mut guard = self.writer.lock().expect("no thread panics while it holds the lock");
        if guard.is_none() {
            *guard = Some(self.open_writer()?);
        }
        let result = action(guard.as_mut().expect("the writer was opened above"));
        if result.is_err() {
            // A writer that failed once refuses everything later; the next call opens another.
            *guard = None;
        }
        result
    }

    fn open_writer(&self) -> Result<IndexWriter, TantivyError> {
        let writer = self.index.writer_with_num_threads(1, WRITER_BYTES)?;
        let mut policy = LogMergePolicy::default();
        policy.set_del_docs_ratio_before_merge(DEAD_SHARE);
        writer.set_merge_policy(Box::new(policy));
        // A process that was killed between writing its files and committing them leaves files of the very names that the
        // same changes get again.
        writer.garbage_collect_files().wait()?;
        Ok(writer)
    }

    fn parent(&self, parent: &KeywordParent) -> TantivyDocument {
        let mut entry = self.text(self.fields.parent, &parent.text);
        entry.add_u64(self.fields.document, parent.document.into());
        entry.add_u64(self.fields.ordinal, parent.ordinal.into());
        // Columns that every entry has are read faster than ones with gaps.
        entry.add_u64(self.fields.chunk_high, 0);
        entry.add_u64(self.fields.chunk_low, 0);
        entry
    }

    fn chunk(&self, parent: &KeywordParent, chunk: &KeywordChunk) -> TantivyDocument {
        let (high, low) = chunk.id.0.as_u64_pair();
        let mut entry = self.text(self.fields.chunk, &chunk.text);
        entry.add_u64(self.fields.document, parent.document.into());
        entry.add_u64(self.fields.ordinal, parent.ordinal.into());
        entry.add_u64(self.fields.chunk_high, high);
        entry.add_u64(self.fields.chunk_low, low);
        entry
    }

    fn text(&self, fields: TextFields, text: &str) -> TantivyDocument {
        let (identifiers, words): (Vec<_>, Vec<_>) =
            (self.tokenise)(text).into_iter().partition(|token| token.kind == TokenKind::Identifier);
        let mut entry = TantivyDocument::default();
        entry.add_u64(fields.length, words.len() as u64);
        entry.add_pre_tokenized_text(fields.words, pre_tokenised(words));
        entry.add_pre_tokenized_text(fields.identifiers, pre_tokenised(identifiers));
        entry
    }
}

fn pre_tokenised(tokens: Vec<Token>) -> PreTokenizedString {
    let token = |(position, token): (usize, Token)| tantivy::tokenizer::Token {
        offset_from: token.span.start,
        offset_to: token.span.end,
        position,
        text: token.term,
        position_length: 1,
    };
    PreTokenizedString { text: String::new(), tokens: tokens.into_iter().enumerate().map(token).collect() }
}

fn layout() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let terms = |norms| {
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_index_option(IndexRecordOption::WithFreqs)
            .set_fieldnorms(norms);
        TextOptions::default().set_indexing_options(indexing)
    };
    let mut text = |words, identifiers, length| TextFields {
        words: schema.add_text_field(words, terms(true)),
        identifiers: schema.add_text_field(identifiers, terms(false)),
        length: schema.add_u64_field(length, FAST),
    };
    let fields = Fields {
        chunk: text("chunk_words", "chunk_identifiers", "chunk_length"),
        parent: text("parent_words", "parent_identifiers", "parent_length"),
        document: schema.add_u64_field("document", INDEXED | FAST),
        ordinal: schema.add_u64_field("ordinal", FAST),
        chunk_high: schema.add_u64_field("chunk_high", FAST),
        chunk_low: schema.add_u64_field("chunk_low", FAST),
    };
    (schema.build(), fields)
}

fn open_existing(directory: &Path, schema: &Schema) -> Option<(Index, Origin)> {
    let index = Index::open_in_dir(directory).ok()?;
    let payload = index.load_metas().ok()?.payload?;
    let origin = serde_json::from_str(&payload).ok()?;
    (index.schema() == *schema).then_some((index, origin))
}

fn create(directory: &Path, schema: Schema) -> Result<Index, TantivyError> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => std::fs::create_dir_all(directory)?,
    }
    Index::create_in_dir(directory, schema)
}

/// Directory of a revision's keyword index.
pub(super) fn directory(revision: &Path) -> PathBuf {
    revision.join("keywords")
}
