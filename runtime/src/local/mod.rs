//! One process that holds a folder: its data, its lock, its index and its answers.

mod base;
mod chat;
#[cfg(feature = "qdrant")]
mod collections;
mod data;
mod documents;
mod evidence;
mod follow;
mod ingestion;
mod instance;
mod lock;
mod models;
mod open;
mod pinned;
mod probe;
mod progress;
mod remote;
mod rendered;
mod service;
mod setup;
pub(crate) mod signals;
mod stores;
mod terms;
mod tools;
mod view;

#[cfg(feature = "qdrant")]
pub(crate) use collections::{OpenCollections, orphans};
pub(crate) use data::DataFolder;
pub(crate) use follow::{Follow, Vectors};
pub(crate) use ingestion::OpenIngestion;
pub(crate) use instance::Instance;
pub(crate) use models::{EmbeddingChoice, HASHING_DIMENSIONS};
pub(crate) use open::{Target, claim, ingest_scratch, open_claimed, open_for_reading, open_for_writing, running};
pub(crate) use probe::ollama_model;
pub(crate) use progress::{BaseProgress, Found};
pub(crate) use rendered::read as read_rendered;
pub(crate) use service::{Service, ServiceError};
pub(crate) use setup::{Setup, SetupArgs};
