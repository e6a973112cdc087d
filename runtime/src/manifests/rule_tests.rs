//! What the shared tables hold is refused here as it is by an API server (`tests/cluster`).

use groundwork_crds_fixtures::{Mistake, broken_rules, changed_identities};
use serde_json::Value;

use super::node::{Content, Node};
use super::tests::{errors, reading};

#[test]
fn breaking_one_rule_gives_its_message_alone() {
    for Mistake { object, field, message } in broken_rules() {
        let found = errors(&serde_json::to_string_pretty(&object).unwrap());
        let [only] = found.as_slice() else { panic!("{field}: {message}: {found:?}") };
        let (place, rest) = only.split_once(": spec").unwrap();
        assert_eq!(format!("spec{rest}"), format!("{field}: {message}"));
        assert!(place.starts_with("test.yaml:") && !place.starts_with("test.yaml:1:"), "{place}");
    }
}

#[test]
fn an_identity_cannot_change_appear_or_vanish() {
    let definition = groundwork_crds::definition("KnowledgeBase").unwrap();
    let broken = |new: &Value, old: &Value| groundwork_crds::cel::violations(definition, new, Some(old));
    for change in changed_identities() {
        let found = broken(&change.new, &change.old);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].path.as_str(), found[0].message.as_str()), (change.field, change.message));
        assert_eq!(broken(&change.old, &change.old), []);
    }
}

/// As `kubectl` reads them, `yes` included.
#[test]
fn yaml_types_are_kept() {
    let documents = super::node::parse("a: [1, 1.5, yes, true, '1', null, 2024-05-01]\n").ok().unwrap();
    let Content::List(items) = &documents[0].get("a").unwrap().content else { panic!("a list") };
    let kinds: Vec<String> = items.iter().map(Node::json).map(|value| value.to_string()).collect();
    assert_eq!(kinds, ["1", "1.5", "true", "true", "\"1\"", "null", "\"2024-05-01\""]);
    assert!(reading("{}").errors[0].to_string().contains("holds no manifest"));
}
