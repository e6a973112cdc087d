//! The sets that come as JSON.

use anyhow::Context;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::Path;

use super::{Dataset, Document, Query, text};

fn read<T: DeserializeOwned>(folder: &Path, file: &str) -> anyhow::Result<T> {
    serde_json::from_str(&text(folder, file)?).with_context(|| format!("failed to read {file}"))
}

#[derive(Deserialize)]
struct Section {
    chunk_link: String,
    chunk_heading: String,
    text: String,
}

#[derive(Deserialize)]
struct DocsQuestion {
    id: String,
    question: String,
    correct_chunks: Vec<String>,
    correct_answer: String,
}

pub(super) fn docs_rag(folder: &Path) -> anyhow::Result<Dataset> {
    let mut set = Dataset::default();
    for section in read::<Vec<Section>>(folder, "anthropic_docs.json")? {
        set.documents.push(Document { id: section.chunk_link, title: section.chunk_heading, text: section.text });
    }
    for question in read::<Vec<DocsQuestion>>(folder, "docs_evaluation_dataset.json")? {
        let relevant = question.correct_chunks.into_iter().map(|link| (link, 1)).collect();
        set.judgements.insert(question.id.clone(), relevant);
        set.queries.push(Query { id: question.id, text: question.question, answers: vec![question.correct_answer] });
    }
    Ok(set)
}

#[derive(Deserialize)]
struct CodeFile {
    original_uuid: String,
    chunks: Vec<CodeChunk>,
}

#[derive(Deserialize)]
struct CodeChunk {
    original_index: u32,
    content: String,
}

#[derive(Deserialize)]
struct CodeQuestion {
    query: String,
    answer: String,
    golden_chunk_uuids: Vec<(String, u32)>,
}

pub(super) fn codebase_rag(folder: &Path) -> anyhow::Result<Dataset> {
    let mut set = Dataset::default();
    for file in read::<Vec<CodeFile>>(folder, "codebase_chunks.json")? {
        for chunk in file.chunks {
            let id = format!("{}_{}", file.original_uuid, chunk.original_index);
            set.documents.push(Document { id, title: String::new(), text: chunk.content });
        }
    }
    for (number, line) in text(folder, "evaluation_set.jsonl")?.lines().enumerate() {
        let question: CodeQuestion =
            serde_json::from_str(line).with_context(|| format!("failed to read question {number}"))?;
        let relevant = question.golden_chunk_uuids.iter().map(|(uuid, index)| (format!("{uuid}_{index}"), 1));
        set.judgements.insert(number.to_string(), relevant.collect());
        set.queries.push(Query { id: number.to_string(), text: question.query, answers: vec![question.answer] });
    }
    Ok(set)
}

#[derive(Deserialize)]
struct HotpotQuestion {
    #[serde(rename = "_id")]
    id: String,
    question: String,
    answer: String,
    supporting_facts: Vec<(String, u32)>,
}

pub(super) fn hotpotqa(folder: &Path) -> anyhow::Result<Dataset> {
    let mut set = Dataset::default();
    for (title, sentences) in read::<BTreeMap<String, Vec<String>>>(folder, "hotpotqa_train_corpus.json")? {
        set.documents.push(Document { id: title.clone(), title, text: sentences.concat() });
    }
    for question in read::<Vec<HotpotQuestion>>(folder, "hotpotqa_train.json")? {
        let relevant = question.supporting_facts.into_iter().map(|(title, _)| (title, 1)).collect();
        set.judgements.insert(question.id.clone(), relevant);
        set.queries.push(Query { id: question.id, text: question.question, answers: vec![question.answer] });
    }
    Ok(set)
}

#[derive(Deserialize)]
struct Squad {
    data: Vec<SquadArticle>,
}

#[derive(Deserialize)]
struct SquadArticle {
    paragraphs: Vec<SquadParagraph>,
}

#[derive(Deserialize)]
struct SquadParagraph {
    context: String,
    qas: Vec<SquadQuestion>,
}

#[derive(Deserialize)]
struct SquadQuestion {
    id: String,
    question: String,
    answers: Vec<SquadAnswer>,
}

#[derive(Deserialize)]
struct SquadAnswer {
    text: String,
}

pub(super) fn cmrc2018(folder: &Path) -> anyhow::Result<Dataset> {
    let mut set = Dataset::default();
    let paragraphs =
        read::<Squad>(folder, "cmrc2018_dev.json")?.data.into_iter().flat_map(|article| article.paragraphs);
    for (number, paragraph) in paragraphs.enumerate() {
        let id = number.to_string();
        for question in paragraph.qas {
            set.judgements.insert(question.id.clone(), BTreeMap::from([(id.clone(), 1)]));
            let answers = question.answers.into_iter().map(|answer| answer.text).collect();
            set.queries.push(Query { id: question.id, text: question.question, answers });
        }
        set.documents.push(Document { id, title: String::new(), text: paragraph.context });
    }
    Ok(set)
}
