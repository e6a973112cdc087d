use std::fmt::Write;

use super::{extract, text_string, tidy, without_targets};
use crate::Begins;

/// A PDF of numbered objects (from 1; the first is the catalogue), with its cross-reference table. Text stays ASCII.
fn file(objects: &[String], trailer: &str) -> Vec<u8> {
    let mut text = "%PDF-1.4\n".to_owned();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (index, object) in objects.iter().enumerate() {
        writeln!(table, "{:010} 00000 n ", text.len()).unwrap();
        write!(text, "{} 0 obj\n{object}\nendobj\n", index + 1).unwrap();
    }
    let start = text.len();
    write!(
        text,
        "{table}trailer\n<< /Size {} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n",
        objects.len() + 1
    )
    .unwrap();
    text.into_bytes()
}

fn stream(content: &str) -> String {
    format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len())
}

const CHINESE: &str = "员工每年有十五天年假。";

/// A character map for a font whose codes are the characters' UTF-16 code units.
fn to_unicode(text: &str) -> String {
    let entries: String = text.encode_utf16().map(|unit| format!("<{unit:04X}> <{unit:04X}>\n")).collect();
    format!(
        "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CMapName /U def\n1 begincodespacerange\n\
         <0000> <FFFF>\nendcodespacerange\n{} beginbfchar\n{entries}endbfchar\nendcmap\nend end",
        text.encode_utf16().count()
    )
}

/// Pages of content streams; fonts F1 (Helvetica), F2 (its bold) and F3 (codes that are UTF-16).
fn pages(contents: &[String], trailer: &str) -> Vec<u8> {
    let first_page = 9;
    let kids = (0..contents.len()).map(|page| format!("{} 0 R ", first_page + page * 2)).collect::<String>();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", contents.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>".to_owned(),
        "<< /Type /Font /Subtype /Type0 /BaseFont /Song /Encoding /Identity-H /DescendantFonts [6 0 R] /ToUnicode 7 0 R >>".to_owned(),
        "<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Song /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /DW 1000 >>".to_owned(),
        stream(&to_unicode(CHINESE)),
        "<< /Title (Travel \\(2024\\)) >>".to_owned(),
    ];
    for (page, content) in contents.iter().enumerate() {
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {} 0 R /Resources << /Font << /F1 3 0 R /F2 4 0 R /F3 5 0 R >> >> >>",
            first_page + page * 2 + 1
        ));
        objects.push(stream(content));
    }
    file(&objects, trailer)
}

/// Lines of text, one below the other from `top`.
fn lines(font: &str, size: u32, x: u32, top: u32, lines: &[&str]) -> String {
    let mut content = format!("BT /{font} {size} Tf {} TL {x} {top} Td\n", size + 2);
    for line in lines {
        writeln!(content, "({line}) Tj T*").unwrap();
    }
    content + "ET\n"
}

const LEFT: [&str; 4] = [
    "Employees may travel by rail",
    "whenever the journey takes",
    "less than five hours in all",
    "and costs less than flying.",
];
const RIGHT: [&str; 4] = [
    "Hotels are booked at least",
    "fourteen days ahead by the",
    "travel desk, which knows the",
    "rates for every city.",
];

#[test]
fn pages_follow_each_other_with_marks() {
    let first =
        lines("F2", 24, 72, 760, &["Travel policy"]) + &lines("F1", 11, 72, 700, &["Book with order number AX-3000."]);
    let second = lines("F1", 11, 72, 760, &["Receipts are kept for ten years."]);
    let extracted = extract(pages(&[first, String::new(), second], "/Info 8 0 R")).unwrap();
    assert_eq!(extracted.title.as_deref(), Some("Travel (2024)"));
    assert_eq!(
        extracted.markdown,
        "# Travel policy\n\nBook with order number AX-3000.\n\nReceipts are kept for ten years.\n"
    );
    let marks: Vec<_> = extracted.marks.iter().map(|mark| (mark.offset, mark.begins.clone())).collect();
    assert_eq!(marks, [(0, Begins::Page(1)), (50, Begins::Page(3))]);
}

#[test]
fn chinese_text_is_read() {
    let hex: String = CHINESE.encode_utf16().map(|unit| format!("{unit:04X}")).collect();
    let extracted = extract(pages(&[format!("BT /F3 12 Tf 72 700 Td <{hex}> Tj ET")], "")).unwrap();
    assert_eq!(extracted.markdown, format!("{CHINESE}\n"));
}

#[test]
fn columns_are_read_one_after_the_other() {
    let page = lines("F1", 11, 60, 700, &LEFT) + &lines("F1", 11, 330, 700, &RIGHT);
    let markdown = extract(pages(&[page], "")).unwrap().markdown;
    let words = markdown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words, format!("{} {}", LEFT.join(" "), RIGHT.join(" ")));
}

#[test]
fn bad_files_say_why() {
    let text = lines("F1", 11, 72, 700, &["text"]);
    // Standard security handler, revision 2, with owner and user entries that no empty password matches.
    let entry = "00".repeat(32);
    let encrypted =
        format!("/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{entry}> /U <{entry}> >> /ID [<00> <00>]");
    for (name, bytes, reason) in [
        ("no PDF", b"hello, world, this is not a PDF file".to_vec(), "the PDF is broken: "),
        ("cut short", b"%PDF-1.4\n1 0 obj\n<< /Type /Cat".to_vec(), "the PDF is broken: "),
        ("encrypted", pages(&[text], &encrypted), "the PDF is encrypted"),
        ("no text", pages(&["0 0 100 100 re f".to_owned()], ""), "the PDF has no text layer (scanned pages?)"),
        ("no pages", pages(&[], ""), "the PDF is broken: it has no pages"),
    ] {
        let message = extract(bytes).unwrap_err().to_string();
        assert!(message.starts_with(reason), "{name}: {message}");
    }
}

#[test]
fn markdown_of_a_page_is_tidied() {
    assert_eq!(tidy("\r\n**Bold** and \u{2}plain  \n\n\n\nNext\r2 ** 3\n"), "Bold and plain\n\nNext\n2 ** 3\n");
}

#[test]
fn sentences_that_were_cut_at_line_ends_are_whole() {
    for (markdown, expected) in [
        ("away from\n\ntrees, drains.\n\nNext", "away from trees, drains.\n\nNext\n"),
        ("# Heading\n\nand text", "# Heading\n\nand text\n"),
        ("| a | b |\n\nlower", "| a | b |\n\nlower\n"),
        ("A list:\n\n- item\n\ngoes on", "A list:\n\n- item goes on\n"),
        ("Ends.\n\nlower", "Ends.\n\nlower\n"),
    ] {
        assert_eq!(tidy(markdown), expected);
    }
}

#[test]
fn link_targets_go() {
    for (line, expected) in [
        ("see [the site](https://example.com/a) or [mail](mailto:a@example.com).", "see the site or mail."),
        ("a[i](j) and [1](see below)", "a[i](j) and [1](see below)"),
        ("](http://x", "](http://x"),
    ] {
        assert_eq!(without_targets(line), expected);
    }
}

#[test]
fn titles_have_three_encodings() {
    assert_eq!(text_string(b"Gr\xF6\xDFe"), "Größe");
    assert_eq!(text_string(b"\xFE\xFF\x4E\x2D\x65\x87"), "中文");
    assert_eq!(text_string(b"\xEF\xBB\xBFGr\xC3\xB6\xC3\x9Fe"), "Größe");
}
