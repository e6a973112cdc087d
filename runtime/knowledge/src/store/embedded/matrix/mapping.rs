//! The one place of this crate with `unsafe`: a file of 32-bit floats seen as a slice.
#![allow(unsafe_code, reason = "mapping a file and reading its bytes as floats cannot be said in safe Rust")]

use memmap2::{Mmap, MmapOptions};
use std::fs::File;
use std::io;

#[cfg(target_endian = "big")]
compile_error!("vector files are little-endian and mapped as they are");

/// The first floats of a file, mapped for reading.
pub(super) struct Mapping {
    map: Option<Mmap>,
    floats: usize,
}

impl Mapping {
    /// No floats, of no file.
    pub(super) fn nothing() -> Self {
        Self { map: None, floats: 0 }
    }

    /// Maps the first `floats` of the file, which must be that long.
    pub(super) fn open(file: &File, floats: usize) -> io::Result<Self> {
        let bytes = floats * size_of::<f32>();
        if file.metadata()?.len() < bytes as u64 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the vector file is shorter than its row count"));
        }
        if floats == 0 {
            return Ok(Self { map: None, floats });
        }
        // SAFETY: a mapping is sound while nobody changes or cuts the mapped bytes. The file lies in the data folder
        // that one process holds by its lock; this crate writes only behind the mapped part, and replaces a file only
        // by another name, never by cutting it.
        let map = unsafe { MmapOptions::new().len(bytes).map(file)? };
        Ok(Self { map: Some(map), floats })
    }

    /// The floats.
    pub(super) fn floats(&self) -> &[f32] {
        let Some(map) = &self.map else { return &[] };
        // SAFETY: the mapping is `floats * 4` bytes long (checked at opening) and begins on a page, so it is aligned
        // for f32; every bit pattern is a valid f32; the slice borrows `self`, which keeps the mapping.
        unsafe { std::slice::from_raw_parts(map.as_ptr().cast::<f32>(), self.floats) }
    }
}
