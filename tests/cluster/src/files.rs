//! What the programs read, and their arguments.

use anyhow::{Context, Result, anyhow};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::json;
use std::path::{Path, PathBuf};
use uuid::Uuid;

use crate::{User, audit};

/// Of the tokens of service accounts.
const PRIVATE_KEY: &str = "service-account.key";
const PUBLIC_KEY: &str = "service-account.pub";
const TOKENS: &str = "tokens.csv";
const AUDIT_POLICY: &str = "audit-policy.json";
/// Written by the API server: its own certificate and the authority that it made for it.
const CERTIFICATES: &str = "certificates/apiserver.crt";

/// Writes tokens, a kubeconfig for everybody, a key for service accounts and the audit policy.
pub(crate) fn write(folder: &Path, url: &str) -> Result<()> {
    let mut tokens = String::new();
    for user in User::ALL {
        let token = Uuid::new_v4().to_string();
        let group = user.group().map(|group| format!(",{group}")).unwrap_or_default();
        tokens.push_str(&format!("{token},{0},{0}{group}\n", user.name()));
        put(folder, &user.kubeconfig(), &kubeconfig(folder, url, &token))?;
    }
    put(folder, TOKENS, &tokens)?;
    let (private, public) = key_pair()?;
    put(folder, PRIVATE_KEY, &private)?;
    put(folder, PUBLIC_KEY, &public)?;
    put(folder, AUDIT_POLICY, audit::POLICY)
}

pub(crate) fn audit_log(folder: &Path) -> PathBuf {
    folder.join("audit.log")
}

/// Who vouches for the API server.
pub(crate) fn authority(folder: &Path) -> PathBuf {
    folder.join(CERTIFICATES)
}

/// Every JSON text is YAML.
pub(crate) fn kubeconfig(folder: &Path, url: &str, token: &str) -> String {
    let authority = authority(folder);
    let text = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": url, "certificate-authority": authority}}],
        "users": [{"name": "test", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": "default"}}],
    });
    text.to_string()
}

/// A key pair on the curve P-256 as PEM: the private key (PKCS #8), and the public key (SubjectPublicKeyInfo), which the
/// API server does not take from a private key of that form.
fn key_pair() -> Result<(String, String)> {
    // Everything of the structure that is the same for all keys of the curve (RFC 5480); the point follows.
    const HEAD: [u8; 26] =
        *b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00";
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let random = SystemRandom::new();
    let private =
        EcdsaKeyPair::generate_pkcs8(algorithm, &random).map_err(|error| anyhow!("failed to make a key: {error}"))?;
    let pair = EcdsaKeyPair::from_pkcs8(algorithm, private.as_ref(), &random)
        .map_err(|error| anyhow!("failed to read a key: {error}"))?;
    let public = [&HEAD, pair.public_key().as_ref()].concat();
    Ok((pem("PRIVATE KEY", private.as_ref()), pem("PUBLIC KEY", &public)))
}

fn pem(label: &str, content: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(content))
}

fn put(folder: &Path, name: &str, text: &str) -> Result<()> {
    std::fs::write(folder.join(name), text).with_context(|| format!("failed to write {name}"))
}

/// Data that is thrown away need not reach the disk.
pub(crate) fn etcd_arguments(folder: &Path, url: &str, peer_port: u16) -> Vec<String> {
    let peer = format!("http://127.0.0.1:{peer_port}");
    vec![
        "--unsafe-no-fsync".into(),
        "--log-level=error".into(),
        format!("--data-dir={}", folder.join("etcd").display()),
        format!("--listen-client-urls={url}"),
        format!("--advertise-client-urls={url}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
    ]
}

pub(crate) fn apiserver_arguments(folder: &Path, etcd: &str, port: u16) -> Vec<String> {
    vec![
        format!("--etcd-servers={etcd}"),
        format!("--cert-dir={}", folder.join("certificates").display()),
        "--bind-address=127.0.0.1".into(),
        "--advertise-address=127.0.0.1".into(),
        format!("--secure-port={port}"),
        "--service-cluster-ip-range=10.96.0.0/16".into(),
        format!("--service-account-key-file={}", folder.join(PUBLIC_KEY).display()),
        format!("--service-account-signing-key-file={}", folder.join(PRIVATE_KEY).display()),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        format!("--token-auth-file={}", folder.join(TOKENS).display()),
        "--authorization-mode=Node,RBAC".into(),
        "--allow-privileged=true".into(),
        "--endpoint-reconciler-type=none".into(),
        format!("--audit-policy-file={}", folder.join(AUDIT_POLICY).display()),
        format!("--audit-log-path={}", audit_log(folder).display()),
    ]
}

/// It serves nothing itself: whether it works shows in what it makes.
pub(crate) fn controller_manager_arguments(folder: &Path) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", folder.join(User::ControllerManager.kubeconfig()).display()),
        format!("--service-account-private-key-file={}", folder.join(PRIVATE_KEY).display()),
        format!("--root-ca-file={}", folder.join(CERTIFICATES).display()),
        "--use-service-account-credentials".into(),
        "--leader-elect=false".into(),
        "--secure-port=0".into(),
    ]
}
