//! BM25 over the living chunks of a keyword index, with a share of their parents.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tantivy::columnar::{Column, ColumnValues};
use tantivy::index::SegmentId;
use tantivy::query::{
    Bm25StatisticsProvider, BooleanQuery, BoostQuery, EnableScoring, Occur, Query, TermQuery, Weight,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, Opstamp, Searcher, SegmentReader, TERMINATED, TantivyError, Term};

use super::{Fields, TextFields};
use crate::store::KeywordQuery;
use crate::store::embedded::catalog::DocumentKeys;
use crate::store::embedded::top::{Candidate, Top};
use crate::store::similar::Similar;

/// Low bits of a score that are rounded away. The engine adds the terms of a score in an order that depends on its
/// segments, so that equal texts may differ in the last bit, and ties would not be ties.
const ROUNDED_BITS: u32 = 5;

type ColumnU64 = Arc<dyn ColumnValues<u64>>;

/// A state of the index, ready to search. Scores count what lives only.
pub(in crate::store::embedded) struct KeywordView {
    searcher: Searcher,
    fields: Fields,
    segments: Vec<Segment>,
    chunks: Total,
    parents: Total,
    frequencies: Mutex<HashMap<Term, u64>>,
}

/// How many texts there are and how many words they have.
#[derive(Clone, Copy, Default)]
struct Total {
    texts: u64,
    words: u64,
}

impl Total {
    fn of(lengths: &Column<u64>, reader: &SegmentReader) -> Self {
        let living = reader.doc_ids_alive().filter_map(|entry| lengths.first(entry));
        living.fold(Self::default(), |total, length| total + Self { texts: 1, words: length })
    }
}

impl std::ops::Add for Total {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { texts: self.texts + other.texts, words: self.words + other.words }
    }
}

struct Segment {
    key: (SegmentId, Option<Opstamp>),
    document: ColumnU64,
    ordinal: ColumnU64,
    chunk_high: ColumnU64,
    chunk_low: ColumnU64,
    /// Living chunks.
    chunks: Total,
    /// Their parents.
    parents: Total,
    /// Average words of a chunk that the engine's block maxima were computed with: it counts every entry.
    indexed_average: f32,
}

impl Segment {
    fn open(reader: &SegmentReader, fields: Fields, previous: Option<&KeywordView>) -> Result<Self, TantivyError> {
        let column = |name| reader.fast_fields().column_first_or_default::<u64>(name);
        let key = (reader.segment_id(), reader.delete_opstamp());
        let known = previous.and_then(|view| view.segments.iter().find(|segment| segment.key == key));
        let (chunks, parents) = match known {
            Some(segment) => (segment.chunks, segment.parents),
            None => {
                let total = |name| Ok::<_, TantivyError>(Total::of(&reader.fast_fields().u64(name)?, reader));
                (total("chunk_length")?, total("parent_length")?)
            }
        };
        let indexed = reader.inverted_index(fields.chunk.words)?.total_num_tokens();
        Ok(Self {
            key,
            indexed_average: indexed as f32 / reader.max_doc().max(1) as f32,
            document: column("document")?,
            ordinal: column("ordinal")?,
            chunk_high: column("chunk_high")?,
            chunk_low: column("chunk_low")?,
            chunks,
            parents,
        })
    }

    /// Document and ordinal of an entry's parent.
    fn parent(&self, entry: DocId) -> (u32, u32) {
        (self.document.get_val(entry) as u32, self.ordinal.get_val(entry) as u32)
    }

    /// How far a block's stored maximum may lie below its true one: scores use the average of the whole index's chunks. A
    /// length norm changes by at most the ratio of the averages, and so does the quotient tf / (tf + norm).
    fn slack(&self, average: f32) -> f32 {
        let ratio = average / self.indexed_average;
        let slack = if ratio.is_finite() && ratio > 0.0 { ratio.max(1.0 / ratio) } else { f32::INFINITY };
        slack * (1.0 + 1e-4)
    }

    fn candidate(&self, entry: DocId, (document, parent): (u32, u32), score: f32) -> Candidate {
        let (high, low) = (self.chunk_high.get_val(entry), self.chunk_low.get_val(entry));
        Candidate { score, chunk: (u128::from(high) << 64) | u128::from(low), document, parent }
    }
}

