//! The operator as its chart installs it, but as a plain process: with the chart's account, rights and arguments, and nothing
//! else.

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::process::Command;

use crate::faults::Proxy;
use crate::programs::Program;
use crate::{ControlPlane, User, files, keeper};

const RELEASE: &str = "groundwork";
/// Built without its release's flags, Helm takes every cluster for version 1.20.
const KUBERNETES: &str = "1.34";
const HELM: Duration = Duration::from_secs(60);
const STOP: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);

/// What the chart installed into a namespace.
#[derive(Clone, Debug)]
pub struct Installation {
    namespace: String,
    account: String,
    arguments: Vec<String>,
    /// Objects that were applied.
    objects: Vec<Value>,
}

/// A running replica. Dropping it kills it.
pub struct Operator<'a> {
    plane: &'a ControlPlane,
    name: String,
    pid: Pid,
    /// Whether it is known to have ended: its process id may then be another's.
    ended: AtomicBool,
    url: String,
    client: reqwest::Client,
    credential: String,
}

impl ControlPlane {
    /// Runs `helm` without any cluster. What it printed.
    ///
    /// # Errors
    /// Where it fails; the message is what it printed to its standard error.
    pub async fn helm(&self, arguments: &[&str]) -> Result<String> {
        let folder = self.folder().join("helm");
        let output = Command::new(self.programs().path(Program::Helm)?)
            .args(arguments)
            .envs(["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"].map(|name| (name, &folder)))
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(HELM, output).await.context("helm took too long")??;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "helm {}: {}{}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stdout),
            said
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    /// What Helm makes of the chart with `--set` values, as `helm install` would apply it.
    ///
    /// # Errors
    /// Where the values are refused; the message says which.
    pub async fn rendered(&self, namespace: &str, values: &[&str]) -> Result<String> {
        let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/groundwork");
        let chart = chart.to_str().context("the path is UTF-8")?;
        let mut arguments = vec!["template", RELEASE, chart, "--namespace", namespace, "--kube-version", KUBERNETES];
        for value in values {
            arguments.extend(["--set", value]);
        }
        self.helm(&arguments).await
    }

    /// Installs the chart into a namespace, with `--set` values. Nothing runs its pods: replicas are started by
    /// [`Self::run_operator`].
    pub async fn install_operator(&self, namespace: &str, values: &[&str]) -> Result<Installation> {
        let rendered = self.rendered(namespace, values).await?;
        self.kubectl_with_input(User::Admin, &["apply", "--server-side", "-f", "-"], &rendered).await?;
        let objects: Vec<Option<Value>> = serde_saphyr::from_multiple(&rendered)?;
        let objects: Vec<Value> = objects.into_iter().flatten().collect();
        let (account, arguments) = pod_of(&objects)?;
        Ok(Installation { namespace: namespace.to_owned(), account, arguments, objects })
    }

    /// Starts a replica and waits until it serves.
    pub async fn run_operator(&self, installation: &Installation, replica: &str) -> Result<Operator<'_>> {
        let operator = self.start_operator(installation, replica, self.url()).await?;
        self.serves(operator).await
    }

    /// As [`Self::run_operator`], but all that it asks of the API server goes through a proxy, whose faults are about this
    /// replica from now on.
    pub async fn run_operator_through(
        &self,
        installation: &Installation,
        replica: &str,
        proxy: &Proxy,
    ) -> Result<Operator<'_>> {
        let operator = self.start_operator(installation, replica, proxy.url()).await?;
        proxy.aim_at(operator.pid);
        self.serves(operator).await
    }
}

impl ControlPlane {
    async fn start_operator(&self, installation: &Installation, replica: &str, server: &str) -> Result<Operator<'_>> {
        let name = format!("operator-{}-{replica}", installation.namespace);
        // Its log says which port it took.
        let replaced = |argument: &String| {
            if argument.starts_with("--listen=") { "--listen=127.0.0.1:0".to_owned() } else { argument.clone() }
        };
        let binary = groundwork_tests::binary()?.with_file_name("groundwork-operator");
        let (kubeconfig, credential) = self.credential(installation, &name, server).await?;
        let pid = self.keeper().run(keeper::Command {
            name: &name,
            path: &binary,
            arguments: installation.arguments.iter().map(replaced).collect(),
            environment: vec![
                ("KUBECONFIG".into(), kubeconfig.display().to_string()),
                ("GROUNDWORK_NAMESPACE".into(), installation.namespace.clone()),
                ("GROUNDWORK_POD_NAME".into(), replica.to_owned()),
            ],
        })?;
        let pid = Pid::from_raw(pid.try_into()?).context("process ids are positive")?;
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().timeout(STOP).build()?;
        let ended = AtomicBool::new(false);
        Ok(Operator { plane: self, name, pid, ended, url: String::new(), client, credential })
    }

    async fn serves<'a>(&'a self, mut operator: Operator<'a>) -> Result<Operator<'a>> {
        operator.wait_until("it listens", async || Ok(operator.address().is_some())).await?;
        operator.url = format!("http://{}", operator.address().context("it listens")?);
        operator.wait_until("it serves", async || Ok(operator.get("/healthz").await?.0 == 200)).await?;
        Ok(operator)
    }

    /// A token of the account for one replica, as a kubeconfig, and its id as the audit log has it.
    async fn credential(&self, installation: &Installation, name: &str, server: &str) -> Result<(PathBuf, String)> {
        let Installation { account, namespace, .. } = installation;
        let create = ["create", "token", account, "--namespace", namespace, "--duration=24h"];
        let token = self.kubectl(User::Admin, &create).await?;
        let claims = token.split('.').nth(1).context("a token has three parts")?;
        let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims)?)?;
        let id = claims["jti"].as_str().context("a token has an id")?;
        let kubeconfig = self.folder().join(name).with_extension("kubeconfig");
        std::fs::write(&kubeconfig, files::kubeconfig(self.folder(), server, token.trim()))?;
        Ok((kubeconfig, format!("JTI={id}")))
    }
}

