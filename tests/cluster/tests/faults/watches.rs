use anyhow::{Result, ensure};
use groundwork_cluster_tests::ControlPlane;
use groundwork_cluster_tests::faults::{Entry, Fault, Pattern, Rule, Times, Verb};
use serde_json::json;
use std::time::{Duration, Instant};

use crate::model_endpoint::{ModelEndpoints, READY, endpoint};
use crate::scenario::{Scenario, run, settle};
use crate::stage::Stage;
use crate::whole_run;

/// How long a watch lasts ([`crate::stage`]), and how much later kube-runtime takes a silent one for lost.
const WATCH: Duration = Duration::from_secs(5 + 5);
/// For what comes after: a new watch, the debouncing, one reconciliation, on a busy machine.
const REACTION: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_behind_a_frozen_watch_is_noticed_in_time() -> Result<()> {
    let Some(plane) = ControlPlane::shared("a_change_behind_a_frozen_watch_is_noticed_in_time").await? else {
        return Ok(());
    };
    let stage = Stage::new(plane, "frozen").await?;
    let operator = stage.operator().await?;
    ModelEndpoints.play(&stage).await?;
    let before = stage.proxy.count();
    stage.proxy.set(vec![Rule::always(Pattern::watches(), Fault::FreezeWatch)]);
    // Those that are open stay frozen; new ones work.
    stage.proxy.set(Vec::new());
    let start = Instant::now();
    stage.apply(&endpoint("open", "behind", None)).await?;
    stage.reaches("modelendpoints", "open", READY).await?;
    let (took, watches) = (start.elapsed(), watches(&stage.proxy.since(before)));
    println!("faults: noticed behind a frozen watch after {:.1} s", took.as_secs_f32());
    ensure!(took <= WATCH + REACTION, "it took {took:?}");
    ensure!(watches > 0, "it was noticed without a new watch: nothing was frozen");
    settle(&stage, &ModelEndpoints, &operator).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_that_are_cut_again_and_again_change_nothing() -> Result<()> {
    let test = "watches_that_are_cut_again_and_again_change_nothing";
    let Some(plane) = whole_run(test).await? else { return Ok(()) };
    same_as_clean(plane, Times::All, Fault::CutWatch(Duration::from_millis(300))).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_whose_version_is_too_old_change_nothing() -> Result<()> {
    let Some(plane) = whole_run("watches_whose_version_is_too_old_change_nothing").await? else { return Ok(()) };
    same_as_clean(plane, Times::EveryOther, Fault::ExpireWatch).await
}

/// 410 comes as an event of a watch that is open, and what was deleted meanwhile is in no event.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_that_no_watch_tells_is_noticed_by_the_next_list() -> Result<()> {
    let test = "a_deletion_that_no_watch_tells_is_noticed_by_the_next_list";
    let Some(plane) = whole_run(test).await? else { return Ok(()) };
    let stage = Stage::new(plane, "gone").await?;
    let operator = stage.operator().await?;
    ModelEndpoints.play(&stage).await?;
    // Watches that are open fall silent, the next ones are too old, and only the third ones work.
    stage.proxy.set(vec![Rule::always(Pattern::watches(), Fault::FreezeWatch)]);
    let before = stage.proxy.count();
    stage.proxy.set(vec![Rule { on: Pattern::watches(), times: Times::EveryOther, fault: Fault::ExpireWatch }]);
    stage.delete("knowledgebases", "notes").await?;
    stage
        .plane
        .wait_until("the user that is gone is not counted", async || {
            let open = stage.object("modelendpoints", "open").await?;
            Ok(open["status"]["users"] == json!(0))
        })
        .await?;
    let lists = |entry: &&Entry| entry.call.verb == Verb::List && entry.call.resource == "knowledgebases";
    ensure!(stage.proxy.since(before).iter().filter(lists).count() > 0, "nothing was listed again");
    settle(&stage, &ModelEndpoints, &operator).await.map(drop)
}

async fn same_as_clean(plane: &ControlPlane, times: Times, fault: Fault) -> Result<()> {
    let (clean, _) = run(&Stage::new(plane, "clean").await?, &ModelEndpoints).await?;
    let stage = Stage::new(plane, "watch").await?;
    stage.proxy.set(vec![Rule { on: Pattern::watches(), times, fault }]);
    let (outcome, restarts) = run(&stage, &ModelEndpoints).await?;
    ensure!(restarts == 0, "the operator ended {restarts} times");
    let log = stage.log();
    let faults = log.iter().filter(|entry| entry.fault == Some(fault)).count();
    println!("faults: {faults} watches with {fault:?}");
    ensure!(faults >= 3, "only {faults} watches had a fault");
    outcome.equals(&clean)
}

fn watches(log: &[Entry]) -> usize {
    log.iter().filter(|entry| entry.call.verb == Verb::Watch).count()
}
