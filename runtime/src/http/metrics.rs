//! What the server counts, in Prometheus' text format. Names are documented in `docs/http.md`.

use axum::http::StatusCode;
use prometheus::{
    Encoder, HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry, TextEncoder, core::Collector,
};
use std::time::Duration;

use crate::wire::{Answer, ArmReport, AskEvent, Status, StepUsage};

/// Seconds: a keyword search takes tens of milliseconds, a model's answer up to minutes.
const SECONDS: [f64; 13] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 20.0, 60.0];

/// Everything that is counted.
pub(crate) struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    request_seconds: HistogramVec,
    retrieval_seconds: HistogramVec,
    retrieval_hits: IntCounterVec,
    answers: IntCounterVec,
    refusals: IntCounterVec,
    tokens: IntCounterVec,
    cost: IntCounterVec,
    step_seconds: HistogramVec,
    ingestion: IntGaugeVec,
    policy: IntGaugeVec,
}

impl Metrics {
    /// All at zero.
    pub(crate) fn new() -> Self {
        let registry = Registry::new();
        Self {
            requests: counter(&registry, "requests_total", "HTTP requests.", &["route", "status"]),
            request_seconds: histogram(&registry, "request_duration_seconds", "Time to the first byte.", &["route"]),
            retrieval_seconds: histogram(&registry, "retrieval_duration_seconds", "Time of an arm.", &["arm"]),
            retrieval_hits: counter(&registry, "retrieval_hits_total", "Passages that an arm found.", &["arm"]),
            answers: counter(&registry, "answers_total", "Answers.", &["band", "stop_reason"]),
            refusals: counter(&registry, "policy_refusals_total", "Refusals by a limit of the policy.", &["rule"]),
            tokens: counter(&registry, "tokens_total", "Tokens of models.", &["model", "step", "direction"]),
            cost: counter(&registry, "cost_micros_total", "Millionths of the currency unit.", &["model", "step"]),
            step_seconds: histogram(&registry, "answer_step_duration_seconds", "Time of a step.", &["step"]),
            ingestion: gauge(
                &registry,
                "ingestion",
                "What the index holds: documents, chunks, vectors, pending_vectors, failures.",
                &["knowledge_base", "what"],
            ),
            policy: gauge(
                &registry,
                "policy_in_force",
                "1 for the hash of the policy that holds; nothing while every question is refused.",
                &["hash"],
            ),
            registry,
        }
    }

    /// Counts a request.
    pub(crate) fn request(&self, route: &str, status: StatusCode, elapsed: Duration) {
        self.requests.with_label_values(&[route, status.as_str()]).inc();
        self.request_seconds.with_label_values(&[route]).observe(elapsed.as_secs_f64());
    }

    /// Counts a refusal of the policy.
    pub(crate) fn refused(&self, rule: groundwork_policy::Rule) {
        self.refusals.with_label_values(&[rule.name()]).inc();
    }

    /// Counts what the arms of a search did, for passages or for an answer.
    pub(crate) fn arms(&self, arms: &[ArmReport]) {
        for arm in arms {
            let name = label(&arm.arm);
            self.retrieval_seconds.with_label_values(&[&name]).observe(arm.elapsed_ms / 1000.0);
            self.retrieval_hits.with_label_values(&[&name]).inc_by(arm.passages);
        }
    }

    /// Counts what an event of an answer tells.
    pub(crate) fn event(&self, event: &AskEvent) {
        match event {
            AskEvent::Retrieval { arms, .. } => self.arms(arms),
            AskEvent::Done { answer } => self.answer(answer),
            AskEvent::Sentence { .. } | AskEvent::Repair { .. } => {}
        }
    }

    /// Counts an answer with what it cost.
    fn answer(&self, answer: &Answer) {
        self.answers.with_label_values(&[label(&answer.band), label(&answer.stop_reason)]).inc();
        for step in &answer.usage {
            self.step(&answer.written_by, step);
        }
    }

    fn step(&self, model: &str, step: &StepUsage) {
        let name = step.step.as_str();
        self.step_seconds.with_label_values(&[name]).observe(Duration::from_millis(step.elapsed_ms).as_secs_f64());
        if step.input_tokens + step.output_tokens > 0 {
            self.tokens.with_label_values(&[model, name, "input"]).inc_by(step.input_tokens);
            self.tokens.with_label_values(&[model, name, "output"]).inc_by(step.output_tokens);
        }
        if let Some(cost) = step.cost_micros {
            self.cost.with_label_values(&[model, name]).inc_by(cost);
        }
    }

    /// The text format, with the index's state as of `status` and the hash of the policy in force.
    pub(crate) fn render(&self, status: Option<&Status>, policy: Option<&str>) -> String {
        self.policy.reset();
        policy.into_iter().for_each(|hash| self.policy.with_label_values(&[hash]).set(1));
        self.ingestion.reset();
        for base in status.iter().flat_map(|status| &status.knowledge_bases) {
            let pending = base.chunks.saturating_sub(base.vectors + base.without_vector);
            let values = [
                ("documents", base.documents),
                ("chunks", base.chunks),
                ("vectors", base.vectors),
                ("pending_vectors", pending),
                ("failures", base.failed),
            ];
            for (what, value) in values {
                self.ingestion.with_label_values(&[base.name.as_str(), what]).set(value as i64);
            }
        }
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut text).expect("writing to memory does not fail");
        String::from_utf8(text).expect("the text format is UTF-8")
    }
}

/// How a value is written in JSON: the same word everywhere.
fn label(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => "unknown".to_owned(),
    }
}

fn counter(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
    let made = IntCounterVec::new(options(name, help), labels).expect("the name and labels are valid");
    registered(registry, made)
}

fn gauge(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
    registered(registry, IntGaugeVec::new(options(name, help), labels).expect("the name and labels are valid"))
}

fn histogram(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> HistogramVec {
    let options = HistogramOpts::from(options(name, help)).buckets(SECONDS.to_vec());
    registered(registry, HistogramVec::new(options, labels).expect("the name and labels are valid"))
}

fn options(name: &str, help: &str) -> Opts {
    Opts::new(name, help).namespace("groundwork")
}

fn registered<C: Collector + Clone + 'static>(registry: &Registry, collector: C) -> C {
    registry.register(Box::new(collector.clone())).expect("each name is registered once");
    collector
}
