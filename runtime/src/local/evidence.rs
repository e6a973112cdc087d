//! Retrieval for one question: every knowledge base is searched and fused by itself, then their hits are merged by
//! fused score (scores of two bases are comparable because each base's arms are scaled per query), ties in the order
//! in which the pipeline names the bases.

use async_trait::async_trait;
use groundwork_agent::passage::{
    ArmScore, Evidence, Passage, QueryTerm, QueryTermKind, RetrieveError, Retriever, TextForm,
};
use groundwork_config::Retrieval;
use groundwork_knowledge::analyse::Analyser;
use groundwork_knowledge::document::{Format, Locator};
use groundwork_knowledge::embed::Probed;
use groundwork_knowledge::search::{
    ArmHit, Hit, SearchRequest, SearchResult, Searcher, SelectedPassage, select_passages,
};
use groundwork_knowledge::store::{Filter, KeywordQuery, Principal, Reader};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::base::Base;
use super::service::ServiceError;
use super::terms::{QuestionTerm, question_terms};
use super::tools::Tools;
use super::view;
use crate::wire::ArmReport;

/// Chunks looked at to count how many have a phrase verbatim.
const PHRASE_CHUNKS: usize = 400;
/// Between the header cells of a chunk's context.
const HEADER_SEPARATOR: &str = " | ";
/// Nearest spellings named.
const SPELLINGS: usize = 3;
/// Chunks looked at for how documents write one of them.
const SPELLING_CHUNKS: usize = 3;
/// Documents counted where a filter holds.
const COUNTED_DOCUMENTS: usize = 100_000;

/// The knowledge bases as one request sees them.
pub(super) struct Corpus {
    members: Vec<Member>,
    retrieval: Retrieval,
    filter: Filter,
    /// What the arms did for evidence: the agent has no use for it, the server counts it.
    arms: Mutex<Vec<ArmReport>>,
}

struct Member {
    name: String,
    reader: Arc<dyn Reader>,
    searcher: Searcher,
    analyser: Analyser,
}

/// Hits of all knowledge bases.
pub(super) struct Found {
    /// Best first, each with the index of its knowledge base.
    pub(super) hits: Vec<(usize, Hit)>,
    /// What each knowledge base's search did.
    pub(super) results: Vec<SearchResult>,
}

impl Corpus {
    /// Opens every knowledge base's active revision for a principal.
    pub(super) async fn open(
        bases: &[Base],
        tools: &Tools,
        principal: &Principal,
        retrieval: Retrieval,
        filter: Filter,
    ) -> Result<Self, ServiceError> {
        let mut members = Vec::with_capacity(bases.len());
        for base in bases {
            let reader = base.reader(principal).await?;
            let contract = reader.contract();
            let analyser = tools.analyser(&contract.keyword);
            let embedder = match (tools.embedder(&contract.embedding)?, reader.probes().await?) {
                (Some(embedder), Some(recorded)) => Some(Arc::new(Probed::new(embedder, recorded)) as _),
                (embedder, _) => embedder,
            };
            let searcher = Searcher { reader: Arc::clone(&reader), analyser: analyser.clone(), embedder };
            members.push(Member { name: base.config().name.clone(), reader, searcher, analyser });
        }
        Ok(Self { members, retrieval, filter, arms: Mutex::default() })
    }

    /// Name of a knowledge base.
    pub(super) fn name(&self, member: usize) -> &str {
        &self.members[member].name
    }

    /// Identity of each revision.
    pub(super) fn revisions(&self) -> Vec<String> {
        self.members.iter().map(|member| member.reader.revision()).collect()
    }

    /// Searches every knowledge base and merges their hits.
    pub(super) async fn search(&self, query: &str) -> Result<Found, ServiceError> {
        let request = SearchRequest { filter: self.filter.clone(), ..SearchRequest::new(query, &self.retrieval) };
        let searches = self.members.iter().map(|member| member.searcher.search(&request));
        let mut results = futures::future::try_join_all(searches).await?;
        let mut hits: Vec<(usize, Hit)> = Vec::new();
        for (index, result) in results.iter_mut().enumerate() {
            hits.extend(std::mem::take(&mut result.hits).into_iter().map(|hit| (index, hit)));
        }
        // Stable: ties stay in the order of the pipeline.
        hits.sort_by(|(_, a), (_, b)| b.score.total_cmp(&a.score));
        hits.truncate(self.retrieval.top_k as usize);
        Ok(Found { hits, results })
    }

