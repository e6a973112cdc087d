use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::ingestion::hash_of;
use crate::{Revision, RuntimeConfig};

/// What the pods of one pipeline serve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Serving {
    /// The pipeline with its knowledge bases and endpoints. Its policy holds where no file of one is given.
    pub config: RuntimeConfig,
    /// The revision that each knowledge base is read at, by the knowledge base's name.
    pub revisions: BTreeMap<String, Revision>,
    /// Who may ask.
    pub authentication: Authentication,
}

impl Serving {
    /// Hex SHA-256 of the canonical JSON (fields in declaration order).
    pub fn hash(&self) -> String {
        hash_of(self)
    }
}

/// Who may ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Authentication {
    /// Everybody who reaches the port.
    None,
    /// Who has a key.
    ApiKeys {
        /// A folder with a file a caller: its name is who calls, each line is the hex SHA-256 of one of her keys; lines
        /// that begin with `#` are remarks. Read again when it changes.
        folder: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unions_are_written_like_the_others() {
        let keys = Authentication::ApiKeys { folder: "/keys".into() };
        assert_eq!(serde_json::to_string(&keys).unwrap(), r#"{"apiKeys":{"folder":"/keys"}}"#);
        assert_eq!(serde_json::to_string(&Authentication::None).unwrap(), r#""none""#);
    }
}
