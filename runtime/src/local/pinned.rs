//! Knowledge bases as a pod reads them: each at one revision in a server, and nothing else.

use groundwork_config::{ANALYSER_VERSION, KnowledgeBase, Revision, Serving};
use groundwork_knowledge::store::Principal;
use std::sync::Arc;
use std::time::Duration;

use super::base::Base;
use super::service::ServiceError;
use super::tools::Tools;
use crate::output::{Problem, count};

/// A knowledge base that takes longer to say how much it has does not answer.
const LOOK: Duration = Duration::from_secs(5);

/// Opens every knowledge base at its revision.
pub(super) async fn open(serving: &Serving, tools: &Arc<Tools>) -> Result<Vec<Base>, Problem> {
    let known = &serving.config.knowledge_bases;
    if let Some(name) = serving.revisions.keys().find(|name| known.iter().all(|base| base.name != **name)) {
        return Err(Problem::new(format!("revisions.{name} is of no knowledge base in config.knowledgeBases")));
    }
    let mut bases = Vec::with_capacity(known.len());
    for knowledge_base in known {
        let revision = revision(serving, &knowledge_base.name)?;
        bases.push(Base::pinned(knowledge_base, revision, tools).await?);
    }
    Ok(bases)
}

/// The revision of a knowledge base, if this program reads it as it was written.
fn revision<'a>(serving: &'a Serving, name: &str) -> Result<&'a Revision, Problem> {
    let revision = serving
        .revisions
        .get(name)
        .ok_or_else(|| Problem::new(format!("revisions.{name} is missing: it says what is read of {name}")))?;
    let version = revision.contract.analyser_version;
    if version != ANALYSER_VERSION {
        return Err(Problem::new(format!(
            "revisions.{name} was made by analyser version {version}, and this program has version {ANALYSER_VERSION}: \
             questions would be read otherwise than the documents were"
        ))
        .fix("use the runtime image that made the revision, or build another one"));
    }
    Ok(revision)
}

impl Base {
    /// Opens a revision in a server for reading.
    async fn pinned(config: &KnowledgeBase, revision: &Revision, tools: &Arc<Tools>) -> Result<Self, Problem> {
        // What decided the revision decides how it is asked, whatever the manifest says by now.
        let config = KnowledgeBase { contract: revision.contract.clone(), ..config.clone() };
        tools.embedder(&config.contract.embedding).map_err(|error| {
            Problem::new(format!("failed to set up the embedder of {}", config.name)).because(error)
        })?;
        Self::reading(config, revision, tools).await
    }
}

/// How much a knowledge base has, or why it does not answer.
pub(super) async fn look(base: &Base) -> (String, Result<String, String>) {
    let asked = async {
        let counts = base.reader(&Principal::local()).await?.counts().await?;
        Ok::<_, ServiceError>(count(counts.documents, "document"))
    };
    let answered = match tokio::time::timeout(LOOK, asked).await {
        Ok(answered) => answered.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no answer within {} s", LOOK.as_secs())),
    };
    (base.config().name.clone(), answered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use groundwork_config::{Authentication, Contract};
    use std::collections::BTreeMap;
    use std::path::Path;

    fn serving(revisions: &[(&str, Contract)]) -> Serving {
        let config = groundwork_config::compile::default_for_folder(Path::new("/handbook"));
        let data_id = config.knowledge_bases[0].data_id;
        let pinned = |contract: &Contract| Revision::new(data_id, contract.clone());
        let revisions: BTreeMap<_, _> =
            revisions.iter().map(|(name, contract)| ((*name).to_owned(), pinned(contract))).collect();
        Serving { config, revisions, authentication: Authentication::None }
    }

    #[tokio::test]
    async fn what_does_not_fit_together_is_named() {
        let newer = Contract { analyser_version: ANALYSER_VERSION + 1, ..Contract::default() };
        let table: [(&[(&str, Contract)], &str); 4] = [
            (&[], "revisions.handbook is missing"),
            (
                &[("handbook", Contract::default()), ("old", Contract::default())],
                "revisions.old is of no knowledge base",
            ),
            (&[("handbook", newer)], "made by analyser version"),
            (&[("handbook", Contract::default())], "handbook is kept in a file"),
        ];
        for (revisions, expected) in table {
            let serving = serving(revisions);
            let tools = Arc::new(Tools::new(Vec::new()));
            let told = open(&serving, &tools).await.err().expect("refused").line();
            assert!(told.contains(expected), "{told}");
        }
    }
}
