use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Longer runs without a sentence end (logs, code, verse) are cut at their line ends.
const LONGEST_SENTENCE: usize = 600;

/// Never end a sentence, whatever follows.
const TITLES: [&str; 33] = [
    "mr", "mrs", "ms", "dr", "prof", "st", "vs", "e.g", "i.e", "cf", "fig", "figs", "eq", "sec", "ch", "vol", "pp",
    "approx", "ca", "dept", "est", "z.b", "d.h", "bzw", "vgl", "evtl", "ggf", "inkl", "zzgl", "sog", "p.ex", "sra",
    "resp",
];
/// End a sentence only before a capital that is not part of a name; too rare to tell apart, so they do not before digits.
const BEFORE_NUMBERS: [&str; 8] = ["no", "nos", "nr", "art", "p", "para", "tel", "abs"];

/// The standard counts these to the sentence before them where no space stands between.
const OPENING_MARKS: [char; 7] = ['“', '‘', '「', '『', '（', '《', '【'];

/// Byte ranges of the sentences of a paragraph, trimmed, in order. Sentence bounds of Unicode (UAX #29), except after
/// abbreviations and initials, and line ends count as spaces.
pub(crate) fn sentences(paragraph: &str) -> Vec<Range<usize>> {
    let flat = paragraph.replace('\n', " ");
    let mut ranges = Vec::new();
    let mut start = 0;
    for (at, piece) in flat.split_sentence_bound_indices() {
        let end = at + piece.trim_end_matches(OPENING_MARKS).len();
        if ends_sentence(&flat[start..end], &flat[end..]) {
            push(paragraph, start..end, &mut ranges);
            start = end;
        }
    }
    push(paragraph, start..flat.len(), &mut ranges);
    ranges
}

fn push(paragraph: &str, range: Range<usize>, ranges: &mut Vec<Range<usize>>) {
    let text = &paragraph[range.clone()];
    if text.len() <= LONGEST_SENTENCE {
        ranges.extend(trimmed(text, range.start));
        return;
    }
    let mut start = range.start;
    for line in text.split_inclusive('\n') {
        ranges.extend(trimmed(line, start));
        start += line.len();
    }
}

/// The range of `text` (which starts at `offset`) without white space around it; `None` if nothing is left.
pub(crate) fn trimmed(text: &str, offset: usize) -> Option<Range<usize>> {
    let start = offset + (text.len() - text.trim_start().len());
    let length = text.trim().len();
    (length > 0).then(|| start..start + length)
}

fn ends_sentence(sentence: &str, rest: &str) -> bool {
    let Some(next) = rest.chars().next() else { return true };
    let body = sentence.trim_end();
    let spaced = body.len() < sentence.len();
    let core = body.trim_end_matches(['"', '\'', ')', ']', '”', '’', '»', '*', '_']);
    match core.chars().next_back() {
        Some('.' | '!' | '?' | '…') if !spaced || next.is_lowercase() => false,
        Some('.') => !is_abbreviation(core.trim_end_matches('.'), next),
        _ => true,
    }
}

fn is_abbreviation(before: &str, next: char) -> bool {
    let word =
        before.rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | '[' | '"' | '/')).next().unwrap_or(before);
    let mut letters = word.split('.');
    let single = |part: &str| part.chars().count() == 1 && part.chars().all(char::is_alphabetic);
    let initial = letters.all(single) && (word.contains('.') || word.chars().all(char::is_uppercase));
    let list_number = word == before.trim_start() && word.chars().all(|c| c.is_ascii_digit());
    let folded = word.to_lowercase();
    initial
        || list_number
        || TITLES.contains(&folded.as_str())
        || (BEFORE_NUMBERS.contains(&folded.as_str()) && next.is_numeric())
}
