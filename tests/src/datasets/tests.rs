use super::*;

/// Documents, queries and judged pairs of each set, as its own readme counts them.
const COUNTS: [(&str, usize, usize, usize); 6] = [
    ("scifact", 5183, 300, 339),
    ("cranfield", 1400, 225, 1837),
    ("docs-rag", 232, 100, 192),
    ("codebase-rag", 737, 248, 306),
    ("hotpotqa", 994, 100, 200),
    ("cmrc2018", 848, 3219, 3219),
];

#[test]
fn every_set_has_the_counts_of_its_readme() {
    let Some(root) = crate::skip::eval_data("every_set_has_the_counts_of_its_readme") else { return };
    for (name, documents, queries, pairs) in COUNTS {
        let set = load(&root, name).unwrap();
        assert_eq!((set.documents.len(), set.queries.len(), set.pairs()), (documents, queries, pairs), "{name}");
        let known: std::collections::BTreeSet<_> = set.documents.iter().map(|document| &document.id).collect();
        assert_eq!(known.len(), documents, "{name}: ids are distinct");
        assert!(set.judgements.values().flat_map(BTreeMap::keys).all(|id| known.contains(id)), "{name}");
        assert!(set.queries.iter().all(|query| set.judgements.contains_key(&query.id)), "{name}");
        assert!(set.queries.iter().all(|query| query.text.len() > 3), "{name}");
        assert!(set.documents.iter().filter(|document| document.text.is_empty()).count() < 3, "{name}");
    }
}

#[test]
fn a_set_is_written_as_a_beir_folder() {
    let set = Dataset {
        documents: vec![Document { id: "d1".into(), title: "One".into(), text: "first \"text\"".into() }],
        queries: vec![Query { id: "q1".into(), text: "which?".into(), answers: vec!["first".into()] }],
        judgements: BTreeMap::from([("q1".into(), BTreeMap::from([("d1".into(), 2)]))]),
    };
    let folder = tempfile::tempdir().unwrap();
    set.write_beir(folder.path()).unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let corpus: serde_json::Value = serde_json::from_str(read("corpus.jsonl").trim()).unwrap();
    assert_eq!(corpus, serde_json::json!({"_id": "d1", "title": "One", "text": "first \"text\""}));
    assert!(read("queries.jsonl").contains("\"_id\":\"q1\""));
    assert_eq!(read("qrels/test.tsv"), "query-id\tcorpus-id\tscore\nq1\td1\t2\n");
}

#[test]
fn an_unknown_set_is_named() {
    let error = load(Path::new("."), "msmarco").unwrap_err().to_string();
    assert!(error.contains("msmarco") && error.contains("cranfield"), "{error}");
}
