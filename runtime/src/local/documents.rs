//! Pages of documents over several knowledge bases.

use groundwork_knowledge::store::{Filter, Principal};

use super::base::Base;
use super::service::ServiceError;
use super::view;
use crate::wire::{DocumentsQuery, DocumentsResponse};

const DEFAULT_LIMIT: u32 = 100;
const MAX_LIMIT: u32 = 1000;

/// Where a page begins: after this document of this knowledge base.
#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Cursor(usize, String, String);

/// A page of documents, in the order of the knowledge bases, then by source and path.
pub(super) async fn page(
    bases: &[Base],
    principal: &Principal,
    query: &DocumentsQuery,
) -> Result<DocumentsResponse, ServiceError> {
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(ServiceError::invalid("limit", format!("limit is {limit}; give 1 to {MAX_LIMIT}")));
    }
    let filter = Filter {
        paths: query.path.iter().cloned().collect(),
        tags: query.tag.iter().map(|tag| tag.to_lowercase()).collect(),
        ..Filter::default()
    };
    let cursor = query.after.as_deref().map(read_cursor).transpose()?;
    let first = cursor.as_ref().map_or(0, |cursor| cursor.0);
    let mut after = cursor.map(|cursor| (cursor.1, cursor.2));
    let mut documents = Vec::new();
    let mut next = None;
    for (index, base) in bases.iter().enumerate().skip(first) {
        let room = limit as usize - documents.len();
        let mut found = base.reader(principal).await?.documents(&filter, after.take(), room + 1).await?;
        let more = found.len() > room;
        found.truncate(room);
        if more {
            let last = found.last().map(|last| (last.source.clone(), last.path.clone())).unwrap_or_default();
            next = Some(write_cursor(&Cursor(index, last.0, last.1)));
        }
        documents.extend(found.iter().map(|summary| view::summary(&base.config().name, summary)));
        if more {
            break;
        }
    }
    Ok(DocumentsResponse { documents, next })
}

/// Hexadecimal, so that it needs no quoting in an address.
fn write_cursor(cursor: &Cursor) -> String {
    let json = serde_json::to_vec(cursor).expect("a cursor holds only strings and a number");
    json.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read_cursor(text: &str) -> Result<Cursor, ServiceError> {
    let wrong = || ServiceError::invalid("after", "failed to read after; take it from next of the page before");
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Some((digit(*high)? * 16 + digit(*low)?) as u8),
        _ => None,
    });
    let json: Vec<u8> = pairs.collect::<Option<_>>().ok_or_else(wrong)?;
    serde_json::from_slice(&json).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_as_written() {
        let cursor = Cursor(1, "handbook".into(), "größe/fees.md".into());
        assert_eq!(read_cursor(&write_cursor(&cursor)).ok(), Some(cursor));
    }

    #[test]
    fn a_cursor_that_was_not_handed_out_is_refused() {
        for wrong in ["", "zz", "abc", "7b7d", "é"] {
            let error = read_cursor(wrong).expect_err(wrong);
            assert_eq!(error.detail.field.as_deref(), Some("after"), "{wrong}");
        }
    }
}
