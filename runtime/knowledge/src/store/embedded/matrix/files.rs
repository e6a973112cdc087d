//! The matrix's files: `N.f32` (rows of floats), `N.rows` (whose they are), `state` (which of them are valid).

use roaring::RoaringBitmap;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::mapping::Mapping;
use super::{Matrix, MatrixView, Row};
use crate::store::embedded::keywords::Origin;
use crate::store::state::rows::Embedded;

/// Bytes of a row's record: chunk, document, parent.
const RECORD: usize = 24;

#[derive(Serialize, Deserialize)]
struct State {
    origin: Origin,
    embedded: Embedded,
    number: u64,
    rows: usize,
    /// Bytes of the set of dead rows that follow this header.
    dead_bytes: usize,
}

/// The matrix in `directory`, if it is whole and of this embedder.
pub(super) fn load(directory: &Path, embedded: &Embedded) -> Option<(Matrix, Origin)> {
    let bytes = fs::read(directory.join("state")).ok()?;
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    let state: State = serde_json::from_slice(&bytes[..end]).ok()?;
    let dead = bytes.get(end + 1..end + 1 + state.dead_bytes)?;
    let dead = RoaringBitmap::deserialize_from(dead).ok()?;
    if state.embedded != *embedded {
        return None;
    }
    let records = fs::read(rows_path(directory, state.number)).ok()?;
    let rows: Vec<Row> = records.get(..state.rows * RECORD)?.chunks_exact(RECORD).map(decode).collect();
    let file = File::open(floats_path(directory, state.number)).ok()?;
    let mapped = Mapping::open(&file, state.rows * embedded.dimensions).ok()?;
    let view = MatrixView {
        dimensions: embedded.dimensions,
        mapped: Arc::new(mapped),
        mapped_rows: rows.len(),
        tail: Arc::default(),
        rows: Arc::new(rows),
        dead: Arc::new(dead),
    };
    let (origin, saved) = (state.origin.clone(), Some(state.origin));
    let matrix =
        Matrix { directory: directory.to_owned(), number: state.number, embedded: state.embedded, view, saved };
    Some((matrix, origin))
}

/// The highest number of any file, 0 where there is none.
pub(super) fn newest_number(directory: &Path) -> u64 {
    let names = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    names.filter_map(|path| path.file_stem()?.to_str()?.parse().ok()).max().unwrap_or(0)
}

/// Appends the rows that wait in memory, maps them, and replaces the state.
pub(super) fn save(matrix: &mut Matrix, origin: &Origin) -> io::Result<()> {
    fs::create_dir_all(&matrix.directory)?;
    let view = &mut matrix.view;
    let (floats, records) =
        (floats_path(&matrix.directory, matrix.number), rows_path(&matrix.directory, matrix.number));
    fail::fail_point!("store::matrix_append::before");
    let fresh = view.rows[view.mapped_rows..].iter().flat_map(encode).collect::<Vec<u8>>();
    append(&records, view.mapped_rows * RECORD, |file| file.write_all(&fresh))?;
    let offset = view.mapped_rows * view.dimensions * size_of::<f32>();
    let file = append(&floats, offset, |file| write_floats(file, &view.tail))?;
    fail::fail_point!("store::matrix_append::after");
    view.mapped = Arc::new(Mapping::open(&file, view.rows.len() * view.dimensions)?);
    view.mapped_rows = view.rows.len();
    view.tail = Arc::default();
    replace_state(matrix, origin)?;
    remove_others(&matrix.directory, matrix.number);
    Ok(())
}

/// Writes behind the valid bytes; what lies there is left of a save that did not end, and not mapped by anyone.
fn append(path: &Path, valid: usize, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<File> {
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    file.set_len(valid as u64)?;
    file.seek(SeekFrom::Start(valid as u64))?;
    write(&mut file)?;
    file.sync_data()?;
    Ok(file)
}

fn write_floats(file: &mut File, floats: &[f32]) -> io::Result<()> {
    for block in floats.chunks(1 << 16) {
        file.write_all(&block.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())?;
    }
    Ok(())
}

fn replace_state(matrix: &Matrix, origin: &Origin) -> io::Result<()> {
    let mut dead = Vec::new();
    matrix.view.dead.serialize_into(&mut dead)?;
    let state = State {
        origin: origin.clone(),
        embedded: matrix.embedded.clone(),
        number: matrix.number,
        rows: matrix.view.rows.len(),
        dead_bytes: dead.len(),
    };
    let mut bytes = serde_json::to_vec(&state)?;
    bytes.push(b'\n');
    bytes.extend(dead);
    let (path, fresh) = (matrix.directory.join("state"), matrix.directory.join("state.new"));
    let mut file = File::create(&fresh)?;
    file.write_all(&bytes)?;
    file.sync_data()?;
    fail::fail_point!("store::matrix_rename::before");
    fs::rename(fresh, path)?;
    fail::fail_point!("store::matrix_rename::after");
    Ok(())
}

/// Files of other numbers are garbage; one that cannot be removed now goes with a later save.
fn remove_others(directory: &Path, number: u64) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let other = path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok());
        if other.is_some_and(|other| other != number)
            && let Err(error) = fs::remove_file(&path)
        {
            tracing::debug!(path = %path.display(), %error, "an old vector file stays for now");
        }
    }
}

fn floats_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number}.f32"))
}

fn rows_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number}.rows"))
}

fn encode(row: &Row) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    record[..16].copy_from_slice(&row.chunk.to_le_bytes());
    record[16..20].copy_from_slice(&row.document.to_le_bytes());
    record[20..].copy_from_slice(&row.parent.to_le_bytes());
    record
}

fn decode(record: &[u8]) -> Row {
    let number = |range: std::ops::Range<usize>| {
        record[range].iter().rev().fold(0u128, |value, &byte| (value << 8) | u128::from(byte))
    };
    Row { chunk: number(0..16), document: number(16..20) as u32, parent: number(20..24) as u32 }
}
