use super::*;
use proptest::prelude::*;

fn quotes(text: &str) -> Vec<&str> {
    units(text, TextForm::Markdown, None).iter().map(|unit| &text[unit.range.clone()]).collect()
}

fn texts(text: &str, header: Option<&[&str]>) -> Vec<String> {
    let header = header.map(|cells| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>());
    units(text, TextForm::Markdown, header.as_deref()).into_iter().map(|unit| unit.text).collect()
}

#[test]
fn sentences_end_where_a_reader_would_end_them() {
    for (paragraph, expected) in [
        ("One. Two! Three? Four", vec!["One.", "Two!", "Three?", "Four"]),
        ("It costs 3.50 EUR. Dr. Smith pays.", vec!["It costs 3.50 EUR.", "Dr. Smith pays."]),
        ("Use tools, e.g. Git. J. Doe agrees.", vec!["Use tools, e.g. Git.", "J. Doe agrees."]),
        ("See no. 5 for more. No. Never.", vec!["See no. 5 for more.", "No.", "Never."]),
        ("Run app.py or v2.Next now. Done.", vec!["Run app.py or v2.Next now.", "Done."]),
        ("\"Why?\" he asked. \"Because.\" So it is.", vec!["\"Why?\" he asked.", "\"Because.\"", "So it is."]),
        ("A line\nthat wraps. Next\none.", vec!["A line\nthat wraps.", "Next\none."]),
        (
            "年假十五天。需要提前申请！可以吗？“可以。”他说",
            vec!["年假十五天。", "需要提前申请！", "可以吗？", "“可以。”", "他说"],
        ),
        ("It is the U.S. Army base. Open.", vec!["It is the U.S. Army base.", "Open."]),
    ] {
        assert_eq!(quotes(paragraph), expected, "{paragraph}");
    }
}

#[test]
fn headings_rules_front_matter_and_comments_say_nothing() {
    let text = "---\ntitle: x\n---\n# Title\n\nTitle\n=====\n\nText one.\n\n---\n\n<!-- note -->\n## Part\nText two.\n";
    assert_eq!(quotes(text), ["Text one.", "Text two."]);
}

#[test]
fn list_items_share_their_block_and_lose_their_marker() {
    let text = "Bring these:\n\n- a pen\n- a **book**\n  with notes\n\n1. first\n2) second\n\nAfter.";
    let units = units(text, TextForm::Markdown, None);
    let items: Vec<_> = units.iter().filter(|unit| unit.kind == UnitKind::ListItem).collect();
    assert_eq!(
        items.iter().map(|unit| unit.text.as_str()).collect::<Vec<_>>(),
        ["a pen", "a book with notes", "first", "second"]
    );
    assert!(items.iter().all(|unit| unit.block == items[0].block));
    assert_ne!(units[0].block, items[0].block);
    assert_eq!(units.last().unwrap().text, "After.");
}

#[test]
fn table_rows_name_their_columns_and_quote_the_row() {
    let text = "| Item | Price |\n|------|:---:|\n| Chair | 40 EUR |\n| A \\| B | |\n\nText.";
    assert_eq!(texts(text, None), ["Item: Chair; Price: 40 EUR", "Item: A | B", "Text."]);
    assert_eq!(quotes(text)[0], "| Chair | 40 EUR |");
    let middle = "| Chair | 40 EUR |\n| Desk | 90 EUR |\n";
    assert_eq!(texts(middle, Some(&["Item", "Price"])), ["Item: Chair; Price: 40 EUR", "Item: Desk; Price: 90 EUR"]);
}

#[test]
fn rows_of_delimited_text_are_read_by_the_headers_width() {
    for rows in ["sku,price\nA-1,\"4,50\"\n", "sku;price\nA-1;4,50\n", "sku\tprice\nA-1\t4,50\n"] {
        assert_eq!(texts(rows, Some(&["sku", "price"])), ["sku: A-1; price: 4,50"], "{rows:?}");
    }
}

#[test]
fn comments_of_source_code_are_no_headings() {
    let text = "---\n# Copies are kept for 35 days.\nDAYS = 35\n\nkeep: 1\n---\nall = names \\\n  | sort\n";
    let shown: Vec<String> = units(text, TextForm::Code, None).into_iter().map(|unit| unit.text).collect();
    assert_eq!(shown, ["# Copies are kept for 35 days.", "DAYS = 35", "keep: 1", "all = names \\ | sort"]);
}

#[test]
fn each_record_of_json_lines_is_a_unit() {
    let text = "{\"name\": \"Ada Byron\",  \"note\": \"First. Of **many**.\"}\n\n  {\"name\": \"Alan\"}\n";
    let found = units(text, TextForm::Records, None);
    let quotes: Vec<&str> = found.iter().map(|unit| &text[unit.range.clone()]).collect();
    let ada = "{\"name\": \"Ada Byron\",  \"note\": \"First. Of **many**.\"}";
    assert_eq!(quotes, [ada, "{\"name\": \"Alan\"}"]);
    assert_eq!(found[0].text, ada.replace("  ", " "));
}

#[test]
fn code_in_fences_is_one_unit_without_its_fences() {
    let text = "Run:\n```sh\nmake demo. Now\n# not a heading\n```\nDone.";
    assert_eq!(quotes(text), ["Run:", "make demo. Now\n# not a heading", "Done."]);
}

#[test]
fn links_and_emphasis_are_reduced_to_their_text() {
    let line = |text| one_line(text, TextForm::Markdown);
    assert_eq!(line("See **the [guide](https://x.example/a) and\n![plan](p.png)** now"), "See the guide and plan now");
    assert_eq!(line("a] (b [c](d"), "a] (b [c](d");
}

#[test]
fn what_is_no_markdown_and_code_in_fences_keep_every_character() {
    let code = "volume = join(edge ** 3,\n  handlers[0](edge))";
    let shown = |text: &str, form| units(text, form, None).into_iter().map(|unit| unit.text).collect::<Vec<_>>();
    assert_eq!(shown(code, TextForm::Plain), ["volume = join(edge ** 3, handlers[0](edge))"]);
    assert_eq!(shown(&format!("```\n{code}\n```\n"), TextForm::Markdown), [code]);
    let header: Vec<String> = ["name", "formula"].map(str::to_owned).into();
    let rows = units("cube,x ** 3,see [0](x)\n", TextForm::Plain, Some(&header));
    assert_eq!(rows[0].text, "cube,x ** 3,see [0](x)");
}

proptest! {
    #[test]
    fn units_are_ordered_disjoint_and_trimmed(text in "([-#|>*`0-9.a-zA-Z ,:\\n。！é年]|\\n- |\\n\\n|\\| a \\||```\\n){0,60}") {
        let mut end = 0;
        for unit in units(&text, TextForm::Markdown, None) {
            prop_assert!(unit.range.start >= end && unit.range.end > unit.range.start);
            let quote = &text[unit.range.clone()];
            prop_assert_eq!(quote.trim(), quote);
            end = unit.range.end;
        }
    }

    #[test]
    fn any_text_is_cut_without_losing_letters(text in "[a-zA-Z.!? \\n。]{0,200}") {
        let kept: String = quotes(&text).concat().chars().filter(|c| c.is_alphanumeric()).collect();
        let all: String = text.chars().filter(|c| c.is_alphanumeric()).collect();
        prop_assert_eq!(kept, all);
    }
}