    /// Documents that the filter lets through.
    pub(super) async fn documents_searched(&self) -> Result<u64, ServiceError> {
        let mut total = 0;
        for member in &self.members {
            total += if self.filter == Filter::default() {
                member.reader.counts().await?.documents
            } else {
                member.reader.documents(&self.filter, None, COUNTED_DOCUMENTS).await?.len() as u64
            };
        }
        Ok(total)
    }

    /// Notes of all searches, each once; with several knowledge bases, named.
    pub(super) fn notes(&self, results: &[SearchResult]) -> Vec<String> {
        let mut notes = Vec::new();
        for (member, result) in self.members.iter().zip(results) {
            let named = |note: &String| match self.members.len() {
                1 => note.clone(),
                _ => format!("{}: {note}", member.name),
            };
            notes.extend(result.notes.iter().map(named));
        }
        notes.dedup();
        notes
    }

    /// What each arm of each knowledge base did.
    pub(super) fn arm_reports(&self, results: &[SearchResult]) -> Vec<ArmReport> {
        let members = self.members.iter().zip(results);
        members.flat_map(|(member, result)| result.arms.iter().map(|arm| view::arm_report(&member.name, arm))).collect()
    }

    /// What the arms did for evidence since this was last asked.
    pub(super) fn take_arms(&self) -> Vec<ArmReport> {
        std::mem::take(&mut self.arms.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn evidence(&self, question: &str) -> Result<Evidence, ServiceError> {
        let found = self.search(question).await?;
        self.arms.lock().unwrap_or_else(PoisonError::into_inner).extend(self.arm_reports(&found.results));
        let notes = self.notes(&found.results);
        let hits: Vec<Hit> = found.hits.into_iter().map(|(_, hit)| hit).collect();
        let selected = select_passages(&hits, self.retrieval.token_budget);
        let mut chunks_searched = 0;
        for member in &self.members {
            chunks_searched += member.reader.counts().await?.chunks;
        }
        Ok(Evidence {
            passages: selected.into_iter().map(passage).collect(),
            terms: self.terms(question).await?,
            documents_searched: self.documents_searched().await?,
            chunks_searched,
            notes,
            revisions: self.revisions(),
        })
    }

    async fn terms(&self, question: &str) -> Result<Vec<QueryTerm>, ServiceError> {
        let Some(first) = self.members.first() else { return Ok(Vec::new()) };
        let mut terms = Vec::new();
        for term in question_terms(question, &first.analyser.analyse(question)) {
            let frequency = match term.kind {
                QueryTermKind::Phrase => self.phrase_frequency(&term).await?,
                _ => self.frequencies(&term.lookups).await?.into_iter().min().unwrap_or(0),
            };
            // Only what is missing for certain is said to be, with its nearest spelling.
            let absent = frequency == 0 && matches!(term.kind, QueryTermKind::Identifier | QueryTermKind::Number);
            let similar = if absent { self.similar(&term.term).await? } else { Vec::new() };
            let QuestionTerm { term, surface, kind, .. } = term;
            terms.push(QueryTerm { term, surface, chunk_frequency: frequency, kind, similar });
        }
        Ok(terms)
    }

    /// Chunks that have each folded term, as a word or as a joined identifier.
    async fn frequencies(&self, terms: &[String]) -> Result<Vec<u64>, ServiceError> {
        let counted: Vec<(String, u32)> = terms.iter().map(|term| (term.clone(), 1)).collect();
        let query = KeywordQuery { words: counted.clone(), identifiers: counted };
        let mut totals = vec![0; terms.len()];
        for member in &self.members {
            let frequencies = member.reader.term_statistics(&query).await?.frequencies;
            let (words, identifiers) = frequencies.split_at(terms.len().min(frequencies.len()));
            for (total, (word, identifier)) in totals.iter_mut().zip(words.iter().zip(identifiers)) {
                *total += word.max(identifier);
            }
        }
        Ok(totals)
    }

    /// Passages among the best for the phrase's words that have it verbatim, up to white space and case.
    async fn phrase_frequency(&self, term: &QuestionTerm) -> Result<u64, ServiceError> {
        let needle = folded(&term.term);
        let words = term.lookups.iter().map(|word| (word.clone(), 1)).collect();
        let query = KeywordQuery { words, identifiers: Vec::new() };
        let mut count = 0;
        for member in &self.members {
            let hits = member.reader.search_keywords(&query, &Filter::default(), PHRASE_CHUNKS).await?;
            let keys: BTreeSet<_> = hits.iter().map(|hit| hit.parent).collect();
            let parents = member.reader.parents(&keys.into_iter().collect::<Vec<_>>()).await?;
            count += parents.iter().filter(|parent| folded(&parent.text).contains(&needle)).count() as u64;
        }
        Ok(count)
    }

    /// Nearest spellings, as documents write them.
    async fn similar(&self, term: &str) -> Result<Vec<String>, ServiceError> {
        let mut spellings: Vec<String> = Vec::new();
        for member in &self.members {
            for similar in member.reader.similar_terms(term, SPELLINGS - spellings.len()).await? {
                let spelling = member.as_written(&similar).await?;
                if !spellings.contains(&spelling) {
                    spellings.push(spelling);
                }
            }
        }
        Ok(spellings)
    }
}

impl Member {
    /// An indexed term as a passage writes it; folded as it is where no passage that may be read has it.
    async fn as_written(&self, term: &str) -> Result<String, ServiceError> {
        let counted = vec![(term.to_owned(), 1)];
        let query = KeywordQuery { words: counted.clone(), identifiers: counted };
        let hits = self.reader.search_keywords(&query, &Filter::default(), SPELLING_CHUNKS).await?;
        let keys: BTreeSet<_> = hits.iter().map(|hit| hit.parent).collect();
        let parents = self.reader.parents(&keys.into_iter().collect::<Vec<_>>()).await?;
        let written = parents.iter().find_map(|parent| {
            let tokens = self.analyser.analyse(&parent.text);
            let token = tokens.into_iter().find(|token| token.term == term)?;
            Some(parent.text[token.span].split_whitespace().collect::<Vec<_>>().join(" "))
        });
        Ok(written.unwrap_or_else(|| term.to_owned()))
    }
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

fn passage(selected: SelectedPassage) -> Passage {
    let first = || selected.chunks.first().map(|chunk| chunk.id);
    let best = selected.matches.first().map(|(id, _)| *id).or_else(first);
    Passage {
        chunk_id: best.map(|id| id.to_string()).unwrap_or_default(),
        document_id: selected.document.id.to_string(),
        document: view::document_name(&selected.document),
        title: selected.document.title.clone(),
        locator: view::locator(&selected.locator),
        matches: selected.matches.iter().map(|(_, range)| range.clone()).collect(),
        chunks: selected.chunks.iter().map(|chunk| (chunk.id.to_string(), chunk.range.clone())).collect(),
        table_header: table_header(&selected),
        form: text_form(selected.document.format),
        score: selected.score,
        arms: selected.arms.iter().map(arm_score).collect(),
        heading_path: selected.heading_path,
        text: selected.text,
    }
}

fn text_form(format: Format) -> TextForm {
    match format {
        Format::Text | Format::Csv => TextForm::Plain,
        Format::Code => TextForm::Code,
        Format::JsonLines => TextForm::Records,
        Format::Markdown | Format::Html | Format::Pdf | Format::Docx | Format::Xlsx => TextForm::Markdown,
    }
}

fn arm_score(hit: &ArmHit) -> ArmScore {
    ArmScore { arm: view::arm_name(hit.arm).to_owned(), rank: hit.rank, score: hit.score }
}

/// The header cells of a table's rows: the last line of the context that rows were indexed with, or, where the header
/// stands in the text itself, the first line of a file of separated values.
fn table_header(selected: &SelectedPassage) -> Option<Vec<String>> {
    let Locator::Rows { first, .. } = selected.locator else { return None };
    let indexed = selected.chunks.iter().filter_map(|chunk| chunk.context.lines().next_back());
    if let Some(header) = indexed.into_iter().find(|line| line.contains(HEADER_SEPARATOR)) {
        return Some(header.split(HEADER_SEPARATOR).map(str::to_owned).collect());
    }
    let line = selected.text.lines().next().filter(|_| first == 1 && selected.document.format == Format::Csv)?;
    let separator = [',', ';', '\t'].into_iter().max_by_key(|separator| line.matches(*separator).count())?;
    Some(line.split(separator).map(|cell| cell.trim().trim_matches('"').to_owned()).collect())
}

#[async_trait]
impl Retriever for Corpus {
    async fn retrieve(&self, question: &str) -> Result<Evidence, RetrieveError> {
        self.evidence(question).await.map_err(|error| RetrieveError(Box::new(error)))
    }

    fn analyse(&self, text: &str) -> Vec<(String, Range<usize>)> {
        let Some(first) = self.members.first() else { return Vec::new() };
        first.analyser.analyse(text).into_iter().map(|token| (token.term, token.span)).collect()
    }

    async fn chunk_frequencies(&self, terms: &[String]) -> Result<Vec<u64>, RetrieveError> {
        self.frequencies(terms).await.map_err(|error| RetrieveError(Box::new(error)))
    }
}
