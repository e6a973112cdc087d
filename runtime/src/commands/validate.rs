use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::cli::{Global, OutputFormat};
use crate::manifests::{Input, ManifestError, Reading, read};

/// Exit code when a manifest has a mistake.
const EXIT_FINDINGS: u8 = 1;

#[derive(Debug, clap::Args)]
pub(crate) struct ValidateArgs {
    /// A file, a folder (with everything below it), or - for standard input; may be given several times.
    #[arg(short = 'f', long = "filename", value_name = "PATH", required = true)]
    filenames: Vec<PathBuf>,
}

/// What was checked and found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    /// Objects without a mistake.
    valid: usize,
    /// Documents of other API groups, which were not checked.
    passed_over: usize,
    errors: Vec<ManifestError>,
    /// References that name nothing in the checked files; a cluster may hold the rest. None while there are errors:
    /// what is named may be among them.
    warnings: Vec<ManifestError>,
}

pub(crate) async fn run(args: ValidateArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let report = check(&args.filenames);
    match global.output {
        OutputFormat::Table => print(&report, global.quiet),
        OutputFormat::Json => println!("{}", serde_json::to_string_pretty(&report)?),
        OutputFormat::Yaml => print!("{}", serde_saphyr::to_string(&report)?),
    }
    Ok(if report.errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FINDINGS) })
}

fn check(paths: &[PathBuf]) -> Report {
    let input = |path: &PathBuf| match path.to_str() {
        Some("-") => Input::Stdin,
        _ => Input::Path(path.clone()),
    };
    let inputs: Vec<Input> = paths.iter().map(input).collect();
    let Reading { manifests, mut errors } = read(&inputs);
    if manifests.is_empty() && errors.is_empty() {
        errors.push(ManifestError::general("no manifest was found: name a file or a folder that holds one"));
    }
    let warnings = if errors.is_empty() { manifests.unresolved_references() } else { Vec::new() };
    Report { valid: manifests.count(), passed_over: manifests.foreign(), errors, warnings }
}

fn print(report: &Report, quiet: bool) {
    report.errors.iter().for_each(|error| println!("error: {error}"));
    report.warnings.iter().for_each(|warning| println!("warning: {warning}"));
    if !quiet {
        let Report { valid, passed_over, errors, warnings } = report;
        let others = match passed_over {
            0 => String::new(),
            count => format!(", {count} of other API groups passed over"),
        };
        let (errors, warnings) = (counted(errors.len(), "error"), counted(warnings.len(), "warning"));
        println!("{valid} valid, {errors}, {warnings}{others}");
    }
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    const PIPELINE: &str = "apiVersion: groundwork.dev/v1alpha1\nkind: AgentPipeline\nmetadata: {name: faq}\nspec:\n  \
                            knowledgeBases: [{name: faq}]\n";

    #[test]
    fn a_reference_that_names_nothing_is_a_warning() {
        let folder = folder(&[("deep/pipeline.yaml", PIPELINE), ("values.yaml", "a: 1\n")]);
        let report = check(&[folder.path().to_owned()]);
        assert_eq!((report.valid, report.errors.len(), report.passed_over), (1, 0, 0));
        let warning = &report.warnings[0];
        assert_eq!((warning.place.line, warning.field.as_str()), (5, "spec.knowledgeBases[0].name"));
        assert!(warning.to_string().ends_with(
            "AgentPipeline faq: spec.knowledgeBases[0].name: names the KnowledgeBase faq, which does not exist in \
             namespace default: add a KnowledgeBase of that name"
        ));
    }

    #[test]
    fn nothing_to_check_is_an_error() {
        let folder = folder(&[("values.yaml", "a: 1\n")]);
        assert!(check(&[folder.path().to_owned()]).errors[0].to_string().starts_with("no manifest was found"));
        let asked_for = check(&[folder.path().join("values.yaml")]);
        assert!(asked_for.errors[0].to_string().contains("values.yaml: holds no manifest of Groundwork: "));
        let absent = check(&[folder.path().join("absent.yaml")]);
        assert!(absent.errors[0].to_string().ends_with(": check the path"));
    }

    #[test]
    fn the_report_has_stable_names() {
        let folder = folder(&[("a.yaml", PIPELINE), ("b.yaml", PIPELINE)]);
        let report = serde_json::to_value(check(&[folder.path().to_owned()])).unwrap();
        assert_eq!((&report["valid"], &report["passedOver"]), (&1.into(), &0.into()));
        let error = report["errors"][0].as_object().unwrap();
        let mut names: Vec<&str> = error.keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["column", "field", "file", "fix", "line", "object", "problem"]);
        assert!(error["problem"].as_str().unwrap().starts_with("is there twice, first in "));
    }
}
