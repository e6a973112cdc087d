//! A target that is reached through the product's own interface: a running `up`, or a folder opened for the purpose.

use async_trait::async_trait;
use groundwork_knowledge::store::Principal;
use std::sync::Arc;

use super::fingerprint::fingerprint;
use super::labels::path;
use super::target::{Configuration, RankedPassage, Target};
use crate::local::Service;
use crate::wire::{Answer, AskRequest, DocumentsQuery, Excerpt, SearchHit, SearchRequest};

/// Passages asked for each question: the most a search gives.
const PASSAGES: u32 = 100;
/// Bytes counted as one token where only the text is known.
const BYTES_PER_TOKEN: usize = 4;

/// An instance behind its service.
pub(crate) struct Running {
    service: Arc<dyn Service>,
    names: Vec<String>,
    corpus: String,
    configuration: String,
}

impl Running {
    /// Looks at what the instance holds.
    pub(crate) async fn new(service: Arc<dyn Service>) -> anyhow::Result<Self> {
        let (mut names, mut identities) = (Vec::new(), Vec::new());
        let mut query = DocumentsQuery { limit: Some(1000), ..DocumentsQuery::default() };
        loop {
            let page = service.documents(&Principal::local(), query.clone()).await?;
            identities.extend(page.documents.iter().map(|found| format!("{} {}", found.id, found.bytes)));
            names.extend(page.documents.into_iter().map(|found| found.document));
            match page.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        let status = service.status().await?;
        let revisions: Vec<String> = status.knowledge_bases.iter().filter_map(|base| base.revision.clone()).collect();
        Ok(Self {
            names,
            corpus: fingerprint(identities.iter().map(String::as_bytes)),
            configuration: fingerprint(revisions.iter().map(String::as_bytes)),
            service,
        })
    }

    /// `source/path` of every document.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }
}

#[async_trait]
impl Target for Running {
    fn documents(&self) -> u64 {
        self.names.len() as u64
    }

    fn corpus_fingerprint(&self) -> String {
        self.corpus.clone()
    }

    fn configuration_fingerprint(&self) -> String {
        self.configuration.clone()
    }

    async fn rank(
        &self,
        question: &str,
        configuration: &Configuration,
        _documents: usize,
    ) -> anyhow::Result<Vec<RankedPassage>> {
        let request = SearchRequest {
            query: question.to_owned(),
            mode: Some(configuration.mode),
            top_k: Some(PASSAGES),
            ..SearchRequest::default()
        };
        let found = self.service.search(&Principal::local(), request).await?;
        Ok(found.hits.iter().map(passage).collect())
    }

    async fn answer(&self, question: &str) -> anyhow::Result<Answer> {
        let request = AskRequest { question: question.to_owned(), ..AskRequest::default() };
        let mut answer = self.service.ask(&Principal::local(), request, &mut |_| {}).await?;
        for citation in &mut answer.citations {
            citation.excerpt.document = path(&citation.excerpt.document).to_owned();
        }
        Ok(answer)
    }

    fn top_k(&self) -> usize {
        groundwork_config::Retrieval::default().top_k as usize
    }
}

fn passage(hit: &SearchHit) -> RankedPassage {
    let Excerpt { before, quote, after, document, .. } = &hit.excerpt;
    let bytes = before.len() + quote.len() + after.len();
    let tokens = u32::try_from(bytes / BYTES_PER_TOKEN).unwrap_or(u32::MAX);
    RankedPassage { document: path(document).to_owned(), tokens }
}
