use super::*;
use crate::confidence::confidence;
use crate::testing::Fixed;
use proptest::prelude::*;

fn answer(question: &str, texts: &[&str]) -> Vec<String> {
    let retriever = Fixed::new(texts);
    let choice = choose(question, &retriever.evidence(question), &retriever);
    for quoted in &choice.quoted {
        assert!(retriever.passages[quoted.passage].text.get(quoted.range.clone()).is_some());
    }
    choice.quoted.into_iter().map(|quoted| quoted.text).collect()
}

const HANDBOOK: &str = "# Leave\n\nThe office opens at eight. Full-time staff get 30 vacation days a year. They expire in \
    March. Lunch is free.\n";

#[test]
fn the_sentence_that_has_the_questions_words_comes_first() {
    let first = answer("How many vacation days do staff get?", &[HANDBOOK, "The cat sleeps."]).remove(0);
    assert_eq!(first, "Full-time staff get 30 vacation days a year.");
}

#[test]
fn a_sentence_that_opens_with_a_pronoun_brings_the_one_before() {
    let text = "Vouchers come from finance. They expire in March. Nothing else does.";
    assert_eq!(answer("When expire march?", &[text]), ["Vouchers come from finance. They expire in March."]);
}

#[test]
fn a_question_for_a_list_gets_the_whole_list_with_its_lead() {
    let text = "Every visitor must bring these documents:\n\n- a passport\n- the invitation letter\n- a photo\n\nEnd.";
    let expected = "Every visitor must bring these documents: a passport; the invitation letter; a photo";
    assert_eq!(answer("Which documents must a visitor bring?", &[text]), [expected]);
    assert_eq!(answer("Which visitor needs an invitation letter?", &[text])[0], expected);
}

#[test]
fn another_question_gets_the_item_alone() {
    let text = "Notes\n\n- Parking costs 5 EUR a day\n- Bikes are free\n- Trains run hourly\n";
    assert_eq!(answer("How much costs parking?", &[text]), ["Parking costs 5 EUR a day"]);
}

#[test]
fn a_table_row_answers_with_its_columns() {
    let text = "| Product | Warranty |\n|---|---|\n| Lamp | 2 years |\n| Desk | 10 years |\n";
    assert_eq!(answer("What is the warranty of the desk?", &[text])[0], "Product: Desk; Warranty: 10 years");
}

#[test]
fn the_same_statement_is_not_quoted_twice() {
    let text = "Staff get 30 vacation days.";
    assert_eq!(answer("How many vacation days?", &[text, text]), [text]);
}

#[test]
fn a_sentence_that_is_quoted_already_is_continued_where_a_pronoun_points_back_to_it() {
    let text = "Vouchers come from finance. They expire in March. Nothing else does.";
    let quoted = answer("Where do vouchers come from, and when expire march?", &[text]);
    assert_eq!(quoted, ["Vouchers come from finance. They expire in March."]);
}

#[test]
fn an_item_that_is_quoted_already_is_taken_into_its_list() {
    let text = "Parking costs by vehicle:\n\n- cars cost 5 EUR a day\n- bikes are free\n";
    let quoted = answer("How much does parking for cars cost a day?", &[text]);
    assert_eq!(quoted, ["Parking costs by vehicle: cars cost 5 EUR a day; bikes are free"]);
}

#[test]
fn a_statement_that_stands_beside_a_quoted_one_is_not_quoted_from_elsewhere() {
    let quoted = answer(
        "When expire march vouchers of finance?",
        &["Vouchers come from finance. They expire in March.", "Vouchers come from finance."],
    );
    assert_eq!(quoted, ["Vouchers come from finance. They expire in March."]);
}

#[test]
fn neighbours_stand_in_reading_order() {
    let text = "Refunds need a receipt. Damaged goods take 14 days to check.";
    let quoted = answer("How long do damaged goods take to check, and what receipt do refunds need?", &[text]);
    assert_eq!(quoted, ["Refunds need a receipt.", "Damaged goods take 14 days to check."]);
}

