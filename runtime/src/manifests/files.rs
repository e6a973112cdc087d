//! Which files hold manifests, and their text.

use ignore::WalkBuilder;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::error::ManifestError;

/// Where manifests are read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// A file, or a folder with everything below it.
    Path(PathBuf),
    /// Standard input.
    Stdin,
}

/// The text of a file.
#[derive(Debug)]
pub(crate) struct Text {
    /// For messages.
    pub(crate) name: String,
    pub(crate) content: String,
    /// Named by the user, not found in a folder: then it must hold a manifest.
    pub(crate) asked_for: bool,
}

/// The manifest files directly in a folder, sorted. Deeper ones belong to the folders they lie in.
pub(crate) fn find_manifests(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if is_yaml(&path) && std::fs::read_to_string(&path).is_ok_and(|text| names_our_group(&text)) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The texts of all inputs; what cannot be read becomes an error.
pub(crate) fn texts(inputs: &[Input], errors: &mut Vec<ManifestError>) -> Vec<Text> {
    let mut texts = Vec::new();
    for input in inputs {
        let read = match input {
            Input::Stdin => stdin().map(|text| vec![text]),
            Input::Path(path) if path.is_dir() => Ok(below(path)),
            Input::Path(path) => file(path).map(|text| vec![text]),
        };
        match read {
            Ok(read) => texts.extend(read),
            Err(error) => errors.push(error),
        }
    }
    texts
}

fn stdin() -> Result<Text, ManifestError> {
    let mut content = String::new();
    std::io::stdin().read_to_string(&mut content).map_err(|error| unreadable("-", &error))?;
    Ok(Text { name: "-".to_owned(), content, asked_for: true })
}

fn file(path: &Path) -> Result<Text, ManifestError> {
    let name = path.display().to_string();
    let content = std::fs::read_to_string(path).map_err(|error| unreadable(&name, &error))?;
    Ok(Text { name, content, asked_for: true })
}

/// The manifests below a folder, walked like git does. Other YAML files are ordinary documents.
fn below(folder: &Path) -> Vec<Text> {
    let mut walk = WalkBuilder::new(folder);
    walk.sort_by_file_path(Ord::cmp).require_git(false);
    let paths = walk.build().filter_map(Result::ok).map(ignore::DirEntry::into_path);
    let texts = paths.filter(|path| is_yaml(path)).filter_map(|path| file(&path).ok());
    texts.filter(|text| names_our_group(&text.content)).map(|text| Text { asked_for: false, ..text }).collect()
}

fn unreadable(name: &str, error: &io::Error) -> ManifestError {
    let fix = match error.kind() {
        io::ErrorKind::NotFound => "check the path",
        io::ErrorKind::InvalidData => "save it as UTF-8",
        _ => "make it readable",
    };
    ManifestError::of_file(name, format!("failed to read it: {error}"), fix)
}

fn is_yaml(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
    path.is_file() && (ending == "yaml" || ending == "yml")
}

/// Whether some document of the text says that it is ours. Looks at lines, so that broken YAML is still recognised and
/// large data files are not parsed.
fn names_our_group(text: &str) -> bool {
    text.lines().any(|line| {
        let value = line.trim_start_matches('\u{feff}').strip_prefix("apiVersion:");
        value.is_some_and(|value| value.trim_start().trim_start_matches(['"', '\'']).starts_with("groundwork.dev/"))
    })
}
