//! From the knowledge crate's types to those that go over the wire.

use groundwork_config::RetrievalMode;
use groundwork_knowledge::document::Locator;
use groundwork_knowledge::search::{Arm as KnowledgeArm, ArmHit, ArmReport as KnowledgeArmReport, Hit};
use groundwork_knowledge::store::{ChunkText, DocumentSummary as StoredSummary, Filter, ParentText};
use groundwork_knowledge::sync::SyncReport as KnowledgeReport;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;

use super::service::ServiceError;
use crate::wire::{
    Arm, ArmReport, ArmScore, ChunkView, DocumentProblem, DocumentSummary, Excerpt, FilterSpec, Mode, SearchHit,
    SyncReport,
};

/// `lines 3-9`, `page 2`, `sheet Prices, rows 4-8`.
pub(super) fn locator(locator: &Locator) -> String {
    let span = |one: &str, first: u32, last: u32| match first == last {
        true => format!("{one} {first}"),
        false => format!("{one}s {first}-{last}"),
    };
    match locator {
        Locator::Lines { first, last } => span("line", *first, *last),
        Locator::Pages { first, last } => span("page", *first, *last),
        Locator::Rows { sheet: Some(sheet), first, last } => format!("sheet {sheet}, {}", span("row", *first, *last)),
        Locator::Rows { sheet: None, first, last } => span("row", *first, *last),
    }
}

/// `source/path`.
pub(super) fn document_name(summary: &StoredSummary) -> String {
    format!("{}/{}", summary.source, summary.path)
}

pub(super) fn summary(knowledge_base: &str, summary: &StoredSummary) -> DocumentSummary {
    DocumentSummary {
        id: summary.id.to_string(),
        knowledge_base: knowledge_base.to_owned(),
        document: document_name(summary),
        title: summary.title.clone(),
        format: serde_name(&summary.format),
        date: summary.metadata.date.map(|date| date.to_string()),
        tags: summary.metadata.tags.clone(),
        version: summary.version,
        stale: summary.stale,
        chunks: summary.chunks,
        bytes: summary.bytes,
    }
}

/// The name under which a unit variant is serialised.
pub(super) fn serde_name(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        other => unreachable!("unit variants serialise as strings, not {other:?}"),
    }
}

pub(super) fn arm_name(arm: KnowledgeArm) -> &'static str {
    match arm {
        KnowledgeArm::Keyword => "keyword",
        KnowledgeArm::Vector => "vector",
    }
}

pub(super) fn arm_score(hit: &ArmHit) -> ArmScore {
    ArmScore { arm: arm_name(hit.arm).to_owned(), rank: hit.rank, score: hit.score }
}

pub(super) fn arm_report(knowledge_base: &str, report: &KnowledgeArmReport) -> ArmReport {
    ArmReport {
        knowledge_base: knowledge_base.to_owned(),
        arm: match report.arm {
            KnowledgeArm::Keyword => Arm::Keyword,
            KnowledgeArm::Vector => Arm::Vector,
        },
        passages: report.parents as u64,
        weight: report.weight,
        elapsed_ms: report.elapsed.as_secs_f64() * 1000.0,
    }
}

pub(super) fn search_hit(rank: usize, knowledge_base: &str, hit: &Hit) -> SearchHit {
    let parent = &hit.parent;
    let (chunk_id, range) = best_chunk(hit);
    SearchHit {
        rank: rank as u32,
        score: hit.score,
        knowledge_base: knowledge_base.to_owned(),
        excerpt: Excerpt {
            chunk_id,
            document_id: parent.document.id.to_string(),
            document: document_name(&parent.document),
            title: parent.document.title.clone(),
            heading_path: parent.heading_path.clone(),
            locator: locator(&parent.locator),
            before: parent.text[..range.start].to_owned(),
            quote: parent.text[range.clone()].to_owned(),
            after: parent.text[range.end..].to_owned(),
        },
        arms: hit.arms.iter().map(arm_score).collect(),
    }
}

/// Id and bytes of the chunk that matched best; the first of the parent where none is named.
pub(super) fn best_chunk(hit: &Hit) -> (String, Range<usize>) {
    let matched = hit.chunks.first().map(|(id, range)| (id.to_string(), range.clone()));
    let first = || hit.parent.chunks.first().map(|chunk| (chunk.id.to_string(), chunk.range.clone()));
    matched.or_else(first).unwrap_or_else(|| (String::new(), 0..hit.parent.text.len()))
}

pub(super) fn passage_view(knowledge_base: &str, chunk: &ChunkText) -> ChunkView {
    let ParentText { text, document, heading_path, locator: place, .. } = chunk.parent.as_ref();
    ChunkView {
        id: chunk.id.to_string(),
        summary: summary(knowledge_base, document),
        heading_path: heading_path.clone(),
        locator: locator(place),
        before: text[..chunk.range.start].to_owned(),
        quote: text[chunk.range.clone()].to_owned(),
        after: text[chunk.range.end..].to_owned(),
        context: chunk.context.clone(),
    }
}

