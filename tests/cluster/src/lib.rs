//! Harness of the tests on a real Kubernetes control plane.
//!
//! A test asks for the control plane that its executable shares, works in a namespace of its own, and talks as somebody:
//!
//! ```no_run
//! # use groundwork_cluster_tests::{ControlPlane, User};
//! # async fn test() -> anyhow::Result<()> {
//! let Some(plane) = ControlPlane::shared("name_of_the_test").await? else { return Ok(()) };
//! plane.install_definitions().await?;
//! let namespace = plane.namespace("life").await?;
//! let client = plane.client(User::Admin).await?;
//! # Ok(())
//! # }
//! ```
//!
//! etcd, kube-apiserver and kube-controller-manager are the real programs ([`Programs`] finds or builds them), so schema and
//! rule validation, garbage collection, Jobs, Deployments and the deletion of namespaces are real. There is no node: nothing
//! runs a pod. Everything listens on free loopback ports and is stopped when the executable ends, however it ends
//! ([`keeper`]). How to work with it: `tests/cluster/README.md`.

mod access;
mod audit;
mod control_plane;
pub mod faults;
mod files;
pub mod keeper;
mod kubelet;
mod operator;
mod programs;
mod user;

pub use access::resource;
pub use audit::{AuditEvent, AuditLog, AuditObject, AuditUser};
pub use control_plane::ControlPlane;
pub use keeper::Keeper;
pub use kubelet::{Fate, Kubelet, Served, Started};
pub use operator::{Installation, Operator};
pub use programs::{ASSETS, Program, Programs};
pub use user::User;
