use anyhow::{Context, Result, bail};
use groundwork_crds::{API_VERSION, Definition, GROUP};
use k8s_openapi::api::core::v1::Namespace;
use kube_client::api::{ApiResource, ObjectMeta, PostParams};
use kube_client::config::{KubeConfigOptions, Kubeconfig};
use kube_client::{Api, Client, Config};
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use uuid::Uuid;

use crate::programs::Program;
use crate::{ControlPlane, User};

/// How long the API server may be silent before a call fails.
const CALL: Duration = Duration::from_secs(30);
/// How long one `kubectl` may take.
const KUBECTL: Duration = Duration::from_secs(120);

impl ControlPlane {
    /// A client that talks as `user`. It retries nothing, and every call ends: after 30 s without a byte it fails. It belongs
    /// to the runtime that it was made in, so each test makes its own.
    pub async fn client(&self, user: User) -> Result<Client> {
        // rustls takes no provider by itself; a second call finds the first one's.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let file = Kubeconfig::read_from(self.kubeconfig(user))?;
        let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
        config.connect_timeout = Some(CALL);
        config.read_timeout = Some(CALL);
        config.write_timeout = Some(CALL);
        config.reset_reader_on_write = true;
        config.default_retry = false;
        Ok(Client::try_from(config)?)
    }

    /// Makes a namespace and waits until pods could be made in it. Its name begins with `prefix`; it goes with the control
    /// plane.
    pub async fn namespace(&self, prefix: &str) -> Result<String> {
        let id = Uuid::new_v4().simple().to_string();
        let name = format!("{prefix}-{}", &id[..8]);
        let namespaces: Api<Namespace> = Api::all(self.client(User::Admin).await?);
        let metadata = ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() };
        namespaces.create(&PostParams::default(), &Namespace { metadata, ..Namespace::default() }).await?;
        self.wait_until("a namespace has its account", async || self.has_service_account(&name).await).await?;
        Ok(name)
    }

    /// Runs `kubectl` as `user`. What it printed.
    ///
    /// # Errors
    /// Where it fails; the message is what it printed to its standard error.
    pub async fn kubectl(&self, user: User, arguments: &[&str]) -> Result<String> {
        self.kubectl_with_input(user, arguments, "").await
    }

    /// Runs `kubectl` as `user` with a text at its standard input, for `-f -`.
    ///
    /// # Errors
    /// As for [`Self::kubectl`].
    pub async fn kubectl_with_input(&self, user: User, arguments: &[&str], input: &str) -> Result<String> {
        let output = self.kubectl_output(user, arguments, input).await?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            bail!("kubectl {}: {}: {}", arguments.join(" "), output.status, said.trim());
        }
        // Warnings of the server, for example of a deprecated field.
        if !said.is_empty() {
            bail!("kubectl {} warns: {}", arguments.join(" "), said.trim());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    async fn kubectl_output(&self, user: User, arguments: &[&str], input: &str) -> Result<Output> {
        let mut child = Command::new(self.programs().path(Program::Kubectl)?)
            .arg("--kubeconfig")
            .arg(self.kubeconfig(user))
            .arg("--cache-dir")
            .arg(self.folder().join("kubectl"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("failed to start kubectl")?;
        let mut stdin = child.stdin.take().context("kubectl has an input")?;
        stdin.write_all(input.as_bytes()).await?;
        drop(stdin);
        let output = tokio::time::timeout(KUBECTL, child.wait_with_output()).await;
        Ok(output.with_context(|| format!("kubectl {} took too long", arguments.join(" ")))??)
    }

    /// Applies the shipped definitions (`charts/groundwork-crds`), once, and waits until their kinds are served.
    pub async fn install_definitions(&self) -> Result<()> {
        let install = async || {
            let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/groundwork-crds/templates");
            let files = files.to_str().context("the path is UTF-8")?;
            self.kubectl(User::Admin, &["apply", "--server-side", "-f", files]).await?;
            let wait = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"];
            self.kubectl(User::Admin, &wait).await.map(drop)
        };
        self.definitions.get_or_try_init(install).await.map(|_| ())
    }
}

/// The kind that a definition makes, for [`kube_client::api::DynamicObject`].
pub fn resource(definition: &Definition) -> ApiResource {
    let (_, version) = API_VERSION.split_once('/').unwrap_or_default();
    ApiResource {
        group: GROUP.to_owned(),
        version: version.to_owned(),
        api_version: API_VERSION.to_owned(),
        kind: definition.kind().to_owned(),
        plural: definition.plural().to_owned(),
    }
}
