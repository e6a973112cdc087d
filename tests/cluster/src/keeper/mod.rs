//! A process beside the tests that owns what they start.
//!
//! A test binary may end without running a destructor: values in a `static` are never dropped, a panic may abort, a runner
//! may kill it. The one thing that happens in every case is that the kernel closes its end of a pipe. So programs are
//! children of a *keeper*, which reads requests from that pipe and, at its end, stops each program by its process id, newest
//! first, and deletes their folder. The keeper is in a process group of its own: Ctrl-C ends the tests, not the keeper.
//!
//! Compared with a parent-death signal this needs no `unsafe`, does not depend on which thread started a program, deletes
//! the folder too, and works on every Unix.

mod client;
mod server;

pub use client::{Command, Keeper};
pub use server::keep;

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One line of JSON from the tests.
#[derive(Debug, Serialize, Deserialize)]
enum Request {
    /// Start a program; both its streams go to the end of `log`.
    Start { name: String, program: PathBuf, arguments: Vec<String>, environment: Vec<(String, String)>, log: PathBuf },
    /// Stop the program of this name and forget it.
    Stop { name: String },
    /// Ask whether the program of this name runs.
    Look { name: String },
}

/// The keeper's answer, one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
enum Reply {
    Runs {
        pid: u32,
    },
    /// How it ended, for people.
    Ended {
        how: String,
    },
    Failed {
        reason: String,
    },
}
