//! Random histories against a naive store in memory.

use groundwork_tests::bm25::Bm25;
use jiff::civil::{Date, date};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tempfile::TempDir;

use super::{maintainer, open, query, reader};
use crate::identity::{ChunkId, DocumentId};
use crate::store::contract::{WordEmbedder, dated, document, tagged};
use crate::store::{ChunkHit, Filter, Maintainer, Reader};

const WORDS: [&str; 8] = ["zinc", "kiln", "harbor", "tide", "slate", "a1", "b22", "ember"];

#[derive(Clone, Debug)]
enum Step {
    Write { path: usize, paragraphs: Vec<Vec<usize>>, tag: Option<usize>, day: Option<i8> },
    Delete { path: usize },
    Embed { limit: usize },
    Flush,
    Reopen,
    Query { words: Vec<usize>, filter: ModelFilter, limit: usize },
}

#[derive(Clone, Debug)]
struct ModelFilter {
    tag: Option<usize>,
    from: Option<i8>,
    exclude: Option<usize>,
    odd_paths_only: bool,
}

#[derive(Clone, Debug)]
struct ModelDocument {
    paragraphs: Vec<String>,
    tag: Option<usize>,
    day: Option<i8>,
    embedded: Vec<bool>,
}

fn day(day: i8) -> Date {
    date(2024, 5, day)
}

fn path(number: usize) -> String {
    format!("{}/{number}.md", if number % 2 == 1 { "odd" } else { "even" })
}

fn id(number: usize) -> DocumentId {
    document(&path(number), &[]).id
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let words = || prop::collection::vec(0..WORDS.len(), 1..6);
    let write =
        (0..6usize, prop::collection::vec(words(), 0..4), prop::option::of(0..2usize), prop::option::of(1..4i8));
    let filter = (prop::option::of(0..2usize), prop::option::of(1..4i8), prop::option::of(0..6usize), any::<bool>());
    let filter = filter.prop_map(|(tag, from, exclude, odd)| ModelFilter { tag, from, exclude, odd_paths_only: odd });
    let step = prop_oneof![
        4 => write.prop_map(|(path, paragraphs, tag, day)| Step::Write { path, paragraphs, tag, day }),
        1 => (0..6usize).prop_map(|path| Step::Delete { path }),
        2 => (1..6usize).prop_map(|limit| Step::Embed { limit }),
        1 => Just(Step::Flush),
        1 => Just(Step::Reopen),
        4 => (words(), filter, 1..8usize).prop_map(|(words, filter, limit)| Step::Query { words, filter, limit }),
    ];
    prop::collection::vec(step, 1..25)
}

#[derive(Default)]
struct Model {
    documents: BTreeMap<usize, ModelDocument>,
}

struct ModelChunk {
    id: ChunkId,
    text: String,
    /// What its parent is indexed as: title, heading, text.
    parent: String,
    embedded: bool,
    passes: bool,
}

impl Model {
    fn chunks(&self, filter: &ModelFilter) -> Vec<ModelChunk> {
        let mut chunks = Vec::new();
        for (&number, document) in &self.documents {
            let passes = filter.tag.is_none_or(|tag| document.tag == Some(tag))
                && filter.from.is_none_or(|from| document.day.is_some_and(|day| day >= from))
                && filter.exclude != Some(number)
                && (!filter.odd_paths_only || number % 2 == 1);
            let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
            let numbered = document.paragraphs.iter().zip(&document.embedded).enumerate();
            for (at, (text, &embedded)) in numbered {
                let occurrence = seen.entry(text).or_default();
                chunks.push(ModelChunk {
                    id: ChunkId::new(id(number), text, *occurrence),
                    text: text.clone(),
                    parent: format!("{} Section {} {text}", path(number), at + 1),
                    embedded,
                    passes,
                });
                *occurrence += 1;
            }
        }
        chunks
    }

    fn keywords(&self, words: &[&str], filter: &ModelFilter) -> Vec<(f64, ChunkId)> {
        let chunks = self.chunks(filter);
        let own = bm25(&chunks.iter().map(|chunk| chunk.text.as_str()).collect::<Vec<_>>(), words);
        let parents = bm25(&chunks.iter().map(|chunk| chunk.parent.as_str()).collect::<Vec<_>>(), words);
        let scored = chunks.iter().zip(own.into_iter().zip(parents));
        let matching = scored.filter(|(chunk, (own, _))| chunk.passes && *own > 0.0);
        matching.map(|(chunk, (own, parent))| (own + parent, chunk.id)).collect()
    }

    fn vectors(&self, text: &str, filter: &ModelFilter) -> Vec<(f64, ChunkId)> {
        let query = WordEmbedder::vector(text);
        let cosine = |text: &str| -> f32 { WordEmbedder::vector(text).iter().zip(&query).map(|(a, b)| a * b).sum() };
        let chunks = self.chunks(filter).into_iter().filter(|chunk| chunk.passes && chunk.embedded);
        chunks.map(|chunk| (f64::from(cosine(&chunk.text)), chunk.id)).collect()
    }
}

