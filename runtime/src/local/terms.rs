//! The terms of a question, and which of them are hard enough that their absence means "not found".
//!
//! Hard are text in quotation marks, identifiers written as one (`SKU-4471`, `max_retry_count`, but not `well-known`),
//! and numbers of four digits or more or with a unit of measure or currency. Spans of time in words (`30 days`) are no
//! units here: questions suppose them (`may I return it after 45 days?`) and documents need not repeat them.

use groundwork_agent::passage::QueryTermKind;
use groundwork_knowledge::analyse::{Token, TokenKind};
use std::ops::Range;

/// A term of a question and how to count it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct QuestionTerm {
    /// The folded term.
    pub(super) term: String,
    /// The words of the question it stands for.
    pub(super) surface: String,
    /// What its absence means.
    pub(super) kind: QueryTermKind,
    /// Folded terms that a chunk must all have; a phrase is looked up by its text instead.
    pub(super) lookups: Vec<String>,
}

/// The terms of a question, in its order, each once. `tokens` are the analyser's for this text.
pub(super) fn question_terms(question: &str, tokens: &[Token]) -> Vec<QuestionTerm> {
    let mut taken: Vec<Range<usize>> = Vec::new();
    let mut found: Vec<(usize, QuestionTerm)> = Vec::new();
    for span in phrases(question).into_iter().filter(|span| tokens.iter().any(|token| within(&token.span, span))) {
        let text = question[span.clone()].trim().to_owned();
        let lookups = words_in(tokens, &span);
        found.push((
            span.start,
            QuestionTerm { term: text.clone(), surface: text, kind: QueryTermKind::Phrase, lookups },
        ));
    }
    for span in identifiers(question, tokens) {
        found.push((span.start, identifier(question, tokens, &span)));
        taken.push(span);
    }
    for (number, surface) in numbers(question) {
        let lookups = words_in(tokens, &number);
        if taken.iter().any(|span| within(&number, span)) || lookups.is_empty() {
            continue;
        }
        let term = lookups.join(" ");
        let surface = question[surface].to_owned();
        found.push((number.start, QuestionTerm { term, surface, kind: QueryTermKind::Number, lookups }));
        taken.push(number);
    }
    for token in tokens.iter().filter(|token| token.kind == TokenKind::Word) {
        if !taken.iter().any(|span| within(&token.span, span)) {
            let (term, surface) = (token.term.clone(), question[token.span.clone()].to_owned());
            let lookups = vec![term.clone()];
            found.push((token.span.start, QuestionTerm { term, surface, kind: QueryTermKind::Word, lookups }));
        }
    }
    found.sort_by_key(|(start, _)| *start);
    distinct(found.into_iter().map(|(_, term)| term))
}

fn distinct(terms: impl Iterator<Item = QuestionTerm>) -> Vec<QuestionTerm> {
    let mut kept: Vec<QuestionTerm> = Vec::new();
    for term in terms {
        if !kept.iter().any(|other| other.term == term.term && other.kind == term.kind) {
            kept.push(term);
        }
    }
    kept
}

