use std::ops::Range;

/// A text with white space and quotation marks folded, and where each of its characters stands in the original.
pub(crate) struct Folded {
    pub(crate) text: String,
    /// For each byte of `text` that starts a character: its bytes of the original.
    places: Vec<Range<usize>>,
}

impl Folded {
    /// Runs of white space become one space, or nothing beside a character of a script without spaces; kinds of
    /// quotation marks become two; characters that nobody sees vanish.
    pub(crate) fn new(original: &str) -> Self {
        let mut folded = Self { text: String::with_capacity(original.len()), places: Vec::new() };
        let mut space: Option<Range<usize>> = None;
        for (at, character) in original.char_indices().filter(|(_, c)| !is_invisible(*c)) {
            let place = at..at + character.len_utf8();
            if character.is_whitespace() {
                space = Some(space.map_or(place.clone(), |open| open.start..place.end));
                continue;
            }
            let beside_unspaced = is_unspaced(character) || folded.text.chars().next_back().is_none_or(is_unspaced);
            if let Some(space) = space.take().filter(|_| !beside_unspaced) {
                folded.push(' ', space);
            }
            folded.push(fold_mark(character), place);
        }
        folded
    }

    fn push(&mut self, character: char, place: Range<usize>) {
        self.text.push(character);
        self.places.extend(std::iter::repeat_n(place, character.len_utf8()));
    }

    /// Bytes of the original that a non-empty range of `text` stands for.
    pub(crate) fn original(&self, range: Range<usize>) -> Range<usize> {
        self.places[range.start].start..self.places[range.end - 1].end
    }
}

fn fold_mark(character: char) -> char {
    match character {
        '“' | '”' | '„' | '‟' | '«' | '»' | '＂' | '″' | '「' | '」' | '『' | '』' => '"',
        '‘' | '’' | '‚' | '‛' | '‹' | '›' | '＇' | '′' | '`' | '´' => '\'',
        other => other,
    }
}

/// Controls, direction marks, joiners, tags: what [`crate::prompt`] strips from sources and what no reader sees.
pub(crate) fn is_invisible(character: char) -> bool {
    let format = matches!(u32::from(character), 0x00AD | 0x061C | 0x180E | 0x200B..=0x200F | 0x202A..=0x202E
        | 0x2060..=0x206F | 0xFEFF | 0xFFF9..=0xFFFB | 0xE_0000..=0xE_0FFF);
    format || (character.is_control() && !character.is_whitespace())
}

fn is_unspaced(character: char) -> bool {
    matches!(u32::from(character), 0x3000..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF
        | 0xFF00..=0xFF60 | 0x2_0000..=0x3_FFFF)
}
