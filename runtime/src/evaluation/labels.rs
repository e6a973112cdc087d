//! What judgements call documents, against the documents there are.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::data_set::DataSet;
use super::metrics::Judgements;
use crate::output::{self, Problem};

/// Labels that a message names.
const NAMED: usize = 3;

/// Lets judgements name documents as `path` where they say `source/path`; `documents` are written so. Gives a note on
/// labels that no document has.
///
/// # Errors
/// Where no label has a document: the set is about another folder, or its paths start elsewhere.
pub(crate) fn resolve(set: &mut DataSet, documents: &[String]) -> Result<Option<String>, Problem> {
    let names: HashSet<&str> = documents.iter().map(String::as_str).collect();
    let paths: HashSet<&str> = names.iter().map(|name| path(name)).collect();
    let resolved = |label: String| match paths.contains(label.as_str()) || !names.contains(label.as_str()) {
        true => label,
        false => path(&label).to_owned(),
    };
    for question in &mut set.questions {
        question.relevant = renamed(std::mem::take(&mut question.relevant), resolved);
    }
    let labels: BTreeSet<&str> =
        set.questions.iter().flat_map(|question| question.relevant.keys().map(String::as_str)).collect();
    let unknown: Vec<&str> = labels.iter().copied().filter(|label| !paths.contains(label)).collect();
    match unknown.len() {
        0 => Ok(None),
        count if count == labels.len() => Err(nothing_known(&set.name, &unknown, documents)),
        count => Ok(Some(format!(
            "{count} of {} name no document and count as not found: {}",
            output::count(labels.len() as u64, "label"),
            first_of(&unknown)
        ))),
    }
}

/// Two names of one document keep the higher grade.
fn renamed(judgements: Judgements, resolved: impl Fn(String) -> String) -> Judgements {
    let mut all: Judgements = HashMap::new();
    for (label, grade) in judgements {
        let known = all.entry(resolved(label)).or_insert(grade);
        *known = grade.max(*known);
    }
    all
}

fn nothing_known(set: &str, unknown: &[&str], documents: &[String]) -> Problem {
    let problem = Problem::new(format!("failed to find any document that the set {set} names")).because(format!(
        "{}: {}",
        output::count(unknown.len() as u64, "label"),
        first_of(unknown)
    ));
    match documents.first() {
        Some(name) => problem.fix(format!("write documents as `{}` or `{name}`, relative to their source", path(name))),
        None => problem.fix("name a folder that has documents"),
    }
}

fn first_of(labels: &[&str]) -> String {
    let named = labels[..labels.len().min(NAMED)].join(", ");
    match labels.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// `source/path` without the source: what judgements name.
pub(crate) fn path(document: &str) -> &str {
    document.split_once('/').map_or(document, |(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::data_set::Question;

    fn set(labels: &[(&str, i32)]) -> DataSet {
        let relevant = labels.iter().map(|(label, grade)| ((*label).to_owned(), *grade)).collect();
        let question = Question { id: "q1".into(), relevant, ..Question::default() };
        DataSet { name: "tiny".into(), corpus: Vec::new(), questions: vec![question] }
    }

    fn documents() -> Vec<String> {
        ["notes/a.md", "notes/deep/b.md", "drafts/notes/c.md"].map(str::to_owned).into()
    }

    #[test]
    fn a_label_may_have_the_source_in_front() {
        let mut set = set(&[("notes/a.md", 1), ("deep/b.md", 2), ("notes/c.md", 1)]);
        assert_eq!(resolve(&mut set, &documents()).unwrap(), None);
        let expected = [("a.md", 1), ("deep/b.md", 2), ("notes/c.md", 1)].map(|(path, grade)| (path.to_owned(), grade));
        assert_eq!(set.questions[0].relevant, Judgements::from(expected));
    }

    #[test]
    fn two_names_of_one_document_are_one_label() {
        let mut set = set(&[("notes/a.md", 1), ("a.md", 2)]);
        resolve(&mut set, &documents()).unwrap();
        assert_eq!(set.questions[0].relevant, Judgements::from([("a.md".to_owned(), 2)]));
    }

    #[test]
    fn labels_without_a_document_are_named() {
        let mut some = set(&[("a.md", 1), ("A.md", 1), ("b.md", 1), ("x.md", 1), ("y.md", 1)]);
        let note = resolve(&mut some, &documents()).unwrap().unwrap();
        assert_eq!(note, "4 of 5 labels name no document and count as not found: A.md, b.md, x.md and 1 more");
    }

    #[test]
    fn a_set_about_other_documents_is_refused_with_a_name_that_would_do() {
        let problem = resolve(&mut set(&[("docs/a.md", 1)]), &documents()).unwrap_err();
        assert!(format!("{problem:?}").contains("1 label: docs/a.md"), "{problem:?}");
        assert!(problem.fix_text().unwrap().contains("`a.md` or `notes/a.md`"), "{problem:?}");
        assert!(resolve(&mut set(&[("a.md", 1)]), &[]).is_err());
        assert_eq!(resolve(&mut set(&[]), &[]).unwrap(), None, "no labels, nothing to match");
    }
}
