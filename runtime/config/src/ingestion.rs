use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use uuid::Uuid;

use crate::{Contract, Endpoint, KnowledgeBase};

/// What the names of all collections begin with.
const PREFIX: &str = "groundwork-";
/// Digits of a contract's hash that tell a knowledge base's revisions apart.
const REVISION_DIGITS: usize = 16;
/// Most that Kubernetes keeps of a container's termination message, in bytes.
const MESSAGE_BYTES: usize = 4096;
/// Longest text inside a report, in bytes.
const TEXT_BYTES: usize = 512;

/// What one ingestion reads: a knowledge base with the endpoints it names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Ingestion {
    /// The knowledge base.
    pub knowledge_base: KnowledgeBase,
    /// Every model endpoint that it names.
    pub endpoints: Vec<Endpoint>,
}

impl Ingestion {
    /// Hex SHA-256 of the canonical JSON (fields in declaration order).
    pub fn hash(&self) -> String {
        hash_of(self)
    }
}

/// All that a reader in another process has to know of a revision in a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Revision {
    /// Name of its collection.
    pub collection: String,
    /// What decided its content.
    pub contract: Contract,
}

impl Revision {
    /// The revision of a knowledge base that this contract decides.
    pub fn new(data_id: Uuid, contract: Contract) -> Self {
        Self { collection: collection_name(data_id, &contract.hash()), contract }
    }
}

/// The collection of the revision whose contract has this hash. Its prefix is that of no alias.
pub fn collection_name(data_id: Uuid, contract_hash: &str) -> String {
    format!("{PREFIX}{}-{}", data_id.simple(), first_digits(contract_hash))
}

/// Data id and revision id of a [`collection_name`]; nothing of any other.
pub fn parse_collection_name(name: &str) -> Option<(Uuid, &str)> {
    let (data_id, revision) = name.strip_prefix(PREFIX)?.split_once('-')?;
    let digits = revision.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let data_id = Uuid::try_parse(data_id).ok().filter(|id| *id.simple().encode_lower(&mut [0; 32]) == *data_id)?;
    (digits && revision.len() == REVISION_DIGITS).then_some((data_id, revision))
}

/// What tells a knowledge base's revisions apart: equal contracts are one revision.
pub fn revision_id(contract: &Contract) -> String {
    first_digits(&contract.hash()).to_owned()
}

fn first_digits(hash: &str) -> &str {
    hash.get(..REVISION_DIGITS).unwrap_or(hash)
}

/// What an ingestion tells whoever started it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IngestionReport {
    /// [`Ingestion::hash`] of what it read; empty where that could not be read.
    pub config: String,
    /// [`revision_id`] of what it wrote; empty where it could not read what to write.
    pub revision: String,
    /// Whether the revision has all that the sources have, vectors included, so that it may be read.
    pub complete: bool,
    /// Why it is not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// When it began (RFC 3339).
    pub started_at: String,
    /// When it ended (RFC 3339).
    pub finished_at: String,
    /// Documents that can be found.
    pub documents: u64,
    /// Their chunks.
    pub chunks: u64,
    /// Chunks that have a vector.
    pub vectors: u64,
    /// Documents that were new.
    pub added: u64,
    /// Documents whose text changed.
    pub updated: u64,
    /// Documents that are gone.
    pub removed: u64,
    /// Documents as before.
    pub unchanged: u64,
    /// Documents that could not be read, now or before and unchanged since.
    pub failed: u64,
    /// Chunks that got a vector computed.
    pub embedded: u64,
    /// Chunks that got a stored vector of the same text.
    pub reused: u64,
    /// The first of the failed documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailedDocument>,
    /// What a person should know besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A document that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailedDocument {
    /// `source/path`.
    pub document: String,
    /// What is wrong.
    pub reason: String,
}

impl IngestionReport {
    /// The report as a termination message: JSON that fits into what Kubernetes keeps. Long texts end in `…`; failures,
    /// then notes are left out from the last, as many as must.
    pub fn message(&self) -> String {
        let mut report = self.clone();
        report.problem = report.problem.as_deref().map(shortened);
        report.notes.iter_mut().for_each(|note| *note = shortened(note));
        for failure in &mut report.failures {
            (failure.document, failure.reason) = (shortened(&failure.document), shortened(&failure.reason));
        }
        loop {
            let json = serde_json::to_string(&report).expect("a report holds only strings and numbers");
            if json.len() <= MESSAGE_BYTES || report.failures.pop().is_none() && report.notes.pop().is_none() {
                return json;
            }
        }
    }
}

fn shortened(text: &str) -> String {
    if text.len() <= TEXT_BYTES {
        return text.to_owned();
    }
    let end = (0..=TEXT_BYTES - '…'.len_utf8()).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &text[..end])
}

pub(crate) fn hash_of(value: &impl Serialize) -> String {
    let json = serde_json::to_vec(value).expect("a configuration holds only JSON types");
    Sha256::digest(json).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string does not fail");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_revision_is_named_by_data_and_contract() {
        let contract = Contract::default();
        let other = Contract { analyser_version: 0, ..contract.clone() };
        let data_id = Uuid::nil();
        let revision = Revision::new(data_id, contract.clone());
        assert_eq!(revision.collection, format!("groundwork-{}-{}", "0".repeat(32), &contract.hash()[..16]));
        assert_ne!(revision.collection, Revision::new(data_id, other).collection);
    }

    #[test]
    fn only_names_of_collections_are_taken_for_one() {
        let data_id = Uuid::from_u128(0x0f6c1f1e_6b0a_4a3b_8f0e_2a8b1d5c7e90);
        let name = collection_name(data_id, &Contract::default().hash());
        assert_eq!(parse_collection_name(&name), Some((data_id, revision_id(&Contract::default()).as_str())));
        let upper = name.to_uppercase();
        for other in ["groundwork-", "groundwork-notes", "mine", &name[1..], &name[..name.len() - 1], &upper] {
            assert_eq!(parse_collection_name(other), None, "{other}");
        }
        assert_eq!(parse_collection_name(&format!("{name}-old")), None);
    }

    #[test]
    fn a_newer_field_is_refused_by_name() {
        let error = serde_json::from_str::<Ingestion>(r#"{"endpoints": [], "graph": {}}"#).unwrap_err().to_string();
        assert!(error.contains("graph"), "{error}");
    }

    proptest! {
        #[test]
        fn a_message_always_fits_and_can_be_read(
            failures in proptest::collection::vec(("\\PC{0,900}", "\\PC{0,900}"), 0..8),
            notes in proptest::collection::vec("\\PC{0,900}", 0..8),
            problem in proptest::option::of("\\PC{0,2000}"),
        ) {
            let failures =
                failures.into_iter().map(|(document, reason)| FailedDocument { document, reason }).collect();
            let report = IngestionReport { failures, notes, problem, documents: 7, ..IngestionReport::default() };
            let message = report.message();
            prop_assert!(message.len() <= MESSAGE_BYTES);
            let read: IngestionReport = serde_json::from_str(&message).unwrap();
            prop_assert_eq!(read.documents, 7);
            prop_assert!(read.failures.len() <= report.failures.len());
        }
    }
}