/// The same chunk with the whole document around it.
pub(super) fn document_view(knowledge_base: &str, chunk: &ChunkText, body: &str) -> Option<ChunkView> {
    let start = chunk.parent.offset + chunk.range.start;
    let end = chunk.parent.offset + chunk.range.end;
    let (before, rest) = body.split_at_checked(start)?;
    let (quote, after) = rest.split_at_checked(end - start)?;
    // The document may have changed between the two reads.
    let same = quote == &chunk.parent.text[chunk.range.clone()];
    same.then(|| ChunkView { before: before.into(), after: after.into(), ..passage_view(knowledge_base, chunk) })
}

pub(super) fn mode(mode: Mode) -> RetrievalMode {
    match mode {
        Mode::Keyword => RetrievalMode::Keyword,
        Mode::Vector => RetrievalMode::Vector,
        Mode::Hybrid => RetrievalMode::Hybrid,
    }
}

pub(super) fn wire_mode(mode: RetrievalMode) -> Mode {
    match mode {
        RetrievalMode::Keyword => Mode::Keyword,
        RetrievalMode::Vector => Mode::Vector,
        RetrievalMode::Hybrid => Mode::Hybrid,
    }
}

/// The store's filter; days are checked here, globs by the store.
pub(super) fn filter(spec: &FilterSpec) -> Result<Filter, ServiceError> {
    let (from, until) = (day("filter.from", spec.from.as_deref())?, day("filter.until", spec.until.as_deref())?);
    if let (Some(first), Some(last)) = (from, until)
        && first > last
    {
        let message = format!("filter.from {first} is after filter.until {last}; nothing can match, swap them");
        return Err(ServiceError::invalid("filter.from", message));
    }
    Ok(Filter {
        paths: spec.paths.clone(),
        tags: spec.tags.iter().map(|tag| tag.to_lowercase()).collect(),
        from,
        until,
        exclude_documents: Vec::new(),
    })
}

fn day(field: &str, text: Option<&str>) -> Result<Option<jiff::civil::Date>, ServiceError> {
    let parse = |text: &str| {
        text.parse().map_err(|error| {
            ServiceError::invalid(field, format!("failed to read {field} {text:?}: {error}; write it as YYYY-MM-DD"))
        })
    };
    text.map(parse).transpose()
}

pub(super) fn sync_report(report: &KnowledgeReport) -> SyncReport {
    let mut formats = BTreeMap::new();
    let mut skipped = BTreeMap::new();
    let mut failed = Vec::new();
    let mut notes = report.notes.clone();
    for source in &report.sources {
        for (format, count) in &source.formats {
            *formats.entry(serde_name(format)).or_default() += count;
        }
        for (reason, skips) in &source.skipped_by_reason {
            *skipped.entry(reason.to_string()).or_default() += skips.count;
        }
        failed.extend(source.failures.iter().map(|failure| DocumentProblem {
            document: place(&source.source, &failure.path),
            reason: failure.reason.clone(),
        }));
        notes
            .extend(source.problems.iter().map(|problem| note(&place(&source.source, &problem.path), &problem.reason)));
    }
    SyncReport {
        knowledge_base: report.knowledge_base.clone(),
        revision: report.revision.clone(),
        started_at: report.started.to_string(),
        elapsed_ms: report.duration_ms,
        added: report.total.added,
        updated: report.total.updated,
        removed: report.total.removed,
        unchanged: report.total.unchanged,
        failed,
        skipped,
        formats,
        chunks: report.total.chunks,
        embedded: 0,
        reused: 0,
        notes,
        error: None,
    }
}

fn place(source: &str, path: &str) -> String {
    match path {
        "" => source.to_owned(),
        path if path.starts_with('/') => path.to_owned(),
        path => format!("{source}/{path}"),
    }
}

fn note(place: &str, reason: &impl Display) -> String {
    format!("{place}: {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locators_read_as_people_say_them() {
        let rows = |sheet: Option<&str>, first, last| Locator::Rows { sheet: sheet.map(Into::into), first, last };
        let table = [
            (Locator::Lines { first: 3, last: 9 }, "lines 3-9"),
            (Locator::Lines { first: 3, last: 3 }, "line 3"),
            (Locator::Pages { first: 2, last: 2 }, "page 2"),
            (rows(Some("Prices"), 4, 8), "sheet Prices, rows 4-8"),
            (rows(None, 4, 4), "row 4"),
        ];
        for (place, expected) in table {
            assert_eq!(locator(&place), expected);
        }
    }

    #[test]
    fn a_wrong_day_names_its_field_and_the_form() {
        let spec = FilterSpec { until: Some("31.12.2024".into()), ..FilterSpec::default() };
        let error = filter(&spec).expect_err("refused");
        assert_eq!(error.detail.field.as_deref(), Some("filter.until"));
        assert!(error.detail.message.contains("YYYY-MM-DD"), "{error}");
    }

    #[test]
    fn days_in_the_wrong_order_are_refused() {
        let days = |from: &str, until: &str| FilterSpec {
            from: Some(from.into()),
            until: Some(until.into()),
            ..FilterSpec::default()
        };
        let error = filter(&days("2025-01-02", "2025-01-01")).expect_err("refused");
        assert_eq!(error.detail.field.as_deref(), Some("filter.from"));
        assert!(filter(&days("2025-01-01", "2025-01-01")).is_ok());
    }
}
