use groundwork_config::{Keyword, Language};
use proptest::prelude::*;

use super::*;

fn shown(analyser: &Analyser, text: &str) -> String {
    let shown = analyser.analyse(text).into_iter().map(|token| match token.kind {
        TokenKind::Word => token.term,
        TokenKind::Identifier => format!("<{}>", token.term),
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn check(keyword: &Keyword, rows: &[(&str, &str)]) {
    let analyser = Analyser::new(keyword);
    let wrong: Vec<_> = rows.iter().filter(|(text, tokens)| shown(&analyser, text) != *tokens).collect();
    for (text, tokens) in &wrong {
        println!("{text:?}\n  expected {tokens}\n  got      {}", shown(&analyser, text));
    }
    assert!(wrong.is_empty(), "{} of {} rows differ", wrong.len(), rows.len());
}

/// Tokens by hand; `<…>` is a joined identifier. Stems are those of Snowball's English demonstration vocabulary.
const PRODUCT: &[(&str, &str)] = &[
    // Words, case, stop words, stems.
    ("", ""),
    ("   \n\t", ""),
    ("The quick brown foxes", "quick brown fox"),
    ("It is not in the box", "box"),
    ("running runs", "run run"),
    ("RUNNING Running", "run run"),
    ("generalization", "general"),
    ("the parent's parents' parents", "parent parent parent"),
    ("O’Neil's boat", "o'neil boat"),
    ("don't", "don't"),
    ("naïve café", "naïv café"),
    ("cafe\u{301}", "café"),
    ("ﬁnancial oﬃce", "financi offic"),
    ("ＡＸ－３０００", "ax 3000 <ax3000>"),
    ("Straße STRASSE", "straße strass"),
    ("ex\u{ad}ample", "exampl"),
    ("well-known state-of-the-art", "well known state art"),
    ("either/or and/or", "either"),
    // Numbers.
    ("in 2024", "2024"),
    ("1,000 1000", "1000 1000"),
    ("12,345,678", "12345678"),
    ("1,2,3", "1 2 3"),
    ("3.14", "3 14 <3.14>"),
    ("19th 2nd", "19th 2nd"),
    ("5-year 24-hour", "5 year 24 hour"),
    ("10-20", "10 20"),
    ("2024-01-15", "2024 01 15 <20240115>"),
    ("25%", "25"),
    ("10 kg", "10 kg"),
    ("10kg", "10 kg <10kg>"),
    // Codes.
    ("AX-3000", "ax 3000 <ax3000>"),
    ("AX 3000", "ax 3000 <ax3000>"),
    ("AX3000", "ax 3000 <ax3000>"),
    ("ax-3000 ax3000", "ax 3000 <ax3000> ax 3000 <ax3000>"),
    ("AX\u{2011}3000", "ax 3000 <ax3000>"),
    ("AX\u{a0}3000", "ax 3000 <ax3000>"),
    ("AX\n3000", "ax 3000"),
    ("AX  3000", "ax 3000"),
    ("AX-3000's", "ax 3000 <ax3000>"),
    ("AX-3000-B", "ax 3000 b <ax3000b>"),
    ("AX 3000-B", "ax 3000 b <3000b> <ax3000b>"),
    ("SKU-4471", "sku 4471 <sku4471>"),
    ("SKU 4471.", "sku 4471 <sku4471>"),
    ("(SKU-4471)", "sku 4471 <sku4471>"),
    ("IN 2024 OF 2024", "2024 2024"),
    ("I 2024", "i 2024"),
    ("Model 3", "model 3"),
    ("ISO 9001", "iso 9001 <iso9001>"),
    ("phase-3 trial", "phase 3 trial"),
    ("COVID-19", "covid 19 <covid19>"),
    ("E1234", "e 1234 <e1234>"),
    ("ERR_TIMEOUT", "err timeout <errtimeout>"),
    ("2N-2222", "2 n 2222 <2n2222>"),
    ("978-3-16-148410-0", "978 3 16 148410 0 <9783161484100>"),
    ("p53", "p 53 <p53>"),
    ("9f86d081884c7d65", "9f86d081884c7d65"),
    // Names in code.
    ("maxRetryCount", "max retri count maxretrycount <maxretrycount>"),
    ("max_retry_count", "max retri count <maxretrycount>"),
    ("MAX_RETRY_COUNT", "max retri count <maxretrycount>"),
    ("MaxRetryCount", "max retri count maxretrycount <maxretrycount>"),
    ("--max-retry-count", "max retri count <maxretrycount>"),
    ("max-retry-count", "max retri count"),
    ("HTTPServer", "http server httpserver <httpserver>"),
    ("parseHTTPResponse", "pars http respons parsehttprespons <parsehttpresponse>"),
    ("GitHub github", "git hub github <github> github"),
    ("__init__", "init"),
    ("to_string is_valid", "string <tostring> valid <isvalid>"),
    ("utf8 UTF-8", "utf 8 <utf8> utf 8 <utf8>"),
    ("getUser2", "get user 2 <getuser2>"),
    ("PDFs URLs IDs", "pdfs url id"),
    ("std::collections::HashMap", "std collect hash map hashmap <hashmap>"),
    ("foo.bar()", "foo bar <foobar>"),
    ("C++ C# c", "c <c++> c <c#> c"),
    ("Node.js NodeJS", "node js <nodejs> node js nodej <nodejs>"),
    ("U.S. e.g. p.m.", "us eg pm"),
    // Versions, paths, addresses.
    ("1.2.3", "1 2 3 <1.2.3>"),
    ("v1.2.3", "v 1 2 3 <1.2.3>"),
    ("/usr/local/bin/python3", "usr local bin python 3 <python3>"),
    ("values.yaml", "valu yaml <valuesyaml>"),
    ("jane.doe@example.com", "jane doe <janedoe> exampl com <examplecom>"),
    ("https://docs.example.com/a?x=1", "https doc exampl com <docsexamplecom> x 1"),
    // Scripts without spaces.
    ("你好世界", "你好 好世 世界"),
    ("我", "我"),
    ("2018年", "2018 年"),
    ("使用AX-3000型号", "使用 ax 3000 <ax3000> 型号"),
    ("你好，世界。", "你好 世界"),
    ("ひらがなカタカナ", "ひら らが がな なカ カタ タカ カナ"),
    ("サーバー", "サー ーバ バー"),
    ("ｻｰﾊﾞｰ", "サー ーバ バー"),
    ("한국어", "한국 국어"),
    ("\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}", "한국"),
    ("東京・大阪", "東京 大阪"),
    ("Привет, мир", "привет мир"),
    ("ΣΟΦΟΣ σοφος", "σοφοσ σοφοσ"),
];

#[test]
fn product_tokens_are_those_written_by_hand() {
    check(&Keyword::default(), PRODUCT);
}

/// What Lucene's EnglishAnalyzer keeps together, per Unicode Annex 29.
const REFERENCE: &[(&str, &str)] = &[
    ("AX-3000 AX3000", "ax 3000 ax3000"),
    ("max_retry_count", "max_retry_count"),
    ("maxRetryCount", "maxretrycount"),
    ("1,000.5", "1,000.5"),
    ("1.2.3", "1.2.3"),
    ("U.S. policy's", "u. polici"),
    ("example.com", "example.com"),
    ("a b, c", "b c"),
    ("IL-2 and p53", "il 2 p53"),
];

#[test]
fn without_identifier_folding_tokens_are_those_of_lucene() {
    check(&Keyword { fold_identifiers: false, ..Keyword::default() }, REFERENCE);
}

#[test]
fn other_languages_have_their_stemmer_and_stop_words() {
    let rows: &[(Language, &str, &str)] = &[
        (Language::German, "Die Häuser und die Katzen", "haus katz"),
        (Language::French, "l'avion et les chevaux", "avion cheval"),
        (Language::Spanish, "los chicos de la casa", "chic cas"),
        (Language::Italian, "dell'arte", "arte"),
        (Language::Russian, "и важными books", "важн books"),
    ];
    for (language, text, tokens) in rows {
        check(&Keyword { language: *language, ..Keyword::default() }, &[(text, tokens)]);
    }
}

#[test]
fn spans_are_bytes_of_the_text_before_folding() {
    let text = "Die ﬁne „ＡＸ－３０００“ 你好嗎 cafe\u{301}";
    let tokens = Analyser::new(&Keyword::default()).analyse(text);
    let surfaces: Vec<_> = tokens.iter().map(|token| &text[token.span.clone()]).collect();
    let expected = ["Die", "ﬁne", "ＡＸ", "３０００", "ＡＸ－３０００", "你好", "好嗎", "cafe\u{301}"];
    assert_eq!(surfaces, expected);
}

#[test]
fn a_query_counts_distinct_terms_of_each_kind() {
    let query = Analyser::new(&Keyword::default()).query("AX-3000 pump, AX3000 pumps");
    let words = [("ax", 2), ("3000", 2), ("pump", 2)].map(|(term, count)| (term.to_owned(), count));
    assert_eq!(query.words, words);
    assert_eq!(query.identifiers, [("ax3000".to_owned(), 2)]);
}

#[test]
fn a_run_without_end_is_cut() {
    let tokens = Analyser::new(&Keyword::default()).analyse(&"a".repeat(100_000));
    assert!(tokens.iter().all(|token| token.term.len() <= 256));
    assert_eq!(tokens.iter().map(|token| token.span.len()).sum::<usize>(), 100_000);
}

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-zA-Z]{1,8}",
        "[0-9]{1,4}",
        "[ _.,'’\\-+#/@\n]{1,3}",
        "\\PC{1,4}",
        "[一-十ぁ-んァ-ンー가-힣ｱ-ﾟ]{1,4}",
        "[\u{1100}-\u{1112}][\u{1161}-\u{1175}][\u{11a8}-\u{11c2}]?",
        "[a-z][\u{300}-\u{320}]{1,3}",
        "[А-яΑ-ωÀ-ÿ]{1,6}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn spans_are_character_ranges_in_order_and_terms_are_folded(text in text(), fold in any::<bool>()) {
        let analyser = Analyser::new(&Keyword { fold_identifiers: fold, ..Keyword::default() });
        let tokens = analyser.analyse(&text);
        let mut ends = 0;
        for token in &tokens {
            prop_assert!(!token.term.is_empty() && !token.span.is_empty());
            prop_assert!(text.get(token.span.clone()).is_some());
            prop_assert!(token.span.end >= ends, "ends ascend");
            ends = token.span.end;
            prop_assert!(fold || token.kind == TokenKind::Word);
            prop_assert_eq!(&fold::fold(&token.term), &token.term);
        }
        prop_assert_eq!(tokens, analyser.analyse(&text));
    }

    #[test]
    fn spellings_of_a_code_meet(letters in "[A-Z]{2,4}", digits in "[0-9]{3,6}") {
        let analyser = Analyser::new(&Keyword::default());
        let joined = |text: String| analyser.query(&text).identifiers;
        prop_assume!(!joined(format!("{letters} {digits}")).is_empty());
        for separator in ["-", "", "_"] {
            prop_assert_eq!(joined(format!("{letters}{separator}{digits}")), joined(format!("{letters} {digits}")));
        }
    }
}
