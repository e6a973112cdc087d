use anyhow::{Context, Result, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use groundwork_cluster_tests::ControlPlane;
use groundwork_cluster_tests::faults::{Entry, Fault, Pattern, Rule, Times, Verb, oracle};
use std::collections::BTreeSet;

use crate::knowledge_base::KnowledgeBases;
use crate::model_endpoint::ModelEndpoints;
use crate::scenario::{Outcome, Scenario, run};
use crate::stage::Stage;
use crate::whole_run;

/// Runs at a time; each has a namespace and an operator of its own and mostly waits for a lease.
const AT_A_TIME: usize = 6;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_after_any_write_changes_nothing() -> Result<()> {
    let Some(plane) = ControlPlane::shared("a_kill_after_any_write_changes_nothing").await? else { return Ok(()) };
    let (runs, restarts) = each_write(plane, &ModelEndpoints, Fault::Kill).await?;
    ensure!(restarts == runs, "{restarts} restarts in {runs} runs");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_after_any_write_of_an_ingestion_changes_nothing() -> Result<()> {
    let test = "a_kill_after_any_write_of_an_ingestion_changes_nothing";
    let Some(plane) = whole_run(test).await? else { return Ok(()) };
    let (runs, restarts) = each_write(plane, &KnowledgeBases, Fault::Kill).await?;
    ensure!(restarts == runs, "{restarts} restarts in {runs} runs");
    Ok(())
}

/// What runs with all tests of the one above.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_after_some_writes_of_an_ingestion_changes_nothing() -> Result<()> {
    let test = "a_kill_after_some_writes_of_an_ingestion_changes_nothing";
    let Some(plane) = ControlPlane::shared(test).await? else { return Ok(()) };
    let (clean, log) = recorded(plane, &KnowledgeBases).await?;
    let rule = |number| Rule { on: Pattern::writes(), times: Times::Only(number), fault: Fault::Kill };
    let rules: Vec<Rule> = (1..=oracle::writes(&log).len()).step_by(7).map(rule).collect();
    let runs = rules.len();
    let restarts = compared(plane, &KnowledgeBases, &clean, rules).await?;
    ensure!(restarts == runs, "{restarts} restarts in {runs} runs");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_to_any_write_changes_nothing() -> Result<()> {
    let Some(plane) = whole_run("a_lost_answer_to_any_write_changes_nothing").await? else { return Ok(()) };
    for fault in [Fault::LoseAnswer, Fault::Misreport { status: 504 }] {
        let (_, restarts) = each_write(plane, &ModelEndpoints, fault).await?;
        ensure!(restarts == 0, "{restarts} restarts");
        let (_, restarts) = each_write(plane, &KnowledgeBases, fault).await?;
        ensure!(restarts == 0, "{restarts} restarts");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_refusal_of_every_write_changes_nothing() -> Result<()> {
    let Some(plane) = whole_run("a_first_refusal_of_every_write_changes_nothing").await? else { return Ok(()) };
    first_refusals(plane, &ModelEndpoints).await?;
    first_refusals(plane, &KnowledgeBases).await
}

async fn first_refusals(plane: &ControlPlane, scenario: &impl Scenario) -> Result<()> {
    let clean = recorded(plane, scenario).await?.0;
    let statuses = [(409, None), (429, Some(1)), (500, None), (503, Some(1)), (504, None)];
    let refusals = statuses.map(|(status, retry_after)| Fault::Refuse { status, retry_after });
    let faults = refusals.into_iter().chain([Fault::CutBefore]);
    let rules = faults.map(|fault| Rule { on: Pattern::writes(), times: Times::EveryOther, fault });
    let restarts = compared(plane, scenario, &clean, rules.collect()).await?;
    ensure!(restarts == 0, "{restarts} restarts");
    Ok(())
}

/// Reads as well, from the very first: nobody may take what could not be read for something that is not there. One at a time,
/// since a reconciliation that fails early never comes to its later requests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_failure_of_any_request_changes_nothing() -> Result<()> {
    let Some(plane) = whole_run("a_first_failure_of_any_request_changes_nothing").await? else { return Ok(()) };
    first_failures(plane, &ModelEndpoints).await?;
    first_failures(plane, &KnowledgeBases).await
}

async fn first_failures(plane: &ControlPlane, scenario: &impl Scenario) -> Result<()> {
    let (clean, log) = recorded(plane, scenario).await?;
    // Events have new names each time.
    let asked = log.iter().map(|entry| &entry.call).filter(|call| !call.is_lease() && !call.is_event());
    let asked: BTreeSet<_> = asked.map(|call| (call.verb, &call.resource, &call.name)).collect();
    let rule = |(verb, resource, name): (Verb, &String, &String)| Rule {
        on: Pattern { verbs: vec![verb], ..Pattern::all() }.of(resource).named(name),
        times: Times::Only(1),
        fault: Fault::Refuse { status: 500, retry_after: None },
    };
    let restarts = compared(plane, scenario, &clean, asked.into_iter().map(rule).collect()).await?;
    ensure!(restarts == 0, "{restarts} restarts");
    Ok(())
}

/// All of them at once, and none of the answers of what was carried out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_failure_of_all_requests_changes_nothing() -> Result<()> {
    let Some(plane) = whole_run("a_first_failure_of_all_requests_changes_nothing").await? else { return Ok(()) };
    let clean = recorded(plane, &ModelEndpoints).await?.0;
    let faults = [Fault::Refuse { status: 500, retry_after: None }, Fault::CutBefore, Fault::LoseAnswer];
    // Every other one would take minutes: a reconciliation is several requests, and its waits grow with each that fails.
    let rules = faults.map(|fault| Rule { on: Pattern::all().but("leases"), times: Times::First, fault });
    let restarts = compared(plane, &ModelEndpoints, &clean, rules.into()).await?;
    ensure!(restarts == 0, "{restarts} restarts");
    Ok(())
}

/// Plays a scenario without faults. What it came to and all requests of the operator.
async fn recorded(plane: &ControlPlane, scenario: &impl Scenario) -> Result<(Outcome, Vec<Entry>)> {
    let stage = Stage::new(plane, "clean").await?;
    let (outcome, restarts) = run(&stage, scenario).await?;
    ensure!(restarts == 0, "the operator ended by itself");
    let log = stage.log();
    let writes = oracle::writes(&log);
    ensure!(writes.iter().all(|entry| entry.is_applied()), "{:#?}", oracle::calls(&log));
    println!("faults: {} writes without faults, of them changes {:?}", writes.len(), outcome.changes);
    Ok((outcome, log))
}

/// Plays a scenario once without faults and then with a fault at each of its writes. How many such runs there were, and how
/// often the operator was started again in all of them.
async fn each_write(plane: &ControlPlane, scenario: &impl Scenario, fault: Fault) -> Result<(usize, usize)> {
    let (clean, log) = recorded(plane, scenario).await?;
    let writes = oracle::writes(&log).len();
    let rule = |number| Rule { on: Pattern::writes(), times: Times::Only(number), fault };
    Ok((writes, compared(plane, scenario, &clean, (1..=writes).map(rule).collect()).await?))
}

/// Plays a scenario with each of the rules and compares what it comes to. How often the operator was started again.
async fn compared(plane: &ControlPlane, scenario: &impl Scenario, clean: &Outcome, rules: Vec<Rule>) -> Result<usize> {
    let count = rules.len();
    let kind = rules.first().map(|rule| format!("{:?}", rule.fault)).unwrap_or_default();
    let one = async |rule: Rule| {
        let stage = Stage::new(plane, "fault").await?;
        stage.proxy.set(vec![rule.clone()]);
        let outcome = run(&stage, scenario).await;
        let (outcome, restarts) = outcome.with_context(|| format!("with {rule:?}"))?;
        let told = || format!("with {rule:?}, after {:#?}", oracle::calls(&stage.log()));
        ensure!(stage.log().iter().any(|entry| entry.fault == Some(rule.fault)), "no fault: {}", told());
        outcome.equals(clean).with_context(told)?;
        Ok::<_, anyhow::Error>(restarts)
    };
    let restarts: Vec<usize> = stream::iter(rules).map(one).buffer_unordered(AT_A_TIME).try_collect().await?;
    println!("faults: {count} runs with {kind} came to the same");
    Ok(restarts.into_iter().sum())
}
