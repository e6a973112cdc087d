//! What the form of a question says about the form of its answer.

const NUMBER_WORDS: [&str; 22] = [
    "when",
    "how many",
    "how much",
    "how long",
    "how often",
    "how old",
    "what year",
    "which year",
    "what date",
    "what time",
    "how far",
    "how high",
    "wie viel",
    "wie lange",
    "wann",
    "wie oft",
    "combien",
    "quand",
    "cuánto",
    "cuándo",
    "quanto",
    "quando",
];
const NUMBER_WORDS_CJK: [&str; 16] = [
    "多少",
    "几",
    "何时",
    "哪年",
    "哪一年",
    "什么时候",
    "什么时间",
    "多长",
    "多久",
    "多大",
    "多高",
    "多远",
    "哪天",
    "日期",
    "年份",
    "いつ",
];
const NUMERALS_CJK: &str = "一二三四五六七八九十百千";
const LIST_WORDS: [&str; 14] = [
    "which",
    "what are",
    "what were",
    "list",
    "name the",
    "who are",
    "what steps",
    "what kinds",
    "what types",
    "welche",
    "was sind",
    "quels",
    "quelles",
    "cuáles",
];
const LIST_WORDS_CJK: [&str; 5] = ["哪些", "有哪", "哪几", "步骤", "列出"];
const PRONOUNS: [&str; 19] = [
    "it", "its", "they", "their", "these", "those", "this", "that", "he", "she", "his", "her", "such", "es", "sie",
    "diese", "dieser", "dieses", "er",
];
const PRONOUNS_CJK: [&str; 10] = ["它", "他", "她", "这", "该", "其", "此", "上述", "以上", "同时"];

pub(super) fn wants_number(question: &str) -> bool {
    asks(question, &NUMBER_WORDS, &NUMBER_WORDS_CJK)
}

pub(super) fn wants_list(question: &str) -> bool {
    asks(question, &LIST_WORDS, &LIST_WORDS_CJK)
}

pub(super) fn has_number(text: &str) -> bool {
    text.chars().any(|c| c.is_numeric() || NUMERALS_CJK.contains(c))
}

/// Whether the sentence points back to what stands before it.
pub(super) fn opens_with_pronoun(sentence: &str) -> bool {
    let sentence = sentence.trim_start_matches(|c: char| !c.is_alphanumeric());
    let word: String = sentence.chars().take_while(|c| c.is_alphabetic()).flat_map(char::to_lowercase).collect();
    PRONOUNS.contains(&word.as_str()) || PRONOUNS_CJK.iter().any(|pronoun| sentence.starts_with(pronoun))
}

fn asks(question: &str, words: &[&str], anywhere: &[&str]) -> bool {
    let spaced: String = question.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    let folded = format!(" {} ", spaced.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" "));
    words.iter().any(|word| folded.contains(&format!(" {word} ")))
        || anywhere.iter().any(|word| question.contains(word))
}
