//! Stemmer and stop words of a language.

use groundwork_config::Language;
use rust_stemmers::{Algorithm, Stemmer};
use std::cell::RefCell;

/// How the words of one language fold.
pub(super) struct Rules {
    stemmer: Stemmer,
    /// Number of the language, from 1.
    algorithm: usize,
    stop_words: &'static [&'static str],
    /// Whether the stemmer reads Cyrillic instead of Latin letters.
    cyrillic: bool,
    /// Whether an apostrophe between letters belongs to the word.
    pub(super) apostrophes: bool,
}

impl Rules {
    pub(super) fn of(language: Language) -> Self {
        let (algorithm, stop_words) = match language {
            Language::English => (Algorithm::English, ENGLISH),
            Language::German => (Algorithm::German, GERMAN),
            Language::French => (Algorithm::French, FRENCH),
            Language::Spanish => (Algorithm::Spanish, SPANISH),
            Language::Italian => (Algorithm::Italian, ITALIAN),
            Language::Portuguese => (Algorithm::Portuguese, PORTUGUESE),
            Language::Dutch => (Algorithm::Dutch, DUTCH),
            Language::Swedish => (Algorithm::Swedish, SWEDISH),
            Language::Norwegian => (Algorithm::Norwegian, NORWEGIAN),
            Language::Danish => (Algorithm::Danish, DANISH),
            Language::Finnish => (Algorithm::Finnish, FINNISH),
            Language::Russian => (Algorithm::Russian, RUSSIAN),
        };
        Self {
            stemmer: Stemmer::create(algorithm),
            algorithm: language as usize + 1,
            stop_words,
            cyrillic: language == Language::Russian,
            apostrophes: language == Language::English,
        }
    }

    /// Whether the folded word carries no meaning of its own.
    pub(super) fn is_stop_word(&self, word: &str) -> bool {
        // No list has a longer word; most words of a text end here.
        word.len() <= 12 && self.stop_words.contains(&word)
    }

    /// The stem of a folded word without digits.
    pub(super) fn stem(&self, word: String) -> String {
        let readable = word.chars().next().is_some_and(|first| match first {
            'а'..='ё' => self.cyrillic,
            _ => !self.cyrillic && first < '\u{250}',
        });
        if !readable || word.len() < 3 {
            return word;
        }
        remembered(self.algorithm, word, |word| self.stemmer.stem(word).into_owned())
    }
}

/// Remembered stems of a thread, a place for each hash. Stemming costs ten times what all else of a word does, and the
/// words of a text repeat.
const REMEMBERED: usize = 1 << 13;

#[derive(Clone, Default)]
struct Stem {
    algorithm: usize,
    word: String,
    stem: String,
}

thread_local! {
    static STEMS: RefCell<Vec<Stem>> = RefCell::new(vec![Stem::default(); REMEMBERED]);
}

/// The stem of `word`, from memory or made now. Each memory is of one thread, and says nothing that `make` would not.
fn remembered(algorithm: usize, word: String, make: impl FnOnce(&str) -> String) -> String {
    STEMS.with_borrow_mut(|stems| {
        let place = &mut stems[hash(word.as_bytes()) as usize % REMEMBERED];
        if place.algorithm != algorithm || place.word != word {
            place.algorithm = algorithm;
            place.stem = make(&word);
            place.word.clone_from(&word);
        }
        if place.stem == word { word } else { place.stem.clone() }
    })
}

/// FNV-1a, whose upper half is folded in since places come from the lower.
fn hash(bytes: &[u8]) -> u64 {
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    hash ^ (hash >> 32)
}

/// Lucene's `EnglishAnalyzer.ENGLISH_STOP_WORDS_SET`, commonest first.
const ENGLISH: &[&str] = &[
    "the", "of", "and", "to", "in", "a", "is", "that", "for", "it", "as", "was", "with", "be", "by", "on", "not",
    "are", "this", "or", "at", "an", "but", "if", "into", "no", "such", "their", "then", "there", "these", "they",
    "will",
];

// The lists below hold articles, conjunctions and the commonest prepositions only: words that never tell two passages
// apart. Negations stay searchable.
const GERMAN: &[&str] = &[
    "der", "die", "das", "den", "dem", "des", "ein", "eine", "einer", "einem", "einen", "eines", "und", "oder", "in",
    "im", "zu", "zum", "zur", "von", "vom", "mit", "auf", "an", "am", "als", "auch", "es", "ist", "sind", "bei", "für",
];
const FRENCH: &[&str] = &[
    "le", "la", "les", "l", "un", "une", "des", "de", "du", "d", "et", "ou", "à", "au", "aux", "en", "dans", "par",
    "pour", "sur", "avec", "que", "qu", "qui", "est", "sont", "ce", "cette", "il", "elle", "se", "s", "n", "c", "j",
];
const SPANISH: &[&str] = &[
    "el", "la", "los", "las", "un", "una", "unos", "unas", "de", "del", "y", "e", "o", "u", "a", "al", "en", "por",
    "para", "con", "que", "es", "son", "se", "su", "lo",
];
const ITALIAN: &[&str] = &[
    "il", "lo", "la", "i", "gli", "le", "l", "un", "uno", "una", "di", "del", "della", "dei", "delle", "dell", "d",
    "e", "ed", "o", "a", "al", "alla", "in", "nel", "nella", "da", "dal", "per", "con", "che", "è", "sono", "si",
];
const PORTUGUESE: &[&str] = &[
    "o", "a", "os", "as", "um", "uma", "de", "do", "da", "dos", "das", "e", "ou", "em", "no", "na", "nos", "nas",
    "por", "para", "com", "que", "é", "são", "se", "ao", "à",
];
const DUTCH: &[&str] = &[
    "de", "het", "een", "en", "of", "van", "in", "op", "te", "aan", "met", "voor", "bij", "die", "dat", "is", "zijn",
    "als", "er", "om", "uit", "door",
];
const SWEDISH: &[&str] = &[
    "en", "ett", "den", "det", "de", "och", "eller", "i", "på", "av", "till", "för", "med", "som", "är", "att", "om",
    "vid", "från",
];
const NORWEGIAN: &[&str] = &[
    "en", "ei", "et", "den", "det", "de", "og", "eller", "i", "på", "av", "til", "for", "med", "som", "er", "å", "at",
    "om", "ved", "fra",
];
const DANISH: &[&str] = &[
    "en", "et", "den", "det", "de", "og", "eller", "i", "på", "af", "til", "for", "med", "som", "er", "at", "om",
    "ved", "fra",
];
const FINNISH: &[&str] = &["ja", "tai", "sekä", "että", "on", "ovat", "se", "ne", "kun", "jos", "niin", "myös", "kuin"];
const RUSSIAN: &[&str] = &[
    "и", "или", "а", "в", "во", "на", "с", "со", "к", "ко", "по", "из", "от", "для", "о", "об", "что", "как", "это",
    "у", "за", "же", "бы",
];
