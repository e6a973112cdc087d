//! Removal of documents that are gone.

use std::collections::HashSet;

use super::observe::Phase;
use super::plan::{Manifest, Plan};
use super::report::{HeldDeletes, SourceReport};
use super::run::Run;
use super::{DeleteGuard, SyncError};
use crate::identity::{DocumentId, TextHash};
use crate::store::ManifestEntry;

/// Removals up to this number are always allowed.
const ALWAYS_ALLOWED: u64 = 10;
/// Documents removed in one transaction.
const BATCH: usize = 512;

/// Removes what is gone, unless that is too much; then removes nothing and tells how much it is.
pub(super) async fn prune(
    run: &mut Run<'_>,
    manifest: &Manifest,
    plan: &Plan,
) -> Result<Option<HeldDeletes>, SyncError> {
    let gone = gone(run, manifest, plan);
    let guard = run.synchroniser.knowledge_base.sync.max_delete_percent;
    let held = match run.options.deletes {
        DeleteGuard::Enforced => held(manifest, &gone, &plan.contents, guard),
        DeleteGuard::Accepted => None,
    };
    if held.is_some() {
        gone.iter().for_each(|entry| report_of(&mut run.reports, &entry.source).changes.kept += 1);
    } else {
        remove(run, &gone).await?;
    }
    Ok(held)
}

/// Entries whose documents are gone, by source and path. Those of incompletely listed sources are counted as kept.
fn gone<'m>(run: &mut Run<'_>, manifest: &'m Manifest, plan: &Plan) -> Vec<&'m ManifestEntry> {
    let mut missing: Vec<_> = manifest.values().filter(|entry| !plan.present.contains(&entry.id)).collect();
    missing.sort_by(|a, b| (&a.source, &a.path).cmp(&(&b.source, &b.path)));
    missing.retain(|entry| {
        let report = report_of(&mut run.reports, &entry.source);
        report.changes.kept += u64::from(!report.complete);
        report.complete
    });
    missing
}

/// A document whose bytes are found at another place is moved, not lost; one that never loaded is none.
fn held(
    manifest: &Manifest,
    gone: &[&ManifestEntry],
    contents: &HashSet<TextHash>,
    max_delete_percent: u8,
) -> Option<HeldDeletes> {
    let lost = gone.iter().filter(|entry| entry.version > 0 && !contents.contains(&entry.content)).count() as u64;
    let of = manifest.values().filter(|entry| entry.version > 0).count() as u64;
    too_many(lost, of, max_delete_percent).then_some(HeldDeletes { gone: lost, of, max_delete_percent })
}

/// Whether losing `lost` of `of` documents needs a person's consent.
pub(super) fn too_many(lost: u64, of: u64, max_delete_percent: u8) -> bool {
    lost > ALWAYS_ALLOWED && lost * 100 > of * u64::from(max_delete_percent)
}

async fn remove(run: &mut Run<'_>, gone: &[&ManifestEntry]) -> Result<(), SyncError> {
    for (done, batch) in gone.chunks(BATCH).enumerate() {
        run.check()?;
        let ids: Vec<DocumentId> = batch.iter().map(|entry| entry.id).collect();
        run.synchroniser.maintainer.delete_documents(&ids).await?;
        for entry in batch {
            report_of(&mut run.reports, &entry.source).changes.removed += u64::from(entry.version > 0);
        }
        run.progress(Phase::Pruning, (done * BATCH + batch.len()).min(gone.len()), gone.len(), None);
    }
    Ok(())
}

fn report_of<'r>(reports: &'r mut Vec<SourceReport>, source: &str) -> &'r mut SourceReport {
    let index = reports.iter().position(|report| report.source == source).unwrap_or_else(|| {
        reports.push(SourceReport::former(source));
        reports.len() - 1
    });
    &mut reports[index]
}
