//! Who may read a document, and which documents a filter names.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::{Principal, StoreError};

/// Whether an access list lets the principal in; none lets everybody.
pub(super) fn admits(access: Option<&[String]>, principal: &Principal) -> bool {
    access
        .is_none_or(|allowed| allowed.iter().any(|name| *name == principal.subject || principal.groups.contains(name)))
}

/// `*` stays within a folder, `**` crosses them.
pub(super) fn globs(patterns: &[String]) -> Result<GlobSet, StoreError> {
    let failed = |error: globset::Error| StoreError::Filter { field: "paths", reason: error.to_string() };
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(GlobBuilder::new(pattern).literal_separator(true).build().map_err(failed)?);
    }
    set.build().map_err(failed)
}
