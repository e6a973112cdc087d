//! `eval` on a folder: what labels may be called, and what is written for other tools.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Place, Ran};

/// Asks one question whose answer stands in the documents with these names.
fn eval(place: &Place, documents: &[&str], more: &[&str]) -> Ran {
    let set = place.data_home().join("tiny.yaml");
    let question = "How much is the late fee?";
    let text = format!("questions:\n- {{id: late fee, question: {question:?}, documents: {documents:?}}}\n");
    std::fs::write(&set, text).unwrap();
    let fixed = ["eval", set.to_str().unwrap(), "--dir", ".", "--embedding-model", "none"];
    place.run(&[&fixed[..], more].concat())
}

#[test]
fn labels_may_have_the_source_in_front_and_those_without_a_document_are_named() {
    let place = Place::handbook();
    place.ingest().expect(0);
    let found = place.run(&["search", "-o", "json", "late fee"]).expect(0).json();
    let name = found["hits"][0]["document"].as_str().unwrap().to_owned();
    assert!(name.ends_with("/fees.md"), "{name}");

    for label in ["fees.md", &name] {
        let report = eval(&place, &[label], &["-o", "json"]).expect(0).json();
        assert_eq!(report["rows"][0]["metrics"]["recall_at_10"], 1.0, "{label}: {report}");
        assert_eq!(report["notes"], serde_json::json!([]), "{label}");
    }
    let some = eval(&place, &["fees.md", "costs.md"], &[]).expect(0).stdout;
    assert!(some.contains("note: 1 of 2 labels") && some.contains("costs.md"), "{some}");
    let none = eval(&place, &["handbook/costs.md"], &[]).expect(1);
    for words in ["tiny", "handbook/costs.md", "relative to their source"] {
        assert!(none.stderr.contains(words), "{words}: {}", none.stderr);
    }
    assert!(none.stdout.is_empty(), "{}", none.stdout);
}

#[test]
fn run_files_have_six_columns_also_where_names_have_blanks() {
    let place = Place::handbook();
    place.write("my notes/late fees.md", "# Late fees\n\nThe late fee is waived in August.\n");
    let folder = place.data_home().join("runs");
    eval(&place, &["fees.md"], &["--run-files", folder.to_str().unwrap()]).expect(0);
    let text = std::fs::read_to_string(folder.join("tiny.hybrid.run")).unwrap();
    assert!(text.contains("late%20fee Q0 my%20notes/late%20fees.md "), "{text}");
    assert!(text.lines().all(|line| line.split_whitespace().count() == 6), "{text}");
}