impl Installation {
    /// The account's name as the audit log has it.
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.account)
    }

    /// The objects that were applied.
    pub fn objects(&self) -> &[Value] {
        &self.objects
    }

    /// What the chart's roles allow, as `VERB GROUP/RESOURCE`.
    pub fn rights(&self) -> BTreeSet<String> {
        let roles = self.objects.iter().filter(|object| object["kind"] == "Role" || object["kind"] == "ClusterRole");
        let rules = roles.filter_map(|role| role["rules"].as_array()).flatten();
        rules.flat_map(rights).collect()
    }
}

impl Operator<'_> {
    /// What the audit log knows its requests by.
    pub fn credential(&self) -> &str {
        &self.credential
    }

    /// What `/readyz` says it does.
    pub async fn phase(&self) -> Result<String> {
        let (_, text) = self.get("/readyz").await?;
        let phase: Value = serde_json::from_str(&text)?;
        Ok(phase["phase"].as_str().unwrap_or_default().to_owned())
    }

    /// Status and text of a path.
    pub async fn get(&self, path: &str) -> Result<(u16, String)> {
        let response = self.client.get(format!("{}{path}", self.url)).send().await?;
        Ok((response.status().as_u16(), response.text().await?))
    }

    /// Waits until it reconciles.
    pub async fn wait_until_working(&self) -> Result<()> {
        self.wait_until("it works", async || Ok(self.phase().await? == "working")).await
    }

    /// Waits until `reached`; an error has the end of its log.
    pub async fn wait_until(&self, what: &str, reached: impl AsyncFn() -> Result<bool>) -> Result<()> {
        let waited = self.plane.wait_until(what, async || {
            self.plane.keeper().check(&self.name)?;
            reached().await
        });
        waited.await.with_context(|| format!("the end of the operator's log:\n{}", self.log()))
    }

    /// The last lines of its log.
    pub fn log(&self) -> String {
        self.plane.keeper().tail(&self.name)
    }

    /// Everything that it printed.
    pub fn printed(&self) -> String {
        self.plane.keeper().printed(&self.name)
    }

    /// Where the newest process of this name says that it listens.
    fn address(&self) -> Option<String> {
        let lines = self.printed();
        let mut lines = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.rfind(|line| line["fields"]["address"].is_string())?["fields"]["address"].as_str().map(str::to_owned)
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        Ok(kill_process(self.pid, signal)?)
    }

    /// Sends it a signal that ends it, and waits for that. How it ended.
    pub async fn end(self, signal: Signal) -> Result<String> {
        self.signal(signal)?;
        self.ended().await
    }

    /// Waits until it has ended by itself, which must not take long. How it ended.
    pub async fn ended(&self) -> Result<String> {
        let ended = tokio::time::timeout(STOP, self.ended_whenever()).await;
        ended.with_context(|| format!("the operator did not end:\n{}", self.log()))
    }

    /// Waits until it has ended by itself, however long that takes. How it ended.
    pub async fn ended_whenever(&self) -> String {
        loop {
            if let Err(how) = self.plane.keeper().check(&self.name) {
                self.ended.store(true, Ordering::Relaxed);
                return format!("{how:#}");
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

impl Drop for Operator<'_> {
    fn drop(&mut self) {
        // A stopped process would not hear the keeper's SIGTERM.
        if !self.ended.load(Ordering::Relaxed) {
            let _ = kill_process(self.pid, Signal::KILL);
        }
        let _ = self.plane.keeper().stop(&self.name);
    }
}

/// Account and arguments of the one Deployment.
fn pod_of(objects: &[Value]) -> Result<(String, Vec<String>)> {
    let deployment =
        objects.iter().find(|object| object["kind"] == "Deployment").context("the chart has a Deployment")?;
    let pod = &deployment["spec"]["template"]["spec"];
    let account = pod["serviceAccountName"].as_str().context("the pod has an account")?;
    let arguments = Vec::deserialize(&pod["containers"][0]["args"]).context("the container has arguments")?;
    Ok((account.to_owned(), arguments))
}

fn rights(rule: &Value) -> Vec<String> {
    let words = |field: &str| -> Vec<String> { Vec::deserialize(&rule[field]).unwrap_or_default() };
    let mut rights = Vec::new();
    for group in words("apiGroups") {
        for resource in words("resources") {
            let name = if group.is_empty() { resource } else { format!("{group}/{resource}") };
            rights.extend(words("verbs").iter().map(|verb| format!("{verb} {name}")));
        }
    }
    rights
}
