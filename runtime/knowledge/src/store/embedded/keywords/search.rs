//! BM25 over the living chunks of a keyword index.

use roaring::RoaringBitmap;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tantivy::columnar::ColumnValues;
use tantivy::index::SegmentId;
use tantivy::query::{
    Bm25StatisticsProvider, BooleanQuery, BoostQuery, EnableScoring, Occur, Query, TermQuery, Weight,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, Opstamp, Searcher, SegmentReader, TERMINATED, TantivyError, Term};

use super::Fields;
use crate::store::KeywordQuery;
use crate::store::embedded::top::{Candidate, Top};

/// Low bits of a score that are rounded away. The engine adds the terms of a score in an order that depends on its
/// segments, so that equal texts may differ in the last bit, and ties would not be ties.
const ROUNDED_BITS: u32 = 5;

type ColumnU64 = Arc<dyn ColumnValues<u64>>;

/// A state of the index, ready to search. Scores count living chunks only.
pub(in crate::store::embedded) struct KeywordView {
    searcher: Searcher,
    fields: Fields,
    segments: Vec<Segment>,
    chunks: u64,
    tokens: u64,
    frequencies: Mutex<HashMap<Term, u64>>,
}

struct Segment {
    key: (SegmentId, Option<Opstamp>),
    document: ColumnU64,
    parent: ColumnU64,
    chunk_high: ColumnU64,
    chunk_low: ColumnU64,
    /// Words of the living chunks.
    tokens: u64,
    /// Average length that the engine's block maxima were computed with.
    indexed_average: f32,
}

impl Segment {
    fn open(reader: &SegmentReader, fields: Fields, previous: Option<&KeywordView>) -> Result<Self, TantivyError> {
        let column = |name| reader.fast_fields().column_first_or_default::<u64>(name);
        let key = (reader.segment_id(), reader.delete_opstamp());
        let known = previous.and_then(|view| view.segments.iter().find(|segment| segment.key == key));
        let tokens = match known {
            Some(segment) => segment.tokens,
            None => {
                let length = column("length")?;
                reader.doc_ids_alive().map(|document| length.get_val(document)).sum()
            }
        };
        let indexed = reader.inverted_index(fields.body)?.total_num_tokens();
        Ok(Self {
            key,
            document: column("document")?,
            parent: column("parent")?,
            chunk_high: column("chunk_high")?,
            chunk_low: column("chunk_low")?,
            tokens,
            indexed_average: indexed as f32 / reader.max_doc().max(1) as f32,
        })
    }

    fn candidate(&self, document: DocId, key: u32, score: f32) -> Candidate {
        let (high, low) = (self.chunk_high.get_val(document), self.chunk_low.get_val(document));
        Candidate {
            score,
            chunk: (u128::from(high) << 64) | u128::from(low),
            document: key,
            parent: self.parent.get_val(document) as u32,
        }
    }

