use serde::Serialize;
use std::fmt;

/// Line and column in a file, from 1; 0 where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Place {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// One mistake in a manifest: where it stands, what is wrong, how to fix it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
pub(crate) struct ManifestError {
    /// The file, or `-` for standard input; empty where the mistake concerns the whole set.
    pub(crate) file: String,
    #[serde(flatten)]
    pub(crate) place: Place,
    /// `KnowledgeBase handbook`; empty where there is no object.
    pub(crate) object: Box<str>,
    /// `spec.sources[0].name`; empty for the whole object or file.
    pub(crate) field: String,
    pub(crate) problem: String,
    pub(crate) fix: String,
}

impl ManifestError {
    /// A mistake of no single file.
    pub(crate) fn general(text: impl Into<String>) -> Self {
        Self {
            file: String::new(),
            place: Place::default(),
            object: Box::default(),
            field: String::new(),
            problem: text.into(),
            fix: String::new(),
        }
    }

    /// A mistake of a whole file.
    pub(crate) fn of_file(file: &str, problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { file: file.to_owned(), fix: fix.into(), ..Self::general(problem) }
    }

    pub(crate) fn without_manifest(file: &str) -> Self {
        let fix = format!("write apiVersion: {}, or leave the file out", groundwork_crds::API_VERSION);
        Self::of_file(file, "holds no manifest of Groundwork", fix)
    }
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}:", self.file)?;
            match self.place.line {
                0 => write!(f, " ")?,
                line => write!(f, "{line}: ")?,
            }
        }
        for part in [&*self.object, self.field.as_str()] {
            if !part.is_empty() {
                write!(f, "{part}: ")?;
            }
        }
        f.write_str(&self.problem)?;
        if self.fix.is_empty() { Ok(()) } else { write!(f, ": {}", self.fix) }
    }
}
