//! The gate on extractive answers, with a plain BM25 as retrieval.

use serde_json::Value;
use std::collections::HashMap;

use super::*;
use crate::passage::{Passage, QueryTerm, QueryTermKind};
use crate::testing::{Fixed, analyse, eval_data, passage};

/// Every n-th question, so that the test stays short.
const STEP: usize = 8;
const PASSAGES: usize = 8;

struct Index {
    texts: Vec<String>,
    frequencies: Vec<HashMap<String, u32>>,
    chunk_frequencies: HashMap<String, u64>,
    average_length: f32,
}

impl Index {
    fn new(texts: Vec<String>) -> Self {
        let mut index = Self { texts, frequencies: Vec::new(), chunk_frequencies: HashMap::new(), average_length: 0.0 };
        for text in &index.texts {
            let mut terms = HashMap::new();
            analyse(text).into_iter().for_each(|(term, _)| *terms.entry(term).or_insert(0) += 1);
            terms.keys().for_each(|term| *index.chunk_frequencies.entry(term.clone()).or_insert(0) += 1);
            index.average_length += terms.values().sum::<u32>() as f32;
            index.frequencies.push(terms);
        }
        index.average_length /= index.texts.len() as f32;
        index
    }

    fn evidence(&self, question: &str) -> Evidence {
        let terms: Vec<QueryTerm> = analyse(question)
            .into_iter()
            .map(|(term, span)| QueryTerm {
                chunk_frequency: self.chunk_frequencies.get(&term).copied().unwrap_or(0),
                surface: question[span].to_owned(),
                kind: QueryTermKind::Word,
                similar: Vec::new(),
                term,
            })
            .collect();
        let mut scored: Vec<(f32, usize)> =
            (0..self.texts.len()).map(|text| (self.score(text, &terms), text)).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        let hit = |(score, text): &(f32, usize)| Passage { score: *score, ..passage("cmrc", &self.texts[*text]) };
        Evidence {
            passages: scored.iter().take(PASSAGES).map(hit).collect(),
            terms,
            documents_searched: self.texts.len() as u64,
            chunks_searched: self.texts.len() as u64,
            ..Evidence::default()
        }
    }

    /// BM25 with k1 1.2 and b 0.75.
    fn score(&self, text: usize, terms: &[QueryTerm]) -> f32 {
        let frequencies = &self.frequencies[text];
        let length = frequencies.values().sum::<u32>() as f32 / self.average_length;
        let part = |term: &QueryTerm| {
            let count = *frequencies.get(&term.term).unwrap_or(&0) as f32;
            let (all, with) = (self.texts.len() as f32, term.chunk_frequency as f32);
            (1.0 + (all - with + 0.5) / (with + 0.5)).ln() * count / (count + 1.2 * (0.25 + 0.75 * length))
        };
        terms.iter().map(part).sum()
    }
}

#[test]
fn the_first_two_sentences_have_the_answer_of_four_in_five_chinese_questions() {
    let Some(folder) = eval_data("cmrc2018 extractive answers") else { return };
    let json = std::fs::read(folder.join("cmrc2018/cmrc2018_dev.json")).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    let list = |value: &Value| value.as_array().unwrap().clone();
    let paragraphs: Vec<Value> = list(&json["data"]).iter().flat_map(|article| list(&article["paragraphs"])).collect();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let index = Index::new(paragraphs.iter().map(|paragraph| text(&paragraph["context"])).collect());
    let questions: Vec<Value> = paragraphs.iter().flat_map(|paragraph| list(&paragraph["qas"])).step_by(STEP).collect();
    let retriever = Fixed::new(&[]);
    let has_answer = |question: &&Value| {
        let asked = text(&question["question"]);
        let chosen = choose(&asked, &index.evidence(&asked), &retriever).quoted;
        let answers: Vec<String> = list(&question["answers"]).iter().map(|answer| text(&answer["text"])).collect();
        chosen.iter().take(2).any(|quoted| answers.iter().any(|answer| quoted.text.contains(answer)))
    };
    let found = questions.iter().filter(has_answer).count();
    let share = found as f32 / questions.len() as f32;
    println!("answer in the first two sentences: {found} of {} ({share:.3})", questions.len());
    assert!(share >= 0.8, "{share}");
}