/// The weights of one query for both kinds of text.
struct Weights {
    chunks: Box<dyn Weight>,
    parents: Box<dyn Weight>,
}

impl KeywordView {
    pub(super) fn new(
        searcher: Searcher,
        fields: Fields,
        previous: Option<&KeywordView>,
    ) -> Result<Self, TantivyError> {
        let segments = searcher
            .segment_readers()
            .iter()
            .map(|reader| Segment::open(reader, fields, previous))
            .collect::<Result<Vec<_>, _>>()?;
        let chunks = segments.iter().fold(Total::default(), |total, segment| total + segment.chunks);
        let parents = segments.iter().fold(Total::default(), |total, segment| total + segment.parents);
        Ok(Self { searcher, fields, segments, chunks, parents, frequencies: Mutex::default() })
    }

    /// Living chunks.
    pub(in crate::store::embedded) fn chunks(&self) -> u64 {
        self.chunks.texts
    }

    /// The best chunks of the allowed documents (`None` is all), best first.
    pub(in crate::store::embedded) fn search(
        &self,
        query: &KeywordQuery,
        allowed: Option<&DocumentKeys>,
        limit: usize,
    ) -> Result<Vec<Candidate>, TantivyError> {
        if limit == 0 || self.chunks.texts == 0 || (query.words.is_empty() && query.identifiers.is_empty()) {
            return Ok(Vec::new());
        }
        let weights = Weights {
            chunks: self.weight(query, self.fields.chunk, self.chunks)?,
            parents: self.weight(query, self.fields.parent, self.parents)?,
        };
        let mut top = Top::new(limit);
        let average = self.chunks.words as f32 / self.chunks.texts as f32;
        for (reader, segment) in self.searcher.segment_readers().iter().zip(&self.segments) {
            // The engine keeps no block maxima for a field without norms, and would skip blocks that it must not.
            let slack = if query.identifiers.is_empty() { segment.slack(average) } else { f32::INFINITY };
            collect(&weights, reader, segment, allowed, slack, &mut top)?;
        }
        Ok(top.into_sorted())
    }

    fn weight(&self, query: &KeywordQuery, fields: TextFields, total: Total) -> Result<Box<dyn Weight>, TantivyError> {
        let clause = |field: Field, (term, count): &(String, u32)| {
            let term = TermQuery::new(Term::from_field_text(field, term), IndexRecordOption::WithFreqs);
            let query: Box<dyn Query> = match count {
                0 | 1 => Box::new(term),
                count => Box::new(BoostQuery::new(Box::new(term), *count as f32)),
            };
            (Occur::Should, query)
        };
        let words = query.words.iter().map(|word| clause(fields.words, word));
        let identifiers = query.identifiers.iter().map(|word| clause(fields.identifiers, word));
        let clauses: Vec<_> = words.chain(identifiers).collect();
        let statistics = Statistics { view: self, fields, total };
        BooleanQuery::new(clauses).weight(EnableScoring::enabled_from_statistics_provider(&statistics, &self.searcher))
    }

    /// How many living chunks have each term, words first.
    pub(in crate::store::embedded) fn frequencies(&self, query: &KeywordQuery) -> Result<Vec<u64>, TantivyError> {
        let fields = self.fields.chunk;
        let words = query.words.iter().map(|(term, _)| Term::from_field_text(fields.words, term));
        let identifiers = query.identifiers.iter().map(|(term, _)| Term::from_field_text(fields.identifiers, term));
        words.chain(identifiers).map(|term| self.frequency(&term)).collect()
    }

    /// The indexed terms closest to `term`.
    pub(in crate::store::embedded) fn similar_terms(
        &self,
        term: &str,
        limit: usize,
    ) -> Result<Vec<String>, TantivyError> {
        let mut similar = Similar::to(term);
        self.for_each_term(|indexed, frequency| similar.offer(indexed, frequency.into()))?;
        Ok(similar.nearest(limit))
    }

    /// Calls `visit` with each indexed term and the number of chunks that have it in one segment, dead ones included.
    fn for_each_term(&self, mut visit: impl FnMut(&str, u32)) -> Result<(), TantivyError> {
        for reader in self.searcher.segment_readers() {
            for field in [self.fields.chunk.words, self.fields.chunk.identifiers] {
                let index = reader.inverted_index(field)?;
                let mut terms = index.terms().stream()?;
                while terms.advance() {
                    if let Ok(term) = std::str::from_utf8(terms.key()) {
                        visit(term, terms.value().doc_freq);
                    }
                }
            }
        }
        Ok(())
    }

