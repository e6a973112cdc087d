//! One file a command.

pub(crate) mod api_key;
pub(crate) mod ask;
pub(crate) mod completions;
pub(crate) mod crds;
pub(crate) mod eval;
pub(crate) mod extract;
pub(crate) mod ingest;
pub(crate) mod init;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod store;
pub(crate) mod up;
pub(crate) mod validate;
