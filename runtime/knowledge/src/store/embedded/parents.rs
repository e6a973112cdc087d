//! Parents read before, in memory: the ones that are asked about are asked about again.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use super::catalog::Entry;
use crate::store::ParentText;

/// Text kept at most, in bytes; then all of it is dropped and collected anew.
const CAPACITY: usize = 16 << 20;

/// A bounded cache of parents. One is valid while its document's summary is the catalog's very own, which every write
/// of the document replaces.
#[derive(Default)]
pub(super) struct Parents {
    known: RwLock<Known>,
}

#[derive(Default)]
struct Known {
    by_place: HashMap<(u32, u32), Arc<ParentText>>,
    bytes: usize,
}

impl Parents {
    /// The parent, if it is known in this state of its document.
    pub(super) fn get(&self, document: &Entry, ordinal: u32) -> Option<Arc<ParentText>> {
        let known = self.known.read().expect("no thread panics while it holds the lock");
        let parent = known.by_place.get(&(document.key, ordinal))?;
        Arc::ptr_eq(&parent.document, &document.summary).then(|| Arc::clone(parent))
    }

    /// Keeps a parent that was read.
    pub(super) fn put(&self, document: u32, parent: &Arc<ParentText>) {
        let mut known = self.known.write().expect("no thread panics while it holds the lock");
        if known.bytes + parent.text.len() > CAPACITY {
            *known = Known::default();
        }
        known.bytes += parent.text.len();
        known.by_place.insert((document, parent.key.ordinal), Arc::clone(parent));
    }
}
