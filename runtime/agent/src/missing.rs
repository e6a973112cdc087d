//! Hard reasons for "not found": what the question names and no document has.

use std::collections::HashMap;

use crate::passage::{Evidence, QueryTerm, QueryTermKind};

/// Names what no document has, the nearest spelling and how much was searched; `None` if nothing named is missing.
/// A spelling counts as there if any of its folded forms is.
pub(crate) fn missing(evidence: &Evidence) -> Option<String> {
    let searched = searched(evidence);
    let named = named_terms(evidence);
    let absent = named.iter().find(|(_, forms)| forms.iter().all(|term| term.chunk_frequency == 0));
    if let Some((surface, forms)) = absent {
        let what = match forms[0].kind {
            QueryTermKind::Phrase => format!("the phrase “{surface}”"),
            _ => format!("“{surface}”"),
        };
        return Some(format!("No document has {what}{}. {searched}", nearest(forms)));
    }
    evidence.passages.is_empty().then(|| format!("No document matches the question. {searched}"))
}

/// Whether a named thing other than a number is missing; a number alone may still be put in relation to others.
pub(crate) fn names_unknown_thing(evidence: &Evidence) -> bool {
    let named = named_terms(evidence);
    let absent = |forms: &Vec<&QueryTerm>| forms.iter().all(|term| term.chunk_frequency == 0);
    named.iter().any(|(_, forms)| absent(forms) && forms[0].kind != QueryTermKind::Number)
}

fn named_terms(evidence: &Evidence) -> Vec<(&str, Vec<&QueryTerm>)> {
    let mut order: Vec<(&str, Vec<&QueryTerm>)> = Vec::new();
    let mut index: HashMap<&str, usize> = HashMap::new();
    for term in evidence.terms.iter().filter(|term| term.kind != QueryTermKind::Word) {
        let position = *index.entry(&term.surface).or_insert(order.len());
        match order.get_mut(position) {
            Some((_, forms)) => forms.push(term),
            None => order.push((&term.surface, vec![term])),
        }
    }
    order
}

fn nearest(forms: &[&QueryTerm]) -> String {
    let closest = |term: &&QueryTerm| term.similar.first().cloned();
    forms
        .iter()
        .find_map(closest)
        .map_or_else(String::new, |spelling| format!("; the nearest spelling is “{spelling}”"))
}

fn searched(evidence: &Evidence) -> String {
    match evidence.documents_searched {
        0 => "There are no documents yet.".into(),
        1 => "1 document was searched.".into(),
        count => format!("{count} documents were searched."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(surface: &str, kind: QueryTermKind, chunk_frequency: u64, similar: &[&str]) -> QueryTerm {
        let similar = similar.iter().map(|spelling| (*spelling).to_owned()).collect();
        QueryTerm { term: surface.to_lowercase(), surface: surface.into(), chunk_frequency, kind, similar }
    }

    fn evidence(terms: Vec<QueryTerm>) -> Evidence {
        let passage = crate::testing::passage("a.md", "Some text.");
        Evidence { passages: vec![passage], terms, documents_searched: 12, ..Evidence::default() }
    }

    #[test]
    fn an_unknown_identifier_is_named_with_its_nearest_spelling() {
        let terms = vec![
            term("refund", QueryTermKind::Word, 0, &[]),
            term("SKU-9999", QueryTermKind::Identifier, 0, &["sku-4471"]),
        ];
        assert_eq!(
            missing(&evidence(terms)).unwrap(),
            "No document has “SKU-9999”; the nearest spelling is “sku-4471”. 12 documents were searched."
        );
    }

    #[test]
    fn unknown_ordinary_words_are_no_hard_reason() {
        assert_eq!(missing(&evidence(vec![term("flux", QueryTermKind::Word, 0, &["flex"])])), None);
    }

    #[test]
    fn a_spelling_is_there_if_one_of_its_forms_is() {
        let joined = term("AX-3000", QueryTermKind::Identifier, 0, &[]);
        let number = QueryTerm { term: "3000".into(), chunk_frequency: 3, ..joined.clone() };
        assert_eq!(missing(&evidence(vec![joined, number])), None);
    }

    #[test]
    fn a_phrase_and_a_number_are_hard_reasons_but_only_the_phrase_is_a_thing() {
        let phrase = evidence(vec![term("moon base", QueryTermKind::Phrase, 0, &[])]);
        assert!(missing(&phrase).unwrap().contains("the phrase “moon base”") && names_unknown_thing(&phrase));
        let number = evidence(vec![term("9000", QueryTermKind::Number, 0, &[])]);
        assert!(missing(&number).is_some() && !names_unknown_thing(&number));
    }

    #[test]
    fn no_passage_is_a_hard_reason() {
        let nothing = Evidence { documents_searched: 1, ..Evidence::default() };
        assert_eq!(missing(&nothing).unwrap(), "No document matches the question. 1 document was searched.");
    }
}
