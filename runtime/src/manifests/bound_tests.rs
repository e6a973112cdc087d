//! Every bound of every schema refuses the first value beyond it, at its field.

use groundwork_crds_fixtures::{Mistake, beyond_bounds, missing_fields, repeated_items, unknown_fields};

use super::tests::errors;

/// That each object is refused at its field, maybe among other mistakes that follow from it.
fn refused(mistakes: &[Mistake], at_least: usize) {
    for Mistake { object, field, message } in mistakes {
        let expected = format!("{field}: {message}");
        let found = errors(&serde_json::to_string_pretty(object).unwrap());
        assert!(found.iter().any(|error| error.contains(&expected)), "{expected} not in {found:?}");
    }
    assert!(mistakes.len() >= at_least, "only {} mistakes were found", mistakes.len());
}

#[test]
fn the_first_value_beyond_each_bound_is_refused() {
    refused(&beyond_bounds(), 150);
}

#[test]
fn leaving_out_any_required_field_is_refused() {
    refused(&missing_fields(), 20);
}

#[test]
fn unknown_fields_are_refused_in_every_group() {
    refused(&unknown_fields(), 20);
}

#[test]
fn two_items_of_one_name_are_refused() {
    for Mistake { object, field, message } in repeated_items() {
        let found = errors(&serde_json::to_string_pretty(&object).unwrap());
        // The key at fault is named: `spec.sources[2].name: notes is there twice`.
        let right = |error: &String| error.contains(&format!(": {field}")) && error.contains(&message);
        assert!(found.iter().any(right), "{field}: {message} not in {found:?}");
    }
    assert!(repeated_items().len() >= 4);
}
