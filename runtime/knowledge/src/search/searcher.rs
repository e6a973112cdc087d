//! The search: arms side by side, fusion, parents of the best.

use groundwork_config::RetrievalMode;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use super::arm::{self, ArmList};
use super::fusion::{Fused, best_first, fuse};
use super::{Arm, ArmReport, Hit, SearchError, SearchRequest, SearchResult};
use crate::analyse::Analyser;
use crate::embed::{EmbedError, EmbedKind, Embedder};
use crate::store::language::understands;
use crate::store::{Counts, ParentText, Reader};

/// Searches one revision for one principal. Cheap to make.
#[derive(Clone)]
pub struct Searcher {
    /// Where to look.
    pub reader: Arc<dyn Reader>,
    /// The analyser of the revision's contract.
    pub analyser: Analyser,
    /// The embedder of the revision's vectors, if it has any.
    pub embedder: Option<Arc<dyn Embedder>>,
}

/// How the dense arm gets its query.
enum QueryVector<'a> {
    /// Embedded here from the question.
    Embed(&'a dyn Embedder),
    Given(&'a [f32]),
    /// No dense arm.
    Absent,
}

/// What the dense arm brought: nothing where the embedder could not be reached.
type Dense = Result<Option<ArmList>, SearchError>;

impl Searcher {
    /// Finds the best parents for a question.
    ///
    /// A question outside the embedder's languages, or an embedder that fails beside the keyword arm, leaves the dense
    /// arm out and says so in the notes.
    ///
    /// # Errors
    /// The store fails, or vectors alone were asked for and cannot be had.
    pub async fn search(&self, request: &SearchRequest) -> Result<SearchResult, SearchError> {
        let mut notes = Vec::new();
        let vector = self.query_vector(request, &mut notes)?;
        self.run(request, vector, notes).await
    }

    /// The same with a query vector made elsewhere, of length 1. Mode and weights are honoured.
    ///
    /// # Errors
    /// The store fails, or the vector has not the dimensions of the stored ones.
    pub async fn search_with_vector(
        &self,
        request: &SearchRequest,
        vector: &[f32],
    ) -> Result<SearchResult, SearchError> {
        let vector = match request.mode {
            RetrievalMode::Keyword => QueryVector::Absent,
            RetrievalMode::Vector | RetrievalMode::Hybrid => QueryVector::Given(vector),
        };
        self.run(request, vector, Vec::new()).await
    }

    fn query_vector(&self, request: &SearchRequest, notes: &mut Vec<String>) -> Result<QueryVector<'_>, SearchError> {
        if request.mode == RetrievalMode::Keyword {
            return Ok(QueryVector::Absent);
        }
        let Some(embedder) = self.embedder.as_deref() else {
            let only = request.mode == RetrievalMode::Vector;
            return if only { Err(SearchError::NoEmbedder) } else { Ok(QueryVector::Absent) };
        };
        let profile = embedder.profile();
        if understands(profile, &request.query) {
            return Ok(QueryVector::Embed(embedder));
        }
        let languages = profile.languages.as_deref().unwrap_or_default().join(", ");
        notes.push(format!(
            "The question is not in a language of the encoder ({languages}): searched by keywords only."
        ));
        Ok(QueryVector::Absent)
    }

    async fn run(
        &self,
        request: &SearchRequest,
        vector: QueryVector<'_>,
        mut notes: Vec<String>,
    ) -> Result<SearchResult, SearchError> {
        let dense = !matches!(vector, QueryVector::Absent);
        let mut lists = if dense && request.mode == RetrievalMode::Hybrid && self.reader.asks_both_at_once() {
            self.both_arms(request, vector, &mut notes).await?
        } else {
            let (keywords, vectors) =
                futures::join!(self.keyword_arm(request), self.vector_arm(request, vector, &mut notes));
            keywords?.into_iter().chain(vectors?).collect()
        };
        if dense && let Some(note) = incomplete(self.reader.counts().await?) {
            notes.push(note);
        }
        self.weigh(request, &mut lists);
        let fused = fuse(&lists, request.fusion);
        let hits = self.hits(fused, request.top_k).await?;
        let report = |list: &ArmList| ArmReport {
            arm: list.arm,
            parents: list.parents.len(),
            weight: list.weight,
            elapsed: list.elapsed,
        };
        Ok(SearchResult { hits, arms: lists.iter().map(report).collect(), notes })
    }

    async fn keyword_arm(&self, request: &SearchRequest) -> Result<Option<ArmList>, SearchError> {
        if request.mode == RetrievalMode::Vector {
            return Ok(None);
        }
        let query = self.analyser.query(&request.query);
        let search = |limit| self.reader.search_keywords(&query, &request.filter, limit);
        Ok(Some(arm::fetch(Arm::Keyword, request.candidates, search).await?))
    }

    async fn vector_arm(&self, request: &SearchRequest, vector: QueryVector<'_>, notes: &mut Vec<String>) -> Dense {
        let Some(vector) = self.embedded(request, vector, notes).await? else { return Ok(None) };
        let search = |limit| self.reader.search_vectors(&vector, &request.filter, limit);
        Ok(Some(arm::fetch(Arm::Vector, request.candidates, search).await?))
    }

    /// Both arms, first asked for together.
    async fn both_arms(
        &self,
        request: &SearchRequest,
        vector: QueryVector<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Vec<ArmList>, SearchError> {
        let Some(vector) = self.embedded(request, vector, notes).await? else {
            return Ok(self.keyword_arm(request).await?.into_iter().collect());
        };
        let (query, filter, candidates) = (self.analyser.query(&request.query), &request.filter, request.candidates);
        let start = Instant::now();
        let (keywords, vectors) =
            self.reader.search_both(&query, &vector, filter, arm::first_limit(candidates)).await?;
        let more_keywords = |limit| self.reader.search_keywords(&query, filter, limit);
        let more_vectors = |limit| self.reader.search_vectors(&vector, filter, limit);
        let (keywords, vectors) = futures::try_join!(
            arm::fetch_more((Arm::Keyword, start), candidates, keywords, more_keywords),
            arm::fetch_more((Arm::Vector, start), candidates, vectors, more_vectors),
        )?;
        Ok(vec![keywords, vectors])
    }

    /// The question's vector; none where the embedder failed and keywords are enough.
    async fn embedded<'a>(
        &self,
        request: &SearchRequest,
        vector: QueryVector<'a>,
        notes: &mut Vec<String>,
    ) -> Result<Option<Cow<'a, [f32]>>, SearchError> {
        let embedder = match vector {
            QueryVector::Absent => return Ok(None),
            QueryVector::Given(vector) => return Ok(Some(Cow::Borrowed(vector))),
            QueryVector::Embed(embedder) => embedder,
        };
        match embed(embedder, &request.query).await {
            Ok(vector) => Ok(Some(Cow::Owned(vector))),
            Err(error) if request.mode == RetrievalMode::Hybrid => {
                notes.push(format!("Searched by keywords only: {error}."));
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// An arm alone weighs 1; beside another it has the request's weight, or the embedder's measured one.
    fn weigh(&self, request: &SearchRequest, lists: &mut [ArmList]) {
        if lists.len() < 2 {
            return;
        }
        let dense = self.embedder.as_ref().map_or(0.5, |embedder| embedder.profile().fusion_weight);
        let (keyword, dense) = request.weights.map_or((1.0 - dense, dense), |weights| {
            (weights.keyword_milli as f32 / 1000.0, weights.vector_milli as f32 / 1000.0)
        });
        for list in lists {
            list.weight = match list.arm {
                Arm::Keyword => keyword,
                Arm::Vector => dense,
            };
        }
    }

    /// The best with their text. One that vanished since it was found is replaced by the next.
    async fn hits(&self, fused: Vec<Fused>, top_k: usize) -> Result<Vec<Hit>, SearchError> {
        let mut hits = Vec::with_capacity(top_k.min(fused.len()));
        let mut rest = fused.into_iter();
        while hits.len() < top_k {
            let batch: Vec<Fused> = rest.by_ref().take(top_k - hits.len()).collect();
            if batch.is_empty() {
                break;
            }
            let keys: Vec<_> = batch.iter().map(|fused| fused.key).collect();
            let mut parents = self.reader.parents(&keys).await?.into_iter().peekable();
            for fused in batch {
                if let Some(parent) = parents.next_if(|parent| parent.key == fused.key) {
                    hits.extend(hit(fused, parent));
                }
            }
        }
        Ok(hits)
    }
}

/// Ranges come from the parent as it was read: a chunk that it has not (any more) is no match.
fn hit(fused: Fused, parent: Arc<ParentText>) -> Option<Hit> {
    let range = |id| parent.chunks.iter().find(|chunk| chunk.id == id).map(|chunk| (id, chunk.range.clone()));
    let chunks: Vec<_> = best_first(fused.chunks).filter_map(range).collect();
    (!chunks.is_empty()).then_some(Hit { parent, score: fused.score, arms: fused.arms, chunks })
}

async fn embed(embedder: &dyn Embedder, query: &str) -> Result<Vec<f32>, EmbedError> {
    let mut vectors = embedder.embed(EmbedKind::Query, &[query.to_owned()]).await?;
    vectors.pop().ok_or_else(|| EmbedError::Refused {
        identity: embedder.profile().identity.clone(),
        texts: 1,
        reason: "it gave no vector".into(),
    })
}

fn incomplete(counts: Counts) -> Option<String> {
    let done = counts.vectors + counts.without_vector;
    (done < counts.chunks).then(|| {
        let percent = done * 100 / counts.chunks;
        format!("Vectors are {percent} % complete: what has none yet is found by keywords only.")
    })
}
