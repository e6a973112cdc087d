//! Whether the passages found answer the question, as one number.

/// From here on an answer is called one. Where each question was asked with and without its gold documents, this answers
/// about four of five answerable questions of each set (`docs/adr/0061`).
pub const THRESHOLD: f32 = 0.36;

/// What speaks for an answer, each between 0 and 1. Coverage is the share of the question's inverse document frequency
/// mass.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signals {
    /// Covered by the first passage, its title and headings included.
    pub passage: f32,
    /// Covered by the densest 40 words of the first three passages.
    pub window: f32,
    /// Weighted share of the question's neighbouring words that stand together in a passage, too.
    pub pairs: f32,
    /// How far the first passage's keyword score stands above the second's, relative to it; less where the
    /// first covers less than half.
    pub lead: f32,
    /// Reciprocal of the first passage's rank by vectors, 0 where it has none; `None` where vectors were not searched.
    pub agreement: Option<f32>,
}

/// Grows with every signal, 0 to 1. The weights are those in tenths that gain most over coverage alone on the set where
/// they gain least (`docs/adr/0061`).
pub fn confidence(signals: Signals) -> f32 {
    let words = 0.3 * signals.passage + 0.5 * signals.window + 0.1 * signals.pairs + 0.1 * signals.lead;
    let value = signals.agreement.map_or(words, |agreement| (words + AGREEMENT * agreement) / (1.0 + AGREEMENT));
    value.clamp(0.0, 1.0)
}

/// Of a rank, since the scale of similarities differs from model to model.
const AGREEMENT: f32 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn everything_covered_is_certain_and_nothing_is_not() {
        assert_eq!(confidence(Signals::default()), 0.0);
        let all = Signals { passage: 1.0, window: 1.0, pairs: 1.0, lead: 1.0, agreement: None };
        assert!((confidence(all) - 1.0).abs() < 1e-6);
        assert!((confidence(Signals { agreement: Some(1.0), ..all }) - 1.0).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn more_evidence_never_lowers_it(values in prop::array::uniform5(0.0f32..1.0), more in 0.0f32..1.0, which in 0usize..5) {
            let signals = |v: [f32; 5]| Signals {
                passage: v[0],
                window: v[1],
                pairs: v[2],
                lead: v[3],
                agreement: Some(v[4]),
            };
            let mut raised = values;
            raised[which] = (raised[which] + more).min(1.0);
            prop_assert!(confidence(signals(raised)) >= confidence(signals(values)));
        }
    }
}
