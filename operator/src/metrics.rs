//! What the operator counts, by kind and never by object, in Prometheus' text format.

use prometheus::core::Collector;
use prometheus::{
    Encoder, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder,
};
use std::time::Duration;

/// Seconds: most reconciliations are one call of the API server.
const SECONDS: [f64; 9] = [0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 20.0, 60.0];

/// How a reconciliation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Success,
    Failure,
}

impl Outcome {
    fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
        }
    }
}

/// Everything that is counted.
pub(crate) struct Metrics {
    registry: Registry,
    runs: IntCounterVec,
    seconds: HistogramVec,
    running: IntGaugeVec,
    watch_failures: IntCounterVec,
    status_writes: IntCounterVec,
    leading: IntGauge,
}

impl Metrics {
    /// All at zero.
    pub(crate) fn new() -> Self {
        let registry = Registry::new();
        let counter = |name: &str, help: &str, labels: &[&str]| {
            registered(&registry, IntCounterVec::new(options(name, help), labels))
        };
        let buckets = HistogramOpts {
            common_opts: options("reconcile_duration_seconds", "Time of a reconciliation."),
            buckets: SECONDS.to_vec(),
        };
        Self {
            runs: counter("reconcile_runs_total", "Reconciliations.", &["kind", "outcome"]),
            seconds: registered(&registry, HistogramVec::new(buckets, &["kind"])),
            running: registered(
                &registry,
                IntGaugeVec::new(options("reconcile_running", "Reconciliations under way."), &["kind"]),
            ),
            watch_failures: counter("watch_failures_total", "Watches that broke.", &["kind"]),
            status_writes: counter("status_writes_total", "Statuses written.", &["kind"]),
            leading: registered(&registry, IntGauge::with_opts(options("leading", "1 where the lease is held."))),
            registry,
        }
    }

    /// Counts a reconciliation from now until [`Running::end`]; one that is dropped before counts as failed.
    pub(crate) fn begin<'a>(&'a self, kind: &'a str) -> Running<'a> {
        self.running.with_label_values(&[kind]).inc();
        Running { metrics: self, kind, start: tokio::time::Instant::now(), outcome: Outcome::Failure }
    }

    pub(crate) fn watch_failed(&self, kind: &str) {
        self.watch_failures.with_label_values(&[kind]).inc();
    }

    pub(crate) fn status_written(&self, kind: &str) {
        self.status_writes.with_label_values(&[kind]).inc();
    }

    pub(crate) fn set_leading(&self, leading: bool) {
        self.leading.set(i64::from(leading));
    }

    /// All of it as text.
    pub(crate) fn text(&self) -> String {
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut text).expect("writing to a vector does not fail");
        String::from_utf8(text).expect("the text format is UTF-8")
    }

    fn end(&self, kind: &str, outcome: Outcome, elapsed: Duration) {
        self.running.with_label_values(&[kind]).dec();
        self.runs.with_label_values(&[kind, outcome.name()]).inc();
        self.seconds.with_label_values(&[kind]).observe(elapsed.as_secs_f64());
    }
}

/// A reconciliation under way.
pub(crate) struct Running<'a> {
    metrics: &'a Metrics,
    kind: &'a str,
    start: tokio::time::Instant,
    outcome: Outcome,
}

impl Running<'_> {
    pub(crate) fn end(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.metrics.end(self.kind, self.outcome, self.start.elapsed());
    }
}

fn options(name: &str, help: &str) -> Opts {
    Opts::new(name, help).namespace("groundwork_operator")
}

fn registered<C: Collector + Clone + 'static>(registry: &Registry, collector: prometheus::Result<C>) -> C {
    let collector = collector.expect("names and labels are valid");
    registry.register(Box::new(collector.clone())).expect("every name is registered once");
    collector
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_dropped_reconciliation_counts_as_failed() {
        let metrics = Metrics::new();
        metrics.begin("ModelEndpoint").end(Outcome::Success);
        drop(metrics.begin("ModelEndpoint"));
        let text = metrics.text();
        for line in [
            r#"groundwork_operator_reconcile_runs_total{kind="ModelEndpoint",outcome="failure"} 1"#,
            r#"groundwork_operator_reconcile_runs_total{kind="ModelEndpoint",outcome="success"} 1"#,
            r#"groundwork_operator_reconcile_running{kind="ModelEndpoint"} 0"#,
            r#"groundwork_operator_reconcile_duration_seconds_count{kind="ModelEndpoint"} 2"#,
            "groundwork_operator_leading 0",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
