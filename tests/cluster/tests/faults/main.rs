//! The operator with faults between it and the API server. A short part runs with all tests; `make test-faults` runs
//! everything.

mod kills;
mod knowledge_base;
mod model_endpoint;
mod overload;
mod scenario;
mod silence;
mod stage;
mod stale;
mod watches;

use groundwork_cluster_tests::ControlPlane;
use groundwork_tests::skip::skip;

/// Environment variable that is `all` where everything is to run.
const FAULTS: &str = "GROUNDWORK_FAULTS";

/// The control plane of all tests here; `None` where `test` is left to the whole run.
async fn whole_run(test: &str) -> anyhow::Result<Option<&'static ControlPlane>> {
    if std::env::var(FAULTS).is_ok_and(|value| value == "all") {
        return ControlPlane::shared(test).await;
    }
    skip(test, "faults", &format!("`make test-faults` runs it ({FAULTS}=all)"));
    Ok(None)
}
