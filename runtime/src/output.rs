//! Printing: tables, JSON, YAML and errors, the same way for every command.

use std::process::ExitCode;

/// Exit code of a command that failed.
pub(crate) const EXIT_FAILURE: u8 = 1;

/// Prints an error with its causes on standard error and gives the exit code.
pub(crate) fn failure(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
    ExitCode::from(EXIT_FAILURE)
}
