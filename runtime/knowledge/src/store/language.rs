//! Whether an embedder understands a text.

use crate::embed::EmbedderProfile;

/// Letters from which on a text's language can be told from others of the same script.
const LETTERS_TO_JUDGE: usize = 60;

/// Whether the text is in one of the embedder's languages, as far as that can be told: the script always, the language
/// of longer texts. In doubt it is.
pub(crate) fn understands(profile: &EmbedderProfile, text: &str) -> bool {
    let Some(languages) = &profile.languages else { return true };
    let known = |language: whatlang::Lang| languages.contains(&language.code());
    let Some(script) = whatlang::detect_script(text) else { return true };
    if !script.langs().iter().copied().any(known) {
        return false;
    }
    let long = text.chars().filter(|c| c.is_alphabetic()).take(LETTERS_TO_JUDGE).count() == LETTERS_TO_JUDGE;
    !long || whatlang::detect(text).is_none_or(|found| !found.is_reliable() || known(found.lang()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_english_embedder_understands_english_numbers_and_short_latin_texts() {
        let profile = EmbedderProfile {
            identity: "test".into(),
            dimensions: 1,
            max_tokens: None,
            languages: Some(vec!["eng"]),
            fusion_weight: 0.2,
            max_batch: 1,
        };
        let german = "Die Bundesregierung hat am Mittwoch beschlossen, dass die neuen Regeln für alle Betriebe gelten \
                      und ab dem kommenden Jahr auch für kleine Unternehmen verpflichtend werden.";
        let english = "The government decided on Wednesday that the new rules apply to every company and become \
                       binding for small firms as well from next year on.";
        for (text, expected) in
            [(english, true), ("4471", true), ("Guten Tag", true), (german, false), ("请假制度是什么", false)]
        {
            assert_eq!(understands(&profile, text), expected, "{text}");
        }
        let any = EmbedderProfile { languages: None, ..profile };
        assert!(understands(&any, "请假制度是什么"));
    }
}
