//! Links between the documents of this repository lead somewhere, and decision records have numbers of their own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the harness lies in the workspace")
}

fn markdown_in(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).expect("the folder is readable");
    let paths = entries.map(|entry| entry.expect("the entry is readable").path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// Targets of `[text](target)`, without those on other hosts and without fragments.
fn relative_links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    let local = targets.filter(|target| !target.contains("://") && !target.starts_with('#'));
    local.map(|target| target.split('#').next().unwrap_or(target)).collect()
}

#[test]
fn relative_links_lead_to_files() {
    let mut documents = markdown_in("docs");
    documents.extend(markdown_in("docs/adr"));
    documents.extend(markdown_in(""));
    documents.push(root().join("examples/quickstart/README.md"));
    let mut links = 0;
    for document in documents {
        let text = fs::read_to_string(&document).expect("the document is readable");
        let folder = document.parent().expect("a file lies in a folder");
        for link in relative_links(&text) {
            links += 1;
            assert!(folder.join(link).exists(), "{} links to {link}, which does not exist", document.display());
        }
    }
    assert!(links > 20, "only {links} links were found");
}

#[test]
fn decision_records_have_unique_numbers_and_stand_in_the_index() {
    let index = fs::read_to_string(root().join("docs/adr/README.md")).expect("the index is readable");
    let mut seen = BTreeMap::new();
    for record in markdown_in("docs/adr") {
        let name = record.file_name().expect("a file has a name").to_string_lossy().into_owned();
        if name == "README.md" {
            continue;
        }
        let number = name.split('-').next().expect("the first part exists").to_owned();
        let title = fs::read_to_string(&record).expect("the record is readable");
        let heading = format!("# {}. ", number.trim_start_matches('0'));
        assert!(title.starts_with(&heading), "{name} must begin with `{heading}`");
        assert!(index.contains(&format!("({name})")), "docs/adr/README.md does not list {name}");
        assert_eq!(seen.insert(number.clone(), name), None, "two decision records have number {number}");
    }
}
