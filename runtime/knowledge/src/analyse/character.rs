//! What a character is to the analyser.

use unicode_normalization::char::is_combining_mark;

/// Class of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Ends a run.
    Separator,
    /// A letter that is not upper case.
    Lower,
    /// An upper-case letter.
    Upper,
    /// A digit or another numeric character.
    Digit,
    /// Belongs to the character before it.
    Mark,
    /// A letter of a script that is written without spaces between words: cut into bigrams.
    Wide,
}

impl Class {
    /// Whether runs of words are made of it.
    pub(super) fn in_word(self) -> bool {
        matches!(self, Self::Lower | Self::Upper | Self::Digit | Self::Mark)
    }

    /// Whether a word may begin with it.
    pub(super) fn begins_word(self) -> bool {
        matches!(self, Self::Lower | Self::Upper | Self::Digit)
    }
}

/// Class and byte length of the character at `at`, which is a character boundary; at the end a separator of length 0.
pub(super) fn class_at(text: &str, at: usize) -> (Class, usize) {
    match text.as_bytes().get(at) {
        None => (Class::Separator, 0),
        Some(&byte) if byte < 0x80 => (ASCII[byte as usize], 1),
        Some(_) => {
            let character = text[at..].chars().next().expect("at is a boundary before the end");
            (class_of(character), character.len_utf8())
        }
    }
}

/// The character at `at`, with full-width forms of ASCII shown as ASCII and the kinds of apostrophe, hyphen and space
/// as one each; at the end a line feed.
pub(super) fn plain_at(text: &str, at: usize) -> char {
    match text[at..].chars().next() {
        None => '\n',
        Some(character @ '\u{ff01}'..='\u{ff5e}') => ascii_of(character),
        Some('\u{2018}' | '\u{2019}') => '\'',
        Some('\u{2010}' | '\u{2011}' | '\u{2212}') => '-',
        Some('\u{a0}') => ' ',
        Some(character) => character,
    }
}

/// Whether the character at `at` is invisible inside a word, so that folding drops it.
pub(super) fn is_ignorable(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{200c}' | '\u{200d}' | '\u{2060}' | '\u{fe00}'..='\u{fe0f}')
}

fn ascii_of(full_width: char) -> char {
    char::from_u32(full_width as u32 - 0xfee0).expect("full-width forms map onto ASCII")
}

fn class_of(character: char) -> Class {
    match character {
        '\u{ff01}'..='\u{ff5e}' => ASCII[ascii_of(character) as usize],
        '\u{ff9e}' | '\u{ff9f}' | '\u{1160}'..='\u{11ff}' => Class::Mark,
        _ if is_wide(character) => {
            if is_combining_mark(character) {
                Class::Mark
            } else {
                Class::Wide
            }
        }
        _ if character.is_uppercase() => Class::Upper,
        _ if is_combining_mark(character) || is_ignorable(character) => Class::Mark,
        _ if character.is_alphabetic() => Class::Lower,
        _ if character.is_numeric() => Class::Digit,
        _ => Class::Separator,
    }
}

/// Han, kana, Bopomofo, Hangul, and Thai, Lao, Burmese and Khmer letters.
fn is_wide(character: char) -> bool {
    match character {
        '\u{30fb}' | '\u{0e2f}' | '\u{0e3f}' | '\u{0e4f}'..='\u{0e5b}' | '\u{ff65}' => false,
        '\u{0e01}'..='\u{0edf}' | '\u{1000}'..='\u{103f}' | '\u{1780}'..='\u{17d3}' => {
            character.is_alphabetic() || is_combining_mark(character)
        }
        '\u{1100}'..='\u{115f}' | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{318f}' | '\u{31a0}'..='\u{31bf}' => true,
        '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' => true,
        '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ffdc}' | '\u{20000}'..='\u{3ffff}' => true,
        _ => false,
    }
}

const ASCII: [Class; 128] = {
    let mut table = [Class::Separator; 128];
    let mut index = 0;
    while index < 128 {
        let byte = index as u8;
        if byte.is_ascii_lowercase() {
            table[index] = Class::Lower;
        } else if byte.is_ascii_uppercase() {
            table[index] = Class::Upper;
        } else if byte.is_ascii_digit() {
            table[index] = Class::Digit;
        }
        index += 1;
    }
    table
};
