//! The vectors of a revision as one flat matrix: derived from the store's file, may be deleted at any time.
//!
//! Rows are appended, never changed: new ones wait in memory (`tail`) until they are saved behind the mapped part of
//! the file; rows of replaced documents are marked dead. When a third is dead the matrix is written anew under another
//! number. A small state file, replaced by renaming, names the number, the generation, the valid rows and the dead
//! ones; whatever lies behind the valid rows is cut off at the next save.

mod files;
mod mapping;
mod scan;

use roaring::RoaringBitmap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::catalog::DocumentKeys;
use super::keywords::Origin;
use super::top::Candidate;
use crate::store::state::rows::Embedded;
use mapping::Mapping;

/// Rows that wait in memory at most, in floats (8 MB), before they are saved without being asked.
const TAIL_FLOATS: usize = 2_000_000;
/// Fewer dead rows than this are never worth a rewrite.
const LEAST_DEAD: u64 = 1_000;

/// Whose vector a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// The chunk's id as a number.
    pub(super) chunk: u128,
    /// Row key of its document.
    pub(super) document: u32,
    /// Its parent.
    pub(super) parent: u32,
}

/// A state of the matrix, ready to search; cheap to clone.
#[derive(Clone)]
pub(super) struct MatrixView {
    dimensions: usize,
    mapped: Arc<Mapping>,
    mapped_rows: usize,
    tail: Arc<Vec<f32>>,
    rows: Arc<Vec<Row>>,
    dead: Arc<RoaringBitmap>,
}

impl MatrixView {
    fn empty(dimensions: usize) -> Self {
        Self {
            dimensions,
            mapped: Arc::new(Mapping::nothing()),
            mapped_rows: 0,
            tail: Arc::default(),
            rows: Arc::default(),
            dead: Arc::default(),
        }
    }

    /// Length of its vectors; 0 where there are none yet.
    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Rows, dead ones included.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The rows nearest to `query` by dot product, best first.
    pub(super) fn search(&self, query: &[f32], allowed: Option<&DocumentKeys>, limit: usize) -> Vec<Candidate> {
        scan::search(self, query, allowed, limit)
    }

    fn vector(&self, row: usize) -> &[f32] {
        let (floats, row) = match row.checked_sub(self.mapped_rows) {
            Some(row) => (self.tail.as_slice(), row),
            None => (self.mapped.floats(), row),
        };
        &floats[row * self.dimensions..(row + 1) * self.dimensions]
    }
}

/// The matrix with its files. All methods block.
pub(super) struct Matrix {
    directory: PathBuf,
    number: u64,
    embedded: Embedded,
    view: MatrixView,
    saved: Option<Origin>,
}

impl Matrix {
    /// Opens the matrix in `directory` and gives the generation it holds; a missing, damaged or foreign one, or one
    /// ahead of the store, is made anew, with generation 0.
    pub(super) fn open(
        directory: &Path,
        wanted: &Origin,
        floor: i64,
        embedded: Embedded,
    ) -> std::io::Result<(Self, i64)> {
        if let Some((matrix, origin)) = files::load(directory, &embedded)
            && origin.can_become(wanted, floor)
        {
            return Ok((matrix, origin.generation));
        }
        let view = MatrixView::empty(embedded.dimensions);
        let number = files::newest_number(directory) + 1;
        Ok((Self { directory: directory.to_owned(), number, embedded, view, saved: None }, 0))
    }

    /// Which embedder's vectors it holds.
    pub(super) fn embedded(&self) -> &Embedded {
        &self.embedded
    }

    /// What can be searched now.
    pub(super) fn view(&self) -> MatrixView {
        self.view.clone()
    }

    /// Marks the rows of these documents dead.
    pub(super) fn remove_documents(&mut self, documents: &RoaringBitmap) {
        if documents.is_empty() {
            return;
        }
        let rows = self.view.rows.iter().enumerate();
        let gone = rows.filter(|(_, row)| documents.contains(row.document)).map(|(index, _)| index as u32);
        let gone: Vec<u32> = gone.collect();
        Arc::make_mut(&mut self.view.dead).extend(gone);
    }

    /// Adds a row. `vector` has the matrix's dimensions.
    pub(super) fn append(&mut self, row: Row, vector: impl Iterator<Item = f32>) {
        Arc::make_mut(&mut self.view.rows).push(row);
        let tail = Arc::make_mut(&mut self.view.tail);
        tail.extend(vector);
        tail.resize((self.view.rows.len() - self.view.mapped_rows) * self.view.dimensions, 0.0);
    }

    /// Whether enough waits in memory to be saved.
    pub(super) fn wants_saving(&self) -> bool {
        self.view.tail.len() > TAIL_FLOATS
    }

    /// Makes durable what it holds.
    pub(super) fn save(&mut self, origin: &Origin) -> std::io::Result<()> {
        if self.saved.as_ref() == Some(origin) {
            return Ok(());
        }
        if self.view.dead.len() >= LEAST_DEAD && self.view.dead.len() * 3 > self.view.rows.len() as u64 {
            self.compact();
        }
        files::save(self, origin)?;
        self.saved = Some(origin.clone());
        Ok(())
    }

    fn compact(&mut self) {
        let mut next = MatrixView::empty(self.view.dimensions);
        let living = (0..self.view.rows.len()).filter(|&row| !self.view.dead.contains(row as u32));
        let (mut rows, mut tail) = (Vec::new(), Vec::new());
        for row in living {
            rows.push(self.view.rows[row]);
            tail.extend_from_slice(self.view.vector(row));
        }
        (next.rows, next.tail) = (Arc::new(rows), Arc::new(tail));
        self.number += 1;
        self.view = next;
    }
}

/// Directory of a revision's matrix.
pub(super) fn directory(revision: &Path) -> PathBuf {
    revision.join("vectors")
}
