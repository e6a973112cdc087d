//! Names by which the operator is known to the API server.

/// Owner of the fields that the operator writes, and reporter of its events.
pub(crate) const MANAGER: &str = "groundwork-operator";
