//! Telling a model from another one behind the same name: a server may exchange what it serves without a word.

use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;

use super::{EmbedError, EmbedKind, Embedder, EmbedderProfile};

/// Embedded as passages. Apart in topic and script, so that no other model puts all of them where this one does.
pub(crate) const PROBE_SENTENCES: [&str; 3] = [
    "The invoice must be paid within thirty days.",
    "Water boils at one hundred degrees Celsius at sea level.",
    "员工每年有十五天年假。",
];
/// Cosine from which on two vectors of a sentence are one model's: room for other hardware and batch sizes.
const SAME_MODEL: f32 = 0.999;
/// How old the probes of a model may be that embeds questions.
const PROBE_AGE: Duration = Duration::from_secs(300);

/// Unit vectors of the fixed sentences.
#[derive(Clone, Debug, PartialEq)]
pub struct Probes(pub Vec<Vec<f32>>);

impl Probes {
    /// Whether the model that gives `now` is the one that gave these.
    ///
    /// # Errors
    /// [`EmbedError::ModelChanged`] where it is not.
    pub fn check(&self, identity: &str, now: &Self) -> Result<(), EmbedError> {
        let cosine = |(a, b): (&Vec<f32>, &Vec<f32>)| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let lowest = self.0.iter().zip(&now.0).map(cosine).fold(1.0, f32::min);
        if self.0.len() == now.0.len() && lowest >= SAME_MODEL {
            return Ok(());
        }
        Err(EmbedError::ModelChanged { identity: identity.to_owned(), cosine: lowest })
    }
}

/// An embedder of questions that refuses them where its model is not the one that made the stored vectors.
pub struct Probed {
    embedder: Arc<dyn Embedder>,
    recorded: Probes,
}

impl Probed {
    /// The embedder, checked against what was recorded with the stored vectors.
    pub fn new(embedder: Arc<dyn Embedder>, recorded: Probes) -> Self {
        Self { embedder, recorded }
    }

    async fn check(&self) -> Result<(), EmbedError> {
        match self.embedder.probe(PROBE_AGE).await? {
            Some(now) => self.recorded.check(&self.embedder.profile().identity, &now),
            None => Ok(()),
        }
    }
}

#[async_trait]
impl Embedder for Probed {
    fn profile(&self) -> &EmbedderProfile {
        self.embedder.profile()
    }

    async fn embed(&self, kind: EmbedKind, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let ((), vectors) = futures::try_join!(self.check(), self.embedder.embed(kind, texts))?;
        Ok(vectors)
    }

    async fn probe(&self, max_age: Duration) -> Result<Option<Probes>, EmbedError> {
        self.embedder.probe(max_age).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_model_or_another_number_of_sentences_is_a_change() {
        let recorded = Probes(vec![vec![1.0, 0.0], vec![0.0, 1.0]]);
        let turned = |degrees: f32| vec![degrees.to_radians().cos(), degrees.to_radians().sin()];
        // cos 2.5° = 0.99905, cos 2.6° = 0.99897
        for (now, same) in [
            (vec![turned(0.0), turned(90.0)], true),
            (vec![turned(2.5), turned(90.0)], true),
            (vec![turned(2.6), turned(90.0)], false),
            (vec![turned(0.0), turned(180.0)], false),
            (vec![turned(0.0)], false),
        ] {
            let outcome = recorded.check("endpoint/models/m/2", &Probes(now.clone()));
            assert_eq!(outcome.is_ok(), same, "{now:?}: {outcome:?}");
        }
    }
}
