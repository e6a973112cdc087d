//! `ingest`, `ask` and `search` without a running `up`.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Place, fields};
use serde_json::json;

#[test]
fn a_folder_is_ingested_asked_and_searched() {
    let place = Place::handbook();
    let report = place.ingest().expect(0).json();
    let report = &report["reports"][0];
    assert_eq!((&report["added"], &report["failed"]), (&json!(4), &json!([])), "{report}");
    assert_eq!(report["formats"], json!({ "csv": 1, "markdown": 2, "text": 1 }));

    let answer = place.run(&["ask", "-o", "json", "What is the late fee?"]).expect(0).json();
    assert_eq!(answer["band"], "answered");
    assert!(answer["text"].as_str().unwrap().contains("3 EUR for each day"), "{answer}");
    let citation = &answer["citations"][0];
    assert!(citation["document"].as_str().unwrap().ends_with("/fees.md"), "{citation}");
    assert_eq!(citation["check"], "verbatim");

    let found = place.run(&["search", "-o", "json", "--top-k", "2", "notice period"]).expect(0).json();
    let hit = &found["hits"][0];
    assert!(hit["document"].as_str().unwrap().ends_with("/leave.md"), "{hit}");
    assert!(found["hits"].as_array().unwrap().len() <= 2);
}

#[test]
fn the_shapes_of_json_are_stable() {
    let place = Place::handbook();
    let report = place.ingest().expect(0).json();
    let answer = place.run(&["ask", "-o", "json", "What is the late fee?"]).json();
    let found = place.run(&["search", "-o", "json", "late fee"]).json();
    insta::assert_yaml_snapshot!(json!({
        "ingest": fields(&report),
        "report": fields(&report["reports"][0]),
        "answer": fields(&answer),
        "sentence": fields(&answer["sentences"][0]),
        "citation": fields(&answer["citations"][0]),
        "search": fields(&found),
        "hit": fields(&found["hits"][0]),
        "arm": fields(&found["arms"][0]),
    }));
}

#[test]
fn exit_codes_tell_the_bands_apart() {
    let place = Place::handbook();
    place.ingest().expect(0);
    place.run(&["ask", "What is the late fee?"]).expect(0);
    let missing = place.run(&["ask", "Who supplies SKU-9999?"]).expect(5);
    assert!(missing.stdout.starts_with("not found"), "{}", missing.stdout);
    assert!(missing.stdout.contains("SKU-9999"), "{}", missing.stdout);
}

#[test]
fn the_nearest_spelling_is_one_of_the_documents() {
    let place = Place::handbook();
    place.ingest().expect(0);
    let missing = place.run(&["ask", "Who supplies SKU-4472?"]).expect(5);
    assert!(missing.stdout.contains("the nearest spelling is “SKU-4471”"), "{}", missing.stdout);
}

#[test]
fn the_nearest_ingested_folder_above_is_meant() {
    let place = Place::handbook();
    place.write("deep/er/file.md", "# Deep\n\nThe cellar is locked.\n");
    place.ingest().expect(0);
    let mut command = place.command(&["search", "-o", "json", "cellar"]);
    let output = command.current_dir(place.folder().join("deep/er")).output().unwrap();
    assert!(output.status.success());
    let outside = place.command(&["ask", "cellar?"]).current_dir(place.data_home()).output().unwrap();
    let error = String::from_utf8(outside.stderr).unwrap();
    assert_eq!(outside.status.code(), Some(1));
    assert!(error.contains("nothing is ingested") && error.contains("groundwork ingest"), "{error}");
    let named = place.command(&["search", "cellar", "--dir"]).arg(place.folder()).current_dir("/").output().unwrap();
    assert!(named.status.success(), "{}", String::from_utf8_lossy(&named.stderr));
}

#[test]
fn a_document_that_fails_is_named_and_the_rest_goes_on() {
    let place = Place::handbook();
    place.write("empty.md", "");
    let ran = place.run(&["ingest", "--embedding-model", "none"]).expect(3);
    assert!(ran.stdout.contains("empty.md: the file is empty"), "{}", ran.stdout);
    place.run(&["ask", "What is the late fee?"]).expect(0);
}

