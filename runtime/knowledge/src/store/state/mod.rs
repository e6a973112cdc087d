//! What a sync has to know from one run to the next, in a SQLite file: leases, revisions, the manifest, which chunks a
//! document has and which of them wait for a vector, and what vanished. A store that keeps its text and vectors in the
//! same file adds its own tables to these; one that keeps them elsewhere leaves those empty.

pub(in crate::store) mod database;
pub(in crate::store) mod documents;
pub(in crate::store) mod revisions;
pub(in crate::store) mod rows;
pub(in crate::store) mod vanished;
pub(in crate::store) mod vectors;
