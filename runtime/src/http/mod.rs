//! The HTTP server of one instance: the API, the page, and what keeps strangers out.
//!
//! [`bind`] refuses every address that is not loopback; [`serve`] answers until it is told to end, then drains. A pod answers
//! with [`serve_api`] on an address of the network, and with [`serve_health`] what its cluster asks.

mod access;
mod address;
mod admission;
mod app;
mod bound;
mod endpoints;
mod extract;
mod failure;
mod finish;
mod guard;
mod health;
mod metrics;
mod openapi;
mod page;
mod router;
mod serve;
mod stream;

pub(crate) use access::Access;
pub(crate) use address::{BindError, bind};
pub(crate) use app::{App, Limits};
pub(crate) use health::Health;
pub(crate) use serve::{serve, serve_api, serve_health};

#[cfg(test)]
mod tests;
