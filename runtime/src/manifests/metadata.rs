//! `apiVersion`, `kind` and `metadata`: what every object of Kubernetes has.

use super::node::{Content, Node};
use super::schema::{Finding, suggestion};

/// Fields of `metadata` that people and tools write.
const FIELDS: [&str; 13] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "uid",
];

/// Everything wrong with `metadata`, beside the rules of the name itself.
pub(crate) fn check(root: &Node) -> Vec<Finding> {
    let Some(metadata) = root.get("metadata") else {
        return vec![finding(root, "metadata", "is missing", "add metadata with a name")];
    };
    if !matches!(metadata.content, Content::Map(_)) {
        return vec![finding(metadata, "metadata", "must be a group of fields", "write name: below it, indented")];
    }
    let mut findings = texts(metadata);
    if metadata.get("name").is_none() {
        findings.push(finding(metadata, "metadata.name", "is missing", "add a name"));
    }
    findings.extend(unknown(metadata));
    findings
}

fn unknown(metadata: &Node) -> impl Iterator<Item = Finding> {
    metadata.entries().iter().filter(|entry| !FIELDS.contains(&entry.key.as_str())).map(|entry| Finding {
        place: entry.place,
        field: format!("metadata.{}", entry.key),
        problem: format!("unknown field {}", entry.key),
        fix: suggestion(&entry.key, &FIELDS),
    })
}

/// Names, labels and annotations are text; YAML reads `yes` and `1.0` as something else.
fn texts(metadata: &Node) -> Vec<Finding> {
    let own = ["name", "namespace"].into_iter().filter_map(|key| Some((format!("metadata.{key}"), metadata.get(key)?)));
    let maps = ["labels", "annotations"].into_iter().flat_map(|group| {
        let entries = metadata.get(group).map(Node::entries).unwrap_or_default();
        entries.iter().map(move |entry| (format!("metadata.{group}.{}", entry.key), &entry.node))
    });
    own.chain(maps)
        .filter(|(_, node)| node.text().is_none())
        .map(|(field, node)| finding(node, &field, "must be text", "write it in quotes"))
        .collect()
}

fn finding(node: &Node, field: &str, problem: &str, fix: &str) -> Finding {
    Finding { place: node.place, field: field.to_owned(), problem: problem.to_owned(), fix: fix.to_owned() }
}
