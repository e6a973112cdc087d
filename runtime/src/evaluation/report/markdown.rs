use std::fmt::Write;

use super::{Report, Row};

/// The report as Markdown tables.
pub(crate) fn markdown(report: &Report) -> String {
    let mut out = format!(
        "### {}\n\n{} questions, {} documents. Corpus `{}`, configuration `{}`, code {}.\n\n",
        report.set,
        report.questions,
        report.documents,
        short(&report.fingerprints.corpus),
        short(&report.fingerprints.configuration),
        report.fingerprints.code
    );
    out.push_str("| configuration | nDCG@10 | 95 % interval | Recall@5 | Recall@10 | MRR | MAP | against baseline |\n");
    out.push_str("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    report.rows.iter().for_each(|row| write_row(&mut out, row));
    if let Some(answers) = &report.answers {
        out.push_str("\n| answers | value |\n| --- | --- |\n");
        for (name, value) in answers.named() {
            let _ = writeln!(out, "| {name} | {value:.3} |");
        }
    }
    if let Some(abstention) = &report.abstention {
        let _ =
            writeln!(out, "\n| abstention ({} questions, asked twice) | value |\n| --- | --- |", abstention.questions);
        for (name, value) in abstention.named() {
            let _ = writeln!(out, "| {name} | {value:.3} |");
        }
    }
    for note in &report.notes {
        let _ = writeln!(out, "\n{note}");
    }
    out
}

fn write_row(out: &mut String, row: &Row) {
    let metrics = &row.metrics;
    let against = row.against_baseline.map_or_else(
        || "baseline".to_owned(),
        |difference| format!("{:+.3}, p {:.3}: {}", difference.ndcg, difference.p_value, difference.verdict.text()),
    );
    let _ = writeln!(
        out,
        "| {} | {:.3} | {:.3} to {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {against} |",
        row.name,
        metrics.ndcg_at_10,
        row.ndcg_interval.0,
        row.ndcg_interval.1,
        metrics.recall_at_5,
        metrics.recall_at_10,
        metrics.mrr,
        metrics.map
    );
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}
