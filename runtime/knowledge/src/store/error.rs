//! Why a store did not do what was asked.

/// Why a store did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The lease is not the newest any more.
    #[error("failed to {action}: another sync has taken over")]
    LeaseLost {
        /// What was asked.
        action: &'static str,
    },
    /// No space left on the device.
    #[error("failed to {action}: the disk with {path} is full; free some space and run it again, it resumes")]
    DiskFull {
        /// What was asked.
        action: &'static str,
        /// The data folder.
        path: String,
    },
    /// The store's file is damaged.
    #[error(
        "failed to read {path}: the file is damaged; move it away and run again, everything is read from the \
         documents anew"
    )]
    Corrupt {
        /// The file.
        path: String,
        /// What the engine found.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The store was written by a newer version of this program.
    #[error("failed to open {path}: it was written by a newer version of groundwork; use that version")]
    Newer {
        /// The file.
        path: String,
    },
    /// A query vector of another length than the stored ones.
    #[error("failed to search vectors: the query has {got} dimensions, the stored vectors have {expected}")]
    Dimensions {
        /// Length of the stored vectors.
        expected: usize,
        /// Length of the query.
        got: usize,
    },
    /// A filter that cannot be read.
    #[error("failed to read the filter {field}: {reason}")]
    Filter {
        /// Name of the field.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The embedder failed; nothing of the batch was written.
    #[error(transparent)]
    Embed(#[from] crate::embed::EmbedError),
    /// Everything else of the engine below.
    #[error("failed to {action}")]
    Engine {
        /// What was asked.
        action: &'static str,
        /// The engine's error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
