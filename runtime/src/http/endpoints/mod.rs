//! One file an endpoint.

pub(crate) mod ask;
pub(crate) mod chunk;
pub(crate) mod document;
pub(crate) mod documents;
pub(crate) mod healthz;
pub(crate) mod metrics;
pub(crate) mod openapi;
pub(crate) mod page;
pub(crate) mod readyz;
pub(crate) mod search;
pub(crate) mod sync;
