use async_trait::async_trait;
use unicode_normalization::{UnicodeNormalization, is_nfkc_quick};

use super::{EmbedError, EmbedKind, Embedder, EmbedderProfile, unit};

/// Raised whenever the vector of any text changes.
const VERSION: u32 = 1;
const MAX_BATCH: usize = 256;
/// Word grams say more than the pieces they are made of, but pieces join inflected and misspelt words.
const WORD_WEIGHT: f32 = 1.0;
const PIECE_WEIGHT: f32 = 0.35;
/// Longer words are almost always encoded data; their pieces would drown the rest.
const LONGEST_CUT_WORD: usize = 40;

/// Feature hashing (Weinberger et al. 2009, signed) of words and of character n-grams (3 and 4, with word borders;
/// overlapping pairs in scripts without spaces). Square-root term frequency, length 1. Any language, no model, the same
/// bits on every machine.
#[derive(Clone, Debug)]
pub struct HashingEmbedder {
    profile: EmbedderProfile,
}

impl HashingEmbedder {
    /// An embedder of `dimensions`, at least 1.
    pub fn new(dimensions: usize) -> Self {
        let dimensions = dimensions.max(1);
        Self {
            profile: EmbedderProfile {
                identity: format!("groundwork/hashing-v{VERSION}/{dimensions}"),
                dimensions,
                max_tokens: None,
                languages: None,
                fusion_weight: 0.1,
                max_batch: MAX_BATCH,
            },
        }
    }

    /// The vector of one text, all zero for a text without letters and digits.
    pub fn vector(&self, text: &str) -> Vec<f32> {
        let mut features = features(&fold(text));
        features.sort_unstable_by_key(|feature| feature.hash);
        let mut vector = vec![0.0_f32; self.profile.dimensions];
        for same in features.chunk_by(|a, b| a.hash == b.hash) {
            let bucket = (same[0].hash >> 1) as usize % vector.len();
            let sign = if same[0].hash & 1 == 0 { 1.0 } else { -1.0 };
            // The square root is exact to the last bit everywhere (IEEE 754), a logarithm is not.
            vector[bucket] += sign * same[0].weight * (same.len() as f32).sqrt();
        }
        unit(vector).unwrap_or_else(|| vec![0.0; self.profile.dimensions])
    }
}

#[async_trait]
impl Embedder for HashingEmbedder {
    fn profile(&self) -> &EmbedderProfile {
        &self.profile
    }

    async fn embed(&self, _kind: EmbedKind, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for text in texts {
            vectors.push(self.vector(text));
            tokio::task::yield_now().await;
        }
        Ok(vectors)
    }
}

struct Feature {
    hash: u64,
    weight: f32,
}

fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    match is_nfkc_quick(text.chars()) {
        unicode_normalization::IsNormalized::Yes => text.to_lowercase(),
        _ => text.nfkc().collect::<String>().to_lowercase(),
    }
}

fn features(text: &str) -> Vec<Feature> {
    let mut features = Vec::with_capacity(text.len() * 2);
    for run in text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty()) {
        let mut rest = run;
        while let Some(first) = rest.chars().next() {
            let dense = is_unspaced(first);
            let end = rest.find(|c| is_unspaced(c) != dense).unwrap_or(rest.len());
            let (part, tail) = rest.split_at(end);
            if dense {
                pairs(part, &mut features)
            } else {
                word(part, &mut features)
            }
            rest = tail;
        }
    }
    features
}

/// Scripts that write words without spaces between them.
fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c), 0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x3040..=0x30FF | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF)
}

fn word(word: &str, features: &mut Vec<Feature>) {
    features.push(Feature { hash: hash(b'w', word.as_bytes()), weight: WORD_WEIGHT });
    let bordered = format!("<{word}>");
    let bounds: Vec<usize> = bordered.char_indices().map(|(at, _)| at).chain([bordered.len()]).collect();
    if bounds.len() > LONGEST_CUT_WORD {
        return;
    }
    for size in [3, 4] {
        for window in bounds.windows(size + 1) {
            let piece = &bordered.as_bytes()[window[0]..window[size]];
            features.push(Feature { hash: hash(b'c', piece), weight: PIECE_WEIGHT });
        }
    }
}

fn pairs(run: &str, features: &mut Vec<Feature>) {
    let bounds: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    for window in bounds.windows(2) {
        let piece = &run.as_bytes()[window[0]..window[1]];
        features.push(Feature { hash: hash(b'u', piece), weight: PIECE_WEIGHT });
    }
    for window in bounds.windows(3) {
        let piece = &run.as_bytes()[window[0]..window[2]];
        features.push(Feature { hash: hash(b'p', piece), weight: WORD_WEIGHT });
    }
}

/// FNV-1a over the kind and the bytes, then the finaliser of MurmurHash3: FNV alone leaves its low bits related.
fn hash(kind: u8, bytes: &[u8]) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    let step = |state: u64, byte: &u8| (state ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let mut state = [kind].iter().chain(bytes).fold(start, step);
    state = (state ^ (state >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    state = (state ^ (state >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    state ^ (state >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(a: &str, b: &str) -> f32 {
        let embedder = HashingEmbedder::new(1024);
        embedder.vector(a).iter().zip(embedder.vector(b)).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn shared_words_and_word_parts_are_closer_than_none() {
        assert!(cosine("reset the password", "password reset") > 0.6);
        assert!(cosine("configuration", "configure it") > cosine("configuration", "vacation days") + 0.15);
        assert!(cosine("年假有多少天", "员工年假为十五天") > cosine("年假有多少天", "会议室预订规则") + 0.2);
    }

    #[test]
    fn case_width_and_composition_fold_together() {
        assert!((cosine("ＡＸ３０００ Café", "ax3000 cafe\u{301}") - 1.0).abs() < 1e-5);
    }

    /// FNV-1a of the byte `a` is 0xaf63dc4c8601ec8c (the algorithm's published test vector).
    #[test]
    fn the_hash_starts_as_fnv_1a() {
        let mut state = 0xaf63_dc4c_8601_ec8c_u64;
        state = (state ^ (state >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        state = (state ^ (state >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        assert_eq!(hash(b'a', b""), state ^ (state >> 33));
    }
}
