//! SQuAD-style JSON (Rajpurkar et al. 2016): every paragraph is a document, relevant for its own questions.

use serde::Deserialize;
use std::collections::HashMap;
use std::path::Path;

use super::{CorpusDocument, DataSet, DataSetError, Question, name_of, read_text};

#[derive(Deserialize)]
struct File {
    data: Vec<Article>,
}

#[derive(Deserialize)]
struct Article {
    #[serde(default)]
    title: String,
    paragraphs: Vec<Paragraph>,
}

#[derive(Deserialize)]
struct Paragraph {
    context: String,
    qas: Vec<QuestionAnswers>,
}

#[derive(Deserialize)]
struct QuestionAnswers {
    id: String,
    question: String,
    #[serde(default)]
    is_impossible: bool,
    #[serde(default)]
    answers: Vec<Answer>,
}

#[derive(Deserialize)]
struct Answer {
    text: String,
}

/// Reads the file. Equal paragraphs are one document; `is_impossible` (SQuAD 2) is a question that must not be
/// answered.
pub(super) fn read(path: &Path) -> Result<DataSet, DataSetError> {
    let file: File = serde_json::from_str(&read_text(path)?).map_err(|error| DataSetError::Malformed {
        path: path.to_owned(),
        line: Some(error.line()),
        reason: error.to_string(),
    })?;
    let mut set = DataSet { name: name_of(path), corpus: Vec::new(), questions: Vec::new() };
    let mut known: HashMap<String, String> = HashMap::new();
    for article in file.data {
        for paragraph in article.paragraphs {
            let id = known.entry(paragraph.context).or_insert_with_key(|text| {
                let id = format!("p{}", set.corpus.len() + 1);
                let title = article.title.clone();
                set.corpus.push(CorpusDocument { id: id.clone(), title, text: text.clone() });
                id
            });
            set.questions.extend(paragraph.qas.into_iter().map(|asked| question(asked, id)));
        }
    }
    Ok(set)
}

fn question(asked: QuestionAnswers, document: &str) -> Question {
    let mut answers: Vec<String> = asked.answers.into_iter().map(|answer| answer.text).collect();
    answers.dedup();
    Question {
        id: asked.id,
        text: asked.question,
        relevant: if asked.is_impossible { HashMap::new() } else { HashMap::from([(document.to_owned(), 1)]) },
        answers,
        facts: Vec::new(),
        must_abstain: asked.is_impossible,
    }
}
