//! What a file is, by its name and its first bytes.

use serde::{Deserialize, Serialize};
use std::fmt;

use crate::document::Format;

/// Outcome of [`detect_format`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// A document of this format.
    Format(Format),
    /// Not a document.
    Skip(SkipReason),
}

/// Why a file or directory is left out of a listing. Displays as what is counted, in the plural.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// An ignore file says so.
    Ignored,
    /// The source's `exclude` says so.
    Excluded,
    /// No glob of the source's `include` matches.
    NotIncluded,
    /// The name starts with a dot.
    Hidden,
    /// Temporary file of an editor, an office program or a download.
    Temporary,
    /// A link that leads out of the source.
    LinkOutside,
    /// Directory of a version control system.
    VersionControl,
    /// Directory of installed dependencies.
    Dependencies,
    /// Directory that a build or a tool fills.
    BuildOutput,
    /// Written by a package manager.
    LockFile,
    /// Machine-made code or a source map.
    Minified,
    /// No text: images, archives, programs.
    Binary,
    /// A document format that is not read (yet).
    UnsupportedFormat,
    /// A manifest of Groundwork itself.
    Manifest,
    /// Larger than [`super::MAX_FILE_BYTES`].
    TooLarge,
    /// Neither file nor directory: a pipe, a socket, a device.
    NotAFile,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ignored => "ignored by rule",
            Self::Excluded => "excluded",
            Self::NotIncluded => "not included",
            Self::Hidden => "hidden",
            Self::Temporary => "temporary files",
            Self::LinkOutside => "links out of the folder",
            Self::VersionControl => "version control folders",
            Self::Dependencies => "dependency folders",
            Self::BuildOutput => "build folders",
            Self::LockFile => "lock files",
            Self::Minified => "minified files",
            Self::Binary => "binary files",
            Self::UnsupportedFormat => "formats that are not read yet",
            Self::Manifest => "manifests",
            Self::TooLarge => "files over 20 MB",
            Self::NotAFile => "no regular files",
        })
    }
}

/// Whether a directory of this name is never walked into, whatever it holds.
pub fn skipped_directory(name: &str) -> Option<SkipReason> {
    match name {
        ".git" | ".hg" | ".svn" | ".jj" | ".bzr" | "CVS" => Some(SkipReason::VersionControl),
        "node_modules" | "bower_components" | "site-packages" | ".venv" | "venv" | ".tox" | ".cargo" | ".m2"
        | ".gradle" => Some(SkipReason::Dependencies),
        "target" | "__pycache__" | ".mypy_cache" | ".pytest_cache" | ".ruff_cache" | ".next" | ".nuxt"
        | ".terraform" | ".idea" | ".vscode" | ".DS_Store" | "dist" | ".ipynb_checkpoints" | "htmlcov" => {
            Some(SkipReason::BuildOutput)
        }
        _ => None,
    }
}

/// What the file at `path` (relative, with `/`) is, given its first [`super::HEAD_BYTES`] bytes.
///
/// The name decides among text formats; the bytes decide what no name can hide: a PDF, or bytes that are no text.
pub fn detect_format(path: &str, head: &[u8]) -> Detection {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    if is_lock_file(&name, extension) {
        return Detection::Skip(SkipReason::LockFile);
    }
    if let Some(reason) = skipped_extension(&name, extension) {
        return Detection::Skip(reason);
    }
    if head.starts_with(b"%PDF-") {
        return Detection::Format(Format::Pdf);
    }
    let named = format_of_extension(&name, extension);
    if let Some(format @ (Format::Pdf | Format::Docx | Format::Xlsx)) = named {
        return Detection::Format(format);
    }
    if is_binary(head) {
        return Detection::Skip(SkipReason::Binary);
    }
    if is_minified(extension, head) {
        return Detection::Skip(SkipReason::Minified);
    }
    Detection::Format(named.unwrap_or_else(|| format_of_text(head)))
}

fn is_lock_file(name: &str, extension: &str) -> bool {
    const NAMES: [&str; 8] = [
        "package-lock.json",
        "npm-shrinkwrap.json",
        "pnpm-lock.yaml",
        "go.sum",
        "flake.lock",
        "packages.lock.json",
        "bun.lockb",
        "gradle.lockfile",
    ];
    extension == "lock" || NAMES.contains(&name)
}

