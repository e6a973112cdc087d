use super::*;
use crate::testing::passage;
use proptest::prelude::*;

#[test]
fn quotes_are_found_verbatim_or_after_folding() {
    use CitationCheck::{Normalised, Verbatim};
    for (text, quote, expected) in [
        ("Leave is 30 days a year.", "30 days a year", Some(("30 days a year", Verbatim))),
        ("Leave is\n  30 days.", "Leave is 30 days", Some(("Leave is\n  30 days", Normalised))),
        ("He said “no more”.", "said \"no more\"", Some(("said “no more”", Normalised))),
        ("It’s the team's job", "It's the team’s job", Some(("It’s the team's job", Normalised))),
        ("员工每年有\n十五天年假。", "员工每年有十五天年假", Some(("员工每年有\n十五天年假", Normalised))),
        ("soft\u{ad}ware is\u{202e} good", "software is good", Some(("soft\u{ad}ware is\u{202e} good", Normalised))),
        ("Leave is 30 days.", "leave is 30 days", None),
        ("Leave is 30 days.", "Leave is 31 days", None),
        ("Leave is 30 days.", "Leave is 30 days per year", None),
        ("notebook", "note book", None),
    ] {
        let found = find(text, quote).map(|(range, check)| (&text[range], check));
        assert_eq!(found, expected, "{quote:?} in {text:?}");
    }
}

#[test]
fn a_wrong_source_number_is_corrected_only_if_one_passage_has_the_quote() {
    let passages = [
        passage("a.md", "Shared sentence here."),
        passage("b.md", "Only in this one."),
        passage("c.md", "Shared sentence here."),
    ];
    let source = |number, quote| verify(&passages, number, quote).map(|found| found.passage);
    assert_eq!(source(2, "Only in this one"), Ok(1));
    for wrong in [0, 1, 3, 4, u32::MAX] {
        assert_eq!(source(wrong, "Only in this one"), Ok(1));
    }
    assert_eq!(source(3, "Shared sentence"), Ok(2));
    assert_eq!(source(2, "Shared sentence"), Err(QuoteFailure::Ambiguous));
    assert_eq!(source(1, "Nowhere to be seen"), Err(QuoteFailure::NotFound));
}

#[test]
fn a_quote_must_be_long_enough_to_prove_something() {
    let passages = [passage("a.md", "It is so. 十五天年假 at 42 days.")];
    for (quote, passes) in [
        ("so", false),
        ("It is", false),
        ("", false),
        (" . ", false),
        ("十五", false),
        ("十五天", true),
        ("42 days", true),
    ] {
        assert_eq!(verify(&passages, 1, quote).is_ok(), passes, "{quote:?}");
    }
}

#[test]
fn a_citation_shows_its_surroundings_and_its_chunk() {
    let words = "word ".repeat(200);
    let mut long = passage("a.md", &format!("{words}The quote. {words}"));
    long.chunks = vec![("one".into(), 0..900), ("two".into(), 900..1100), ("three".into(), 1005..2000)];
    let mut book = Book::new(std::slice::from_ref(&long));
    assert_eq!(book.cite(0, 1000..1010, CitationCheck::Verbatim), 1);
    assert_eq!(book.cite(0, 0..4, CitationCheck::Verbatim), 2);
    assert_eq!(book.cite(0, 1000..1010, CitationCheck::Verbatim), 1);
    let citations = book.into_citations();
    let first = &citations[0];
    assert_eq!((first.quote.as_str(), first.chunk_id.as_str()), ("The quote.", "two"));
    assert!(first.before.starts_with("word") && first.before.len() <= 240);
    assert!(first.after.ends_with("word") && first.after.len() <= 240);
    assert!(long.text.contains(&format!("{}{}{}", first.before, first.quote, first.after)));
    assert_eq!(citations[1].before, "");
}

proptest! {
    #[test]
    fn a_found_quote_is_text_of_the_document_and_folds_to_the_quote(
        text in "[a-c “”\"'’\\n\\u{200b}年假]{0,60}",
        quote in "[a-c “”\"'’\\n年假]{1,8}",
    ) {
        if let Some((range, _)) = find(&text, quote.trim()) {
            prop_assert!(text.is_char_boundary(range.start) && text.is_char_boundary(range.end));
            prop_assert_eq!(Folded::new(&text[range]).text, Folded::new(quote.trim()).text);
        }
    }

    #[test]
    fn any_part_of_a_text_is_found_in_it(text in ".{1,80}", from in 0usize..80, length in 1usize..80) {
        let characters: Vec<char> = text.chars().collect();
        let from = from % characters.len();
        let part: String = characters[from..characters.len().min(from + length)].iter().collect();
        let (range, check) = find(&text, &part).unwrap();
        prop_assert_eq!(&text[range], part.as_str());
        prop_assert_eq!(check, CitationCheck::Verbatim);
    }

    #[test]
    fn a_part_with_other_spaces_and_marks_is_found(words in prop::collection::vec("[a-z“’]{1,6}", 1..12), from in 0usize..12) {
        let text = words.join("\n  ");
        let part = words[from % words.len()..].join(" ").replace('“', "\"").replace('’', "'");
        prop_assert!(find(&text, &part).is_some());
    }
}
