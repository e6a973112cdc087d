use super::*;

fn metrics(ndcg: f64) -> Metrics {
    Metrics { ndcg_at_10: ndcg, ..Metrics::default() }
}

fn report() -> Report {
    let keyword = Row::new("keyword", &[metrics(0.0); 10], None);
    let hybrid = Row::new("hybrid", &[metrics(0.5); 10], Some(&keyword));
    Report {
        set: "tiny".into(),
        questions: 10,
        documents: 3,
        fingerprints: Fingerprints { corpus: "ab".into(), configuration: "cd".into(), code: "0.1.0".into() },
        rows: vec![keyword, hybrid],
        answers: Some(AnswerScores { fact_recall: Some(0.9), ..AnswerScores::default() }),
        abstention: None,
        thresholds: Vec::new(),
        notes: Vec::new(),
    }
}

#[test]
fn a_consistent_gain_helps_and_a_constant_row_shows_nothing() {
    let report = report();
    assert_eq!(report.rows[1].against_baseline.unwrap().verdict, Verdict::Helps);
    let same = Row::new("same", &[metrics(0.0); 10], Some(&report.rows[0]));
    assert_eq!(same.against_baseline.unwrap().verdict, Verdict::NoDifferenceShown);
}

#[test]
fn thresholds_read_the_last_row_and_the_answers() {
    let report = report();
    assert!(report.judge("ndcg_at_10", 0.5).met);
    assert!(report.judge("fact_recall", 0.9).met);
    assert!(!report.judge("fact_recall", 0.91).met);
    assert_eq!(report.judge("unknown", 0.0).measured, None);
    assert!(!report.judge("unknown", 0.0).met);
}

#[test]
fn every_metric_has_one_name() {
    let names = metric_names();
    let distinct: std::collections::HashSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), names.len(), "{names:?}");
    for name in ["ndcg_at_10", "fact_recall", "auroc_gain"] {
        assert!(names.contains(&name), "{name}");
    }
}

#[test]
fn junit_fails_what_is_not_met() {
    let mut report = report();
    report.thresholds = vec![report.judge("ndcg_at_10", 0.9), report.judge("fact_recall", 0.5)];
    let xml = junit(&report);
    assert!(xml.contains("tests=\"2\" failures=\"1\""), "{xml}");
    assert!(xml.contains("<failure message=\"measured 0.5000\"/>"), "{xml}");
}

#[test]
fn markdown_has_a_line_a_row() {
    let text = markdown(&report());
    assert!(text.contains("| hybrid | 0.500 | 0.500 to 0.500 | 0.000 |"), "{text}");
    assert!(text.contains("| fact_recall | 0.900 |"), "{text}");
}
