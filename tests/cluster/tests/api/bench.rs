//! A namespace with an operator in it.

use anyhow::{Result, ensure};
use groundwork_cluster_tests::{AuditEvent, ControlPlane, Installation, Operator, User};
use serde_json::Value;

/// What is waited for takes a second, so that tests need not wait for half a minute.
pub(crate) const IMPATIENT: [&str; 4] = [
    "operator.missingSecretSeconds=1",
    "operator.foundSecretSeconds=1",
    "operator.leaseSeconds=3",
    "ingestion.retrySeconds=1",
];

/// A namespace with an operator in it.
pub(crate) struct Bench<'a> {
    pub(crate) plane: &'a ControlPlane,
    pub(crate) namespace: String,
    pub(crate) installation: Installation,
}

impl<'a> Bench<'a> {
    pub(crate) async fn new(plane: &'a ControlPlane, prefix: &str) -> Result<Self> {
        plane.install_definitions().await?;
        let namespace = plane.namespace(prefix).await?;
        let installation = plane.install_operator(&namespace, &IMPATIENT).await?;
        Ok(Self { plane, namespace, installation })
    }

    pub(crate) async fn run(&self, replica: &str) -> Result<Operator<'a>> {
        self.plane.run_operator(&self.installation, replica).await
    }

    pub(crate) async fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let arguments = [arguments, &["--namespace", &self.namespace]].concat();
        self.plane.kubectl(User::Admin, &arguments).await
    }

    pub(crate) async fn apply(&self, object: Value) -> Result<()> {
        let arguments = ["apply", "--server-side", "--namespace", &self.namespace, "-f", "-"];
        self.plane.kubectl_with_input(User::Admin, &arguments, &object.to_string()).await.map(drop)
    }

    pub(crate) async fn endpoint(&self, name: &str) -> Result<Value> {
        self.get("me", name).await
    }

    /// An object as it is now.
    pub(crate) async fn get(&self, kind: &str, name: &str) -> Result<Value> {
        Ok(serde_json::from_str(&self.kubectl(&["get", kind, name, "-o", "json"]).await?)?)
    }

    /// Waits until a condition of an endpoint has status and reason, about the newest generation.
    pub(crate) async fn reaches(
        &self,
        operator: &Operator<'_>,
        name: &str,
        wanted: &str,
        status: &str,
        reason: &str,
    ) -> Result<Value> {
        self.comes_to(operator, ("me", name), (wanted, status, reason)).await
    }

    /// Waits until a condition of an object has status and reason, about the newest generation.
    pub(crate) async fn comes_to(
        &self,
        operator: &Operator<'_>,
        (kind, name): (&str, &str),
        (wanted, status, reason): (&str, &str, &str),
    ) -> Result<Value> {
        let what = format!("{kind}/{name} has {wanted}={status} {reason}");
        operator
            .wait_until(&what, async || {
                let object = self.get(kind, name).await?;
                let found = condition(&object, wanted);
                let newest = object["metadata"]["generation"] == found["observedGeneration"]
                    && object["metadata"]["generation"] == object["status"]["observedGeneration"];
                ensure!(newest && found["status"] == status && found["reason"] == reason, "{}", object["status"]);
                Ok(true)
            })
            .await?;
        self.get(kind, name).await
    }

    /// Requests of the operator so far.
    pub(crate) fn requests(&self) -> Result<Vec<AuditEvent>> {
        let mut events = self.plane.audit().read()?;
        let user = self.installation.user();
        events.retain(|event| event.user.username == user);
        Ok(events)
    }
}

pub(crate) fn condition(object: &Value, kind: &str) -> Value {
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default()
}
