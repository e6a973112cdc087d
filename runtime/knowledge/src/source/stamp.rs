use std::fs::Metadata;
use std::time::UNIX_EPOCH;

use crate::store::FileStamp;

/// The stamp of a file.
pub fn stamp_of(metadata: &Metadata) -> FileStamp {
    let (ctime_ns, inode) = change_time_and_inode(metadata);
    FileStamp { size: metadata.len(), mtime_ns: modification_time(metadata), ctime_ns, inode }
}

fn modification_time(metadata: &Metadata) -> i64 {
    let Ok(time) = metadata.modified() else { return 0 };
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanos| -nanos),
    }
}

#[cfg(unix)]
fn change_time_and_inode(metadata: &Metadata) -> (i64, u64) {
    use std::os::unix::fs::MetadataExt;
    let nanos = metadata.ctime().saturating_mul(1_000_000_000).saturating_add(metadata.ctime_nsec());
    (nanos, metadata.ino())
}

#[cfg(not(unix))]
fn change_time_and_inode(_: &Metadata) -> (i64, u64) {
    (0, 0)
}
