//! YAML front matter of Markdown: stays in the body; its range is recorded and its values become metadata.

use groundwork_config::MetadataKeys;
use jiff::civil::Date;
use jiff::fmt::temporal::DateTimeParser;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::ops::Range;

use crate::document::Metadata;

/// Front matter larger than this is body text that happens to begin with a rule.
const MAX_BYTES: usize = 64 << 10;

/// What the start of a file says about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FrontMatter {
    /// Bytes including both fences and the line end after the second.
    pub(super) range: Option<Range<usize>>,
    pub(super) title: Option<String>,
    pub(super) metadata: Metadata,
    /// What could not be read of it.
    pub(super) note: Option<String>,
}

/// Reads the front matter of a body with LF line ends.
pub(super) fn read(body: &str, keys: &MetadataKeys) -> FrontMatter {
    let Some((yaml, end)) = fenced(body) else { return FrontMatter::default() };
    let range = Some(0..end);
    match parse(yaml) {
        Ok(values) => FrontMatter { range, ..from_values(&values, keys) },
        Err(reason) => FrontMatter { range, note: Some(reason), ..FrontMatter::default() },
    }
}

/// The YAML between the fences, and where the line after the second fence begins.
fn fenced(body: &str) -> Option<(&str, usize)> {
    let first = body.split_inclusive('\n').next()?;
    if first.trim_end() != "---" || !first.ends_with('\n') {
        return None;
    }
    let mut offset = first.len();
    for line in body[first.len()..].split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            return Some((&body[first.len()..offset], offset + line.len()));
        }
        offset += line.len();
        if offset > MAX_BYTES {
            break;
        }
    }
    None
}

fn parse(yaml: &str) -> Result<Map<String, Value>, String> {
    match serde_saphyr::from_str::<Option<Value>>(yaml) {
        Ok(Some(Value::Object(values))) => Ok(values),
        Ok(None | Some(Value::Null)) => Ok(Map::new()),
        Ok(Some(_)) => Err("its front matter is not a list of keys and values, so it was not read".into()),
        Err(error) => {
            let place = error.location().map(|at| format!(" in line {}", at.line() + 1)).unwrap_or_default();
            Err(format!("its front matter is not valid YAML{place}, so it was not read"))
        }
    }
}

fn from_values(values: &Map<String, Value>, keys: &MetadataKeys) -> FrontMatter {
    let date = values.get(&keys.date).filter(|value| !value.is_null());
    let parsed = date.and_then(scalar).and_then(|text| parse_date(&text));
    let note = (date.is_some() && parsed.is_none())
        .then(|| format!("the date in its front matter (`{}`) is no YYYY-MM-DD, RFC 3339 time or year", keys.date));
    FrontMatter {
        range: None,
        title: values.get(&keys.title).and_then(scalar).map(|title| one_line(&title)).filter(|title| !title.is_empty()),
        metadata: Metadata { date: parsed, tags: values.get(&keys.tags).map(tags).unwrap_or_default() },
        note,
    }
}

/// A scalar as text; lists and maps are none.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A date as written: the day that stands there, in whatever time zone.
fn parse_date(text: &str) -> Option<Date> {
    let text = text.trim();
    if text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Date::new(text.parse().ok()?, 1, 1).ok();
    }
    DateTimeParser::new().parse_pieces(text).ok().map(|pieces| pieces.date())
}

/// Tags from a list, or from one string with commas: lower case, sorted, distinct.
fn tags(value: &Value) -> Vec<String> {
    let written: Vec<String> = match value {
        Value::Array(items) => items.iter().filter_map(scalar).collect(),
        other => scalar(other).map(|text| text.split(',').map(str::to_owned).collect()).unwrap_or_default(),
    };
    let distinct: BTreeSet<String> =
        written.iter().map(|tag| one_line(tag).to_lowercase()).filter(|tag| !tag.is_empty()).collect();
    distinct.into_iter().collect()
}
