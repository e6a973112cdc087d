//! Indexed terms close to one that is not indexed.

use std::collections::HashMap;

/// Largest edit distance of a similar term.
const DISTANCE: usize = 2;

/// Collects the indexed terms that are close to a term.
pub(super) struct Similar<'a> {
    term: &'a str,
    length: usize,
    /// Edits and frequency by term.
    found: HashMap<String, (usize, u64)>,
}

impl<'a> Similar<'a> {
    pub(super) fn to(term: &'a str) -> Self {
        Self { term, length: term.chars().count(), found: HashMap::new() }
    }

    /// Looks at an indexed term that `frequency` chunks have.
    pub(super) fn offer(&mut self, indexed: &str, frequency: u64) {
        if indexed.chars().count().abs_diff(self.length) > DISTANCE || indexed == self.term {
            return;
        }
        let edits = strsim::levenshtein(indexed, self.term);
        if edits <= DISTANCE && edits < self.length {
            self.found.entry(indexed.to_owned()).or_insert((edits, 0)).1 += frequency;
        }
    }

    /// The closest, nearest first, then most frequent, then by spelling.
    pub(super) fn nearest(self, limit: usize) -> Vec<String> {
        let mut found: Vec<_> = self.found.into_iter().collect();
        found.sort_by(|(a, (near, often)), (b, (other_near, other_often))| {
            near.cmp(other_near).then(other_often.cmp(often)).then_with(|| a.cmp(b))
        });
        found.into_iter().take(limit).map(|(term, _)| term).collect()
    }
}
