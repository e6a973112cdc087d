//! Harness of the system tests: the built program, a browser, public data sets, and how a test says that it cannot run
//! here.

pub mod bm25;
mod browser;
pub mod datasets;
mod groundwork;
mod pod;
mod pods;
mod process;
mod qdrant;
pub mod skip;

pub use browser::{Browser, View};
pub use groundwork::{Groundwork, binary};
pub use pod::Pod;
pub use pods::Pods;
pub use process::Process;
pub use qdrant::Qdrant;
