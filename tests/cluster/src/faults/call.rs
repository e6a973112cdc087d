use http::{Method, Uri};

/// What a request asks for, as roles and the audit log call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// One object, or a path that is no resource.
    Get,
    /// All objects.
    List,
    /// All changes.
    Watch,
    /// A new object.
    Create,
    /// A whole new state.
    Update,
    /// A part of a state; by server-side apply also a new object.
    Patch,
    /// The end of an object.
    Delete,
    /// The end of all objects.
    DeleteCollection,
    /// Anything else.
    Other,
}

/// What a request is about. Absent parts are empty. Equal calls are tries of the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    /// What is asked for.
    pub verb: Verb,
    /// API group.
    pub group: String,
    /// Lower-case plural; for a path that is no resource the path.
    pub resource: String,
    /// For example `status`.
    pub subresource: String,
    /// Namespace.
    pub namespace: String,
    /// Name. A request to create has it in its body.
    pub name: String,
}

impl Call {
    /// Reads method and path.
    pub(super) fn parse(method: &Method, uri: &Uri) -> Self {
        let mut parts: Vec<&str> = uri.path().trim_matches('/').split('/').collect();
        let group = match parts.as_slice() {
            ["api", _, _, ..] => parts.drain(..2).next().map(|_| String::new()),
            ["apis", _, _, _, ..] => parts.drain(..3).nth(1).map(str::to_owned),
            _ => None,
        };
        let Some(group) = group else { return Self::other(method, uri) };
        let namespace = match parts.as_slice() {
            ["namespaces", namespace, _, ..] => (*namespace).to_owned(),
            _ => String::new(),
        };
        if !namespace.is_empty() {
            parts.drain(..2);
        }
        let part = |index: usize| parts.get(index).copied().unwrap_or_default().to_owned();
        let name = part(1);
        let watches = uri.query().is_some_and(|query| query.split('&').any(|pair| pair == "watch=true"));
        let verb = match (method.as_str(), name.is_empty()) {
            ("GET", _) if watches => Verb::Watch,
            ("GET", true) => Verb::List,
            ("GET", false) => Verb::Get,
            ("POST", _) => Verb::Create,
            ("PUT", _) => Verb::Update,
            ("PATCH", _) => Verb::Patch,
            ("DELETE", true) => Verb::DeleteCollection,
            ("DELETE", false) => Verb::Delete,
            _ => Verb::Other,
        };
        Self { verb, group, resource: part(0), subresource: part(2), namespace, name }
    }

    fn other(method: &Method, uri: &Uri) -> Self {
        let verb = if method == Method::GET { Verb::Get } else { Verb::Other };
        let resource = uri.path().to_owned();
        let nothing = String::new;
        Self { verb, group: nothing(), resource, subresource: nothing(), namespace: nothing(), name: nothing() }
    }

    /// Whether it asks for a change.
    pub fn is_write(&self) -> bool {
        !matches!(self.verb, Verb::Get | Verb::List | Verb::Watch)
    }

    /// Whether it is about the lease of the operator.
    pub fn is_lease(&self) -> bool {
        self.resource == "leases"
    }

    /// Whether it is an Event. Events are a courtesy: one that is lost is not written again.
    pub fn is_event(&self) -> bool {
        self.resource == "events"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(method: Method, uri: &str) -> (Verb, [String; 5]) {
        let call = Call::parse(&method, &uri.parse().unwrap());
        (call.verb, [call.group, call.resource, call.subresource, call.namespace, call.name])
    }

    #[test]
    fn paths_are_read_as_the_api_server_reads_them() {
        let rows = [
            (Method::GET, "/api/v1/namespaces/n/secrets/s?x=y", (Verb::Get, ["", "secrets", "", "n", "s"])),
            (Method::GET, "/api/v1/namespaces/n", (Verb::Get, ["", "namespaces", "", "", "n"])),
            (Method::GET, "/api/v1/pods", (Verb::List, ["", "pods", "", "", ""])),
            (Method::GET, "/apis/g/v1/namespaces/n/things?watch=true", (Verb::Watch, ["g", "things", "", "n", ""])),
            (
                Method::PATCH,
                "/apis/g/v1/namespaces/n/things/a/status",
                (Verb::Patch, ["g", "things", "status", "n", "a"]),
            ),
            (Method::POST, "/apis/g/v1/namespaces/n/things?", (Verb::Create, ["g", "things", "", "n", ""])),
            (Method::DELETE, "/apis/g/v1/clusterthings/a", (Verb::Delete, ["g", "clusterthings", "", "", "a"])),
            (Method::DELETE, "/apis/g/v1/clusterthings", (Verb::DeleteCollection, ["g", "clusterthings", "", "", ""])),
            (Method::GET, "/openapi/v3/apis/g/v1", (Verb::Get, ["", "/openapi/v3/apis/g/v1", "", "", ""])),
        ];
        for (method, uri, (verb, parts)) in rows {
            assert_eq!(parsed(method, uri), (verb, parts.map(str::to_owned)), "{uri}");
        }
    }
}