/// Identifiers do not count in the length and have the average one.
fn bm25(texts: &[&str], words: &[&str]) -> Vec<f64> {
    let mut scores = vec![0.0; texts.len()];
    for identifiers in [false, true] {
        let wanted = |word: &&str| word.contains(|c: char| c.is_ascii_digit()) == identifiers;
        let terms = |text: &&str| text.split(' ').filter(wanted).map(str::to_owned).collect();
        let kind = Bm25::new(&texts.iter().map(terms).collect::<Vec<_>>(), !identifiers);
        words.iter().filter(|word| wanted(word)).for_each(|word| kind.add(word, 1.0, &mut scores));
    }
    scores
}

/// Same scores place by place, and the same chunks wherever scores are apart.
fn compare(mut expected: Vec<(f64, ChunkId)>, got: &[ChunkHit], limit: usize) -> Result<(), TestCaseError> {
    expected.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    prop_assert_eq!(got.len(), expected.len().min(limit));
    for (at, hit) in got.iter().enumerate() {
        prop_assert!((f64::from(hit.score) - expected[at].0).abs() < 1e-4, "{:?} {:?}", hit, expected[at]);
        let near = |other: Option<&(f64, ChunkId)>| other.is_some_and(|other| (other.0 - expected[at].0).abs() < 1e-4);
        if !near(at.checked_sub(1).map(|at| &expected[at])) && !near(expected.get(at + 1)) {
            prop_assert_eq!(hit.chunk, expected[at].1);
        }
        prop_assert!(expected.iter().any(|(_, chunk)| *chunk == hit.chunk), "a hit that may not be");
    }
    Ok(())
}

async fn check(
    model: &Model,
    reader: &dyn Reader,
    (words, filter, limit): (&[usize], &ModelFilter, usize),
) -> Result<(), TestCaseError> {
    let words: Vec<&str> = words.iter().map(|&word| WORDS[word]).collect();
    let real = Filter {
        paths: if filter.odd_paths_only { vec!["docs/odd/*".into()] } else { Vec::new() },
        tags: filter.tag.map(|tag| WORDS[tag].to_owned()).into_iter().collect(),
        from: filter.from.map(day),
        until: None,
        exclude_documents: filter.exclude.map(id).into_iter().collect(),
    };
    let keywords = reader.search_keywords(&query(&words), &real, limit).await.unwrap();
    compare(model.keywords(&words, filter), &keywords, limit)?;
    let text = words.join(" ");
    let vectors = reader.search_vectors(&WordEmbedder::vector(&text), &real, limit).await.unwrap();
    compare(model.vectors(&text, filter), &vectors, limit)
}

async fn embed(model: &mut Model, maintainer: &dyn Maintainer, limit: usize) -> Result<(), TestCaseError> {
    // Which chunks come first is the store's choice among equally new files, so the model embeds all.
    while maintainer.embed_pending(&WordEmbedder::new("words"), limit).await.unwrap().remaining > 0 {}
    model.documents.values_mut().for_each(|document| document.embedded.fill(true));
    let chunks = model.documents.values().map(|document| document.paragraphs.len() as u64).sum::<u64>();
    prop_assert_eq!(maintainer.counts().await.unwrap().vectors, chunks);
    Ok(())
}

async fn run(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let folder = TempDir::new().unwrap();
    let mut store = open(folder.path()).await;
    let mut writer = maintainer(&store).await;
    writer.activate().await.unwrap();
    let mut model = Model::default();
    for step in steps {
        match step {
            Step::Write { path: number, paragraphs, tag, day: on } => {
                let paragraphs: Vec<String> = paragraphs
                    .into_iter()
                    .map(|words| words.into_iter().map(|word| WORDS[word]).collect::<Vec<_>>().join(" "))
                    .collect();
                let texts: Vec<&str> = paragraphs.iter().map(String::as_str).collect();
                let mut write = document(&path(number), &texts);
                write = tagged(write, &tag.map(|tag| WORDS[tag]).into_iter().collect::<Vec<_>>());
                write = on.map_or(write.clone(), |on| dated(write, day(on)));
                writer.write_documents(1, vec![write]).await.unwrap();
                let new = ModelDocument { embedded: vec![false; texts.len()], paragraphs, tag, day: on };
                let known = model.documents.get(&number);
                let same =
                    known.is_some_and(|old| (&old.paragraphs, old.tag, old.day) == (&new.paragraphs, new.tag, new.day));
                if !same {
                    model.documents.insert(number, new);
                }
            }
            Step::Delete { path } => {
                let deleted = writer.delete_documents(&[id(path)]).await.unwrap();
                prop_assert_eq!(deleted == 1, model.documents.remove(&path).is_some());
            }
            Step::Embed { limit } => embed(&mut model, &*writer, limit).await?,
            Step::Flush => writer.flush().await.unwrap(),
            Step::Reopen => {
                store.close().await;
                drop(writer);
                drop(store);
                store = open(folder.path()).await;
                writer = maintainer(&store).await;
            }
            Step::Query { words, filter, limit } => {
                check(&model, &*reader(&store).await, (&words, &filter, limit)).await?;
            }
        }
    }
    let everything = ModelFilter { tag: None, from: None, exclude: None, odd_paths_only: false };
    check(&model, &*reader(&store).await, (&[0, 1, 2, 5], &everything, 100)).await
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn any_history_reads_like_a_naive_store(steps in steps()) {
        tokio::runtime::Runtime::new().unwrap().block_on(run(steps))?;
    }
}
