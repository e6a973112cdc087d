//! What is known of each document, in memory: summaries, access, and which documents a filter lets through.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use crate::identity::DocumentId;
use crate::store::access::{admits, globs};
use crate::store::{DocumentSummary, Filter, Principal, StoreError};

/// Filters kept compiled.
const CACHED_FILTERS: usize = 16;

/// A document that can be found.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its row's key.
    pub(super) key: u32,
    /// What readers see.
    pub(super) summary: Arc<DocumentSummary>,
    /// `source/path`, what path filters match.
    pub(super) location: String,
    /// Subjects and groups that may read it; `None` is everybody.
    pub(super) access: Option<Vec<String>>,
}

impl Entry {
    /// Whether the principal may know of it.
    pub(super) fn visible_to(&self, principal: &Principal) -> bool {
        admits(self.access.as_deref(), principal)
    }
}

/// Documents a search may return: `None` is all.
pub(super) type Allowed = Option<Arc<DocumentKeys>>;

/// A set of row keys, one bit a key: a search asks it for every row that it visits.
#[derive(Debug, Default)]
pub(super) struct DocumentKeys(Vec<u64>);

impl DocumentKeys {
    pub(super) fn contains(&self, key: u32) -> bool {
        self.0.get(key as usize / 64).is_some_and(|bits| bits >> (key % 64) & 1 == 1)
    }
}

impl FromIterator<u32> for DocumentKeys {
    fn from_iter<T: IntoIterator<Item = u32>>(keys: T) -> Self {
        let mut bits = Vec::new();
        for key in keys {
            let place = key as usize / 64;
            if place >= bits.len() {
                bits.resize(place + 1, 0);
            }
            bits[place] |= 1 << (key % 64);
        }
        Self(bits)
    }
}

/// All documents of a revision at one generation.
#[derive(Default)]
pub(super) struct Catalog {
    by_key: HashMap<u32, Arc<Entry>>,
    by_id: HashMap<DocumentId, u32>,
    restricted: usize,
    compiled: Mutex<Vec<Compiled>>,
}

struct Compiled {
    principal: Principal,
    filter: Filter,
    allowed: Arc<DocumentKeys>,
}

impl Clone for Catalog {
    fn clone(&self) -> Self {
        Self {
            by_key: self.by_key.clone(),
            by_id: self.by_id.clone(),
            restricted: self.restricted,
            compiled: Mutex::default(),
        }
    }
}

impl Catalog {
    /// Adds or replaces a document.
    pub(super) fn insert(&mut self, entry: Entry) {
        self.remove(entry.key);
        self.restricted += usize::from(entry.access.is_some());
        self.by_id.insert(entry.summary.id, entry.key);
        self.by_key.insert(entry.key, Arc::new(entry));
    }

    /// Removes a document.
    pub(super) fn remove(&mut self, key: u32) {
        if let Some(entry) = self.by_key.remove(&key) {
            self.restricted -= usize::from(entry.access.is_some());
            if self.by_id.get(&entry.summary.id) == Some(&key) {
                self.by_id.remove(&entry.summary.id);
            }
        }
    }

    /// The document with this row key.
    pub(super) fn by_key(&self, key: u32) -> Option<&Arc<Entry>> {
        self.by_key.get(&key)
    }

    /// The document with this id, whoever may see it.
    pub(super) fn by_id(&self, id: DocumentId) -> Option<&Arc<Entry>> {
        self.by_id.get(&id).and_then(|key| self.by_key.get(key))
    }

    /// The document with this id, if the principal may see it.
    pub(super) fn visible(&self, id: DocumentId, principal: &Principal) -> Option<&Arc<Entry>> {
        self.by_id(id).filter(|entry| entry.visible_to(principal))
    }

    /// The documents that pass, sorted by source and path, after `after`.
    pub(super) fn page(
        &self,
        allowed: &Allowed,
        after: Option<&(String, String)>,
        limit: usize,
    ) -> Vec<DocumentSummary> {
        let place = |entry: &&Arc<Entry>| (entry.summary.source.clone(), entry.summary.path.clone());
        let passes = |entry: &&Arc<Entry>| {
            allowed.as_ref().is_none_or(|keys| keys.contains(entry.key))
                && after.is_none_or(|(source, path)| {
                    (entry.summary.source.as_str(), entry.summary.path.as_str()) > (source.as_str(), path.as_str())
                })
        };
        let mut found: Vec<_> = self.by_key.values().filter(passes).collect();
        found.sort_by_cached_key(place);
        found.into_iter().take(limit).map(|entry| (*entry.summary).clone()).collect()
    }

    /// The documents that the principal may see and the filter lets through.
    pub(super) fn allowed(&self, principal: &Principal, filter: &Filter) -> Result<Allowed, StoreError> {
        if self.restricted == 0 && *filter == Filter::default() {
            return Ok(None);
        }
        let mut compiled = self.compiled.lock().expect("no thread panics while it holds the lock");
        if let Some(known) = compiled.iter().find(|known| known.principal == *principal && known.filter == *filter) {
            return Ok(Some(Arc::clone(&known.allowed)));
        }
        let allowed = Arc::new(self.compile(principal, filter)?);
        if compiled.len() == CACHED_FILTERS {
            compiled.remove(0);
        }
        compiled.push(Compiled { principal: principal.clone(), filter: filter.clone(), allowed: Arc::clone(&allowed) });
        Ok(Some(allowed))
    }

    fn compile(&self, principal: &Principal, filter: &Filter) -> Result<DocumentKeys, StoreError> {
        let globs = globs(&filter.paths)?;
        let tags: HashSet<&str> = filter.tags.iter().map(String::as_str).collect();
        let excluded: HashSet<DocumentId> = filter.exclude_documents.iter().copied().collect();
        let passes = |entry: &Entry| {
            let metadata = &entry.summary.metadata;
            entry.visible_to(principal)
                && (filter.paths.is_empty() || globs.is_match(&entry.location))
                && (tags.is_empty() || metadata.tags.iter().any(|tag| tags.contains(tag.as_str())))
                && filter.from.is_none_or(|from| metadata.date.is_some_and(|date| date >= from))
                && filter.until.is_none_or(|until| metadata.date.is_some_and(|date| date <= until))
                && !excluded.contains(&entry.summary.id)
        };
        Ok(self.by_key.values().filter(|entry| passes(entry)).map(|entry| entry.key).collect())
    }
}
