use std::fmt::Write;

use super::Report;

/// The thresholds as a JUnit test suite: one case each, failed where not met.
pub(crate) fn junit(report: &Report) -> String {
    let failures = report.thresholds.iter().filter(|threshold| !threshold.met).count();
    let name = escape(&report.set);
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"groundwork eval {name}\" tests=\"{}\" \
         failures=\"{failures}\">\n",
        report.thresholds.len()
    );
    for threshold in &report.thresholds {
        let measured = threshold.measured.map_or_else(|| "not measured".to_owned(), |value| format!("{value:.4}"));
        let case = format!("{} &gt;= {}", escape(&threshold.metric), threshold.at_least);
        let _ = match threshold.met {
            true => writeln!(out, "  <testcase classname=\"{name}\" name=\"{case}\"/>"),
            false => writeln!(
                out,
                "  <testcase classname=\"{name}\" name=\"{case}\"><failure message=\"measured {measured}\"/></testcase>"
            ),
        };
    }
    out.push_str("</testsuite>\n");
    out
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
