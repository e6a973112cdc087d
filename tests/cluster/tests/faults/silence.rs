use anyhow::{Result, ensure};
use groundwork_cluster_tests::faults::{Entry, Fault, Pattern, Proxy, Rule, Times};
use rustix::process::Signal;
use std::time::{Duration, Instant};

use crate::model_endpoint::{ModelEndpoints, READY, endpoint};
use crate::scenario::{Scenario, settle};
use crate::stage::Stage;
use crate::whole_run;

/// The lease ([`crate::stage`]), and the share of it for which a renewal is trusted.
const LEASE: Duration = Duration::from_secs(3);
const TRUSTED: Duration = Duration::from_secs(2);
/// For starting to send what was decided before, on a busy machine.
const REACTION: Duration = Duration::from_millis(500);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_gets_no_answers_gives_way_to_another() -> Result<()> {
    let Some(plane) = whole_run("a_leader_that_gets_no_answers_gives_way_to_another").await? else { return Ok(()) };
    let stage = Stage::new(plane, "silent").await?;
    takeover(&stage, Rule::always(Pattern::all(), Fault::Silent)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_can_not_renew_its_lease_stops_by_its_deadline() -> Result<()> {
    let test = "a_leader_that_can_not_renew_its_lease_stops_by_its_deadline";
    let Some(plane) = whole_run(test).await? else { return Ok(()) };
    let stage = Stage::new(plane, "lease").await?;
    let fault = Fault::Refuse { status: 503, retry_after: None };
    takeover(&stage, Rule::always(Pattern::all().of("leases"), fault)).await
}

/// Its next renewal is under way, and will not be answered, when it is asked to stop.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_is_stopped_during_a_renewal_gives_the_lease_back() -> Result<()> {
    let test = "a_leader_that_is_stopped_during_a_renewal_gives_the_lease_back";
    let Some(plane) = whole_run(test).await? else { return Ok(()) };
    let stage = Stage::new(plane, "stop").await?;
    let way = Proxy::start(plane).await?;
    let first = stage.operator_through(&way).await?;
    first.wait_until_working().await?;
    let second = stage.operator().await?;
    second.wait_until("it waits for the lease", async || Ok(second.phase().await? == "standby")).await?;
    let before = way.count();
    way.set(vec![Rule { on: Pattern::all().of("leases"), times: Times::Only(1), fault: Fault::Silent }]);
    let under_way = async || Ok(way.since(before).iter().any(|entry| entry.fault == Some(Fault::Silent)));
    first.wait_until("a renewal is under way", under_way).await?;
    let start = Instant::now();
    ensure!(first.end(Signal::TERM).await?.contains("exit status: 0"), "SIGTERM ends it cleanly");
    second.wait_until_working().await?;
    println!("faults: taken over {:.1} s after SIGTERM", start.elapsed().as_secs_f32());
    let given_back = way.since(before).iter().any(is_write);
    ensure!(given_back, "the lease was not given back");
    Ok(())
}

/// Only the lease gets answers: everything else is given up after its time, and goes on when the API server does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_api_server_is_asked_again_when_it_answers() -> Result<()> {
    let Some(plane) = whole_run("a_silent_api_server_is_asked_again_when_it_answers").await? else { return Ok(()) };
    let stage = Stage::new(plane, "mute").await?;
    let operator = stage.operator().await?;
    ModelEndpoints.play(&stage).await?;
    let before = stage.proxy.count();
    stage.proxy.set(vec![Rule::always(Pattern::all().but("leases"), Fault::Silent)]);
    stage.apply(&endpoint("open", "meanwhile", None)).await?;
    let unanswered = || stage.proxy.since(before).iter().filter(|entry| entry.fault == Some(Fault::Silent)).count();
    let kinds = 3;
    // All watches and the look for the Secret, and then at least one of them again.
    operator.wait_until("calls are given up", async || Ok(unanswered() > kinds + 1)).await?;
    stage.proxy.set(Vec::new());
    let start = Instant::now();
    stage.reaches("modelendpoints", "open", READY).await?;
    println!("faults: converged {:.1} s after the silence", start.elapsed().as_secs_f32());
    ensure!(start.elapsed() < Duration::from_secs(30), "it took {:?}", start.elapsed());
    settle(&stage, &ModelEndpoints, &operator).await.map(drop)
}

/// The leader is cut off from its lease, at least; one with a way of its own takes over.
async fn takeover(stage: &Stage<'_>, rule: Rule) -> Result<()> {
    let way = Proxy::start(stage.plane).await?;
    let first = stage.operator_through(&way).await?;
    first.wait_until_working().await?;
    let second = stage.operator().await?;
    second.wait_until("it waits for the lease", async || Ok(second.phase().await? == "standby")).await?;
    ModelEndpoints.play(stage).await?;

    way.set(vec![rule]);
    let renewed = way.since(0).iter().rfind(|entry| entry.call.is_lease() && is_write(entry)).map(|entry| entry.at);
    let renewed = renewed.unwrap_or_else(Instant::now);
    stage.apply(&endpoint("open", "meanwhile", None)).await?;
    let how = first.ended().await?;
    let ended = renewed.elapsed();
    println!("faults: the leader ended {:.1} s after its last renewal", ended.as_secs_f32());
    ensure!(how.contains("exit status: 1") && first.printed().contains("lost the lease"), "{how}");
    ensure!(ended < LEASE, "it ended {ended:?} after its last renewal");
    let late = |entry: &&Entry| !entry.call.is_lease() && entry.at > renewed + TRUSTED + REACTION;
    let log = way.since(0);
    let late: Vec<_> = log.iter().filter(late).collect();
    ensure!(late.is_empty(), "requests without the lease: {late:?}");

    second.wait_until_working().await?;
    stage.reaches("modelendpoints", "open", READY).await?;
    settle(stage, &ModelEndpoints, &second).await?;
    let taken = stage.log().iter().find(|entry| entry.call.is_lease() && is_write(entry)).map(|entry| entry.at);
    let writes = log.iter().filter(|entry| entry.call.is_write() && taken.is_some_and(|taken| entry.at > taken));
    ensure!(writes.count() == 0, "two replicas wrote");
    Ok(())
}

fn is_write(entry: &Entry) -> bool {
    entry.call.is_write() && entry.is_applied()
}