    /// How far a block's stored maximum may lie below its true one: the engine chose it with the segment's average
    /// length, scores use the whole index's. A length norm changes by at most the ratio of the averages, and so does
    /// the quotient tf / (tf + norm).
    fn slack(&self, average: f32) -> f32 {
        let ratio = average / self.indexed_average;
        if ratio.is_finite() && ratio > 0.0 { ratio.max(1.0 / ratio) } else { f32::INFINITY }
    }
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
        let tokens = segments.iter().map(|segment| segment.tokens).sum();
        Ok(Self { chunks: searcher.num_docs(), searcher, fields, segments, tokens, frequencies: Mutex::default() })
    }

    /// Living chunks.
    pub(in crate::store::embedded) fn chunks(&self) -> u64 {
        self.chunks
    }

    /// The best chunks of the allowed documents (`None` is all), best first.
    pub(in crate::store::embedded) fn search(
        &self,
        query: &KeywordQuery,
        allowed: Option<&RoaringBitmap>,
        limit: usize,
    ) -> Result<Vec<Candidate>, TantivyError> {
        let Some(weight) = self.weight(query)? else { return Ok(Vec::new()) };
        let mut top = Top::new(limit);
        if limit == 0 || self.chunks == 0 {
            return Ok(Vec::new());
        }
        // The engine keeps no block maxima for a field without norms, and would skip blocks that it must not.
        let prune = query.identifiers.is_empty();
        let average = self.tokens as f32 / self.chunks as f32;
        for (reader, segment) in self.searcher.segment_readers().iter().zip(&self.segments) {
            let slack = if prune { segment.slack(average) * (1.0 + 1e-4) } else { f32::INFINITY };
            self.collect(weight.as_ref(), reader, segment, allowed, slack, &mut top)?;
        }
        Ok(top.into_sorted())
    }

    fn collect(
        &self,
        weight: &dyn Weight,
        reader: &SegmentReader,
        segment: &Segment,
        allowed: Option<&RoaringBitmap>,
        slack: f32,
        top: &mut Top,
    ) -> Result<(), TantivyError> {
        let alive = reader.alive_bitset();
        let mut visit = |document: DocId, score: f32| {
            let score = rounded(score);
            if score >= top.threshold() && alive.is_none_or(|alive| alive.is_alive(document)) {
                let key = segment.document.get_val(document) as u32;
                if allowed.is_none_or(|keys| keys.contains(key)) {
                    top.push(segment.candidate(document, key, score));
                }
            }
            top.threshold()
        };
        if slack.is_finite() {
            weight.for_each_pruning(f32::MIN, reader, &mut |document, score| visit(document, score).max(0.0) / slack)
        } else {
            weight.for_each(reader, &mut |document, score| {
                visit(document, score);
            })
        }
    }

    fn weight(&self, query: &KeywordQuery) -> Result<Option<Box<dyn Weight>>, TantivyError> {
        let clause = |field: Field, (term, count): &(String, u32)| {
            let term = TermQuery::new(Term::from_field_text(field, term), IndexRecordOption::WithFreqs);
            let query: Box<dyn Query> = match count {
                0 | 1 => Box::new(term),
                count => Box::new(BoostQuery::new(Box::new(term), *count as f32)),
            };
            (Occur::Should, query)
        };
        let words = query.words.iter().map(|word| clause(self.fields.body, word));
        let identifiers = query.identifiers.iter().map(|word| clause(self.fields.identifiers, word));
        let clauses: Vec<_> = words.chain(identifiers).collect();
        if clauses.is_empty() || self.chunks == 0 {
            return Ok(None);
        }
        let scoring = EnableScoring::enabled_from_statistics_provider(self, &self.searcher);
        BooleanQuery::new(clauses).weight(scoring).map(Some)
    }

    /// How many living chunks have each term, words first.
    pub(in crate::store::embedded) fn frequencies(&self, query: &KeywordQuery) -> Result<Vec<u64>, TantivyError> {
        let words = query.words.iter().map(|(term, _)| Term::from_field_text(self.fields.body, term));
        let identifiers =
            query.identifiers.iter().map(|(term, _)| Term::from_field_text(self.fields.identifiers, term));
        words.chain(identifiers).map(|term| self.doc_freq(&term)).collect()
    }

    /// The indexed terms at most `distance` edits from `term`, nearest first, then most frequent, then by spelling.
    pub(in crate::store::embedded) fn similar_terms(
        &self,
        term: &str,
        distance: usize,
        limit: usize,
    ) -> Result<Vec<String>, TantivyError> {
        let length = term.chars().count();
        let mut found: HashMap<String, (usize, u64)> = HashMap::new();
        self.for_each_term(|indexed, frequency| {
            if indexed.chars().count().abs_diff(length) > distance || indexed == term {
                return;
            }
            let edits = strsim::levenshtein(indexed, term);
            if edits <= distance && edits < length {
                found.entry(indexed.to_owned()).or_insert((edits, 0)).1 += u64::from(frequency);
            }
        })?;
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by(|(a, (near, often)), (b, (other_near, other_often))| {
            near.cmp(other_near).then(other_often.cmp(often)).then_with(|| a.cmp(b))
        });
        Ok(found.into_iter().take(limit).map(|(term, _)| term).collect())
    }

    /// Calls `visit` with each indexed term and the number of chunks that have it in one segment, dead ones included.
    fn for_each_term(&self, mut visit: impl FnMut(&str, u32)) -> Result<(), TantivyError> {
        for reader in self.searcher.segment_readers() {
            for field in [self.fields.body, self.fields.identifiers] {
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

    fn living_frequency(&self, term: &Term) -> Result<u64, TantivyError> {
        self.searcher.segment_readers().iter().try_fold(0, |sum, reader| Ok(sum + frequency(reader, term)?))
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

impl Bm25StatisticsProvider for KeywordView {
    /// Identifiers have no lengths: an average of 1 beside the engine's constant length of 1 makes their norm k1.
    fn total_num_tokens(&self, field: Field) -> Result<u64, TantivyError> {
        Ok(if field == self.fields.body { self.tokens } else { self.chunks })
    }

    fn total_num_docs(&self) -> Result<u64, TantivyError> {
        Ok(self.chunks)
    }

    fn doc_freq(&self, term: &Term) -> Result<u64, TantivyError> {
        if !self.searcher.segment_readers().iter().any(SegmentReader::has_deletes) {
            return self.living_frequency(term);
        }
        let lock = || self.frequencies.lock().expect("no thread panics while it holds the lock");
        if let Some(&known) = lock().get(term) {
            return Ok(known);
        }
        let frequency = self.living_frequency(term)?;
        lock().insert(term.clone(), frequency);
        Ok(frequency)
    }
}

fn rounded(score: f32) -> f32 {
    let half = 1 << (ROUNDED_BITS - 1);
    f32::from_bits((score.to_bits() + half) & !((1 << ROUNDED_BITS) - 1))
}
