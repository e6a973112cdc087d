//! DOCX: headings by style, lists, tables and text of the main document.
//!
//! Element names are those of ECMA-376 part 1 (WordprocessingML); namespaces' prefixes are ignored, as files of
//! different programs differ in them.

mod body;
mod numbering;
mod styles;

use quick_xml::events::{BytesStart, Event};

use crate::archive::Archive;
use crate::{ExtractError, Extracted, one_line};

const DOCUMENT: &str = "word/document.xml";

/// Extracts a document.
///
/// Headers, footers, comments and deleted text are left out; footnotes and endnotes follow the text. The first row of a
/// table is its header. The title is the one of the file's properties.
///
/// # Errors
/// Where the archive or one of its XML parts is broken, hostile or encrypted.
pub fn extract(bytes: &[u8]) -> Result<Extracted, ExtractError> {
    let mut archive = Archive::open(bytes, "DOCX")?;
    if !archive.has(DOCUMENT) {
        return Err(ExtractError::MissingPart { format: "DOCX", part: DOCUMENT });
    }
    let mut styles = styles::Styles::default();
    archive.events("word/styles.xml", |event| styles.event(event))?;
    let mut numbering = numbering::Numbering::default();
    archive.events("word/numbering.xml", |event| numbering.event(event))?;
    let mut body = body::Body::new(&styles, numbering);
    for part in [DOCUMENT, "word/footnotes.xml", "word/endnotes.xml"] {
        archive.events(part, |event| body.event(event))?;
        body.end_part();
    }
    let (markdown, styled_title) = body.finish();
    let title = core_title(&mut archive)?.or(styled_title);
    Ok(Extracted { markdown, title, ..Extracted::default() })
}

/// `dc:title` of the file's properties.
fn core_title(archive: &mut Archive<'_>) -> Result<Option<String>, ExtractError> {
    let mut title = String::new();
    let mut inside = false;
    archive.events("docProps/core.xml", |event| match event {
        Event::Start(tag) => inside = tag.local_name().as_ref() == "title",
        Event::End(_) => inside = false,
        other if inside => title.push_str(&text_of(other)),
        _ => {}
    })?;
    let title = one_line(&title);
    Ok(Some(title).filter(|title| !title.is_empty()))
}

/// The value of an attribute by its local name.
fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    tag.attributes().flatten().find(|attribute| attribute.key.local_name().as_ref() == name).and_then(|attribute| {
        attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0).ok().map(|value| value.into_owned())
    })
}

/// The characters that an event stands for: text, or a reference to one of XML's own entities or to a character.
fn text_of(event: &Event<'_>) -> String {
    match event {
        Event::Text(text) => text.xml10_content().into_owned(),
        Event::CData(text) => text.xml10_content().into_owned(),
        Event::GeneralRef(reference) => match reference.resolve_char_ref() {
            Ok(Some(c)) => c.to_string(),
            _ => predefined(&reference.xml10_content()).to_owned(),
        },
        _ => String::new(),
    }
}

fn predefined(name: &str) -> &'static str {
    match name {
        "lt" => "<",
        "gt" => ">",
        "amp" => "&",
        "quot" => "\"",
        "apos" => "'",
        _ => "",
    }
}

#[cfg(test)]
mod tests;