#[test]
fn quotes_of_source_code_keep_every_character() {
    let place = Place::handbook();
    place.write(
        "retry.py",
        "def delay(attempt):\n    \"\"\"The retry delay grows by 2 ** attempt seconds.\"\"\"\n    return 0\n",
    );
    place.ingest().expect(0);
    let answer = place.run(&["ask", "-o", "json", "How does the retry delay grow?"]).expect(0).json();
    assert!(answer["text"].as_str().unwrap().contains("grows by 2 ** attempt seconds"), "{answer}");
}

#[test]
fn json_lines_are_quoted_by_the_line() {
    let place = Place::handbook();
    let ada = r#"{"name": "Ada Byron", "team": "Analysis", "extension": "5521"}"#;
    let alan = r#"{"name": "Alan Turing", "team": "Machines", "extension": "5522"}"#;
    place.write("people.jsonl", &format!("{ada}\n{alan}\n"));
    place.ingest().expect(0);
    let answer = place.run(&["ask", "-o", "json", "What is the extension of Alan Turing?"]).expect(0).json();
    assert_eq!(answer["citations"][0]["quote"], alan, "{answer}");
}

#[test]
fn documents_that_an_incomplete_listing_keeps_are_counted() {
    let place = Place::handbook();
    place.ingest().expect(0);
    std::fs::remove_file(place.folder().join("notes.txt")).unwrap();
    // Folders are followed only so deep, whoever asks; rights would not stop the superuser.
    std::fs::create_dir_all(place.folder().join("deep/".repeat(130))).unwrap();
    let ran = place.run(&["ingest", "--embedding-model", "hashing"]).expect(0);
    assert!(ran.stdout.contains("note: 1 document that is gone is kept, because"), "{}", ran.stdout);
    assert!(ran.stdout.contains("folders deep"), "{}", ran.stdout);
    let report = place.ingest().expect(0).json();
    let notes = report["reports"][0]["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note.as_str().unwrap().contains("is kept")), "{notes:?}");
}

#[test]
fn an_index_is_brought_up_to_date_not_built_again() {
    let place = Place::handbook();
    place.ingest().expect(0);
    place.write("fees.md", "# Fees\n\nThe late fee is 5 EUR for each day.\n");
    std::fs::remove_file(place.folder().join("notes.txt")).unwrap();
    let report = place.ingest().expect(0).json();
    let report = &report["reports"][0];
    let counts = ["added", "updated", "removed", "unchanged"].map(|name| report[name].as_u64().unwrap());
    assert_eq!(counts, [0, 1, 1, 2]);
    let answer = place.run(&["ask", "What is the late fee?"]).expect(0);
    assert!(answer.stdout.contains("5 EUR") && !answer.stdout.contains("3 EUR"), "{}", answer.stdout);
}

#[test]
fn the_encoder_in_the_program_is_the_default() {
    let place = Place::with(&[("leave.md", "# Leave\n\nEvery employee has 28 days of paid holiday a year.\n")]);
    let report = place.run(&["ingest", "-o", "json"]).expect(0).json();
    assert!(report["reports"][0]["embedded"].as_u64().unwrap() > 0, "{report}");
    let found = place.run(&["search", "-o", "json", "--mode", "vector", "vacation for workers"]).expect(0).json();
    assert_eq!(found["hits"][0]["arms"][0]["arm"], "vector", "{found}");
}

#[test]
fn explain_shows_each_arm() {
    let place = Place::handbook();
    place.ingest().expect(0);
    let shown = place.run(&["search", "--explain", "late fee"]).expect(0).stdout;
    for word in ["BM25", "cosine", "weight", "keyword", "vector", "fees.md"] {
        assert!(shown.contains(word), "{word} is missing:\n{shown}");
    }
    assert!(!shown.contains('\u{1b}'), "no colour where the output is no terminal");
}
