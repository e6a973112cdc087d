use anyhow::{Context, Result, ensure};
use groundwork_cluster_tests::Operator;
use groundwork_cluster_tests::faults::{Entry, oracle};
use serde_json::Value;
use std::collections::BTreeMap;

use crate::stage::{CANARY, Stage};

/// What people do with objects of a kind, step by step. Each step waits for what the operator says to it, so that a run
/// without faults always has the same writes.
pub(crate) trait Scenario: Sync {
    /// All steps.
    async fn play(&self, stage: &Stage<'_>) -> Result<()>;

    /// Whether requests show that the operator has looked at everything again.
    fn looked_again(&self, requests: &[Entry]) -> bool;

    /// Whether an object of the kind that was called ready can be, with what was written until then.
    async fn can_be_ready(&self, stage: &Stage<'_>) -> Result<impl Fn(&Value) -> bool>;
}

/// What a run came to, for comparison with others.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) state: BTreeMap<String, Value>,
    pub(crate) side_effects: BTreeMap<String, usize>,
    pub(crate) changes: BTreeMap<String, usize>,
}

/// Plays a scenario with the rules that the stage's proxy has, then without any, and checks everything that holds for every
/// run. What it came to, and how often the operator was started again.
pub(crate) async fn run(stage: &Stage<'_>, scenario: &impl Scenario) -> Result<(Outcome, usize)> {
    let (operator, restarts) = stage.supervised(scenario.play(stage)).await?;
    stage.proxy.set(Vec::new());
    let outcome = settle(stage, scenario, &operator).await.with_context(|| format!("in {}", stage.namespace))?;
    Ok((outcome, restarts))
}

/// Waits for silence and checks what holds for every run.
pub(crate) async fn settle(stage: &Stage<'_>, scenario: &impl Scenario, operator: &Operator<'_>) -> Result<Outcome> {
    oracle::quiet(&stage.proxy, |requests| scenario.looked_again(requests)).await?;
    let log = stage.log();
    oracle::statuses_are_true(&log, scenario.can_be_ready(stage).await?)?;
    oracle::nothing_leaked(CANARY, &stage.texts(operator).await?)?;
    let (side_effects, changes) = (oracle::side_effects(&log), oracle::changes(&log));
    Ok(Outcome { state: stage.state().await?, side_effects, changes })
}

impl Outcome {
    /// An error with the first difference. What was carried out although the operator did not hear of it is not done again,
    /// so nothing is changed more often either.
    pub(crate) fn equals(&self, clean: &Self) -> Result<()> {
        for (name, object) in &clean.state {
            let found = self.state.get(name).with_context(|| format!("there is no {name}"))?;
            ensure!(found == object, "{name} differs: {found:#}\nwithout faults: {object:#}");
        }
        let more: Vec<_> = self.state.keys().filter(|name| !clean.state.contains_key(*name)).collect();
        ensure!(more.is_empty(), "there are more objects than without faults: {more:?}");
        ensure!(self.side_effects == clean.side_effects, "{:?} instead of {:?}", self.side_effects, clean.side_effects);
        for (name, count) in &self.changes {
            let enough = clean.changes.get(name).copied().unwrap_or_default();
            ensure!(*count <= enough, "{name} was changed {count} times instead of {enough}");
        }
        Ok(())
    }
}
