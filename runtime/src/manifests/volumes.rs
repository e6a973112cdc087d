//! The folders that stand for volumes where everything runs in one process.

use groundwork_config::compile::Volume;
use groundwork_crds::SourceSpec;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::document::{Document, Object};
use super::error::ManifestError;

/// Prefix of the annotation that names the folder of a source, relative to the manifest: `local.groundwork.dev/SOURCE`.
pub(crate) const FOLDER_ANNOTATION: &str = "local.groundwork.dev/";

/// For every source on a volume: the folder given on the command line, else the one of the annotation, else those beside
/// the manifest that are named like the source or its claim.
pub(super) fn find(
    documents: &[Document],
    given: &BTreeMap<String, PathBuf>,
) -> Result<BTreeMap<Volume, PathBuf>, ManifestError> {
    check_names(documents, given)?;
    let mut volumes = BTreeMap::new();
    for (document, index, source) in sources(documents) {
        let mut insert = |name: &str, path: &Path| -> Result<(), ManifestError> {
            let (_, namespace, knowledge_base) = document.key();
            let (namespace, knowledge_base) = (namespace.to_owned(), knowledge_base.to_owned());
            let folder = absolute(path).map_err(|problem| {
                let field = format!("spec.sources[{index}].persistentVolumeClaim");
                document.error(&field, &problem, &format!("name an existing folder with --source {}=PATH", source.name))
            })?;
            volumes.insert(Volume { namespace, knowledge_base, name: name.to_owned() }, folder);
            Ok(())
        };
        let annotated = document.annotation(&format!("{FOLDER_ANNOTATION}{}", source.name));
        if let Some(path) = given.get(&source.name) {
            insert(&source.name, path)?;
        } else if let Some(path) = annotated {
            insert(&source.name, &document.folder().join(path))?;
        } else {
            let claim = source.persistent_volume_claim.as_ref().map(|claim| claim.claim_name.as_str());
            let names = [Some(source.name.as_str()), claim].into_iter().flatten();
            for name in names.filter(|name| document.folder().join(name).is_dir()) {
                insert(name, &document.folder().join(name))?;
            }
        }
    }
    Ok(volumes)
}

fn sources(documents: &[Document]) -> impl Iterator<Item = (&Document, usize, &SourceSpec)> {
    let bases = documents.iter().filter_map(|document| match &document.object {
        Object::KnowledgeBase(base) => Some((document, base)),
        _ => None,
    });
    let all = bases.flat_map(|(document, base)| {
        base.spec.sources.iter().enumerate().map(move |(index, source)| (document, index, source))
    });
    all.filter(|(_, _, source)| source.persistent_volume_claim.is_some())
}

fn check_names(documents: &[Document], given: &BTreeMap<String, PathBuf>) -> Result<(), ManifestError> {
    let known: Vec<&str> = sources(documents).map(|(_, _, source)| source.name.as_str()).collect();
    let Some(unknown) = given.keys().find(|name| !known.contains(&name.as_str())) else { return Ok(()) };
    let fix = if known.is_empty() {
        "no source is of type PersistentVolumeClaim".to_owned()
    } else {
        super::schema::suggestion(unknown, &known)
    };
    Err(ManifestError { fix, ..ManifestError::general(format!("--source {unknown} names no source")) })
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    match path.canonicalize() {
        Ok(found) if found.is_dir() => Ok(found),
        Ok(found) => Err(format!("{} is not a folder", found.display())),
        Err(error) => Err(format!("failed to open the folder {}: {error}", path.display())),
    }
}
