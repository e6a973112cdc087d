use groundwork_config::Policy;
use groundwork_policy::{Refusal, Rule};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::Reread;
use crate::local::read_rendered;

/// How often a file is read again.
const EVERY: Duration = Duration::from_secs(2);

/// The policy that holds.
pub(crate) enum PolicyInForce {
    /// Always this one.
    Fixed(Arc<Policy>),
    /// What a file says.
    File(Arc<Reread<Policy>>),
}

impl PolicyInForce {
    /// Always this one.
    pub(crate) fn fixed(policy: Policy) -> Self {
        Self::Fixed(Arc::new(policy))
    }

    /// What the file says whenever it is asked.
    pub(crate) fn of_file(file: PathBuf) -> Self {
        Self::File(Arc::new(Reread::new("policy", move || read_rendered(&file))))
    }

    /// The policy that holds now. Without one, everything is refused.
    pub(crate) fn current(&self) -> Result<Arc<Policy>, Refusal> {
        match self {
            Self::Fixed(policy) => Ok(Arc::clone(policy)),
            Self::File(file) => file.current().map_err(|reason| Refusal {
                rule: Rule::Unreadable,
                message: format!("no policy can be read, so every question is refused until one can: {reason}"),
            }),
        }
    }

    /// Its hash; nothing where everything is refused.
    pub(crate) fn hash(&self) -> Option<String> {
        self.current().ok().map(|policy| policy.hash())
    }

    /// Follows the file, for ever.
    pub(crate) async fn follow(&self) {
        match self {
            Self::Fixed(_) => std::future::pending().await,
            Self::File(file) => Arc::clone(file).follow(EVERY).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groundwork_config::Limits;

    #[test]
    fn a_broken_file_refuses_everything_until_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("policy.json");
        let policy = |tokens| Policy { name: None, limits: Limits { tokens: Some(tokens), ..Limits::default() } };
        let write = |policy: &Policy| std::fs::write(&file, serde_json::to_vec(policy).unwrap()).unwrap();
        write(&policy(5000));
        let in_force = PolicyInForce::of_file(file.clone());
        let PolicyInForce::File(reread) = &in_force else { panic!("it follows a file") };
        assert_eq!(*in_force.current().unwrap(), policy(5000));
        write(&policy(100));
        reread.refresh();
        assert_eq!(in_force.hash(), Some(policy(100).hash()));
        for broken in ["", "{}", r#"{"limits": {"wallClockMs": 1000, "hops": 3}}"#] {
            std::fs::write(&file, broken).unwrap();
            reread.refresh();
            let refusal = in_force.current().unwrap_err();
            assert!(refusal.rule == Rule::Unreadable && refusal.message.contains("policy.json"), "{refusal}");
            assert_eq!(in_force.hash(), None);
        }
        std::fs::remove_file(&file).unwrap();
        reread.refresh();
        assert_eq!(in_force.current().unwrap_err().rule, Rule::Unreadable);
        write(&policy(100));
        reread.refresh();
        assert_eq!(*in_force.current().unwrap(), policy(100));
    }
}
