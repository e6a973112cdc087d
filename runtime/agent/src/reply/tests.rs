use super::*;
use proptest::prelude::*;

fn read(text: &str, format: &ReplyFormat) -> Result<Reply, String> {
    parse(text, format).map_err(|rejected| rejected.to_string())
}

fn draft(text: &str, source: u32, quote: &str) -> Draft {
    Draft { text: text.into(), citations: vec![Claim { source, quote: quote.into() }] }
}

#[test]
fn json_replies_are_read() {
    let answer =
        r#"{"abstain":null,"sentences":[{"text":"It is 30 [1], [2].","citations":[{"source":2,"quote":"30 days"}]}]}"#;
    let expected = Ok(Reply::Sentences(vec![draft("It is 30.", 2, "30 days")]));
    assert_eq!(read(answer, &ReplyFormat::JsonMode), expected);
    assert_eq!(read(&format!("```json\n{answer}\n```"), &ReplyFormat::JsonMode), expected);
    let abstain = r#"{"abstain":"no prices","sentences":[]}"#;
    assert_eq!(read(abstain, &ReplyFormat::JsonMode), Ok(Reply::Abstain("no prices".into())));
}

#[test]
fn numbered_replies_are_read() {
    let text = "1. Leave is 30 days.\n[2] \"30 days a year\"\n[1]: “of leave”\n\n2) Ask HR.\n[1] \"ask HR\"";
    let Ok(Reply::Sentences(sentences)) = read(text, &ReplyFormat::Text) else { panic!("not read") };
    assert_eq!(sentences[0].text, "Leave is 30 days.");
    assert_eq!(sentences[0].citations[1], Claim { source: 1, quote: "of leave".into() });
    assert_eq!(sentences[1], draft("Ask HR.", 1, "ask HR"));
    assert_eq!(read("ABSTAIN: no prices", &ReplyFormat::Text), Ok(Reply::Abstain("no prices".into())));
}

#[test]
fn anything_else_is_rejected_with_the_reason() {
    let many = format!(r#"{{"abstain":null,"sentences":[{}]}}"#, vec![r#"{"text":"a","citations":[]}"#; 31].join(","));
    for (text, format, word) in [
        ("Sure! The answer is 30.", ReplyFormat::JsonMode, "expected value"),
        (r#"{"answer":"30"}"#, ReplyFormat::JsonMode, "unknown field"),
        (r#"{"abstain":"x","sentences":[{"text":"a","citations":[]}]}"#, ReplyFormat::JsonMode, "both"),
        (r#"{"abstain":null,"sentences":[]}"#, ReplyFormat::JsonMode, "does not abstain"),
        (
            r#"{"abstain":null,"sentences":[{"text":"a","citations":[{"source":-1,"quote":"b"}]}]}"#,
            ReplyFormat::JsonMode,
            "invalid value",
        ),
        (r#"{"abstain":null,"sentences":[{"text":" ","citations":[]}]}"#, ReplyFormat::JsonMode, "empty"),
        (&many, ReplyFormat::JsonMode, "more than 30"),
        ("The answer is 30.", ReplyFormat::Text, "neither"),
        ("[1] \"quote\"", ReplyFormat::Text, "before the first"),
        ("", ReplyFormat::Text, "no sentence"),
    ] {
        let error = read(text, &format).unwrap_err();
        assert!(error.contains(word), "{text}: {error}");
    }
}

#[test]
fn a_rejected_sentence_names_its_quotes() {
    let failures = vec![("forty days".to_owned(), "the quote stands in none of the sources".to_owned())];
    let rejected = Rejected::Quotes { text: "It is forty.".into(), failures };
    assert_eq!(
        rejected.to_string(),
        "the sentence \"It is forty.\": \"forty days\": the quote stands in none of the sources;"
    );
}

proptest! {
    #[test]
    fn no_reply_breaks_the_reader(text in "\\PC{0,120}|[0-9\\[\\]\". \\n{}:,a-c]{0,80}") {
        for format in [ReplyFormat::JsonMode, ReplyFormat::Text] {
            if let Ok(Reply::Sentences(sentences)) = parse(&text, &format) {
                prop_assert!(!sentences.is_empty() && sentences.iter().all(|draft| !draft.text.is_empty()));
            }
        }
    }
}
