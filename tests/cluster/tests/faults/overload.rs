use anyhow::{Result, ensure};
use groundwork_cluster_tests::faults::{Call, Entry, Fault, Pattern, Rule, Times, Verb};
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
    stage.proxy.set(vec![Rule { on: Pattern::all().but("leases"), times: Times::All, fault }]);
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
