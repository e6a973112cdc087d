//! Faults between an operator and the API server, and what must hold in spite of them.
//!
//! A [`Proxy`] stands between the two. It sees every request as a [`Call`], does to it what the first matching [`Rule`] says,
//! and keeps an [`Entry`] of it. [`oracle`] has the checks that follow: equal end states, equal creates and deletes, silence
//! once all is said, statuses that are true.
//!
//! ```no_run
//! # use groundwork_cluster_tests::ControlPlane;
//! # use groundwork_cluster_tests::faults::{Fault, Pattern, Proxy, Rule, Times};
//! # async fn test(plane: &ControlPlane) -> anyhow::Result<()> {
//! let namespace = plane.namespace("lost").await?;
//! let installation = plane.install_operator(&namespace, &[]).await?;
//! let proxy = Proxy::start(plane).await?;
//! proxy.set(vec![Rule { on: Pattern::writes(), times: Times::Only(3), fault: Fault::LoseAnswer }]);
//! let operator = plane.run_operator_through(&installation, "a", &proxy).await?;
//! # Ok(())
//! # }
//! ```

mod call;
pub mod oracle;
mod proxy;
mod rules;
mod watching;

pub use call::{Call, Verb};
pub use proxy::{Entry, Proxy};
pub use rules::{Fault, Pattern, Rule, Times};
