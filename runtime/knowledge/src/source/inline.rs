use groundwork_config::{InlineDocument, Source};
use std::path::Path;
use unicode_normalization::UnicodeNormalization;

use super::ignores::globs;
use super::walk::format_of;
use super::{ListedFile, Listing, Origin, SkipReason};

/// Lists documents that stand in the manifest.
pub(super) fn list(source: &Source, documents: &[InlineDocument], listing: &mut Listing) {
    let root = Path::new("");
    let mut broken = Vec::new();
    let include = globs(root, &source.include, "include", &mut |reason| broken.push(reason));
    let exclude = globs(root, &source.exclude, "exclude", &mut |reason| broken.push(reason));
    broken.into_iter().for_each(|reason| listing.problem("", reason));
    listing.complete = listing.problems.is_empty();
    for document in documents {
        let path: String = document.path.trim_start_matches('/').nfc().collect();
        if exclude.matched_path_or_any_parents(&path, false).is_ignore() {
            listing.skip(SkipReason::Excluded, path);
        } else if !source.include.is_empty() && !include.matched_path_or_any_parents(&path, false).is_ignore() {
            listing.skip(SkipReason::NotIncluded, path);
        } else {
            add(path, &document.content, listing);
        }
    }
}

fn add(path: String, content: &str, listing: &mut Listing) {
    match format_of(&path, content.as_bytes()) {
        Ok(format) => {
            let origin = Origin::Inline(content.to_owned());
            listing.files.push(ListedFile { path, origin, stamp: None, format: Some(format) });
        }
        Err(reason) => listing.skip(reason, path),
    }
}
