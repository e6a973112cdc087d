use anyhow::{Context, Result, anyhow, bail};
use groundwork_tests::skip::skip;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube_client::Api;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::sync::OnceCell;

use crate::keeper::{self, Keeper};
use crate::programs::{Program, Programs};
use crate::{AuditLog, User, files};

/// The part's name in `GROUNDWORK_REQUIRE`.
const PART: &str = "apiserver";
/// How long a control plane may take to come up, on a busy machine.
const START: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(50);
/// A port that was free when it was picked may be taken when it is used.
const ATTEMPTS: u32 = 3;

/// A running etcd, kube-apiserver and kube-controller-manager with data of their own. Dropping it stops them.
pub struct ControlPlane {
    keeper: Keeper,
    programs: Programs,
    url: String,
    pub(crate) definitions: OnceCell<()>,
}

impl ControlPlane {
    /// The one that all tests of an executable share; `None` where `test` is skipped, since the programs are not here.
    ///
    /// # Errors
    /// Where a program does not come up; the message ends with the last lines of the logs.
    pub async fn shared(test: &str) -> Result<Option<&'static Self>> {
        static SHARED: OnceCell<Result<ControlPlane, String>> = OnceCell::const_new();
        let Some(programs) = programs(test) else { return Ok(None) };
        let start = async || Self::start(programs).await.map_err(|error| format!("{error:#}"));
        match SHARED.get_or_init(start).await {
            Ok(plane) => Ok(Some(plane)),
            Err(error) => bail!("{error}"),
        }
    }

    /// One for `test` alone, for tests that stop its programs or change what all see; `None` as for [`Self::shared`].
    ///
    /// # Errors
    /// As for [`Self::shared`].
    pub async fn own(test: &str) -> Result<Option<Self>> {
        match programs(test) {
            Some(programs) => Self::start(programs).await.map(Some),
            None => Ok(None),
        }
    }

    /// Address of the API server, `https://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where its programs lie.
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Owner of its processes, for tests that stop one or run more beside them. Their names are those of the programs.
    pub fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    /// The record of all requests.
    pub fn audit(&self) -> AuditLog {
        AuditLog::new(files::audit_log(self.keeper.folder()))
    }

    /// A folder that lives as long as the control plane.
    pub fn folder(&self) -> &Path {
        self.keeper.folder()
    }

    /// What `kubectl` and other programs read to talk to the API server as `user`.
    pub fn kubeconfig(&self, user: User) -> PathBuf {
        self.folder().join(user.kubeconfig())
    }

    async fn start(programs: Programs) -> Result<Self> {
        for _ in 1..ATTEMPTS {
            match Self::attempt(programs.clone()).await {
                Err(error) if format!("{error:#}").contains("address already in use") => {}
                other => return other,
            }
        }
        Self::attempt(programs).await
    }

    async fn attempt(programs: Programs) -> Result<Self> {
        let start = Instant::now();
        let [etcd, peer, server] = free_ports()?;
        let url = format!("https://127.0.0.1:{server}");
        let keeper = Keeper::start()?;
        files::write(keeper.folder(), &url)?;
        let plane = Self { keeper, programs, url, definitions: OnceCell::new() };
        let folder = plane.folder();
        let etcd_url = format!("http://127.0.0.1:{etcd}");
        plane.run(Program::Etcd, files::etcd_arguments(folder, &etcd_url, peer))?;
        plane.run(Program::KubeApiserver, files::apiserver_arguments(folder, &etcd_url, server))?;
        plane.wait_until("the API server is ready", async || plane.is_ready().await).await?;
        plane.run(Program::KubeControllerManager, files::controller_manager_arguments(folder))?;
        plane.wait_until("controllers work", async || plane.has_service_account("default").await).await?;
        println!("control plane: up in {:.1} s at {}", start.elapsed().as_secs_f32(), plane.url);
        Ok(plane)
    }

    fn run(&self, program: Program, arguments: Vec<String>) -> Result<u32> {
        let path = self.programs.path(program)?;
        self.keeper.run(keeper::Command { name: program.name(), path, arguments, environment: Vec::new() })
    }

    async fn is_ready(&self) -> Result<bool> {
        let client = self.client(User::Admin).await?;
        let request = http::Request::get("/readyz").body(Vec::new())?;
        Ok(client.request_text(request).await? == "ok")
    }

    /// Whether pods could be made in the namespace: the controller manager gives each namespace an account.
    pub(crate) async fn has_service_account(&self, namespace: &str) -> Result<bool> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client(User::Admin).await?, namespace);
        Ok(accounts.get_opt("default").await?.is_some())
    }

    /// Waits until `reached` says true; its errors count as not yet. A program that ended ends the waiting.
    ///
    /// # Errors
    /// Where that takes too long; the message has the last error and the ends of all logs.
    pub async fn wait_until(&self, what: &str, reached: impl AsyncFn() -> Result<bool>) -> Result<()> {
        let deadline = Instant::now() + START;
        loop {
            let last = match reached().await {
                Ok(true) => return Ok(()),
                Ok(false) => "not yet".to_owned(),
                Err(error) => format!("{error:#}"),
            };
            self.check_programs().with_context(|| format!("before {what}"))?;
            if Instant::now() > deadline {
                bail!("it took more than {} s until {what}: {last}\n{}", START.as_secs(), self.logs());
            }
            tokio::time::sleep(POLL).await;
        }
    }

    fn check_programs(&self) -> Result<()> {
        // Others, such as operators, may be stopped by their tests.
        let own = Program::CONTROL_PLANE.map(Program::name);
        for name in self.keeper.running().into_iter().filter(|name| own.contains(&name.as_str())) {
            self.keeper.check(&name).map_err(|error| anyhow!("{error:#}\n{}", self.logs()))?;
        }
        Ok(())
    }

    fn logs(&self) -> String {
        let logs = self.keeper.running().into_iter().map(|name| format!("--- {name}\n{}", self.keeper.tail(&name)));
        logs.collect::<Vec<_>>().join("\n")
    }
}

fn programs(test: &str) -> Option<Programs> {
    match Programs::find_or_build(&Program::CONTROL_PLANE) {
        Ok(programs) => Some(programs),
        Err(reason) => {
            skip(test, PART, &format!("{reason:#}"));
            None
        }
    }
}

/// Distinct ports that nobody listens on: all are held until the last is picked.
fn free_ports<const COUNT: usize>() -> Result<[u16; COUNT]> {
    let listeners: Vec<_> = (0..COUNT).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
    let mut ports = [0; COUNT];
    for (port, listener) in ports.iter_mut().zip(&listeners) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}
