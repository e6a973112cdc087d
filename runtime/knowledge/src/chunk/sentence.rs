//! Borders of sentences.

/// Where sentences begin in a text, from 0: after an end mark (with closing quotes and brackets) that white space
/// follows, or after an end mark of Chinese and Japanese. A small letter does not begin a sentence (`e.g. this`).
pub(super) fn starts(text: &str) -> Vec<usize> {
    let mut starts = vec![0];
    let mut characters = text.char_indices().peekable();
    while let Some((_, character)) = characters.next() {
        let wide = matches!(character, '。' | '！' | '？' | '．');
        if !wide && !matches!(character, '.' | '!' | '?' | '…') {
            continue;
        }
        while characters.next_if(|(_, next)| closes(*next)).is_some() {}
        let Some((end, next)) = characters.peek().copied() else { break };
        if wide && !next.is_whitespace() || next.is_whitespace() && begins(&text[end..]) {
            starts.push(end);
        }
    }
    starts
}

fn closes(character: char) -> bool {
    matches!(
        character,
        '.' | '!' | '?' | '"' | '\'' | ')' | ']' | '”' | '’' | '»' | '。' | '！' | '？' | '」' | '』' | '）' | '…'
    )
}

/// Whether the first word after white space may begin a sentence.
fn begins(rest: &str) -> bool {
    // Only a short stretch is looked at, so that long white space costs nothing.
    let first = rest.chars().take(64).find(|character| !character.is_whitespace());
    first.is_none_or(|first| !first.is_lowercase())
}
