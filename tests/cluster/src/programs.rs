use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Environment variable with a folder of ready programs, as Kubernetes' own test tools know it.
pub const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// A program of the control plane or of a node, or one that talks to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Program {
    Etcd,
    KubeApiserver,
    KubeControllerManager,
    KubeScheduler,
    Kubectl,
    Kubelet,
    KubeProxy,
    Helm,
}

impl Program {
    /// Every program that can be built.
    pub const ALL: [Self; 8] = [
        Self::Etcd,
        Self::KubeApiserver,
        Self::KubeControllerManager,
        Self::KubeScheduler,
        Self::Kubectl,
        Self::Kubelet,
        Self::KubeProxy,
        Self::Helm,
    ];
    /// What [`ControlPlane`](crate::ControlPlane) runs, and what its tests talk to it with.
    pub const CONTROL_PLANE: [Self; 5] =
        [Self::Etcd, Self::KubeApiserver, Self::KubeControllerManager, Self::Kubectl, Self::Helm];

    /// The file's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::Kubectl => "kubectl",
            Self::Kubelet => "kubelet",
            Self::KubeProxy => "kube-proxy",
            Self::Helm => "helm",
        }
    }

    /// The program with this file name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|program| program.name() == name)
    }

    /// The Go module below `tests/` that names its version.
    fn module(self) -> &'static str {
        if self == Self::Helm { "helm" } else { "control-plane" }
    }

    fn package(self) -> String {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3".to_owned(),
            Self::Helm => "helm.sh/helm/v3/cmd/helm".to_owned(),
            other => format!("k8s.io/kubernetes/cmd/{}", other.name()),
        }
    }
}

/// Where programs lie.
#[derive(Clone, Debug)]
pub struct Programs(BTreeMap<Program, PathBuf>);

impl Programs {
    /// Finds each of `wanted` in the folder that [`ASSETS`] names, else in the cache, else builds it there.
    ///
    /// A build of all that a control plane needs takes minutes at first and seconds once Go's own cache has it. Callers
    /// in several processes wait for each other.
    ///
    /// # Errors
    /// Where one is absent and cannot be built; the message says why.
    pub fn find_or_build(wanted: &[Program]) -> Result<Self> {
        let assets = std::env::var_os(ASSETS).map(PathBuf::from);
        let mut found = BTreeMap::new();
        for &program in wanted {
            let given = assets.as_ref().map(|folder| folder.join(program.name())).filter(|path| path.is_file());
            let path = match given {
                Some(path) => path,
                None => Module::of(program)?.find_or_build(program)?,
            };
            found.insert(program, path);
        }
        Ok(Self(found))
    }

    /// The path of one that was wanted.
    pub fn path(&self, program: Program) -> Result<&Path> {
        Ok(self.0.get(&program).with_context(|| format!("{} was not asked for", program.name()))?)
    }
}

/// The Go module that names a version.
struct Module {
    folder: PathBuf,
    /// Of what it is there for, for example `v1.34.4`.
    version: String,
    /// Where its programs are kept.
    cache: PathBuf,
}

impl Module {
    fn of(program: Program) -> Result<Self> {
        let name = program.module();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name(name);
        let definition = std::fs::read_to_string(folder.join("go.mod")).context("failed to read go.mod")?;
        let sums = std::fs::read(folder.join("go.sum")).context("failed to read go.sum")?;
        let main = if program == Program::Helm { "helm.sh/helm/v3 " } else { "k8s.io/kubernetes " };
        // `k8s.io/kubernetes v1.34.4 // indirect`
        let rest = definition.lines().find_map(|line| line.trim().strip_prefix(main));
        let version = rest.and_then(|rest| rest.split_whitespace().next());
        let version = version.with_context(|| format!("{name}/go.mod names no version of {main}"))?.to_owned();
        let hash = Sha256::new().chain_update(&definition).chain_update(&sums).finalize();
        let hash: String = hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let home = std::env::var_os("HOME").context("HOME is not set, so there is no cache folder")?;
        let cache = Path::new(&home).join(".cache/groundwork").join(name).join(format!("{version}-{hash}"));
        Ok(Self { folder, version, cache })
    }

    fn find_or_build(&self, program: Program) -> Result<PathBuf> {
        let path = self.cache.join(program.name());
        if path.is_file() {
            return Ok(path);
        }
        std::fs::create_dir_all(&self.cache).with_context(|| format!("failed to make {}", self.cache.display()))?;
        let lock = File::create(self.cache.join(".lock")).context("failed to open the build's lock")?;
        lock.lock().context("failed to lock the build")?;
        // Another process may have built it while this one waited.
        if !path.is_file() {
            self.build(program, &path)?;
        }
        Ok(path)
    }

    /// Builds beside `path` and renames, so that a file of that name is always whole.
    fn build(&self, program: Program, path: &Path) -> Result<()> {
        let start = Instant::now();
        eprintln!("programs: building {} {}", program.name(), self.version);
        let unfinished = path.with_extension("unfinished");
        let output = Command::new("go")
            .current_dir(&self.folder)
            .env("CGO_ENABLED", "0")
            .args(["build", "-mod=readonly", "-trimpath", "-ldflags", &self.linker_flags(program)?, "-o"])
            .arg(&unfinished)
            .arg(program.package())
            .output();
        let output = match output {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                bail!("{} is not built and there is no Go to build it (or set {ASSETS})", program.name())
            }
            other => other.context("failed to start go")?,
        };
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "failed to build {}: {}", program.name(), last_lines(&said, 5));
        std::fs::rename(&unfinished, path).with_context(|| format!("failed to put {} in place", path.display()))?;
        eprintln!("programs: built {} in {} s", program.name(), start.elapsed().as_secs());
        Ok(())
    }

    /// Without its version a server calls itself v0.0.0, which `kubectl` refuses to read.
    fn linker_flags(&self, program: Program) -> Result<String> {
        if program == Program::Helm {
            return Ok(format!("-s -w -X helm.sh/helm/v3/internal/version.version={}", self.version));
        }
        let mut numbers = self.version.trim_start_matches('v').split('.');
        let (Some(major), Some(minor)) = (numbers.next(), numbers.next()) else {
            bail!("{} is not a version", self.version)
        };
        let package = "k8s.io/component-base/version";
        let version = &self.version;
        Ok(format!(
            "-s -w -X {package}.gitVersion={version} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}"
        ))
    }
}

/// The end of a text.
pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
