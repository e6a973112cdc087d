//! What a reader may see, as a filter of the server.

use qdrant_client::qdrant::r#match::MatchValue;
use qdrant_client::qdrant::{Condition, Filter as ServerFilter, Range, RepeatedStrings};
use uuid::Uuid;

use super::payload::{self, Kind};
use crate::store::{Filter, Principal};

/// Points of a kind.
pub(super) fn kind(kind: Kind) -> Condition {
    Condition::matches("kind", kind.name().to_owned())
}

/// Points with one of these values in a field.
pub(super) fn any(field: &str, values: impl IntoIterator<Item = String>) -> Condition {
    Condition::matches(field, MatchValue::Keywords(RepeatedStrings { strings: values.into_iter().collect() }))
}

/// Points whose field names one of these.
pub(super) fn any_id(field: &str, ids: impl IntoIterator<Item = Uuid>) -> Condition {
    any(field, ids.into_iter().map(|id| id.to_string()))
}

/// Points that the principal may see.
pub(super) fn access(principal: &Principal) -> Condition {
    any("access", payload::keys(principal))
}

/// Points of documents that the principal may see and the filter lets through, as far as the server can tell: its
/// filters know no globs.
pub(super) fn visible(principal: &Principal, filter: &Filter) -> ServerFilter {
    let mut all = ServerFilter::must([access(principal)]);
    if !filter.tags.is_empty() {
        all.must.push(any("tags", filter.tags.iter().cloned()));
    }
    if filter.from.is_some() || filter.until.is_some() {
        let bound = |date: Option<jiff::civil::Date>| date.map(|date| payload::day(date) as f64);
        let range = Range { gte: bound(filter.from), lte: bound(filter.until), ..Range::default() };
        all.must.push(Condition::range("date", range));
    }
    if !filter.exclude_documents.is_empty() {
        all.must_not.push(any_id("document", filter.exclude_documents.iter().map(|id| id.0)));
    }
    all
}

/// Points whose number in a field is at most this.
pub(super) fn up_to(field: &str, most: i64) -> Condition {
    Condition::range(field, Range { lte: Some(most as f64), ..Range::default() })
}
