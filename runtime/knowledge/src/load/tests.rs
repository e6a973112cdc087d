use super::*;
use proptest::prelude::*;

async fn load(path: &str, bytes: &[u8]) -> Result<NormalisedDocument, LoadError> {
    Loader::new(LoaderOptions { metadata: MetadataKeys::default(), extraction: None }).load(path, bytes.to_vec()).await
}

async fn body(path: &str, bytes: &[u8]) -> String {
    load(path, bytes).await.map(|document| document.body).unwrap_or_else(|error| format!("ERROR {error}"))
}

#[tokio::test]
async fn text_formats_are_the_file_itself() {
    let csv = "id;name\r\n1;\"a\r\nb\"\r\n";
    for (name, bytes, expected) in [
        ("a Markdown file keeps its white space", &b"# A \n\n  text\t\n"[..], "# A \n\n  text\t\n"),
        ("a byte order mark goes", b"\xEF\xBB\xBFtext", "text"),
        ("CRLF becomes LF", csv.as_bytes(), "id;name\n1;\"a\nb\"\n"),
        ("a lone CR becomes LF", b"one\rtwo\r\n\rthree", "one\ntwo\n\nthree"),
        ("composed and decomposed letters stay as they are", "e\u{301} \u{e9}".as_bytes(), "e\u{301} \u{e9}"),
        ("a mark inside the text stays", "a\u{feff}b".as_bytes(), "a\u{feff}b"),
    ] {
        assert_eq!(body("notes.txt", bytes).await, expected, "{name}");
    }
}

#[tokio::test]
async fn encodings_are_recognised() {
    let utf16 = |text: &str, order: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
    let little = [b"\xFF\xFE".to_vec(), utf16("Größe 中文\r\n", u16::to_le_bytes)].concat();
    let big = [b"\xFE\xFF".to_vec(), utf16("Größe 中文\r\n", u16::to_be_bytes)].concat();
    for (name, bytes, expected) in [
        ("UTF-16LE with a mark", &little[..], "Größe 中文\n"),
        ("UTF-16BE with a mark", &big, "Größe 中文\n"),
        // Latin-1 bytes by the ISO 8859-1 table: ö F6, ß DF, ä E4, ü FC.
        (
            "Latin-1",
            b"Die Gr\xF6\xDFe der T\xFCr h\xE4ngt vom Geb\xE4ude ab.",
            "Die Größe der Tür hängt vom Gebäude ab.",
        ),
        // Windows-1252: quotes 93 and 94, dash 96, euro 80.
        (
            "Windows-1252",
            b"Il a dit \x93oui\x94 \x96 le caf\xE9 co\xFBte 3 \x80 \xE0 la carte.",
            "Il a dit \u{201c}oui\u{201d} \u{2013} le café coûte 3 € à la carte.",
        ),
        // GB 18030, two-byte part: 中 D6D0 文 CEC4 员 D4B1 工 B9A4 手 CAD6 册 B2E1.
        ("GB18030", b"\xD6\xD0\xCE\xC4\xD4\xB1\xB9\xA4\xCA\xD6\xB2\xE1\n", "中文员工手册\n"),
        // Shift-JIS: 日 93FA 本 967B 語 8CEA の 82CC 文 95B6 書 8F91 で 82C5 す 82B7 。 8142.
        ("Shift-JIS", b"\x93\xFA\x96{\x8C\xEA\x82\xCC\x95\xB6\x8F\x91\x82\xC5\x82\xB7\x81B\n", "日本語の文書です。\n"),
    ] {
        assert_eq!(body("notes.txt", bytes).await, expected, "{name}");
    }
}

#[tokio::test]
async fn unreadable_files_say_why() {
    let odd: Vec<u8> = (1..=255u8).cycle().filter(|byte| *byte >= 0x80).take(4000).collect();
    for (name, path, bytes, expected) in [
        ("empty", "a.md", &b""[..], "the file is empty"),
        ("white space only", "a.md", b" \r\n\t", "the file is empty"),
        ("a mark only", "a.md", b"\xEF\xBB\xBF", "the file is empty"),
        ("NUL", "a.md", b"a\0b", "not read: binary files"),
        (
            "odd UTF-16",
            "a.md",
            b"\xFF\xFEa",
            "the text is not valid UTF-16LE although its byte order mark says so; save it as UTF-8",
        ),
        ("no encoding", "a.txt", &odd, "the text's encoding is not recognised; save it as UTF-8"),
        (
            "NUL behind the head",
            "a.txt",
            &[&[b'a'; HEAD_BYTES][..], b"\0"].concat(),
            "the text's encoding is not recognised; save it as UTF-8",
        ),
        ("too large", "a.txt", &vec![b'a'; MAX_FILE_BYTES as usize + 1], "the file is larger than 20 MB"),
        ("no pool", "a.pdf", b"%PDF-1.4", "this format needs extraction processes, and they are switched off"),
    ] {
        assert_eq!(load(path, bytes).await.unwrap_err().to_string(), expected, "{name}");
    }
}

#[test]
fn a_file_over_the_limit_is_not_read_to_its_end() {
    struct Endless(u64);
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0 += buffer.len() as u64;
            assert!(self.0 < MAX_FILE_BYTES * 4, "reading goes on beyond the limit");
            Ok(buffer.len())
        }
    }
    assert!(matches!(read_bounded(Endless(0)), Err(LoadError::TooLarge)));
    assert_eq!(read_bounded(&b"abc"[..]).unwrap(), b"abc");
}

