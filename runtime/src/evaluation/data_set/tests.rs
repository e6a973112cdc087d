use super::*;
use std::fs;

fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

const CORPUS: &str = r#"{"_id": "d1", "title": "One", "text": "first"}
{"_id": "d2", "text": "second"}
"#;

#[test]
fn a_beir_folder_gives_its_judged_queries() {
    let folder = folder_with(&[
        ("corpus.jsonl", CORPUS),
        ("queries.jsonl", "{\"_id\": \"q1\", \"text\": \"a?\"}\n{\"_id\": \"q2\", \"text\": \"unjudged?\"}\n"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n"),
    ]);
    let set = DataSet::read(folder.path()).unwrap();
    assert_eq!(set.corpus.len(), 2);
    assert_eq!(set.questions.len(), 1);
    assert_eq!(set.questions[0].relevant, Judgements::from([("d1".into(), 2), ("d2".into(), 0)]));
}

#[test]
fn a_broken_line_is_named() {
    let folder = folder_with(&[
        ("corpus.jsonl", CORPUS),
        ("queries.jsonl", "{\"_id\": \"q1\", \"text\": \"a?\"}\n"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1 d1 2\n"),
    ]);
    let error = DataSet::read(folder.path()).unwrap_err().to_string();
    assert!(error.contains("test.tsv line 2: expected query id"), "{error}");
}

#[test]
fn squad_paragraphs_become_documents_once() {
    let json = r#"{"data": [{"title": "T", "paragraphs": [
        {"context": "Ada wrote it.", "qas": [{"id": "1", "question": "Who?", "answers": [{"text": "Ada", "answer_start": 0}]}]},
        {"context": "Ada wrote it.", "qas": [{"id": "2", "question": "When?", "is_impossible": true, "answers": []}]}
    ]}]}"#;
    let folder = folder_with(&[("set.json", json)]);
    let set = DataSet::read(&folder.path().join("set.json")).unwrap();
    assert_eq!(set.corpus.len(), 1);
    assert_eq!(set.questions[0].relevant, Judgements::from([("p1".into(), 1)]));
    assert!(set.questions[1].must_abstain && set.questions[1].relevant.is_empty());
}

#[test]
fn an_unknown_file_says_what_was_expected() {
    let folder = folder_with(&[("set.bin", "x")]);
    let error = DataSet::read(&folder.path().join("set.bin")).unwrap_err().to_string();
    assert!(error.contains("a YAML file of questions, a BEIR folder"), "{error}");
}

#[test]
fn our_own_format_carries_facts_grades_and_abstention() {
    let yaml = "name: tiny\nquestions:\n- id: q1\n  question: How far?\n  documents: [a.md, {path: b.md, grade: 2}]\n  \
                facts: [12 km]\n- id: q2\n  question: Who is the king?\n  mustAbstain: true\n";
    let folder = folder_with(&[("q.yaml", yaml)]);
    let set = DataSet::read(&folder.path().join("q.yaml")).unwrap();
    assert_eq!(set.name, "tiny");
    assert_eq!(set.questions[0].relevant, Judgements::from([("a.md".into(), 1), ("b.md".into(), 2)]));
    assert_eq!(set.questions[0].facts, ["12 km"]);
    assert!(set.questions[1].must_abstain);
}

#[test]
fn abstention_with_facts_is_refused() {
    let yaml = "questions: [{id: q1, question: x, mustAbstain: true, facts: [y]}]";
    let folder = folder_with(&[("q.yaml", yaml)]);
    let error = DataSet::read(&folder.path().join("q.yaml")).unwrap_err().to_string();
    assert!(error.contains("\"q1\" has mustAbstain"), "{error}");
}

#[test]
fn equal_ids_are_refused() {
    let yaml = "questions: [{id: q1, question: x}, {id: q1, question: y}]";
    let folder = folder_with(&[("q.yaml", yaml)]);
    let error = DataSet::read(&folder.path().join("q.yaml")).unwrap_err().to_string();
    assert!(error.contains("two questions have the id \"q1\""), "{error}");
}
