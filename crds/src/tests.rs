use serde_json::Value;
use std::path::{Path, PathBuf};

use crate::condition::Reason;
use crate::{conditions_reference, definition, definitions, reference};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Compares a file with what is generated now; `GROUNDWORK_GENERATE=1` writes it.
fn check_generated(path: &str, expected: &str) {
    let file = repository().join(path);
    if std::env::var_os("GROUNDWORK_GENERATE").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, expected).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(found == expected, "{path} is not what the types say: run `make generate` and commit it");
}

#[test]
fn generated_definitions_in_the_chart_are_current() {
    for definition in definitions() {
        let path = format!("charts/groundwork-crds/templates/groundwork.dev_{}.yaml", definition.plural());
        check_generated(&path, &definition.yaml());
    }
}

#[test]
fn generated_reference_is_current() {
    check_generated("docs/api.md", &reference());
    check_generated("docs/conditions.md", &conditions_reference());
}

#[test]
fn the_printed_yaml_reads_back_as_the_definition() {
    for definition in definitions() {
        let read: Value = serde_saphyr::from_str(&definition.yaml()).unwrap();
        assert_eq!(read.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap(), definition.schema());
        assert_eq!(read["apiVersion"], "apiextensions.k8s.io/v1");
    }
}

#[test]
fn every_definition_is_small_enough_for_client_side_apply() {
    for definition in definitions() {
        assert!(definition.yaml().len() < 200_000, "{} is too large", definition.kind());
    }
}

#[test]
fn kinds_have_their_names_and_category() {
    let names: Vec<_> = definitions().iter().map(|one| (one.kind(), one.plural(), one.short_names())).collect();
    assert_eq!(
        names,
        [
            ("KnowledgeBase", "knowledgebases", vec!["kb"]),
            ("AgentPipeline", "agentpipelines", vec!["ap"]),
            ("ModelEndpoint", "modelendpoints", vec!["me"]),
            ("ToolPolicy", "toolpolicies", vec!["tp"]),
        ]
    );
    assert!(definitions().iter().all(|one| one.yaml().contains("- groundwork\n")));
    assert!(definition("Pod").is_none());
}

/// Calls `visit` with the path and schema of every value below `spec`.
fn walk(path: &str, schema: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    visit(path, schema);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        walk(&format!("{path}.{name}"), property, visit);
    }
    if schema["items"].is_object() {
        walk(&format!("{path}[]"), &schema["items"], visit);
    }
}

fn every_value(visit: &mut dyn FnMut(&str, &Value)) {
    for definition in definitions() {
        walk(&format!("{} spec", definition.kind()), &definition.schema()["properties"]["spec"], visit);
    }
}

#[test]
fn every_field_is_documented_and_every_optional_one_names_its_default() {
    for definition in definitions() {
        let root = &definition.schema()["properties"]["spec"];
        walk(&format!("{} spec", definition.kind()), root, &mut |path, schema| {
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                let text = property["description"].as_str().unwrap_or_default();
                assert!(text.len() > 15, "{path}.{name} is not documented");
                let required = schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
                let says_when = text.contains("Default: ") || text.contains("Only with type ");
                assert!(required || says_when || property["properties"].is_object(), "{path}.{name} has no default");
            }
        });
    }
}

#[test]
fn every_reason_has_a_name_of_its_own() {
    let names: std::collections::BTreeSet<_> = Reason::ALL.iter().map(|reason| reason.name()).collect();
    assert_eq!(names.len(), Reason::ALL.len());
    assert!(names.iter().all(|name| name.chars().all(char::is_alphanumeric)));
}

#[test]
fn every_list_string_and_number_is_bounded() {
    every_value(&mut |path, schema| {
        let bounded = |field: &str| schema[field].is_number();
        let fine = match schema["type"].as_str() {
            Some("string") => schema["enum"].is_array() || bounded("maxLength"),
            Some("array") => bounded("maxItems") && schema["maxItems"].as_f64() <= Some(64.0),
            Some("integer") => bounded("minimum") && bounded("maximum"),
            Some("number") => false,
            Some("object") => {
                let values = &schema["additionalProperties"];
                schema["properties"].is_object() || bounded("maxProperties") && values["maxLength"].is_number()
            }
            Some("boolean") => true,
            _ => false,
        };
        assert!(fine, "{path} is not bounded: {schema}");
    });
}

#[test]
fn nothing_is_nullable_and_no_format_is_unsigned() {
    every_value(&mut |path, schema| {
        assert!(schema["nullable"].is_null(), "{path} is nullable");
        assert!(!schema["format"].as_str().unwrap_or_default().starts_with('u'), "{path} is unsigned");
        assert!(schema["default"].is_null(), "{path} has a schema default");
    });
}

#[test]
fn every_rule_has_a_message_for_people() {
    let mut rules = 0;
    let mut check = |path: &str, schema: &Value| {
        for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
            rules += 1;
            let message = rule["message"].as_str().unwrap_or_default();
            assert!(message.len() > 30 && !message.contains('\n'), "{path}: {rule}");
        }
    };
    for definition in definitions() {
        check(definition.kind(), definition.schema());
        walk(definition.kind(), &definition.schema()["properties"]["spec"], &mut check);
    }
    assert!(rules > 25, "only {rules} rules were found");
}

/// A coarse look: each rule by itself at its own bounds. The server also multiplies by the lists around it: the dearest rule
/// here, the path of an inline document, is about 160 units in 64 x 64 places, well below its 10 million.
#[cfg(feature = "cel")]
#[test]
fn rules_stay_within_the_cost_that_the_api_server_allows() {
    use kube::core::cel::{compile_schema, estimate_rule_cost};
    let check = |path: &str, schema: &Value| {
        let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
        for rule in rules.filter_map(|rule| rule["rule"].as_str()) {
            let warnings = estimate_rule_cost(rule, &compile_schema(schema));
            assert!(warnings.is_empty(), "{path}: {warnings:?}");
        }
    };
    for definition in definitions() {
        check(definition.kind(), definition.schema());
        walk(definition.kind(), &definition.schema()["properties"]["spec"], &mut |path, schema| check(path, schema));
    }
}