fn skipped_extension(name: &str, extension: &str) -> Option<SkipReason> {
    match extension {
        "map" if name.ends_with(".js.map") || name.ends_with(".css.map") => Some(SkipReason::Minified),
        "js" | "css" | "mjs" if name.contains(".min.") => Some(SkipReason::Minified),
        "doc" | "xls" | "ppt" | "pptx" | "odt" | "ods" | "odp" | "rtf" | "epub" | "xlsb" | "pages" | "numbers"
        | "key" | "msg" | "eml" | "mobi" | "docm" | "xlsm" | "parquet" | "sqlite" | "db" => {
            Some(SkipReason::UnsupportedFormat)
        }
        "png" | "jpg" | "jpeg" | "gif" | "bmp" | "ico" | "webp" | "tif" | "tiff" | "psd" | "heic" | "avif" | "mp3"
        | "mp4" | "mov" | "avi" | "mkv" | "wav" | "ogg" | "flac" | "zip" | "gz" | "tgz" | "bz2" | "xz" | "zst"
        | "7z" | "rar" | "tar" | "jar" | "war" | "exe" | "dll" | "so" | "dylib" | "a" | "o" | "class" | "pyc"
        | "wasm" | "ttf" | "otf" | "woff" | "woff2" | "eot" | "bin" | "iso" | "dmg" | "pdb" | "svg" => {
            Some(SkipReason::Binary)
        }
        _ => None,
    }
}

fn format_of_extension(name: &str, extension: &str) -> Option<Format> {
    Some(match extension {
        "md" | "markdown" | "mdown" | "mkd" | "mdx" | "qmd" => Format::Markdown,
        "txt" | "text" | "rst" | "adoc" | "asciidoc" | "org" | "log" | "srt" | "vtt" | "tex" => Format::Text,
        "csv" | "tsv" => Format::Csv,
        "jsonl" | "ndjson" => Format::JsonLines,
        "html" | "htm" | "xhtml" => Format::Html,
        "pdf" => Format::Pdf,
        "docx" => Format::Docx,
        "xlsx" => Format::Xlsx,
        extension if CODE.contains(&extension) => Format::Code,
        _ if matches!(name, "makefile" | "dockerfile" | "containerfile" | "jenkinsfile" | "rakefile") => Format::Code,
        _ => return None,
    })
}

/// Endings of source code and of configuration files, which are cut like code.
const CODE: &[&str] = &[
    "rs", "py", "pyi", "js", "mjs", "cjs", "jsx", "ts", "tsx", "vue", "svelte", "go", "java", "kt", "kts", "scala",
    "groovy", "gradle", "c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "cs", "fs", "vb", "swift", "m", "mm", "rb",
    "php", "pl", "pm", "lua", "r", "jl", "dart", "ex", "exs", "erl", "hrl", "hs", "elm", "clj", "cljs", "ml", "mli",
    "zig", "nim", "sh", "bash", "zsh", "fish", "ps1", "bat", "sql", "proto", "graphql", "thrift", "tf", "hcl", "nix",
    "cmake", "css", "scss", "less", "yaml", "yml", "toml", "json", "xml", "ini",
];

fn format_of_text(head: &[u8]) -> Format {
    let start = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start();
    let start = start[..start.len().min(64)].to_ascii_lowercase();
    if start.starts_with(b"#!") {
        Format::Code
    } else if start.starts_with(b"<!doctype html") || start.starts_with(b"<html") {
        Format::Html
    } else {
        Format::Text
    }
}

/// NUL bytes outside UTF-16, or so many control characters that no text has them.
fn is_binary(head: &[u8]) -> bool {
    if head.starts_with(b"\xFF\xFE\0\0") {
        return true;
    }
    if head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF") {
        return false;
    }
    let controls = head.iter().filter(|byte| matches!(byte, 0x01..=0x08 | 0x0E..=0x1A | 0x1C..=0x1F | 0x7F)).count();
    head.contains(&0) || controls * 20 > head.len()
}

/// Scripts and style sheets whose lines are hundreds of characters long on average.
fn is_minified(extension: &str, head: &[u8]) -> bool {
    let lines = head.iter().filter(|byte| **byte == b'\n').count() + 1;
    matches!(extension, "js" | "mjs" | "cjs" | "css") && head.len() >= 2048 && head.len() / lines > 500
}
