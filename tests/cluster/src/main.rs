//! Builds the programs of a control plane before tests need them, and keeps those that tests run.

use anyhow::{Context, Result, bail};
use groundwork_cluster_tests::{Program, Programs, keeper};
use std::ffi::OsString;
use std::path::Path;
use std::time::Instant;

const USAGE: &str = "usage: groundwork-control-plane build [NAME...]   build what is absent, by default what the tests of \
                     the operator need\n       groundwork-control-plane keep DIR         used by the tests";

fn main() -> Result<()> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let words: Vec<&str> = arguments.iter().filter_map(|one| one.to_str()).collect();
    match words.as_slice() {
        ["build", names @ ..] => build(names),
        ["keep", folder] => keeper::keep(Path::new(folder)),
        _ => bail!(USAGE),
    }
}

/// A program that cannot be built is no failure of this command: the tests that need it say so, and are skipped or fail as
/// the caller requires.
fn build(names: &[&str]) -> Result<()> {
    let named = |name: &&str| Program::named(name).with_context(|| format!("{name} is not a program of Kubernetes"));
    let mut programs = names.iter().map(named).collect::<Result<Vec<_>>>()?;
    if programs.is_empty() {
        programs = Program::CONTROL_PLANE.to_vec();
    }
    let start = Instant::now();
    match Programs::find_or_build(&programs) {
        Ok(_) => println!("control plane: ready in {} s", start.elapsed().as_secs()),
        Err(reason) => println!("control plane: not here: {reason:#}"),
    }
    Ok(())
}
