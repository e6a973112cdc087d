//! The quickstart's questions ask for what its documents say.

use serde::Deserialize;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Questions {
    name: String,
    questions: Vec<Question>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Question {
    id: String,
    question: String,
    #[serde(default)]
    documents: Vec<String>,
    #[serde(default)]
    facts: Vec<String>,
    #[serde(default)]
    must_abstain: bool,
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the harness lies in the workspace")
        .join("examples/quickstart")
}

fn read() -> Questions {
    let text = std::fs::read_to_string(example().join("questions.yaml")).expect("the example has questions");
    serde_saphyr::from_str(&text).expect("the questions have the documented form")
}

/// The text with white space folded. The PDF is stored uncompressed, so that its lines are bytes of the file.
fn folded(path: &Path) -> String {
    let bytes = std::fs::read(path).expect("a named document exists");
    String::from_utf8_lossy(&bytes).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn documents() -> Vec<PathBuf> {
    let mut folders = vec![example().join("handbook")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the handbook is readable") {
            let path = entry.expect("the handbook is readable").path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found
}

#[test]
fn ten_questions_are_answered_and_three_are_not() {
    let questions = read();
    assert_eq!(questions.name, "quickstart");
    let abstain = questions.questions.iter().filter(|question| question.must_abstain).count();
    assert_eq!((questions.questions.len() - abstain, abstain), (10, 3));
    for question in &questions.questions {
        assert_eq!(question.documents.is_empty(), question.must_abstain, "{}", question.id);
        assert_eq!(question.facts.is_empty(), question.must_abstain, "{}", question.id);
        assert!(question.question.len() > 10, "{}", question.id);
    }
}

#[test]
fn every_fact_stands_verbatim_in_a_named_document() {
    for question in read().questions {
        let texts: Vec<String> =
            question.documents.iter().map(|path| folded(&example().join("handbook").join(path))).collect();
        for fact in &question.facts {
            assert!(texts.iter().any(|text| text.contains(fact)), "{}: {fact:?} stands in no document", question.id);
        }
    }
}

#[test]
fn no_document_knows_what_must_not_be_answered() {
    for path in documents() {
        let text = folded(&path).to_lowercase();
        for word in ["bx-9100", "dental", "insurance", "quarterly", "bonus"] {
            assert!(!text.contains(word), "{}: {word}", path.display());
        }
    }
}
