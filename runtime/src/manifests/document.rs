//! One YAML document: is it ours, is it right, what object is it.

use groundwork_config::compile::{DEFAULT_NAMESPACE, Objects};
use groundwork_crds::{API_VERSION, AgentPipeline, Definition, GROUP, KnowledgeBase, ModelEndpoint, ToolPolicy};
use serde_json::{Value, json};
use std::path::PathBuf;

use super::error::ManifestError;
use super::metadata;
use super::node::Node;
use super::schema::{self, Finding, suggestion};

/// A typed object.
#[derive(Clone, Debug)]
pub(crate) enum Object {
    KnowledgeBase(Box<KnowledgeBase>),
    AgentPipeline(Box<AgentPipeline>),
    ModelEndpoint(ModelEndpoint),
    ToolPolicy(ToolPolicy),
}

/// A checked object with its origin.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) file: String,
    pub(crate) object: Object,
    kind: String,
    namespace: String,
    name: String,
    root: Node,
}

/// What a document turned out to be.
pub(crate) enum Checked {
    Right(Box<Document>),
    Wrong(Vec<ManifestError>),
    /// Of another API group, or no object at all.
    Foreign,
}

/// Checks one document.
pub(crate) fn check(file: &str, root: Node) -> Checked {
    let text = |key: &str| root.get(key).and_then(Node::text).unwrap_or_default().to_owned();
    let (version, kind, name) = (text("apiVersion"), text("kind"), name_of(&root));
    let definition = groundwork_crds::definition(&kind);
    if !version.starts_with(&format!("{GROUP}/")) && (definition.is_none() || is_other_group(&version)) {
        return Checked::Foreign;
    }
    let object = if name.is_empty() { kind.clone() } else { format!("{kind} {name}") };
    let findings = match definition {
        _ if version != API_VERSION => vec![wrong_version(&root, &version)],
        None => vec![unknown_kind(&root, &kind)],
        Some(definition) => mistakes(&root, definition),
    };
    if !findings.is_empty() {
        return Checked::Wrong(findings.into_iter().map(|one| located(file, &object, one)).collect());
    }
    match typed(&kind, root.json()) {
        Ok(typed) => {
            let namespace = root.get("metadata").and_then(|metadata| metadata.get("namespace")).and_then(Node::text);
            let namespace = namespace.unwrap_or(DEFAULT_NAMESPACE).to_owned();
            Checked::Right(Box::new(Document { file: file.to_owned(), object: typed, kind, namespace, name, root }))
        }
        Err(error) => Checked::Wrong(vec![ManifestError {
            object: object.into(),
            ..ManifestError::of_file(file, format!("failed to read the object: {error}"), "")
        }]),
    }
}

/// A kind of ours in a group that is plainly somebody else's is theirs; a near miss of ours is a mistake.
fn is_other_group(version: &str) -> bool {
    let group = version.split('/').next().unwrap_or_default();
    !version.is_empty() && strsim::damerau_levenshtein(group, GROUP) > 3
}

fn name_of(root: &Node) -> String {
    let name = root.get("metadata").and_then(|metadata| metadata.get("name")).and_then(Node::text);
    name.unwrap_or_default().to_owned()
}

fn wrong_version(root: &Node, version: &str) -> Finding {
    Finding {
        place: root.locate("apiVersion"),
        field: "apiVersion".to_owned(),
        problem: if version.is_empty() { "is missing".to_owned() } else { format!("{version} does not exist") },
        fix: format!("write apiVersion: {API_VERSION}"),
    }
}

fn unknown_kind(root: &Node, kind: &str) -> Finding {
    let known: Vec<&str> = groundwork_crds::definitions().iter().map(Definition::kind).collect();
    Finding {
        place: root.locate("kind"),
        field: "kind".to_owned(),
        problem: if kind.is_empty() { "is missing".to_owned() } else { format!("unknown kind {kind}") },
        fix: suggestion(kind, &known),
    }
}

/// Mistakes of schema and metadata; where there are none, of the rules, which trust both.
fn mistakes(root: &Node, definition: &Definition) -> Vec<Finding> {
    let mut findings = metadata::check(root);
    findings.extend(schema::check(root, &whole_object(definition.schema()), ""));
    if findings.is_empty() {
        let broken = groundwork_crds::cel::violations(definition, &root.json(), None);
        findings.extend(broken.into_iter().map(|rule| broken_rule(root, rule)));
    }
    findings
}

/// The schema of the whole object; `metadata` is checked apart.
fn whole_object(schema: &Value) -> Value {
    json!({
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"x-kubernetes-preserve-unknown-fields": true},
            "spec": schema["properties"]["spec"],
        },
    })
}

fn broken_rule(root: &Node, rule: groundwork_crds::cel::Violation) -> Finding {
    let (field, message) = match rule.message.strip_prefix("metadata.name ") {
        Some(message) if rule.path.is_empty() => ("metadata.name".to_owned(), message.to_owned()),
        _ => (rule.path, rule.message),
    };
    let (problem, fix) = message.split_once(": ").map_or((message.as_str(), ""), |(problem, fix)| (problem, fix));
    Finding { place: root.locate(&field), field, problem: problem.to_owned(), fix: fix.to_owned() }
}

fn typed(kind: &str, json: Value) -> Result<Object, serde_json::Error> {
    Ok(match kind {
        "KnowledgeBase" => Object::KnowledgeBase(serde_json::from_value(json)?),
        "AgentPipeline" => Object::AgentPipeline(serde_json::from_value(json)?),
        "ToolPolicy" => Object::ToolPolicy(serde_json::from_value(json)?),
        _ => Object::ModelEndpoint(serde_json::from_value(json)?),
    })
}

fn located(file: &str, object: &str, finding: Finding) -> ManifestError {
    let Finding { place, field, problem, fix } = finding;
    ManifestError { file: file.to_owned(), place, object: object.into(), field, problem, fix }
}

impl Document {
    /// Kind, namespace and name.
    pub(crate) fn key(&self) -> (&str, &str, &str) {
        (&self.kind, &self.namespace, &self.name)
    }

    /// The folder that holds the file; the working directory for standard input.
    pub(crate) fn folder(&self) -> PathBuf {
        let folder = PathBuf::from(&self.file).parent().map(PathBuf::from).unwrap_or_default();
        if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder }
    }

    /// The value of an annotation.
    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        let annotations = self.root.get("metadata")?.get("annotations")?;
        annotations.get(key)?.text()
    }

    /// A mistake at one of its fields.
    pub(crate) fn error(&self, field: &str, problem: &str, fix: &str) -> ManifestError {
        ManifestError {
            file: self.file.clone(),
            place: self.root.locate(field),
            object: format!("{} {}", self.kind, self.name).into(),
            field: field.to_owned(),
            problem: problem.to_owned(),
            fix: fix.to_owned(),
        }
    }

    /// The mistake of having the same name as an earlier one.
    pub(crate) fn duplicate_of(&self, first: &Document) -> ManifestError {
        let line = first.root.locate("metadata.name").line;
        let problem = format!("is there twice, first in {}:{line}", first.file);
        self.error("metadata.name", &problem, "rename one, or remove it")
    }

    pub(crate) fn push_to(&self, objects: &mut Objects) {
        match &self.object {
            Object::KnowledgeBase(one) => objects.knowledge_bases.push(one.as_ref().clone()),
            Object::AgentPipeline(one) => objects.pipelines.push(one.as_ref().clone()),
            Object::ModelEndpoint(one) => objects.endpoints.push(one.clone()),
            Object::ToolPolicy(one) => objects.policies.push(one.clone()),
        }
    }
}