fn within(inner: &Range<usize>, outer: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

fn words_in(tokens: &[Token], span: &Range<usize>) -> Vec<String> {
    let words = tokens.iter().filter(|token| token.kind == TokenKind::Word && within(&token.span, span));
    words.map(|token| token.term.clone()).collect()
}

/// The insides of quotation marks, with at least two characters.
fn phrases(question: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut open: Option<(char, usize)> = None;
    for (at, character) in question.char_indices() {
        match open {
            Some((close, start)) if character == close => {
                if question[start..at].trim().chars().count() > 1 {
                    spans.push(start..at);
                }
                open = None;
            }
            Some(_) => {}
            None => open = closing(character).map(|close| (close, at + character.len_utf8())),
        }
    }
    spans
}

fn closing(character: char) -> Option<char> {
    Some(match character {
        '"' => '"',
        '\u{201c}' => '\u{201d}',
        '\u{201e}' => '\u{201c}',
        '\u{ab}' => '\u{bb}',
        '\u{300c}' => '\u{300d}',
        '\u{300e}' => '\u{300f}',
        _ => return None,
    })
}

/// Spans of joined tokens that are written as one identifier. A longer one takes those inside it.
fn identifiers(question: &str, tokens: &[Token]) -> Vec<Range<usize>> {
    let is_hard = |token: &&Token| {
        let surface = &question[token.span.clone()];
        token.kind == TokenKind::Identifier && reads_as_identifier(surface)
    };
    let spans: Vec<Range<usize>> = tokens.iter().filter(is_hard).map(|token| token.span.clone()).collect();
    let inside = |span: &Range<usize>| spans.iter().any(|other| other != span && within(span, other));
    let mut outer: Vec<Range<usize>> = spans.iter().filter(|span| !inside(span)).cloned().collect();
    outer.dedup();
    outer
}

/// One word with digits beside letters, an underscore, a dot or colon inside, or a capital after a small letter.
fn reads_as_identifier(surface: &str) -> bool {
    let has = |test: fn(char) -> bool| surface.chars().any(test);
    // `U.S.` and `e.g.` are abbreviations.
    let dotted = surface.contains('.') && surface.split('.').all(|part| part.chars().count() > 1);
    let joined = dotted || has(|c| matches!(c, '_' | ':'));
    let camel = surface.chars().zip(surface.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let code = has(char::is_alphabetic) && has(|c| c.is_ascii_digit());
    !has(char::is_whitespace) && (joined || camel || code)
}

fn identifier(question: &str, tokens: &[Token], span: &Range<usize>) -> QuestionTerm {
    let joined = tokens.iter().find(|token| token.kind == TokenKind::Identifier && token.span == *span);
    let term = joined.map(|token| token.term.clone()).expect("identifier spans come from tokens");
    let surface = question[span.clone()].to_owned();
    QuestionTerm { lookups: vec![term.clone()], term, surface, kind: QueryTermKind::Identifier }
}

/// Numbers that are hard: the digits' span, and the span with sign and unit.
fn numbers(question: &str) -> Vec<(Range<usize>, Range<usize>)> {
    let bytes = question.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let end = number_end(bytes, at);
        let letter_before = question[..at].chars().next_back().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        let digits = bytes[at..end].iter().filter(|byte| byte.is_ascii_digit()).count();
        let unit = unit_after(question, end);
        let sign = question[..at].chars().next_back().filter(|c| CURRENCY_SIGNS.contains(*c));
        if !letter_before && (digits >= 4 || unit.is_some() || sign.is_some()) {
            let start = at - sign.map_or(0, char::len_utf8);
            found.push((at..end, start..unit.unwrap_or(end)));
        }
        at = end;
    }
    found
}

/// Digits with dots or commas between them.
fn number_end(bytes: &[u8], start: usize) -> usize {
    let mut end = start;
    while end < bytes.len() {
        let inside = matches!(bytes[end], b'.' | b',') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
        if !bytes[end].is_ascii_digit() && !inside {
            break;
        }
        end += 1;
    }
    end
}

const CURRENCY_SIGNS: &str = "€$£¥";

const UNITS: [&str; 45] = [
    "%", "‰", "°C", "°F", "€", "$", "£", "EUR", "USD", "GBP", "CHF", "CNY", "JPY", "mg", "g", "kg", "t", "lb", "oz",
    "nm", "mm", "cm", "m", "km", "ml", "l", "ms", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "W", "kW", "kWh",
    "V", "mA", "A", "Hz", "MHz", "GHz", "元",
];

/// Where the unit after a number ends, if one follows, with at most one space between.
fn unit_after(question: &str, end: usize) -> Option<usize> {
    let rest = &question[end..];
    let gap = rest.strip_prefix([' ', '\u{a0}', '\u{202f}']).map_or(0, |after| rest.len() - after.len());
    let after = &rest[gap..];
    let matching = UNITS.iter().filter(|unit| after.starts_with(**unit)).filter(|unit| {
        let word = unit.chars().next_back().is_some_and(|c| c.is_ascii_alphabetic());
        !word || !after[unit.len()..].starts_with(|c: char| c.is_alphanumeric())
    });
    matching.map(|unit| unit.len()).max().map(|length| end + gap + length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use groundwork_config::Keyword;
    use groundwork_knowledge::analyse::Analyser;

    fn hard(question: &str) -> Vec<(QueryTermKind, String)> {
        let tokens = Analyser::new(&Keyword::default()).analyse(question);
        let terms = question_terms(question, &tokens).into_iter();
        terms.filter(|term| term.kind != QueryTermKind::Word).map(|term| (term.kind, term.surface)).collect()
    }

    #[test]
    fn only_what_is_written_as_hard_is_hard() {
        use QueryTermKind::{Identifier, Number, Phrase};
        let table: [(&str, &[(QueryTermKind, &str)]); 13] = [
            ("What is the late fee?", &[]),
            ("Who approves SKU-4471?", &[(Identifier, "SKU-4471")]),
            ("Where is max_retry_count set?", &[(Identifier, "max_retry_count")]),
            ("Where is maxRetryCount set?", &[(Identifier, "maxRetryCount")]),
            ("Is it a well-known state-of-the-art method?", &[]),
            ("What changed in 2024?", &[(Number, "2024")]),
            ("May I return it after 45 days?", &[]),
            ("May it weigh 12 kg?", &[(Number, "12 kg")]),
            ("Who pays €500 or 20 %?", &[(Number, "€500"), (Number, "20 %")]),
            ("Which page says \"net of tax\"?", &[(Phrase, "net of tax")]),
            ("哪一页写着「不含税」？", &[(Phrase, "不含税")]),
            ("Are there 3 rules in chapter 12?", &[]),
            ("Does the U.S. office use e.g. node.js?", &[(Identifier, "node.js")]),
        ];
        for (question, expected) in table {
            let expected: Vec<_> = expected.iter().map(|(kind, text)| (*kind, (*text).to_owned())).collect();
            assert_eq!(hard(question), expected, "{question}");
        }
    }

    #[test]
    fn terms_come_once_in_the_order_of_the_question() {
        let question = "Does the fee rise when the fees of AX-3000 rise?";
        let tokens = Analyser::new(&Keyword::default()).analyse(question);
        let terms: Vec<String> = question_terms(question, &tokens).into_iter().map(|term| term.term).collect();
        let expected = ["fee", "rise", "ax3000"];
        let kept: Vec<&String> = terms.iter().filter(|term| expected.contains(&term.as_str())).collect();
        assert_eq!(kept, expected, "{terms:?}");
    }
}
