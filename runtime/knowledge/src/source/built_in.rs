//! What is left out of every folder, because it is generated or belongs to a tool. A rule `!name` in a
//! `.groundworkignore` takes it in again.

use crate::load::{SkipReason, skipped_directory};

/// Names that are build output only beside a build file.
const OUTPUT_FOLDERS: &[&str] = &["build", "out", "coverage"];
const BUILD_FILES: &[&str] = &[
    "CMakeLists.txt",
    "Makefile",
    "build.gradle",
    "build.gradle.kts",
    "meson.build",
    "package.json",
    "pyproject.toml",
    "setup.py",
    "tsconfig.json",
];

/// Files that mark the folder around them: the cache directory tagging specification, and Python's virtual
/// environments.
const MARKERS: &[(&str, SkipReason)] =
    &[("CACHEDIR.TAG", SkipReason::BuildOutput), ("pyvenv.cfg", SkipReason::Dependencies)];

const TEMPORARY_ENDINGS: &[&str] = &["~", ".tmp", ".part", ".crdownload"];

/// Why a folder of this name is left out, if it is. `beside` tells whether the folder around it has a file.
pub(super) fn folder(name: &str, beside: impl Fn(&str) -> bool) -> Option<SkipReason> {
    if matches!(name, "vendor" | "jspm_packages") {
        return Some(SkipReason::Dependencies);
    }
    let output = OUTPUT_FOLDERS.contains(&name) && BUILD_FILES.iter().any(|file| beside(file));
    skipped_directory(name).or((output || name.ends_with(".egg-info")).then_some(SkipReason::BuildOutput))
}

/// Why the folder around a file of this name is left out, if it is.
pub(super) fn marked(name: &str) -> Option<SkipReason> {
    MARKERS.iter().find(|(marker, _)| *marker == name).map(|(_, reason)| *reason)
}

/// Whether a file of this name is temporary.
pub(super) fn is_temporary(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.starts_with("~$") || TEMPORARY_ENDINGS.iter().any(|ending| lower.ends_with(ending))
}

/// Whether the first bytes of a YAML file are those of a Groundwork manifest.
pub(super) fn is_manifest(path: &str, head: &[u8]) -> bool {
    let lower = path.to_ascii_lowercase();
    let yaml = lower.ends_with(".yaml") || lower.ends_with(".yml");
    yaml && String::from_utf8_lossy(head).lines().any(names_our_group)
}

fn names_our_group(line: &str) -> bool {
    let Some(value) = line.trim_start_matches('\u{feff}').strip_prefix("apiVersion:") else { return false };
    value.trim_start().trim_start_matches(['"', '\'']).starts_with("groundwork.dev/")
}
