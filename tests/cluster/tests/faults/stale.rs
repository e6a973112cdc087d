use anyhow::{Result, ensure};
use groundwork_cluster_tests::faults::{Entry, Fault, Pattern, Rule, Verb, oracle};
use rustix::process::Signal;

use crate::model_endpoint::{EARLY, LATE, ModelEndpoints, READY, endpoint};
use crate::scenario::settle;
use crate::stage::{Stage, secret};
use crate::whole_run;

const ENDPOINTS: &str = "modelendpoints";

/// The operator starts on lists from before a Secret came, a spec changed, and an object was deleted and made again under its
/// name. It sees nothing newer until its watches are given up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_that_starts_on_old_lists_writes_nothing_old() -> Result<()> {
    let Some(plane) = whole_run("an_operator_that_starts_on_old_lists_writes_nothing_old").await? else {
        return Ok(());
    };
    let stage = Stage::new(plane, "stale").await?;
    let first = stage.operator().await?;
    stage.apply(&secret(EARLY)).await?;
    for (name, secret) in [("open", None), ("waits", Some(LATE)), ("keyed", Some(EARLY))] {
        stage.apply(&endpoint(name, "one", secret)).await?;
    }
    stage.reaches(ENDPOINTS, "open", READY).await?;
    stage.reaches(ENDPOINTS, "keyed", READY).await?;
    stage.reaches(ENDPOINTS, "waits", ["ResolvedRefs", "False", "SecretNotFound"]).await?;
    first.end(Signal::TERM).await?;

    let second = stage.operator().await?;
    second.wait_until_working().await?;
    stage.apply(&secret(LATE)).await?;
    stage.apply(&endpoint("open", "another", None)).await?;
    stage.delete(ENDPOINTS, "keyed").await?;
    stage.apply(&endpoint("keyed", "another", None)).await?;
    for name in ["open", "waits", "keyed"] {
        stage.reaches(ENDPOINTS, name, READY).await?;
    }
    let before = settle(&stage, &ModelEndpoints, &second).await?;
    second.end(Signal::TERM).await?;

    let start = stage.proxy.count();
    let old = [(vec![Verb::List], Fault::OldList), (vec![Verb::Watch], Fault::FreezeWatch)];
    stage.proxy.set(old.map(|(verbs, fault)| Rule::always(Pattern { verbs, ..Pattern::all() }, fault)).into());
    let third = stage.operator().await?;
    let looks = |entry: &Entry| entry.call.resource == "secrets" && entry.call.name == EARLY;
    // Of the object that is no more: only the old list names this Secret.
    third.wait_until("it works on the old list", async || Ok(stage.proxy.since(start).iter().any(looks))).await?;
    stage.proxy.set(Vec::new());
    third
        .wait_until("its watches are begun anew", async || {
            let watches = stage.proxy.since(start);
            Ok(watches.iter().filter(|entry| entry.call.verb == Verb::Watch && entry.fault.is_none()).count() >= 3)
        })
        .await?;
    let after = settle(&stage, &ModelEndpoints, &third).await?;
    let log = stage.proxy.since(start);
    ensure!(oracle::writes(&log).is_empty(), "it wrote: {:#?}", oracle::calls(&log));
    after.equals(&before)
}
