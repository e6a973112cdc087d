//! What is read again while the process runs, so that it changes without a restart: the policy and the callers' keys.

mod keys;
mod policy;
mod reread;

pub(crate) use keys::{Keys, hash, new_key};
pub(crate) use policy::PolicyInForce;
pub(crate) use reread::Reread;
