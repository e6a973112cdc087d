use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::output::Problem;

/// What every key begins with, so that scanners of repositories find one that got there.
const PREFIX: &str = "gwk_";
/// Random bytes of a key: more than anybody can guess, so that a plain hash is enough to keep it.
const RANDOM: usize = 32;

type Hash = [u8; 32];

/// Hashes of keys, and who has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    entries: Vec<(Hash, Arc<str>)>,
    /// Lines that count for nothing: `FILE, line N: why`.
    pub(crate) mistakes: Vec<String>,
}

impl Keys {
    /// Reads a folder: a file a caller, a hash a line. Hidden entries are passed over: a mounted Secret has some.
    pub(crate) fn read(folder: &Path) -> Result<Self, Problem> {
        let failed = || Problem::new(format!("failed to read the keys in {}", folder.display()));
        let listed = std::fs::read_dir(folder).map_err(|error| failed().because(error))?;
        let mut found = Found::default();
        for entry in listed {
            let entry = entry.map_err(|error| failed().because(error))?;
            let Ok(subject) = entry.file_name().into_string() else {
                return Err(failed().because(format!("{} is no name in UTF-8", entry.path().display())));
            };
            if !subject.starts_with('.') {
                let text = std::fs::read_to_string(entry.path())
                    .map_err(|error| failed().because(format!("{subject}: {error}")))?;
                found.add(&subject, &text);
            }
        }
        let keys = found.keys();
        match keys.entries.is_empty() {
            true if keys.mistakes.is_empty() => Err(failed().because("there are none")),
            true => Err(failed().because(keys.mistakes.join("; "))),
            false => Ok(keys),
        }
    }

    /// How many callers have a key.
    pub(crate) fn callers(&self) -> usize {
        self.entries.iter().map(|(_, subject)| subject).collect::<BTreeSet<_>>().len()
    }

    /// Who has this key. Every hash is looked at, whichever is the right one, so that the time tells nothing.
    pub(crate) fn subject_of(&self, key: &str) -> Option<&str> {
        let hash: Hash = Sha256::digest(key.as_bytes()).into();
        let (mut found, mut at) = (Choice::from(0), 0u64);
        for (index, (known, _)) in self.entries.iter().enumerate() {
            let equal = known[..].ct_eq(&hash[..]);
            at.conditional_assign(&(index as u64), equal);
            found |= equal;
        }
        let (_, subject) = self.entries.get(at as usize).filter(|_| found.into())?;
        Some(subject)
    }
}

/// What the files say, before two callers with one key are found out.
#[derive(Default)]
struct Found {
    subjects: BTreeMap<Hash, BTreeSet<String>>,
    mistakes: BTreeSet<String>,
}

impl Found {
    fn add(&mut self, subject: &str, text: &str) {
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match parsed(line) {
                Some(hash) => drop(self.subjects.entry(hash).or_default().insert(subject.to_owned())),
                // The line may hold the key itself: it is not repeated.
                None => drop(self.mistakes.insert(format!(
                    "{subject}, line {}: not the hex SHA-256 of a key (`groundwork api-key` prints one)",
                    index + 1
                ))),
            }
        }
    }

    fn keys(self) -> Keys {
        let (mut entries, mut mistakes) = (Vec::new(), self.mistakes);
        for (hash, subjects) in self.subjects {
            if subjects.len() > 1 {
                let names: Vec<String> = subjects.into_iter().collect();
                mistakes.insert(format!("{} have the same key, which counts for none of them", names.join(" and ")));
            } else {
                entries.extend(subjects.into_iter().map(|subject| (hash, subject.into())));
            }
        }
        Keys { entries, mistakes: mistakes.into_iter().collect() }
    }
}

fn parsed(line: &str) -> Option<Hash> {
    let mut hash = [0; 32];
    if line.len() != 64 || !line.is_ascii() {
        return None;
    }
    for (byte, digits) in hash.iter_mut().zip(line.as_bytes().chunks_exact(2)) {
        let digit = |digit: u8| char::from(digit).to_digit(16);
        *byte = (digit(digits[0])? * 16 + digit(digits[1])?) as u8;
    }
    Some(hash)
}

