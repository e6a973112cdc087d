//! What several modules' tests need.

use async_trait::async_trait;
use std::ops::Range;

use crate::passage::{Evidence, Passage, QueryTerm, QueryTermKind, RetrieveError, Retriever, TextForm};

/// A passage of the document `source/NAME` that is one chunk.
pub(crate) fn passage(name: &str, text: &str) -> Passage {
    Passage {
        chunk_id: format!("chunk-of-{name}"),
        document_id: format!("id-of-{name}"),
        document: format!("source/{name}"),
        title: String::new(),
        heading_path: Vec::new(),
        locator: "lines 1-9".into(),
        text: text.into(),
        form: TextForm::Markdown,
        matches: std::iter::once(0..text.len()).collect(),
        chunks: vec![(format!("chunk-of-{name}"), 0..text.len())],
        table_header: None,
        score: 1.0,
        arms: Vec::new(),
    }
}

/// Folded terms: CJK bigrams, other words in lower case without a plural s, without a few stop words.
pub(crate) fn analyse(text: &str) -> Vec<(String, Range<usize>)> {
    let mut terms = Vec::new();
    let is_cjk = |c: char| ('\u{3400}'..='\u{9fff}').contains(&c);
    let mut characters = text.char_indices().peekable();
    while let Some((start, first)) = characters.next() {
        if !first.is_alphanumeric() {
            continue;
        }
        let mut bounds = vec![start, start + first.len_utf8()];
        while let Some((at, next)) = characters.next_if(|(_, c)| c.is_alphanumeric() && is_cjk(*c) == is_cjk(first)) {
            bounds.push(at + next.len_utf8());
        }
        if is_cjk(first) && bounds.len() > 2 {
            terms.extend(bounds.windows(3).map(|pair| (text[pair[0]..pair[2]].to_owned(), pair[0]..pair[2])));
            continue;
        }
        let range = start..bounds[bounds.len() - 1];
        let word = text[range.clone()].to_lowercase();
        let stop = ["the", "a", "is", "are", "of", "in", "to", "and", "what", "how", "do", "we", "for"];
        if !stop.contains(&word.as_str()) {
            let stem = word.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(&word).to_owned();
            terms.push((stem, range));
        }
    }
    terms
}

/// Hands over fixed passages.
pub(crate) struct Fixed {
    pub(crate) passages: Vec<Passage>,
    pub(crate) terms: Option<Vec<QueryTerm>>,
}

impl Fixed {
    pub(crate) fn new(texts: &[&str]) -> Self {
        let passages = texts.iter().enumerate().map(|(index, text)| passage(&format!("{index}.md"), text)).collect();
        Self { passages, terms: None }
    }

    pub(crate) fn evidence(&self, question: &str) -> Evidence {
        let has = |term: &str| {
            let passages = self.passages.iter();
            passages.filter(|passage| analyse(&passage.text).iter().any(|(other, _)| other == term)).count() as u64
        };
        let word = |(term, span): (String, Range<usize>)| QueryTerm {
            chunk_frequency: has(&term),
            surface: question[span].to_owned(),
            kind: QueryTermKind::Word,
            similar: Vec::new(),
            term,
        };
        Evidence {
            passages: self.passages.clone(),
            terms: self.terms.clone().unwrap_or_else(|| analyse(question).into_iter().map(word).collect()),
            documents_searched: self.passages.len() as u64,
            chunks_searched: 1000,
            notes: Vec::new(),
            revisions: vec!["revision-1".into()],
        }
    }
}

#[async_trait]
impl Retriever for Fixed {
    async fn retrieve(&self, question: &str) -> Result<Evidence, RetrieveError> {
        Ok(self.evidence(question))
    }

    fn analyse(&self, text: &str) -> Vec<(String, Range<usize>)> {
        analyse(text)
    }

    async fn chunk_frequencies(&self, terms: &[String]) -> Result<Vec<u64>, RetrieveError> {
        Ok(vec![1; terms.len()])
    }
}

/// Folder of the public evaluation sets; without it the test is skipped, unless it is required.
pub(crate) fn eval_data(test: &str) -> Option<std::path::PathBuf> {
    use std::io::Write;
    if let Some(folder) = std::env::var_os("GROUNDWORK_EVAL_DATA") {
        return Some(folder.into());
    }
    let required = std::env::var("GROUNDWORK_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|part| part.trim() == "evaldata"), "GROUNDWORK_EVAL_DATA is not set");
    let line = format!("skipped: {test}: GROUNDWORK_EVAL_DATA is not set");
    println!("{line}");
    if let Some(log) = std::env::var_os("GROUNDWORK_SKIP_LOG") {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(log);
        writeln!(file.unwrap(), "{line}").unwrap();
    }
    None
}
