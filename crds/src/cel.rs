//! Offline evaluation of the CEL rules.

use kube::core::cel::{ErrorKind, Validator};
use serde_json::Value;

use crate::Definition;

/// A rule that an object breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Path of the value that the rule stands at (`spec.sources[0].name`); empty for the whole object.
    pub path: String,
    /// The rule's message; it names the fix.
    pub message: String,
}

/// The rules that `object` breaks. With `old`, the rules that compare with the stored object are checked too. The object
/// must fit the schema: rules trust its types.
pub fn violations(definition: &Definition, object: &Value, old: Option<&Value>) -> Vec<Violation> {
    let Err(errors) = Validator::new().validate(definition.schema(), object, old) else { return Vec::new() };
    errors.into_vec().into_iter().map(|error| Violation { message: message(&error), path: error.field_path }).collect()
}

fn message(error: &kube::core::cel::ValidationError) -> String {
    match error.kind {
        ErrorKind::ValidationFailure => error.message.clone(),
        _ => format!("failed to evaluate the rule {}: {}", error.rule, error.message),
    }
}
