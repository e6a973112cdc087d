//! The zip container of DOCX and XLSX, with a bound on what it expands to.

use quick_xml::Reader;
use quick_xml::events::Event;
use std::io::{BufReader, Cursor, Read};
use zip::ZipArchive;

use crate::ExtractError;

/// Most bytes that all parts together may expand to.
pub(crate) const MAX_INFLATED: u64 = 512 << 20;

/// Most entries an archive may have.
const MAX_ENTRIES: usize = 20_000;

/// An opened archive whose expanded size is known to be bearable.
pub(crate) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
}

impl<'a> Archive<'a> {
    /// Opens it and measures it. `format` is its name for people.
    pub(crate) fn open(bytes: &'a [u8], format: &'static str) -> Result<Self, ExtractError> {
        Self::open_within(bytes, format, MAX_INFLATED)
    }

    fn open_within(bytes: &'a [u8], format: &'static str, limit: u64) -> Result<Self, ExtractError> {
        // Office programs wrap an encrypted document in a compound file, whose magic bytes these are.
        if bytes.starts_with(b"\xD0\xCF\x11\xE0") {
            return Err(ExtractError::Encrypted { format });
        }
        let zip = ZipArchive::new(Cursor::new(bytes))
            .map_err(|error| ExtractError::NotAnArchive { format, reason: error.to_string() })?;
        if zip.len() > MAX_ENTRIES {
            return Err(ExtractError::NotAnArchive { format, reason: format!("{} entries", zip.len()) });
        }
        let mut archive = Self { zip };
        archive.measure(limit)?;
        Ok(archive)
    }

    /// Inflates every part once and throws the bytes away, since the sizes that an archive declares may be lies.
    fn measure(&mut self, limit: u64) -> Result<(), ExtractError> {
        let mut left = limit;
        for index in 0..self.zip.len() {
            let part = self.zip.by_index(index).map_err(|error| broken(&format!("part {index}"), error))?;
            if part.size() > left {
                return Err(ExtractError::TooLargeInside);
            }
            let name = part.name().map_or_else(|_| format!("part {index}"), |name| name.into_owned());
            let inflated = std::io::copy(&mut part.take(left + 1), &mut std::io::sink());
            let inflated = inflated.map_err(|error| broken(&name, error))?;
            left = left.checked_sub(inflated).ok_or(ExtractError::TooLargeInside)?;
        }
        Ok(())
    }

    /// Whether there is a part of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(name).is_some()
    }

    /// Hands each event of an XML part to `handle`. A part that does not exist has none.
    pub(crate) fn events(&mut self, name: &str, mut handle: impl FnMut(&Event<'_>)) -> Result<(), ExtractError> {
        if !self.has(name) {
            return Ok(());
        }
        let part = self.zip.by_name(name).map_err(|error| broken(name, error))?;
        let mut reader = Reader::from_reader(BufReader::new(part));
        let mut buffer = Vec::new();
        loop {
            match reader.read_event_into(&mut buffer).map_err(|error| broken(name, error))? {
                Event::DocType(_) => return Err(ExtractError::Entities { part: name.to_owned() }),
                Event::Eof => return Ok(()),
                event => handle(&event),
            }
            buffer.clear();
        }
    }
}

fn broken(part: &str, error: impl std::fmt::Display) -> ExtractError {
    ExtractError::BrokenPart { part: part.to_owned(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    fn bomb() -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for name in ["a.xml", "b.xml"] {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(&vec![b' '; 600_000]).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    fn open(bytes: &[u8], limit: u64) -> Result<(), String> {
        Archive::open_within(bytes, "DOCX", limit).map(|_| ()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_bomb_is_refused_by_what_it_expands_to() {
        let bomb = bomb();
        assert!(bomb.len() < 10_000, "the archive itself is small");
        assert_eq!(open(&bomb, 1_200_000), Ok(()));
        assert_eq!(open(&bomb, 1_199_999), Err("the archive expands to more than 512 MB".into()));
    }

    #[test]
    fn declared_sizes_are_not_believed() {
        let mut bomb = bomb();
        let declared = 600_000u32.to_le_bytes();
        let places: Vec<usize> = (0..bomb.len() - 4).filter(|at| bomb[*at..at + 4] == declared).collect();
        assert!(places.len() >= 4, "two local and two central headers declare the size");
        for at in places {
            bomb[at..at + 4].copy_from_slice(&10u32.to_le_bytes());
        }
        assert!(open(&bomb, 1_000_000).is_err());
    }
}
