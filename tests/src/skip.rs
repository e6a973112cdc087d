//! Tests that need something that is not everywhere: they say so and end, or fail where it is required.

use std::io::Write;
use std::path::PathBuf;

/// Environment variable with the parts (comma list) whose absence fails a test instead of skipping it.
pub const REQUIRE: &str = "GROUNDWORK_REQUIRE";
/// Environment variable with the file to which skipped tests are appended.
pub const SKIP_LOG: &str = "GROUNDWORK_SKIP_LOG";

/// Records that `test` is skipped since `part` is missing.
///
/// # Panics
/// Where [`REQUIRE`] names the part.
#[allow(clippy::panic)]
pub fn skip(test: &str, part: &str, reason: &str) {
    let required = std::env::var(REQUIRE).unwrap_or_default();
    if required.split(',').any(|name| name.trim() == part) {
        panic!("{test} needs {part}, which {REQUIRE} requires: {reason}");
    }
    let line = format!("skipped: {test}: {reason}");
    println!("{line}");
    if let Some(path) = std::env::var_os(SKIP_LOG) {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(path);
        if let Err(error) = log.and_then(|mut log| writeln!(log, "{line}")) {
            eprintln!("failed to record a skipped test: {error}");
        }
    }
}

/// The folder of the evaluation data; without one, `test` is skipped.
pub fn eval_data(test: &str) -> Option<PathBuf> {
    let found = crate::datasets::eval_data();
    if found.is_none() {
        skip(test, "evaldata", &format!("{} is not set", crate::datasets::EVAL_DATA));
    }
    found
}
