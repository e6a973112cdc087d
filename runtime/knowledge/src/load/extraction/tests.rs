use super::*;

fn mark(offset: usize, page: u32) -> Mark {
    Mark { offset, begins: Begins::Page(page) }
}

#[test]
fn a_childs_answer_is_checked() {
    let check = |marks: Vec<Mark>, text: &[u8]| accept(None, marks, Vec::new(), text.to_vec()).map(|_| ());
    assert_eq!(check(vec![mark(0, 1), mark(2, 2)], "é\n".as_bytes()), Ok(()));
    for (name, marks, text) in [
        ("not UTF-8", vec![], &b"\xFF"[..]),
        ("a carriage return", vec![], b"a\r\n"),
        ("a NUL", vec![], b"a\0"),
        ("a mark inside a character", vec![mark(1, 1)], "é".as_bytes()),
        ("a mark behind the end", vec![mark(4, 1)], b"abc"),
        ("marks that descend", vec![mark(2, 1), mark(1, 2)], b"abc"),
        ("page 0", vec![mark(0, 0)], b"abc"),
    ] {
        assert!(check(marks, text).is_err(), "{name}");
    }
}

#[test]
fn short_texts_become_one_printable_line() {
    let long = format!("a\u{1b}[31m\nb {}", "x".repeat(1000));
    let extraction = accept(Some(long), Vec::new(), vec!["\n".into(); 100], Vec::new()).unwrap();
    let title = extraction.title.unwrap();
    assert!(title.starts_with("a [31m b xxx") && title.chars().count() == MAX_SHORT_TEXT, "{title}");
    assert_eq!(extraction.notes.len(), MAX_NOTES);
}

#[test]
fn a_loop_answers_each_job_and_ends_with_its_input() {
    let job = |payload: &str| {
        let header = serde_json::to_vec(&Job { format: Format::Html, payload_bytes: payload.len() as u64 }).unwrap();
        [&(header.len() as u32).to_le_bytes()[..], &header, payload.as_bytes()].concat()
    };
    let mut output = Vec::new();
    serve(&[job("one"), job("")].concat()[..], &mut output, |format, payload| {
        assert_eq!(format, Format::Html);
        let markdown = String::from_utf8(payload).unwrap();
        if markdown.is_empty() {
            Err("nothing there".into())
        } else {
            Ok(Extraction { markdown, ..Default::default() })
        }
    })
    .unwrap();
    let text = String::from_utf8_lossy(&output);
    assert!(
        text.contains(r#"{"outcome":"extracted","payload_bytes":3,"title":null,"marks":[],"notes":[]}one"#),
        "{text}"
    );
    assert!(text.ends_with(r#"{"outcome":"refused","reason":"nothing there"}"#), "{text}");
}

#[test]
fn a_loop_refuses_oversized_frames() {
    let refuse = |_, _| -> Result<Extraction, String> { unreachable!("no job is complete") };
    assert!(serve(&u32::MAX.to_le_bytes()[..], Vec::new(), refuse).is_err());
    let header = br#"{"format":"pdf","payload_bytes":18446744073709551615}"#;
    let frame = [&(header.len() as u32).to_le_bytes()[..], header].concat();
    assert!(serve(&frame[..], Vec::new(), refuse).is_err());
}
