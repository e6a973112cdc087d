//! One process that holds a folder: its data, its lock, its index and its answers.

pub(crate) mod service;

pub(crate) use service::{Service, ServiceError};