#[test]
fn chinese_questions_find_chinese_sentences() {
    let text = "公司成立于二〇一〇年。全职员工每年有十五天带薪年假。会议室需要预订。";
    assert_eq!(answer("全职员工每年有多少天年假？", &[text])[0], "全职员工每年有十五天带薪年假。");
}

#[test]
fn nothing_shared_means_nothing_quoted_but_every_passage_has_a_highlight() {
    let retriever = Fixed::new(&["Alpha beta.", "Gamma delta."]);
    let choice = choose("unrelated words", &retriever.evidence("unrelated words"), &retriever);
    assert_eq!(choice.quoted, []);
    assert_eq!(
        choice.highlights.iter().map(|quoted| quoted.text.as_str()).collect::<Vec<_>>(),
        ["Alpha beta.", "Gamma delta."]
    );
    assert!(confidence(choice.signals) < crate::confidence::THRESHOLD);
}

#[test]
fn a_question_that_the_documents_answer_is_surer_than_one_they_only_touch() {
    let sure = |question: &str| {
        let retriever = Fixed::new(&[HANDBOOK, "The parking lot opens at seven."]);
        confidence(choose(question, &retriever.evidence(question), &retriever).signals)
    };
    let (answered, touched) =
        (sure("How many vacation days a year?"), sure("Who approves parking in other countries?"));
    assert!(answered > crate::confidence::THRESHOLD && touched < crate::confidence::THRESHOLD, "{answered} {touched}");
}

proptest! {
    #[test]
    fn every_quote_is_text_of_its_passage(
        question in "[a-e ]{1,20}",
        texts in prop::collection::vec("([a-e ]{1,8}[.:!\\n]|\\n- |\\| a \\|\\n|年假。){0,12}", 1..4),
    ) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let retriever = Fixed::new(&texts);
        let choice = choose(&question, &retriever.evidence(&question), &retriever);
        for quoted in choice.quoted.iter().chain(&choice.highlights) {
            prop_assert!(texts[quoted.passage].get(quoted.range.clone()).is_some());
        }
        prop_assert!((0.0..=1.0).contains(&confidence(choice.signals)));
        prop_assert_eq!(choice.highlights.len(), texts.len());
    }

    #[test]
    fn no_two_quotes_of_an_answer_overlap(
        question in "(which )?[b-e]{1,2}( [b-e]{1,2}){0,5}",
        texts in prop::collection::vec("((It |They )?[b-e]{1,2}( [b-e]{1,2}){0,2}(\\. |:\n|\n\n)|- [b-e]{1,2}\n){1,12}", 1..3),
    ) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let retriever = Fixed::new(&texts);
        let quoted = choose(&question, &retriever.evidence(&question), &retriever).quoted;
        for (index, one) in quoted.iter().enumerate() {
            for other in quoted[index + 1..].iter().filter(|other| other.passage == one.passage) {
                let disjoint = one.range.end <= other.range.start || other.range.end <= one.range.start;
                prop_assert!(disjoint, "{one:?} and {other:?} of {texts:?}");
            }
        }
    }
}

// The words of the question are unknown except for one that any question may have.
#[test]
fn a_word_that_only_asks_speaks_for_nothing() {
    let retriever = Fixed::new(&["Ask your lead who approves the first order."]);
    let choice = choose("Who is the king of Mars?", &retriever.evidence("Who is the king of Mars?"), &retriever);
    assert_eq!(choice.quoted, []);
    assert_eq!(crate::confidence::confidence(choice.signals), 0.0);
}

#[test]
fn where_nothing_else_is_asked_the_asking_words_count() {
    let retriever = Fixed::new(&["Doctor Who is a series."]);
    let choice = choose("Who?", &retriever.evidence("Who?"), &retriever);
    assert_eq!(choice.quoted.len(), 1);
}
