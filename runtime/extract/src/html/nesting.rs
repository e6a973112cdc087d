//! Bounding the depth of nesting before a page is parsed: a tree builder looks through all open elements at every tag,
//! so 100,000 levels would cost minutes. Browsers bound it too (Chromium at 512 levels).

use std::borrow::Cow;
use std::collections::HashMap;

/// Elements open at once; deeper tags are dropped, their text stays.
const MAX_DEPTH: usize = 256;

/// Elements that hold nothing, so that they are never open.
const VOID: [&str; 14] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];
/// Elements whose content is text up to their own end tag.
const RAW: [&str; 8] = ["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"];
/// Elements that a sibling of the same name ends, so that a page may leave out their end tags.
const IMPLIED_END: [&str; 10] = ["p", "li", "dt", "dd", "tr", "td", "th", "option", "tbody", "thead"];

/// The page with at most [`MAX_DEPTH`] levels; borrowed where it has no more.
pub(super) fn limited(html: &str) -> Cow<'_, str> {
    let mut limiter = Limiter { html, copied: 0, output: String::new(), open: Vec::new(), dropped: HashMap::new() };
    limiter.run();
    if limiter.copied == 0 {
        return Cow::Borrowed(html);
    }
    limiter.output.push_str(&html[limiter.copied..]);
    Cow::Owned(limiter.output)
}

struct Limiter<'a> {
    html: &'a str,
    /// Input up to here is in `output`, or dropped.
    copied: usize,
    output: String,
    open: Vec<&'a str>,
    /// Dropped start tags whose end tags must go too.
    dropped: HashMap<&'a str, usize>,
}

impl<'a> Limiter<'a> {
    fn run(&mut self) {
        let mut at = 0;
        while let Some(found) = self.html[at..].find('<') {
            at = self.tag(at + found);
        }
    }

    /// Reads what begins at the `<` at `start`; gives back where to go on.
    fn tag(&mut self, start: usize) -> usize {
        let rest = &self.html[start..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            return comment.find("-->").map_or(self.html.len(), |end| start + 4 + end + 3);
        }
        let (closes, after) = rest.strip_prefix("</").map_or((false, &rest[1..]), |after| (true, after));
        if !after.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return start + 1;
        }
        let length = after.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/')).unwrap_or(after.len());
        let name = &after[..length];
        let end = end_of_tag(self.html, start);
        if closes {
            self.close(name, start..end);
            return end;
        }
        self.start(name, start..end);
        if is_one_of(name, &RAW) { end_of_raw(self.html, end, name) } else { end }
    }

    fn start(&mut self, name: &'a str, tag: std::ops::Range<usize>) {
        if is_one_of(name, &VOID) {
            return;
        }
        if is_one_of(name, &IMPLIED_END) && self.open.last().is_some_and(|last| last.eq_ignore_ascii_case(name)) {
            return;
        }
        if self.open.len() < MAX_DEPTH {
            self.open.push(name);
        } else {
            *self.dropped.entry(name).or_default() += 1;
            self.drop_tag(tag);
        }
    }

    fn close(&mut self, name: &'a str, tag: std::ops::Range<usize>) {
        if let Some(count) = self.dropped.get_mut(name).filter(|count| **count > 0) {
            *count -= 1;
            self.drop_tag(tag);
        } else if let Some(position) = self.open.iter().rposition(|open| open.eq_ignore_ascii_case(name)) {
            self.open.truncate(position);
        }
    }

    /// Leaves the tag out; a space keeps the words beside it apart.
    fn drop_tag(&mut self, tag: std::ops::Range<usize>) {
        self.output.push_str(&self.html[self.copied..tag.start]);
        self.output.push(' ');
        self.copied = tag.end;
    }
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|one| one.eq_ignore_ascii_case(name))
}

/// Behind the `>` that ends the tag; quoted attribute values may hold one.
fn end_of_tag(html: &str, start: usize) -> usize {
    let mut quote = None;
    for (offset, byte) in html.as_bytes()[start..].iter().enumerate() {
        match (quote, byte) {
            (None, b'>') => return start + offset + 1,
            (None, b'"' | b'\'') => quote = Some(*byte),
            (Some(open), byte) if open == *byte => quote = None,
            _ => {}
        }
    }
    html.len()
}

/// Where the end tag of a raw text element begins.
fn end_of_raw(html: &str, from: usize, name: &str) -> usize {
    let mut at = from;
    while let Some(found) = html[at..].find("</") {
        at += found;
        let after = &html.as_bytes()[at + 2..];
        if after.len() >= name.len() && after[..name.len()].eq_ignore_ascii_case(name.as_bytes()) {
            return at;
        }
        at += 2;
    }
    html.len()
}
