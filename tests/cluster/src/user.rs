/// Somebody whom the API server knows by a static token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum User {
    /// In `system:masters`: everything is allowed.
    Admin,
    /// The controller manager, with the rights that Kubernetes gives it.
    ControllerManager,
    /// A person without any right of her own: tests give her what they are about.
    Alice,
    /// Another such person.
    Bob,
}

impl User {
    /// Everybody.
    pub const ALL: [Self; 4] = [Self::Admin, Self::ControllerManager, Self::Alice, Self::Bob];

    /// The name as role bindings and the audit log have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::ControllerManager => "system:kube-controller-manager",
            Self::Alice => "alice",
            Self::Bob => "bob",
        }
    }

    /// The group beside `system:authenticated`.
    pub(crate) fn group(self) -> Option<&'static str> {
        (self == Self::Admin).then_some("system:masters")
    }

    /// A file name of hers.
    pub(crate) fn kubeconfig(self) -> String {
        format!("{}.kubeconfig", self.name().replace(':', "-"))
    }
}
