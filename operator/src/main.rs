//! The control plane of Groundwork.
fn main() {}
