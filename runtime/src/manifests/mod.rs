//! Manifests from files: reading, checking, compiling.
//!
//! A file is read into a tree that knows its lines ([`node`]), the tree is checked against the schema and the rules of
//! its kind ([`schema`], [`document`]), and only then becomes a typed object; so every mistake of a file is found at
//! once, each with its line. [`volumes`] finds the folders that stand for volumes.

mod document;
mod error;
mod files;
mod metadata;
mod node;
mod schema;
mod template;
mod volumes;

pub(crate) use error::ManifestError;
pub(crate) use files::{Input, find_manifests};
pub(crate) use schema::suggestion;
pub(crate) use template::default_manifests;

use groundwork_config::RuntimeConfig;
use groundwork_config::compile::{self, Objects};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use document::Document;

/// Checked manifests.
#[derive(Debug, Default)]
pub(crate) struct Manifests {
    objects: Objects,
    documents: Vec<Document>,
    foreign: usize,
}

/// What compiling needs beside the manifests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompileOptions<'a> {
    /// The pipeline to run; needed only where there are several.
    pub(crate) pipeline: Option<&'a str>,
    /// Folders given on the command line, by source name.
    pub(crate) source_paths: &'a BTreeMap<String, PathBuf>,
    /// The folder of mounted Secrets.
    pub(crate) secrets_dir: &'a Path,
}

/// Reads and checks manifests from files and, recursively, folders. Documents of other API groups are passed over. Every
/// mistake of every file is reported.
pub(crate) fn load(paths: &[PathBuf]) -> Result<Manifests, Vec<ManifestError>> {
    let inputs: Vec<Input> = paths.iter().cloned().map(Input::Path).collect();
    read(&inputs).into_result()
}

/// What reading gave: what is right, and what is wrong with the rest.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) manifests: Manifests,
    pub(crate) errors: Vec<ManifestError>,
}

/// Reads and checks; mistakes stand beside what is right.
pub(crate) fn read(inputs: &[Input]) -> Reading {
    let mut reading = Reading::default();
    for text in files::texts(inputs, &mut reading.errors) {
        reading.take(&text);
    }
    reading
}

impl Reading {
    fn take(&mut self, text: &files::Text) {
        let documents = match node::parse(&text.content) {
            Ok(documents) => documents,
            Err(mistake) => return self.errors.push(mistake.into_error(&text.name)),
        };
        let mut ours = 0;
        for root in documents {
            match document::check(&text.name, root) {
                document::Checked::Right(document) => self.add(*document),
                document::Checked::Wrong(errors) => self.errors.extend(errors),
                document::Checked::Foreign => {
                    self.manifests.foreign += 1;
                    continue;
                }
            }
            ours += 1;
        }
        if ours == 0 && text.asked_for {
            self.errors.push(ManifestError::without_manifest(&text.name));
        }
    }

    fn add(&mut self, document: Document) {
        let first = self.manifests.documents.iter().find(|first| first.key() == document.key());
        if let Some(first) = first {
            return self.errors.push(document.duplicate_of(first));
        }
        document.push_to(&mut self.manifests.objects);
        self.manifests.documents.push(document);
    }

    fn into_result(self) -> Result<Manifests, Vec<ManifestError>> {
        if self.errors.is_empty() { Ok(self.manifests) } else { Err(self.errors) }
    }
}

impl Manifests {
    /// Whether nothing was found.
    pub(crate) fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// How many objects there are.
    pub(crate) fn count(&self) -> usize {
        self.documents.len()
    }

    /// Documents of other API groups that were passed over.
    pub(crate) fn foreign(&self) -> usize {
        self.foreign
    }

    /// References that name nothing in these manifests. A cluster may hold the rest.
    pub(crate) fn unresolved_references(&self) -> Vec<ManifestError> {
        compile::unresolved_references(&self.objects).into_iter().map(|error| self.locate(&error)).collect()
    }

    /// What the runtime reads.
    pub(crate) fn compile(&self, options: &CompileOptions<'_>) -> Result<RuntimeConfig, ManifestError> {
        let volumes = volumes::find(&self.documents, options.source_paths)?;
        let options = compile::Options {
            pipeline: options.pipeline.map(str::to_owned),
            volumes,
            secrets_dir: options.secrets_dir.to_owned(),
        };
        compile::compile(&self.objects, &options).map_err(|error| self.locate(&error))
    }

    /// A mistake of compilation with its file and line.
    fn locate(&self, error: &compile::Error) -> ManifestError {
        let text = error.to_string();
        let Some(place) = error.place() else { return ManifestError::general(text) };
        let key = (place.kind, place.namespace.as_str(), place.name.as_str());
        let document = self.documents.iter().find(|document| document.key() == key);
        let Some(document) = document else { return ManifestError::general(text) };
        let (problem, fix) = text.rsplit_once(": ").unwrap_or((&text, ""));
        let problem = problem.strip_prefix(&format!("{place}")).unwrap_or(problem).trim_start_matches([':', ' ']);
        document.error(&place.field, problem, fix)
    }
}

#[cfg(test)]
mod bound_tests;
#[cfg(test)]
mod rule_tests;
#[cfg(test)]
mod tests;
