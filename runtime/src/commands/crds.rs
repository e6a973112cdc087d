use anyhow::Context;
use std::io::Write;
use std::process::ExitCode;

use crate::cli::Global;

#[derive(Debug, clap::Args)]
pub(crate) struct CrdsArgs {
    /// Print only this kind (KnowledgeBase, AgentPipeline, ModelEndpoint, ToolPolicy, or a short name as kb).
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
}

pub(crate) async fn run(args: CrdsArgs, _global: &Global) -> anyhow::Result<ExitCode> {
    let text = definitions(args.kind.as_deref())?;
    match std::io::stdout().write_all(text.as_bytes()) {
        // The reader of a pipe may stop early.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        other => other.context("failed to print the definitions")?,
    }
    Ok(ExitCode::SUCCESS)
}

fn definitions(kind: Option<&str>) -> anyhow::Result<String> {
    let is = |one: &groundwork_crds::Definition, wanted: &str| {
        let names = [vec![one.kind(), one.plural()], one.short_names()].concat();
        names.iter().any(|name| name.eq_ignore_ascii_case(wanted))
    };
    let all = groundwork_crds::definitions().iter();
    let chosen: Vec<String> = all.filter(|one| kind.is_none_or(|kind| is(one, kind))).map(|one| one.yaml()).collect();
    if chosen.is_empty() {
        let known: Vec<&str> = groundwork_crds::definitions().iter().map(|one| one.kind()).collect();
        anyhow::bail!("unknown kind {}: choose one of {}", kind.unwrap_or_default(), known.join(", "));
    }
    Ok(chosen.join("---\n"))
}

#[cfg(test)]
mod tests {
    use super::definitions;

    #[test]
    fn one_kind_is_found_by_any_of_its_names() {
        for name in ["KnowledgeBase", "knowledgebases", "kb"] {
            let text = definitions(Some(name)).unwrap();
            assert!(text.contains("kind: KnowledgeBase\n") && !text.contains("---"), "{name}");
        }
    }

    #[test]
    fn an_unknown_kind_names_the_known_ones() {
        let error = definitions(Some("Pod")).unwrap_err().to_string();
        assert_eq!(error, "unknown kind Pod: choose one of KnowledgeBase, AgentPipeline, ModelEndpoint, ToolPolicy");
    }

    #[test]
    fn all_kinds_are_separate_documents() {
        assert_eq!(definitions(None).unwrap().split("---\n").count(), 4);
    }
}