    /// How many living entries have a term.
    fn frequency(&self, term: &Term) -> Result<u64, TantivyError> {
        let readers = self.searcher.segment_readers();
        let count = || readers.iter().try_fold(0, |sum, reader| Ok(sum + frequency(reader, term)?));
        if !readers.iter().any(SegmentReader::has_deletes) {
            return count();
        }
        let lock = || self.frequencies.lock().expect("no thread panics while it holds the lock");
        if let Some(&known) = lock().get(term) {
            return Ok(known);
        }
        let frequency = count()?;
        lock().insert(term.clone(), frequency);
        Ok(frequency)
    }
}

/// Offers the chunks of a segment to `top`. Both kinds are visited in the order of the segment, where a parent lies
/// before its chunks. Blocks of chunks are skipped that stay below the threshold even with the best parent's share.
fn collect(
    weights: &Weights,
    reader: &SegmentReader,
    segment: &Segment,
    allowed: Option<&DocumentKeys>,
    slack: f32,
    top: &mut Top,
) -> Result<(), TantivyError> {
    let mut parents: Vec<(DocId, f32)> = Vec::new();
    weights.parents.for_each(reader, &mut |entry, score| parents.push((entry, score)))?;
    let most = parents.iter().fold(0.0, |most: f32, (_, score)| most.max(*score));
    let mut parents = parents.into_iter().peekable();
    let mut above = None;
    let alive = reader.alive_bitset();
    let mut visit = |entry: DocId, score: f32| {
        while let Some((parent, score)) = parents.next_if(|(parent, _)| *parent < entry) {
            above = Some((parent, score));
        }
        // Most chunks fall here, before anything is looked up.
        if score + above.map_or(0.0, |(_, score)| score) < top.threshold() * (1.0 - 1e-4) {
            return top.threshold();
        }
        let parent = segment.parent(entry);
        let inherited = above.filter(|(above, _)| segment.parent(*above) == parent).map_or(0.0, |(_, score)| score);
        let score = rounded(score + inherited);
        let lives = || alive.is_none_or(|alive| alive.is_alive(entry));
        if score >= top.threshold() && lives() && allowed.is_none_or(|keys| keys.contains(parent.0)) {
            top.push(segment.candidate(entry, parent, score));
        }
        top.threshold()
    };
    if slack.is_finite() {
        let lowest = |threshold: f32| (threshold - most).max(0.0) / slack;
        weights.chunks.for_each_pruning(f32::MIN, reader, &mut |entry, score| lowest(visit(entry, score)))
    } else {
        weights.chunks.for_each(reader, &mut |entry, score| {
            visit(entry, score);
        })
    }
}

fn frequency(reader: &SegmentReader, term: &Term) -> Result<u64, TantivyError> {
    let index = reader.inverted_index(term.field())?;
    let Some(alive) = reader.alive_bitset() else { return Ok(index.doc_freq(term)?.into()) };
    let Some(mut postings) = index.read_postings(term, IndexRecordOption::Basic)? else { return Ok(0) };
    let mut count = 0;
    while postings.doc() != TERMINATED {
        count += u64::from(alive.is_alive(postings.doc()));
        postings.advance();
    }
    Ok(count)
}

/// Statistics of chunks or of parents.
struct Statistics<'a> {
    view: &'a KeywordView,
    fields: TextFields,
    total: Total,
}

impl Bm25StatisticsProvider for Statistics<'_> {
    /// Identifiers have no lengths: an average of 1 beside the engine's constant length of 1 makes their norm k1.
    fn total_num_tokens(&self, field: Field) -> Result<u64, TantivyError> {
        Ok(if field == self.fields.words { self.total.words } else { self.total.texts })
    }

    fn total_num_docs(&self) -> Result<u64, TantivyError> {
        Ok(self.total.texts)
    }

    fn doc_freq(&self, term: &Term) -> Result<u64, TantivyError> {
        self.view.frequency(term)
    }
}

fn rounded(score: f32) -> f32 {
    let half = 1 << (ROUNDED_BITS - 1);
    f32::from_bits((score.to_bits() + half) & !((1 << ROUNDED_BITS) - 1))
}
