//! The API on a real server: what the chart installs is accepted, what is wrong is refused where `groundwork validate`
//! refuses it, what the examples say is stored as they say it, and the operator works with the chart's rights alone.

mod bench;
mod chart;
mod definitions;
mod examples;
mod harness;
mod knowledge_base;
mod mistakes;
mod operator;
mod pipeline;

use std::path::{Path, PathBuf};

/// The repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Both ways in which people and GitOps tools apply.
const WAYS: [&[&str]; 2] = [&["apply"], &["apply", "--server-side"]];
