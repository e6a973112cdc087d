use anyhow::{Result, ensure};
use groundwork_cluster_tests::faults::{Call, Entry, Fault, Pattern, Rule, Verb};
use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::model_endpoint::{ModelEndpoints, READY, endpoint};
use crate::scenario::{Scenario, settle};
use crate::stage::Stage;
use crate::whole_run;

/// What the API server asks for.
const RETRY_AFTER: u32 = 3;
/// An answer is noted before it arrives, and the next request after it was decided.
const TOLERANCE: Duration = Duration::from_millis(50);
/// Long enough for several tries of everything.
const OVERLOAD: Duration = Duration::from_secs(12);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overloaded_api_server_is_left_alone_as_long_as_it_asks() -> Result<()> {
    let test = "an_overloaded_api_server_is_left_alone_as_long_as_it_asks";
    let Some(plane) = whole_run(test).await? else { return Ok(()) };
    let stage = Stage::new(plane, "busy").await?;
    let operator = stage.operator().await?;
    ModelEndpoints.play(&stage).await?;
    let before = stage.proxy.count();
    let fault = Fault::Refuse { status: 429, retry_after: Some(RETRY_AFTER) };
    stage.proxy.set(vec![Rule::always(Pattern::all().but("leases"), fault)]);
    stage.apply(&endpoint("open", "meanwhile", None)).await?;
    let start = Instant::now();
    let renewals = |log: &[Entry]| log.iter().filter(|entry| entry.call.is_lease() && entry.is_applied()).count();
    operator
        .wait_until("the overload is long enough and the lease goes on", async || {
            Ok(start.elapsed() > OVERLOAD && renewals(&stage.proxy.since(before)) > 10)
        })
        .await?;
    stage.proxy.set(Vec::new());
    let during = stage.proxy.since(before);
    patient(&during)?;
    ensure!(operator.phase().await? == "working", "it does not work any more");
    stage.reaches("modelendpoints", "open", READY).await?;
    settle(&stage, &ModelEndpoints, &operator).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_can_not_be_written_holds_up_no_other() -> Result<()> {
    let Some(plane) = whole_run("an_object_that_can_not_be_written_holds_up_no_other").await? else { return Ok(()) };
    let stage = Stage::new(plane, "conflict").await?;
    let operator = stage.operator().await?;
    ModelEndpoints.play(&stage).await?;
    let before = stage.proxy.count();
    let fault = Fault::Refuse { status: 409, retry_after: None };
    stage.proxy.set(vec![Rule::always(Pattern::writes().named("open"), fault)]);
    stage.apply(&endpoint("open", "meanwhile", None)).await?;
    let refused =
        || stage.proxy.since(before).iter().filter(|entry| entry.fault == Some(fault)).map(|entry| entry.at).collect();
    let mut tries: Vec<Instant> = Vec::new();
    for number in 0.. {
        let start = Instant::now();
        stage.apply(&endpoint(&format!("other-{number}"), "one", None)).await?;
        stage.reaches("modelendpoints", &format!("other-{number}"), READY).await?;
        ensure!(start.elapsed() < Duration::from_secs(2), "another object took {:?}", start.elapsed());
        tries = refused();
        if tries.len() >= 4 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    // About 1 s, 2 s and 4 s, each with up to as much again.
    let waits: Vec<_> = tries.windows(2).map(|pair| pair[1].duration_since(pair[0]).as_secs_f32()).collect();
    ensure!(waits.iter().zip([1.0, 2.0, 4.0]).all(|(wait, least)| *wait >= least), "{waits:?}");
    stage.proxy.set(Vec::new());
    stage.reaches("modelendpoints", "open", READY).await?;
    settle(&stage, &ModelEndpoints, &operator).await.map(drop)
}

/// Checks that equal calls that were refused are as far apart as the API server asked for.
fn patient(log: &[Entry]) -> Result<()> {
    let wait = Duration::from_secs(RETRY_AFTER.into()) - TOLERANCE;
    let mut last: HashMap<&Call, Instant> = HashMap::new();
    let refused = log.iter().filter(|entry| matches!(entry.fault, Some(Fault::Refuse { .. })));
    let mut count = 0;
    for entry in refused {
        count += 1;
        let before = last.insert(&entry.call, entry.at);
        let early = before.is_some_and(|before| entry.at.duration_since(before) < wait);
        ensure!(!early, "{:?} comes again after {:?}", entry.call, before.map(|before| entry.at - before));
    }
    let verbs = [Verb::Get, Verb::Watch];
    let asked = verbs.map(|verb| last.keys().filter(|call| call.verb == verb).count());
    println!("faults: {count} requests in {OVERLOAD:?} of overload, for {asked:?} objects and watches");
    ensure!(asked.iter().all(|asked| *asked > 0), "it asked for too little: {asked:?}");
    Ok(())
}
