//! Words that ask rather than say what is asked about. A document that has them answers nothing by that. Words that
//! mean something in another of the languages (war, comment, hat) are left out.

const ENGLISH: &[&str] = &[
    "who", "whom", "whose", "what", "when", "where", "which", "why", "how", "do", "does", "did", "done", "doing",
    "can", "could", "should", "would", "shall", "must", "has", "have", "had", "are", "is", "was", "were", "be", "been",
    "being", "many", "much", "i", "me", "my", "we", "our", "you", "your", "there", "any", "tell", "please", "about",
    "from",
];
const GERMAN: &[&str] = &[
    "wer", "wen", "wem", "wessen", "was", "wann", "wo", "wohin", "woher", "warum", "wieso", "wie", "welche", "welcher",
    "welches", "welchen", "welchem", "viel", "viele", "ist", "sind", "wird", "werden", "kann", "darf", "soll", "muss",
    "haben", "ich", "wir",
];
const FRENCH: &[&str] = &[
    "qui", "que", "quoi", "quand", "où", "quel", "quelle", "quels", "quelles", "pourquoi", "combien", "sont", "peut",
    "doit", "fait",
];
/// Pairs of characters, as texts are indexed.
const CHINESE: &[&str] = &["什么", "多少", "哪些", "哪个", "如何", "怎么"];

/// Whether the word, as it stands in a question, only asks. Capitals make a name of it (WHO).
pub(crate) fn only_asks(surface: &str) -> bool {
    let is_name = surface.chars().count() > 1 && surface.chars().all(char::is_uppercase);
    let word = surface.to_lowercase();
    !is_name && [ENGLISH, GERMAN, FRENCH, CHINESE].iter().any(|words| words.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_decides_between_a_question_and_a_name() {
        assert!(only_asks("Who") && only_asks("who") && only_asks("什么"));
        assert!(!only_asks("WHO") && !only_asks("Mars") && !only_asks("may"));
    }
}
