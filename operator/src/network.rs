//! NetworkPolicies of our pods: default deny both ways, opened for what the manifests name. Pure.
//!
//! What a policy allows is decided by the cluster's network; whether it enforces policies at all, nobody here can know.

use groundwork_crds::PeerSpec;
use http::Uri;
use k8s_openapi::api::networking::v1::{
    IPBlock, NetworkPolicy, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort,
    NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use std::collections::BTreeMap;
use std::net::IpAddr;

const DNS_PORT: i32 = 53;
/// Label that Kubernetes gives every namespace.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";
/// Addresses that are no public ones (RFC 6890), so that a host's name cannot lead into the cluster or to a cloud's metadata.
const NOT_PUBLIC_V4: [&str; 12] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
];
/// Mapped IPv4 addresses are missing: they never are on the wire, and the API server takes their range for one of IPv4.
const NOT_PUBLIC_V6: [&str; 6] = ["::/128", "::1/128", "64:ff9b::/96", "fc00::/7", "fe80::/10", "ff00::/8"];

/// A policy for pods with these labels. Who is not named in `ingress` cannot reach them, and they reach DNS and what the
/// addresses name.
pub(crate) fn policy(
    metadata: ObjectMeta,
    pods: BTreeMap<String, String>,
    ingress: Vec<NetworkPolicyIngressRule>,
    addresses: &[&str],
) -> NetworkPolicy {
    let mut egress = vec![dns()];
    for rule in addresses.iter().filter_map(|address| to(address)) {
        if !egress.contains(&rule) {
            egress.push(rule);
        }
    }
    NetworkPolicy {
        metadata,
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(LabelSelector { match_labels: Some(pods), match_expressions: None }),
            policy_types: Some(vec!["Ingress".to_owned(), "Egress".to_owned()]),
            // The API server leaves an empty list out, and would seem to differ for ever.
            ingress: (!ingress.is_empty()).then_some(ingress),
            egress: Some(egress),
        }),
    }
}

/// Lets peers reach a port.
pub(crate) fn from(peers: Vec<NetworkPolicyPeer>, port: i32) -> NetworkPolicyIngressRule {
    NetworkPolicyIngressRule { from: Some(peers), ports: Some(vec![tcp(port)]) }
}

/// Pods with these labels in a namespace.
pub(crate) fn pods_in(namespace: &str, labels: BTreeMap<String, String>) -> NetworkPolicyPeer {
    NetworkPolicyPeer { pod_selector: Some(matching(labels)), ..self::namespace(namespace) }
}

/// All pods of a namespace.
pub(crate) fn namespace(name: &str) -> NetworkPolicyPeer {
    let labels = BTreeMap::from([(NAMESPACE_NAME.to_owned(), name.to_owned())]);
    NetworkPolicyPeer { namespace_selector: Some(matching(labels)), ..NetworkPolicyPeer::default() }
}

/// A peer of a manifest.
pub(crate) fn peer(spec: &PeerSpec) -> NetworkPolicyPeer {
    match &spec.cidr {
        Some(cidr) => block(cidr, &[]),
        None => NetworkPolicyPeer {
            ip_block: None,
            namespace_selector: spec.namespace.as_deref().and_then(|name| namespace(name).namespace_selector),
            pod_selector: spec.pod_labels.clone().map(matching),
        },
    }
}

fn dns() -> NetworkPolicyEgressRule {
    let port = |protocol: &str| NetworkPolicyPort {
        port: Some(IntOrString::Int(DNS_PORT)),
        protocol: Some(protocol.to_owned()),
        end_port: None,
    };
    NetworkPolicyEgressRule { to: None, ports: Some(vec![port("UDP"), port("TCP")]) }
}

/// What an address needs. One label is a Service of the own namespace, `NAME.NAMESPACE.svc` one of that namespace; both by
/// namespace alone, since policies know the ports of pods and not of Services. An IP is itself, and any other host its port at
/// public addresses. `None` for what is no address: the schema has refused it.
fn to(address: &str) -> Option<NetworkPolicyEgressRule> {
    let uri: Uri = address.parse().ok()?;
    let host = uri.host()?.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_lowercase();
    let port = i32::from(uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 }));
    let rule = |to: Vec<NetworkPolicyPeer>, port: Option<i32>| {
        Some(NetworkPolicyEgressRule { to: Some(to), ports: port.map(|port| vec![tcp(port)]) })
    };
    if let Ok(ip) = host.parse::<IpAddr>() {
        let bits = if ip.is_ipv4() { 32 } else { 128 };
        return rule(vec![block(&format!("{ip}/{bits}"), &[])], Some(port));
    }
    let labels: Vec<&str> = host.split('.').collect();
    match labels.as_slice() {
        [_] => {
            let own =
                NetworkPolicyPeer { pod_selector: Some(LabelSelector::default()), ..NetworkPolicyPeer::default() };
            rule(vec![own], None)
        }
        [_, name, "svc"] | [_, name, "svc", "cluster", "local"] => rule(vec![namespace(name)], None),
        _ => rule(vec![block("0.0.0.0/0", &NOT_PUBLIC_V4), block("::/0", &NOT_PUBLIC_V6)], Some(port)),
    }
}

fn block(cidr: &str, except: &[&str]) -> NetworkPolicyPeer {
    let except: Vec<String> = except.iter().map(|range| (*range).to_owned()).collect();
    let except = (!except.is_empty()).then_some(except);
    NetworkPolicyPeer { ip_block: Some(IPBlock { cidr: cidr.to_owned(), except }), ..NetworkPolicyPeer::default() }
}

fn matching(labels: BTreeMap<String, String>) -> LabelSelector {
    LabelSelector { match_labels: Some(labels), match_expressions: None }
}

fn tcp(port: i32) -> NetworkPolicyPort {
    NetworkPolicyPort { port: Some(IntOrString::Int(port)), protocol: Some("TCP".to_owned()), end_port: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn told(address: &str) -> Value {
        json!(to(address).unwrap())
    }

    #[test]
    fn names_in_the_cluster_are_their_namespace() {
        let own = json!({"to": [{"podSelector": {}}]});
        assert_eq!(told("http://qdrant:6334"), own);
        let other = json!({"to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "data"}}}]});
        assert_eq!(told("http://qdrant.data.svc:6334"), other);
        assert_eq!(told("http://Qdrant.data.svc.cluster.local.:6334/"), other);
    }

    #[test]
    fn an_ip_is_itself_and_its_port() {
        let port = |port: u16| json!([{"port": port, "protocol": "TCP"}]);
        let v4 = json!({"to": [{"ipBlock": {"cidr": "10.0.0.7/32"}}], "ports": port(6334)});
        assert_eq!(told("http://10.0.0.7:6334"), v4);
        let v6 = json!({"to": [{"ipBlock": {"cidr": "fd00::7/128"}}], "ports": port(443)});
        assert_eq!(told("https://[fd00::7]/v1"), v6);
    }

    #[test]
    fn other_hosts_are_public_addresses_only() {
        let rule = told("https://api.example.com/v1");
        assert_eq!(rule["ports"], json!([{"port": 443, "protocol": "TCP"}]));
        let except = rule["to"][0]["ipBlock"]["except"].to_string();
        for private in ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "127.0.0.0/8"] {
            assert!(except.contains(private), "{private}");
        }
        // A name that only looks like one of the cluster's.
        assert_eq!(told("http://svc.example.svc.evil.example"), told("http://a.example.com"));
    }
}