/// A key that nobody has yet.
pub(crate) fn new_key() -> Result<String, Problem> {
    let mut random = [0; RANDOM];
    getrandom::fill(&mut random)
        .map_err(|error| Problem::new("failed to get random numbers from the system").because(error.to_string()))?;
    Ok(format!("{PREFIX}{}", hex(&random)))
}

/// The line of a key in its caller's file.
pub(crate) fn hash(key: &str) -> String {
    hex(&Sha256::digest(key.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use tempfile::TempDir;

    fn folder(files: &[(&str, &str)]) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let path = folder.path().to_owned();
        (folder, path)
    }

    #[test]
    fn a_key_is_its_owners_and_nobody_elses() {
        let (alice, rotated, bob) = (new_key().unwrap(), new_key().unwrap(), new_key().unwrap());
        let lines = format!("# until July\n{}\n\n{}\n", hash(&alice), hash(&rotated).to_uppercase());
        let (_folder, path) = folder(&[("alice", &lines), ("bob", &hash(&bob))]);
        let keys = Keys::read(&path).unwrap();
        assert_eq!((keys.callers(), keys.mistakes.len()), (2, 0));
        for (key, subject) in [(&alice, "alice"), (&rotated, "alice"), (&bob, "bob")] {
            assert_eq!(keys.subject_of(key), Some(subject));
        }
        for wrong in ["", "gwk_", &hash(&alice), &alice[..alice.len() - 1], &format!("{bob} ")] {
            assert_eq!(keys.subject_of(wrong), None, "{wrong}");
        }
    }

    // The hash is that of `printf abc | sha256sum`, as in FIPS 180-2, appendix B.1.
    #[test]
    fn a_hash_is_the_one_that_other_programs_make() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash("abc"), expected);
        assert_eq!(new_key().unwrap().len(), PREFIX.len() + 64);
        assert_ne!(new_key().unwrap(), new_key().unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn a_mounted_secret_is_read_through_its_links() {
        let key = new_key().unwrap();
        let (_folder, path) = folder(&[]);
        for version in ["..1", "..2"] {
            std::fs::create_dir(path.join(version)).unwrap();
            std::fs::write(path.join(version).join("alice"), hash(&format!("{key}{version}"))).unwrap();
        }
        std::os::unix::fs::symlink("..1", path.join("..data")).unwrap();
        std::os::unix::fs::symlink("..data/alice", path.join("alice")).unwrap();
        assert_eq!(Keys::read(&path).unwrap().subject_of(&format!("{key}..1")), Some("alice"));
        std::os::unix::fs::symlink("..2", path.join("..data_tmp")).unwrap();
        std::fs::rename(path.join("..data_tmp"), path.join("..data")).unwrap();
        let keys = Keys::read(&path).unwrap();
        assert_eq!(keys.subject_of(&format!("{key}..2")), Some("alice"));
        assert_eq!(keys.subject_of(&format!("{key}..1")), None);
    }

    #[test]
    fn nothing_to_compare_with_is_an_error_and_a_wrong_line_is_named_without_its_text() {
        let key = new_key().unwrap();
        let shared = hash(&new_key().unwrap());
        let table: [(&[(&str, &str)], &str); 4] = [
            (&[], "there are none"),
            (&[("alice", "# none yet\n")], "there are none"),
            (&[("alice", &key)], "alice, line 1"),
            (&[("alice", &shared), ("bob", &shared)], "alice and bob have the same key"),
        ];
        for (files, expected) in table {
            let (_folder, path) = folder(files);
            let told = Keys::read(&path).unwrap_err().line();
            assert!(told.contains(expected) && !told.contains(&key), "{told}");
        }
        let good = new_key().unwrap();
        let (_folder, path) = folder(&[("alice", &format!("{}\nnonsense\n", hash(&good)))]);
        let keys = Keys::read(&path).unwrap();
        assert_eq!((keys.subject_of(&good), keys.mistakes.len()), (Some("alice"), 1));
        assert!(Keys::read(&path.join("none")).is_err());
    }
}
