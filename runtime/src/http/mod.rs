//! The HTTP server of one instance: the API, the page, and what keeps strangers out.
//!
//! [`bind`] refuses every address that is not loopback; [`serve`] answers until it is told to end, then drains.

mod address;
mod admission;
mod app;
mod bound;
mod endpoints;
mod extract;
mod failure;
mod finish;
mod guard;
mod metrics;
mod openapi;
mod page;
mod router;
mod serve;
mod stream;

pub(crate) use address::{BindError, bind};
pub(crate) use serve::serve;

#[cfg(test)]
mod tests;
