//! Runs the built binary on temporary folders.

#![allow(dead_code, unused_imports, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod models;
mod up;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

pub(crate) use models::Models;
pub(crate) use up::Up;

/// A folder of documents and a data directory of its own, both gone at the end.
pub(crate) struct Place {
    folder: TempDir,
    data: TempDir,
}

/// What a command did.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Documents with facts to ask for.
pub(crate) const HANDBOOK: [(&str, &str); 4] = [
    (
        "fees.md",
        "# Fees\n\nBorrowing is free.\n\n## Late returns\n\nThe late fee is 3 EUR for each day. It never exceeds 60 EUR.\n",
    ),
    (
        "leave.md",
        "# Leave\n\nEvery employee has 28 days of paid leave a year.\n\n## Notice\n\nThe notice period is three months.\n",
    ),
    ("parts.csv", "part,supplier,stock\nSKU-4471,Northwind Tools,12\nSKU-4480,Harbour Metals,3\n"),
    ("notes.txt", "The workshop opens at eight. Keys are kept at the front desk.\n"),
];

impl Place {
    /// A folder with these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let place = Self { folder: TempDir::new().unwrap(), data: TempDir::new().unwrap() };
        for (path, text) in files {
            place.write(path, text);
        }
        place
    }

    pub(crate) fn handbook() -> Self {
        Self::with(&HANDBOOK)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn data_home(&self) -> &Path {
        self.data.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        self.write_bytes(path, text.as_bytes());
    }

    pub(crate) fn write_bytes(&self, path: &str, bytes: &[u8]) {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// The binary, run inside the folder, away from the user's own data and settings.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_groundwork"));
        command.args(arguments).current_dir(self.folder.path());
        command.env("XDG_DATA_HOME", self.data.path()).env("HOME", self.data.path());
        for variable in ["NO_COLOR", "GROUNDWORK_DATA_DIR", "GROUNDWORK_LOG", "OPENAI_API_KEY", "RUST_LOG"] {
            command.env_remove(variable);
        }
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).output().unwrap())
    }

    /// Ingests with the hashing encoder, which is fast.
    pub(crate) fn ingest(&self) -> Ran {
        self.run(&["ingest", "--embedding-model", "hashing", "-o", "json"])
    }
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Asserts the exit code, showing what was printed where it differs.
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}:\n{}\n{}", self.stdout, self.stderr))
    }
}

/// Names of an object's fields, sorted.
pub(crate) fn fields(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}
