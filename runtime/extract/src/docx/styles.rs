//! Paragraph styles: which are headings, of which level.

use quick_xml::events::{BytesStart, Event};
use std::collections::HashMap;

use super::attribute;

/// What a paragraph's style makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Title,
    /// Level from 1.
    Heading(usize),
    Body,
}

#[derive(Debug, Default)]
struct Style {
    name: String,
    based_on: Option<String>,
    /// From 0; 9 means body text.
    outline_level: Option<usize>,
    list: Option<String>,
    list_level: usize,
}

/// The styles of a document.
#[derive(Debug, Default)]
pub(super) struct Styles {
    styles: HashMap<String, Style>,
    current: Option<String>,
}

impl Styles {
    /// Takes the next event of `styles.xml`.
    pub(super) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(tag) | Event::Empty(tag) => self.tag(tag),
            Event::End(tag) if tag.local_name().as_ref() == "style" => self.current = None,
            _ => {}
        }
    }

    fn tag(&mut self, tag: &BytesStart<'_>) {
        if tag.local_name().as_ref() == "style" {
            self.current = attribute(tag, "styleId");
            return;
        }
        let Some(id) = &self.current else { return };
        let style = self.styles.entry(id.clone()).or_default();
        let value = attribute(tag, "val");
        match tag.local_name().as_ref() {
            "name" => style.name = value.unwrap_or_default().to_lowercase(),
            "basedOn" => style.based_on = value,
            "numId" => style.list = value,
            "ilvl" => style.list_level = value.and_then(|value| value.parse().ok()).unwrap_or(0),
            "outlineLvl" => style.outline_level = value.and_then(|value| value.parse().ok()),
            _ => {}
        }
    }

    /// The role of a style by its id, looked up along its ancestors. A document without styles names its headings by
    /// the usual ids.
    pub(super) fn role(&self, id: &str) -> Role {
        let mut id = id;
        for _ in 0..20 {
            let Some(style) = self.styles.get(id) else { return role_of_name(&id.to_lowercase()) };
            match (role_of_name(&style.name), style.outline_level) {
                (Role::Body, Some(level)) => return if level < 9 { Role::Heading(level + 1) } else { Role::Body },
                (Role::Body, None) => {}
                (role, _) => return role,
            }
            let Some(parent) = &style.based_on else { return Role::Body };
            id = parent;
        }
        Role::Body
    }

    /// The list and its level that paragraphs of a style are items of.
    pub(super) fn list(&self, id: &str) -> Option<(String, usize)> {
        let mut style = self.styles.get(id)?;
        for _ in 0..20 {
            if let Some(list) = &style.list {
                return Some((list.clone(), style.list_level));
            }
            style = self.styles.get(style.based_on.as_deref()?)?;
        }
        None
    }
}

fn role_of_name(name: &str) -> Role {
    match name.strip_prefix("heading").map(str::trim).and_then(|level| level.parse().ok()) {
        Some(level @ 1..=9) => Role::Heading(level),
        _ if name == "title" => Role::Title,
        _ => Role::Body,
    }
}
