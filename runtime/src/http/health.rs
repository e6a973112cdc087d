//! What a cluster asks of a pod: whether questions can be asked of it, and by what it answers.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::http::access::Access;
use crate::http::app::App;
use crate::http::endpoints::readyz::Dependency;

/// Failures in a row after which a knowledge base that answered counts as gone: one lost request is none.
const FAILURES: u32 = 3;

/// Readiness of a pod, kept up to date by whoever looks at its knowledge bases.
pub(crate) struct Health {
    config: String,
    revisions: BTreeMap<String, String>,
    bases: Mutex<BTreeMap<String, Steady>>,
    /// Whether policy and keys could be read once. A pod that never could is not ready, so that a rollout stops at it. Later
    /// it stays ready: all pods read the same files, and a refusal says more than no answer.
    began: AtomicBool,
}

/// What looking at one knowledge base came to, lately.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Steady {
    ready: bool,
    failures: u32,
    detail: String,
}

/// Whether questions can be asked, what that rests on, and by what they are answered.
#[derive(Debug, Serialize)]
struct PodReadiness {
    ready: bool,
    version: &'static str,
    /// Hash of the configuration.
    config: String,
    /// Hash of the policy in force; none while every question is refused.
    policy: Option<String>,
    /// Revision of each knowledge base.
    revisions: BTreeMap<String, String>,
    dependencies: Vec<Dependency>,
}

impl Health {
    /// Nothing has answered yet.
    pub(crate) fn new(config: String, revisions: BTreeMap<String, String>) -> Self {
        let bases = revisions
            .keys()
            .map(|name| (name.clone(), Steady { detail: "it has not answered yet".to_owned(), ..Steady::default() }));
        Self { config, bases: Mutex::new(bases.collect()), revisions, began: AtomicBool::new(false) }
    }

    /// Takes what looking at the knowledge bases came to: for people, or why it failed.
    pub(crate) fn took(&self, outcomes: Vec<(String, Result<String, String>)>) {
        let mut bases = self.bases.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, outcome) in outcomes {
            bases.entry(name).or_default().took(outcome);
        }
    }

    /// Whether every knowledge base answers.
    pub(crate) fn settled(&self) -> bool {
        let bases = self.bases.lock().unwrap_or_else(PoisonError::into_inner);
        bases.values().all(|base| base.ready && base.failures == 0)
    }

    fn report(&self, app: &App) -> PodReadiness {
        let draining = app.ending.draining.is_cancelled();
        let detail = if draining { "is ending" } else { "takes requests" };
        let mut dependencies = vec![dependency("server", !draining, detail)];
        dependencies.extend(self.base_dependencies());
        let stores = dependencies.iter().all(|dependency| dependency.ready);
        let policy = app.policy.current();
        let access = keys_dependency(&app.access);
        if policy.is_ok() && access.as_ref().is_none_or(|access| access.ready) {
            self.began.store(true, Ordering::Relaxed);
        }
        dependencies.push(match &policy {
            Ok(policy) => dependency("policy", true, policy.name.as_deref().unwrap_or("without a name")),
            Err(refusal) => dependency("policy", false, &refusal.message),
        });
        dependencies.extend(access);
        PodReadiness {
            ready: stores && self.began.load(Ordering::Relaxed),
            version: env!("CARGO_PKG_VERSION"),
            config: self.config.clone(),
            policy: policy.ok().map(|policy| policy.hash()),
            revisions: self.revisions.clone(),
            dependencies,
        }
    }

    fn base_dependencies(&self) -> Vec<Dependency> {
        let bases = self.bases.lock().unwrap_or_else(PoisonError::into_inner);
        bases
            .iter()
            .map(|(name, base)| dependency(&format!("knowledge base {name}"), base.ready, &base.detail))
            .collect()
    }
}

impl Steady {
    fn took(&mut self, outcome: Result<String, String>) {
        match outcome {
            Ok(detail) => *self = Self { ready: true, failures: 0, detail },
            Err(detail) => {
                self.failures += 1;
                self.ready &= self.failures < FAILURES;
                self.detail = detail;
            }
        }
    }
}

fn dependency(name: &str, ready: bool, detail: &str) -> Dependency {
    Dependency { name: name.to_owned(), ready, detail: detail.to_owned() }
}

fn keys_dependency(access: &Access) -> Option<Dependency> {
    let Access::Keys(keys) = access else { return None };
    Some(match keys.current() {
        Ok(keys) => {
            let callers = crate::output::count(keys.callers() as u64, "caller");
            let told: Vec<&str> =
                std::iter::once(callers.as_str()).chain(keys.mistakes.iter().map(String::as_str)).collect();
            dependency("keys", true, &told.join("; "))
        }
        Err(reason) => dependency("keys", false, &format!("everybody is refused: {reason}")),
    })
}

/// `GET /readyz` of a pod: 503 until every knowledge base has answered, and once the pod ends. The body is the same.
pub(crate) fn route(health: Arc<Health>) -> Router<Arc<App>> {
    let handler = move |State(app): State<Arc<App>>| {
        let report = health.report(&app);
        async move { reply(report) }
    };
    Router::new().route("/readyz", get(handler))
}

fn reply(report: PodReadiness) -> Response {
    let code = if report.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let retry = (!report.ready).then_some([(header::RETRY_AFTER, "1")]);
    (code, retry, Json(report)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_knowledge_base_is_there_at_once_and_gone_after_three_failures() {
        let mut base = Steady::default();
        let mut seen = |outcomes: &[bool]| {
            for &ok in outcomes {
                base.took(if ok { Ok("3 documents".to_owned()) } else { Err("no answer".to_owned()) });
            }
            (base.ready, base.detail.clone())
        };
        assert_eq!(seen(&[false]), (false, "no answer".to_owned()));
        assert_eq!(seen(&[true]), (true, "3 documents".to_owned()));
        assert_eq!(seen(&[false, false]), (true, "no answer".to_owned()));
        assert!(seen(&[true, false, false]).0, "two in a row");
        assert!(!seen(&[false]).0);
        assert!(seen(&[true]).0);
    }
}
