use anyhow::{Result, ensure};
use groundwork_cluster_tests::{ControlPlane, Keeper, User, keeper};
use std::path::Path;

#[tokio::test]
async fn somebody_without_rights_is_refused_and_the_audit_log_says_so() -> Result<()> {
    let test = "somebody_without_rights_is_refused_and_the_audit_log_says_so";
    let Some(plane) = ControlPlane::shared(test).await? else { return Ok(()) };
    let namespace = plane.namespace("audit").await?;
    let list = ["get", "secrets", "--namespace", &namespace];
    ensure!(plane.kubectl(User::Alice, &list).await.is_err_and(|error| error.to_string().contains("Forbidden")));
    plane.kubectl(User::Admin, &["create", "secret", "generic", "mine", "--namespace", &namespace]).await?;

    let here = |event: &groundwork_cluster_tests::AuditEvent| {
        event.object_ref.as_ref().is_some_and(|object| object.namespace == namespace)
    };
    let refused = plane
        .audit()
        .wait_for("refusal of Alice", |event| here(event) && event.user.username == User::Alice.name())
        .await?;
    ensure!(refused.is_forbidden() && !refused.is_write() && refused.code() == 403, "{refused:?}");
    ensure!((refused.verb.as_str(), refused.resource().as_str()) == ("list", "secrets"), "{refused:?}");
    let made = plane
        .audit()
        .wait_for("creation", |event| here(event) && event.verb == "create" && event.resource() == "secrets")
        .await?;
    ensure!(!made.is_forbidden() && made.is_write() && made.code() == 201, "{made:?}");
    Ok(())
}

#[tokio::test]
async fn controllers_delete_what_belongs_to_a_deleted_namespace() -> Result<()> {
    let test = "controllers_delete_what_belongs_to_a_deleted_namespace";
    let Some(plane) = ControlPlane::shared(test).await? else { return Ok(()) };
    let namespace = plane.namespace("gone").await?;
    plane.kubectl(User::Admin, &["create", "configmap", "inside", "--namespace", &namespace]).await?;
    plane.kubectl(User::Admin, &["delete", "namespace", &namespace, "--timeout=60s"]).await?;
    let left = plane.kubectl(User::Admin, &["get", "namespaces", "-o", "name"]).await?;
    ensure!(!left.contains(&namespace), "{left}");
    Ok(())
}

/// Closing the keeper's input is what the kernel does when tests are killed.
#[test]
fn the_end_of_a_keeper_ends_its_programs_and_deletes_their_folder() -> Result<()> {
    let keeper = Keeper::start()?;
    let folder = keeper.folder().to_owned();
    let sleep = |name, script: &str| keeper::Command {
        name,
        path: Path::new("/bin/sh"),
        arguments: vec!["-c".into(), script.into()],
        environment: Vec::new(),
    };
    let obedient = keeper.run(sleep("obedient", "exec sleep 600"))?;
    let deaf = keeper.run(sleep("deaf", "trap '' TERM; echo deaf; while :; do sleep 0.1; done"))?;
    let stopped = keeper.run(sleep("stopped", "exec sleep 600"))?;
    ensure!(keeper.running() == ["obedient", "deaf", "stopped"]);
    ensure!(keeper.stop("stopped")?.contains("signal: 15"));
    ensure!(keeper.check("stopped").is_err());
    keeper.check("deaf")?;
    drop(keeper);
    for pid in [obedient, deaf, stopped] {
        let pid = rustix::process::Pid::from_raw(pid.try_into()?).expect("process ids are positive");
        ensure!(rustix::process::test_kill_process(pid).is_err(), "{pid:?} still runs");
    }
    ensure!(!folder.exists());
    Ok(())
}
