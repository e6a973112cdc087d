//! Lists: which are numbered, and the next number of each.

use quick_xml::events::{BytesStart, Event};
use std::collections::HashMap;

use super::attribute;

/// List definitions of a document, and how far each list has counted.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    /// Format of each level of an abstract list.
    formats: HashMap<(String, usize), String>,
    /// First number of each level of an abstract list.
    starts: HashMap<(String, usize), u32>,
    /// Abstract list of each list.
    lists: HashMap<String, String>,
    counted: HashMap<(String, usize), u32>,
    abstract_list: Option<String>,
    list: Option<String>,
    level: usize,
}

impl Numbering {
    /// Takes the next event of `numbering.xml`.
    pub(super) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(tag) | Event::Empty(tag) => self.tag(tag),
            Event::End(tag) if tag.local_name().as_ref() == "abstractNum" => self.abstract_list = None,
            Event::End(tag) if tag.local_name().as_ref() == "num" => self.list = None,
            _ => {}
        }
    }

    fn tag(&mut self, tag: &BytesStart<'_>) {
        match tag.local_name().as_ref() {
            "abstractNum" => self.abstract_list = attribute(tag, "abstractNumId"),
            "num" => self.list = attribute(tag, "numId"),
            "lvl" => self.level = number(tag, "ilvl").unwrap_or(0) as usize,
            "numFmt" => {
                if let (Some(list), Some(format)) = (&self.abstract_list, attribute(tag, "val")) {
                    self.formats.insert((list.clone(), self.level), format);
                }
            }
            "start" => {
                if let (Some(list), Some(start)) = (&self.abstract_list, number(tag, "val")) {
                    self.starts.insert((list.clone(), self.level), start);
                }
            }
            "abstractNumId" => {
                if let (Some(list), Some(abstract_list)) = (&self.list, attribute(tag, "val")) {
                    self.lists.insert(list.clone(), abstract_list);
                }
            }
            _ => {}
        }
    }

    /// The marker of the next item of a list at a level from 0: `-`, or its number. None where the list is switched off
    /// (number 0) or its format shows nothing.
    pub(super) fn marker(&mut self, list: &str, level: usize) -> Option<String> {
        if list == "0" {
            return None;
        }
        let abstract_list = self.lists.get(list).cloned().unwrap_or_default();
        let key = (abstract_list, level);
        match self.formats.get(&key).map(String::as_str) {
            Some("none") => return None,
            Some("bullet") | None => return Some("-".to_owned()),
            Some(_) => {}
        }
        let start = self.starts.get(&key).copied().unwrap_or(1);
        self.counted.retain(|(counted, deeper), _| counted != list || *deeper <= level);
        let next = self.counted.entry((list.to_owned(), level)).or_insert(start);
        let marker = format!("{next}.");
        *next = next.saturating_add(1);
        Some(marker)
    }
}

fn number(tag: &BytesStart<'_>, name: &str) -> Option<u32> {
    attribute(tag, name)?.parse().ok()
}
