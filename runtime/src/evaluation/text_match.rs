//! Comparing answers with references as SQuAD's official script does (Rajpurkar et al. 2016): exact match and token F1
//! after lower case, without punctuation and articles; CJK characters count as tokens of their own (CMRC 2018).

use std::collections::HashMap;

/// Best token F1 of `answer` over the references.
pub(crate) fn best_f1(answer: &str, references: &[String]) -> f64 {
    references.iter().map(|reference| f1(answer, reference)).fold(0.0, f64::max)
}

/// Whether the answer equals a reference after folding.
pub(crate) fn exact_match(answer: &str, references: &[String]) -> bool {
    references.iter().any(|reference| tokens(answer) == tokens(reference))
}

/// Whether the answer contains `text`: case and white space folded.
pub(crate) fn contains(answer: &str, text: &str) -> bool {
    let fold = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    fold(answer).contains(&fold(text))
}

fn f1(answer: &str, reference: &str) -> f64 {
    let (answer, reference) = (tokens(answer), tokens(reference));
    let mut counts: HashMap<&str, i64> = HashMap::new();
    for token in &reference {
        *counts.entry(token).or_default() += 1;
    }
    let mut shared = 0.0;
    for token in &answer {
        if let Some(count) = counts.get_mut(token.as_str()).filter(|count| **count > 0) {
            *count -= 1;
            shared += 1.0;
        }
    }
    if shared == 0.0 {
        return f64::from(answer.is_empty() && reference.is_empty());
    }
    let (precision, recall) = (shared / answer.len() as f64, shared / reference.len() as f64);
    2.0 * precision * recall / (precision + recall)
}

fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut word = String::new();
    let flush = |word: &mut String, tokens: &mut Vec<String>| {
        if !word.is_empty() && !matches!(word.as_str(), "a" | "an" | "the") {
            tokens.push(std::mem::take(word));
        }
        word.clear();
    };
    for character in text.to_lowercase().chars() {
        if is_cjk(character) {
            flush(&mut word, &mut tokens);
            tokens.push(character.to_string());
        } else if character.is_alphanumeric() {
            word.push(character);
        } else if character.is_whitespace() {
            flush(&mut word, &mut tokens);
        }
    }
    flush(&mut word, &mut tokens);
    tokens
}

fn is_cjk(character: char) -> bool {
    matches!(u32::from(character), 0x3040..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xac00..=0xd7af)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn articles_case_and_punctuation_do_not_count() {
        assert!(exact_match("The Cat!", &["cat".into()]));
    }

    // Shared 2 of 3 answer tokens and of 2 reference tokens: P 2/3, R 1, F1 0.8.
    #[test]
    fn f1_by_hand() {
        assert!((best_f1("big red house", &["red house".into()]) - 0.8).abs() < 1e-9);
    }

    #[test]
    fn chinese_characters_are_tokens() {
        assert!((best_f1("北京市", &["北京".into()]) - 0.8).abs() < 1e-9);
    }
}
