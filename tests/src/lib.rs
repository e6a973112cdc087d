//! Harness of the system tests.

pub mod datasets;
pub mod skip;