#[tokio::test]
async fn front_matter_stays_in_the_body_and_fills_the_metadata() {
    let text = "---\ntitle: \"On call:\n  a guide\"\ndate: 2024-05-01\ntags: [Ops, on-call, ops, 7]\nother: {a: 1}\n---\n# Body\n";
    let document = load("guide.md", text.as_bytes()).await.unwrap();
    assert_eq!(document.body, text);
    assert_eq!(&document.body[document.front_matter.clone().unwrap().end..], "# Body\n");
    assert_eq!(document.title.as_deref(), Some("On call: a guide"));
    assert_eq!(document.metadata.date, Some(jiff::civil::date(2024, 5, 1)));
    assert_eq!(document.metadata.tags, ["7", "on-call", "ops"]);
    assert!(document.notes.is_empty(), "{:?}", document.notes);
}

#[tokio::test]
async fn front_matter_dates_and_tags_have_several_forms() {
    let table = [
        ("date: 1999", Some((1999, 1, 1)), &[][..]),
        ("date: '2020-02-29'", Some((2020, 2, 29)), &[]),
        ("date: 2020-12-31T23:30:00-08:00", Some((2020, 12, 31)), &[]),
        ("date: 2020-12-31T23:30:00Z", Some((2020, 12, 31)), &[]),
        ("tags: ' Alpha, beta  gamma,,alpha'", None, &["alpha", "beta gamma"]),
        ("tags: one", None, &["one"]),
        ("tags:", None, &[]),
        ("date:", None, &[]),
    ];
    for (line, date, tags) in table {
        let document = load("a.md", format!("---\n{line}\n---\nx").as_bytes()).await.unwrap();
        assert_eq!(document.metadata.date, date.map(|(y, m, d)| jiff::civil::date(y, m, d)), "{line}");
        assert_eq!(document.metadata.tags, tags, "{line}");
        assert!(document.notes.is_empty(), "{line}: {:?}", document.notes);
    }
}

#[tokio::test]
async fn broken_front_matter_is_a_note() {
    for (yaml, note) in [
        ("title: [", "its front matter is not valid YAML"),
        ("- a\n- b", "its front matter is not a list of keys and values, so it was not read"),
        ("date: soon", "the date in its front matter (`date`) is no YYYY-MM-DD, RFC 3339 time or year"),
    ] {
        let text = format!("---\n{yaml}\n---\nbody");
        let document = load("a.md", text.as_bytes()).await.unwrap();
        assert_eq!(document.body, text);
        assert!(document.front_matter.is_some());
        assert!(document.notes.len() == 1 && document.notes[0].starts_with(note), "{:?}", document.notes);
    }
}

#[tokio::test]
async fn a_rule_is_no_front_matter() {
    for text in ["---\nno second fence\n", "text\n---\na: b\n---\n", " ---\na: b\n---\n", "----\na: b\n---\n"] {
        assert_eq!(load("a.md", text.as_bytes()).await.unwrap().front_matter, None, "{text}");
    }
    assert_eq!(load("a.txt", b"---\na: b\n---\nx").await.unwrap().front_matter, None);
}

#[test]
fn formats_are_detected() {
    use Detection::{Format as F, Skip as S};
    for (path, head, expected) in [
        ("docs/README.MD", &b"# x"[..], F(Format::Markdown)),
        ("notes", b"plain", F(Format::Text)),
        ("run", b"#!/bin/sh\n", F(Format::Code)),
        ("page", b"\n<!DOCTYPE HTML><p>", F(Format::Html)),
        ("a/b.rs", b"fn main() {}", F(Format::Code)),
        ("a.yaml", b"a: b", F(Format::Code)),
        ("table.CSV", b"a,b", F(Format::Csv)),
        ("log.ndjson", b"{}", F(Format::JsonLines)),
        ("wrongly-named.txt", b"%PDF-1.7\n", F(Format::Pdf)),
        ("not-a-zip.docx", b"hello", F(Format::Docx)),
        ("book.xlsx", b"PK\x03\x04\0\0", F(Format::Xlsx)),
        ("data.md", b"a\0b", S(SkipReason::Binary)),
        ("utf16.txt", b"\xFF\xFEa\0", F(Format::Text)),
        ("utf32.txt", b"\xFF\xFE\0\0a\0\0\0", S(SkipReason::Binary)),
        ("Cargo.lock", b"x", S(SkipReason::LockFile)),
        ("web/package-lock.json", b"{}", S(SkipReason::LockFile)),
        ("jquery.min.js", b"x", S(SkipReason::Minified)),
        ("bundle.js", &[b'a'; 4096], S(SkipReason::Minified)),
        ("old.doc", b"\xD0\xCF\x11\xE0", S(SkipReason::UnsupportedFormat)),
        ("logo.png", b"\x89PNG", S(SkipReason::Binary)),
    ] {
        assert_eq!(detect_format(path, head), expected, "{path}");
    }
}

proptest! {
    #[test]
    fn valid_utf8_changes_only_its_line_ends(text in "[a\r\n\u{e9}\u{4e2d}#-]{1,200}") {
        let expected = text.replace("\r\n", "\n").replace('\r', "\n");
        prop_assert_eq!(decode::decode(text.as_bytes()).unwrap(), expected);
    }

    #[test]
    fn any_bytes_load_or_fail(path in "[a-z]{0,3}\\.(md|txt|csv|rs|jsonl)", bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        if let Ok(document) = runtime.block_on(load(&path, &bytes)) {
            prop_assert!(!document.body.contains(['\r', '\0']));
            prop_assert!(document.front_matter.is_none_or(|range| document.body.is_char_boundary(range.end)));
        }
    }
}
