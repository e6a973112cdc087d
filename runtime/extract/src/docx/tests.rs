use proptest::prelude::*;
use std::io::{Cursor, Write};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::extract;

fn archive(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn document(body: &str) -> Vec<u8> {
    archive(&[("word/document.xml", &format!("<w:document><w:body>{body}</w:body></w:document>"))])
}

fn paragraph(properties: &str, text: &str) -> String {
    format!("<w:p><w:pPr>{properties}</w:pPr><w:r><w:t xml:space=\"preserve\">{text}</w:t></w:r></w:p>")
}

fn cell(text: &str) -> String {
    format!("<w:tc>{}</w:tc>", paragraph("", text))
}

const STYLES: &str = r#"<w:styles>
    <w:style w:styleId="Berschrift1"><w:name w:val="heading 1"/></w:style>
    <w:style w:styleId="Kapitel"><w:name w:val="Kapitel"/><w:basedOn w:val="Berschrift1"/></w:style>
    <w:style w:styleId="Abschnitt"><w:name w:val="Abschnitt"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>
    <w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>
    <w:style w:styleId="Punkte"><w:name w:val="List Bullet"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
    <w:style w:styleId="A"><w:basedOn w:val="B"/></w:style><w:style w:styleId="B"><w:basedOn w:val="A"/></w:style>
  </w:styles>"#;

const NUMBERING: &str = r#"<w:numbering>
    <w:abstractNum w:abstractNumId="10"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>
    <w:abstractNum w:abstractNumId="20">
      <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/></w:lvl>
      <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/></w:lvl></w:abstractNum>
    <w:num w:numId="1"><w:abstractNumId w:val="10"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="20"/></w:num>
  </w:numbering>"#;

fn style(id: &str) -> String {
    format!("<w:pStyle w:val=\"{id}\"/>")
}

fn list(id: u32, level: u32) -> String {
    format!("<w:numPr><w:ilvl w:val=\"{level}\"/><w:numId w:val=\"{id}\"/></w:numPr>")
}

#[test]
fn a_document_keeps_its_structure() {
    let body = [
        paragraph(&style("Titel"), "Handbook"),
        paragraph(&style("Kapitel"), "Travel &amp; more"),
        "<w:p><w:pPr><w:tabs><w:tab w:val=\"left\"/></w:tabs></w:pPr><w:r><w:t>Ask </w:t></w:r><w:hyperlink><w:r><w:t>first</w:t></w:r></w:hyperlink><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:tab/><w:t>then &#x4E2D;</w:t><w:br/><w:t>go.</w:t></w:r></w:p>".into(),
        paragraph(&style("Abschnitt"), "Steps"),
        paragraph(&list(2, 0), "one"),
        paragraph(&list(2, 1), "one a"),
        paragraph(&list(2, 1), "one b"),
        paragraph(&list(2, 0), "two"),
        paragraph(&list(2, 1), "two a"),
        paragraph(&style("Punkte"), "bullet"),
        paragraph(&style("A"), "plain"),
        format!("<w:tbl><w:tr>{}{}</w:tr><w:tr>{}{}</w:tr></w:tbl>", cell("City"), cell("Limit"), cell("Bonn"), cell("90 | net")),
    ]
    .concat();
    let file = archive(&[
        (
            "word/document.xml",
            &format!("<?xml version=\"1.0\"?><w:document xmlns:w=\"w\"><w:body>{body}</w:body></w:document>"),
        ),
        ("word/styles.xml", STYLES),
        ("word/numbering.xml", NUMBERING),
        (
            "word/footnotes.xml",
            "<w:footnotes><w:footnote w:type=\"separator\"><w:p><w:r><w:t>no</w:t></w:r></w:p></w:footnote><w:footnote><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnote></w:footnotes>",
        ),
        (
            "docProps/core.xml",
            "<cp:coreProperties xmlns:dc=\"d\"><dc:creator>x</dc:creator><dc:title>The &lt;handbook&gt;</dc:title></cp:coreProperties>",
        ),
    ]);
    let extracted = extract(&file).unwrap();
    assert_eq!(extracted.title.as_deref(), Some("The <handbook>"));
    assert_eq!(
        extracted.markdown,
        "# Handbook\n\n# Travel & more\n\nAsk first then 中\ngo.\n\n## Steps\n\n1. one\n    1. one a\n    2. one b\n2. two\n    \
         1. two a\n- bullet\n\nplain\n\n| City | Limit |\n| --- | --- |\n| Bonn | 90 \\| net |\n\nA note.\n"
    );
}

#[test]
fn documents_without_styles_name_headings_by_id() {
    let file = document(&[paragraph(&style("Heading2"), "Sub"), paragraph(&style("Title"), "Name")].concat());
    let extracted = extract(&file).unwrap();
    assert_eq!((extracted.markdown.as_str(), extracted.title.as_deref()), ("## Sub\n\n# Name\n", Some("Name")));
}

#[test]
fn nested_tables_and_text_boxes_keep_their_text() {
    let inner = format!("<w:tbl><w:tr>{}{}</w:tr></w:tbl>", cell("x"), cell("y"));
    let table = format!(
        "<w:tbl><w:tr>{}<w:tc><w:tcPr><w:gridSpan w:val=\"2\"/></w:tcPr>{inner}</w:tc></w:tr></w:tbl>",
        cell("a")
    );
    let boxed = format!(
        "<w:p><w:r><mc:AlternateContent><mc:Choice>{0}</mc:Choice><mc:Fallback>{0}</mc:Fallback></mc:AlternateContent><w:t>after</w:t></w:r></w:p>",
        paragraph("", "in a box")
    );
    assert_eq!(
        extract(&document(&(table + &boxed))).unwrap().markdown,
        "| a | x y |\n| --- | --- |\n\nin a box\n\nafter\n"
    );
}

#[test]
fn bad_files_say_why() {
    let entities = "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><w:document><w:body><w:p><w:r><w:t>&b;</w:t></w:r></w:p></w:body></w:document>";
    let whole = document(&paragraph("", "text"));
    let table = [
        ("no archive", b"hello".to_vec(), "the file is not a valid DOCX file: "),
        ("cut short", whole[..whole.len() / 2].to_vec(), "the file is not a valid DOCX file: "),
        ("another archive", archive(&[("mimetype", "x")]), "the DOCX file has no word/document.xml"),
        ("encrypted", b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1".to_vec(), "the DOCX file is encrypted"),
        (
            "entity bomb",
            archive(&[("word/document.xml", entities)]),
            "the file's word/document.xml declares XML entities",
        ),
        (
            "broken XML",
            archive(&[("word/document.xml", "<w:document><w:p></w:document>")]),
            "the file's word/document.xml is broken: ",
        ),
    ];
    for (name, bytes, reason) in table {
        let message = extract(&bytes).unwrap_err().to_string();
        assert!(message.starts_with(reason), "{name}: {message}");
    }
}

proptest! {
    #[test]
    fn any_xml_extracts_or_fails(body in "(<w:(p|r|t|tbl|tr|tc|del|br/|tab/|pStyle w:val='x'/|numId w:val='1'/|footnote)>|</w:(p|r|t|tbl|tr|tc|del|footnote)>|[a &;\u{e9}]){0,60}") {
        if let Ok(extracted) = extract(&archive(&[("word/document.xml", &body)])) {
            prop_assert!(!extracted.markdown.contains('\r'));
        }
    }

    #[test]
    fn any_damage_extracts_or_fails(at in 0usize..2000, byte in any::<u8>()) {
        let mut file = document(&paragraph(&style("Heading1"), "text"));
        let at = at % file.len();
        file[at] = byte;
        let _ = extract(&file);
    }
}
