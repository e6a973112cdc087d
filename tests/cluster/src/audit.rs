use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long the server may take to write down what it answered.
const WAIT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);

/// Everything but contents: who asked for what, and how it was decided. A watch is written down when it begins.
pub(crate) const POLICY: &str = r#"{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
"rules": [{"level": "Metadata"}]}"#;

/// The API server's record of all requests.
#[derive(Clone, Debug)]
pub struct AuditLog {
    path: PathBuf,
}

/// One request.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditEvent {
    /// `ResponseComplete`; a watch has an event `ResponseStarted` before.
    pub stage: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// Path with query.
    #[serde(rename = "requestURI")]
    pub uri: String,
    /// Who asked.
    pub user: AuditUser,
    /// What it was about; absent for paths that are no resources.
    #[serde(default)]
    pub object_ref: Option<AuditObject>,
    #[serde(default)]
    response_status: AuditStatus,
    #[serde(default)]
    annotations: AuditAnnotations,
}

/// Who asked.
#[derive(Clone, Debug, Deserialize)]
pub struct AuditUser {
    /// As in role bindings; a service account is `system:serviceaccount:NAMESPACE:NAME`.
    pub username: String,
    #[serde(default)]
    extra: BTreeMap<String, Vec<String>>,
}

impl AuditUser {
    /// Whether it asked with this token of a service account, `JTI=ID`.
    pub fn has_credential(&self, id: &str) -> bool {
        let ids = self.extra.get("authentication.kubernetes.io/credential-id");
        ids.is_some_and(|ids| ids.iter().any(|one| one == id))
    }
}

/// What a request was about. Absent parts are empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AuditObject {
    /// API group.
    pub api_group: String,
    /// Lower-case plural.
    pub resource: String,
    /// For example `status`.
    pub subresource: String,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct AuditStatus {
    code: u16,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct AuditAnnotations {
    #[serde(rename = "authorization.k8s.io/decision")]
    decision: String,
}

impl AuditEvent {
    /// The HTTP status of the answer.
    pub fn code(&self) -> u16 {
        self.response_status.code
    }

    /// Whether authorization refused it. A 403 of admission is not meant.
    pub fn is_forbidden(&self) -> bool {
        self.annotations.decision == "forbid"
    }

    /// Whether it asked for a change, even if nothing changed.
    pub fn is_write(&self) -> bool {
        matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection")
    }

    /// `GROUP/RESOURCE[/SUBRESOURCE]`, or nothing where the path is no resource.
    pub fn resource(&self) -> String {
        let Some(object) = &self.object_ref else { return String::new() };
        let parts = [&object.api_group, &object.resource, &object.subresource];
        parts.into_iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("/")
    }
}

impl AuditLog {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// All requests so far, oldest first. One that was just answered may be missing.
    pub fn read(&self) -> Result<Vec<AuditEvent>> {
        let text = std::fs::read_to_string(&self.path).context("failed to read the audit log")?;
        // The last line may be half written.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let parse = |line: &str| serde_json::from_str(line).with_context(|| format!("not an audit event: {line}"));
        whole.lines().map(parse).collect()
    }

    /// Waits until a request is written down, and returns it.
    pub async fn wait_for(&self, what: &str, matches: impl Fn(&AuditEvent) -> bool) -> Result<AuditEvent> {
        let deadline = Instant::now() + WAIT;
        loop {
            let events = self.read()?;
            if let Some(event) = events.iter().find(|event| matches(event)) {
                return Ok(event.clone());
            }
            if Instant::now() > deadline {
                bail!("the audit log has no {what} among its {} events", events.len());
            }
            tokio::time::sleep(POLL).await;
        }
    }
}
