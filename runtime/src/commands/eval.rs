use anyhow::Context;
use groundwork_config::Embedding;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use crate::cli::{Global, OutputFormat, PlaceArgs};
use crate::evaluation::abstention::measure_abstention;
use crate::evaluation::data_set::DataSet;
use crate::evaluation::labels;
use crate::evaluation::measure::{Progress, RunFile, measure, measure_answers};
use crate::evaluation::report::{Report, junit, markdown, metric_names};
use crate::evaluation::running::Running;
use crate::evaluation::scratch::{Profile, Scratch};
use crate::evaluation::target::{Configuration, Target};
use crate::local::{self, EmbeddingChoice, Service, SetupArgs};
use crate::manifests;
use crate::output::{self, Problem, Table};

const EXAMPLES: &str = "\
Examples:
  groundwork eval questions.yaml --dir ~/handbook
  groundwork eval ./scifact --ablation --threshold ndcg_at_10=0.67
  groundwork eval squad-dev.json --limit 200 -o json
  groundwork eval ./scifact --ablation --markdown report.md --run-files runs/

A set is a YAML file of questions, a BEIR folder (corpus.jsonl, queries.jsonl,
qrels/*.tsv) or a SQuAD-style JSON file. Exit codes: 0 measured, 1 a threshold
was not met or the run failed, 2 the command line is wrong.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EvalArgs {
    /// The set.
    set: PathBuf,
    /// Compare keyword, dense and hybrid search with significance, instead of measuring the default alone.
    #[arg(long)]
    ablation: bool,
    /// Measure with and without the documents that hold the answer (sets with their own corpus).
    #[arg(long)]
    abstention: bool,
    /// Do not ask for answers, measure retrieval only.
    #[arg(long)]
    no_answers: bool,
    /// Take every n-th question so that at most this many remain.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// How a set's own corpus is cut and analysed.
    #[arg(long, value_enum, default_value_t = Profile::Product)]
    profile: Profile,
    /// What makes vectors of a scratch copy: encoder, hashing or none.
    #[arg(long, value_name = "MODEL")]
    embedding_model: Option<EmbeddingChoice>,
    /// Fail where a metric is below a value; repeat it for more. Names are those of `-o json`.
    #[arg(long = "threshold", value_name = "METRIC=VALUE", value_parser = threshold)]
    thresholds: Vec<(String, f64)>,
    /// Write the report as Markdown.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write the thresholds as JUnit XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write a TREC run file for each configuration.
    #[arg(long, value_name = "DIR")]
    run_files: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArgs,
}

fn threshold(text: &str) -> Result<(String, f64), String> {
    let (metric, value) = text.split_once('=').ok_or("write METRIC=VALUE, such as ndcg_at_10=0.67")?;
    let value = value.parse().map_err(|_| format!("{value:?} is not a number"))?;
    let known = metric_names();
    if !known.contains(&metric) {
        return Err(format!("there is no metric {metric}: {}", manifests::suggestion(metric, &known)));
    }
    Ok((metric.to_owned(), value))
}

pub(crate) async fn run(args: EvalArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let mut set = DataSet::read(&args.set)?;
    thin(&mut set, args.limit);
    let mut progress = Lines::new(global);
    let mut report = if set.corpus.is_empty() {
        evaluate_folder(&args, &mut set, &mut progress).await?
    } else {
        evaluate_corpus(&args, &set, &mut progress).await?
    };
    report.thresholds = args.thresholds.iter().map(|(metric, value)| report.judge(metric, *value)).collect();
    write_file(args.markdown.as_deref(), || markdown(&report))?;
    write_file(args.junit.as_deref(), || junit(&report))?;
    output::result(global.output, &report, || render(&report))?;
    Ok(if report.thresholds.iter().all(|threshold| threshold.met) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Keeps an evenly spread part of the questions.
fn thin(set: &mut DataSet, limit: Option<u32>) {
    let Some(limit) = limit else { return };
    let step = set.questions.len().div_ceil(limit as usize).max(1);
    let mut index = 0;
    set.questions.retain(|_| {
        index += 1;
        (index - 1) % step == 0
    });
}

async fn evaluate_corpus(args: &EvalArgs, set: &DataSet, progress: &mut Lines) -> anyhow::Result<Report> {
    let embedding = match &args.embedding_model {
        None | Some(EmbeddingChoice::Encoder) => Embedding::Encoder,
        Some(EmbeddingChoice::Hashing) => Embedding::Hashing { dimensions: local::HASHING_DIMENSIONS },
        Some(EmbeddingChoice::None) => Embedding::None,
        Some(EmbeddingChoice::Remote(_)) => {
            let problem = Problem::new("a set's own corpus is measured with a local encoder");
            return Err(problem.fix("give encoder, hashing or none").into());
        }
    };
    let dense = embedding != Embedding::None;
    let scratch = Scratch::build(&set.corpus, args.profile.contract(embedding), progress).await?;
    let mut report = evaluate(args, set, &scratch, dense, progress).await?;
    if args.abstention {
        report.abstention = Some(measure_abstention(set, &scratch, progress).await?);
    }
    Ok(report)
}

async fn evaluate_folder(args: &EvalArgs, set: &mut DataSet, progress: &mut Lines) -> anyhow::Result<Report> {
    if let Some(service) = local::running(&args.place).await? {
        return evaluate_service(args, set, service, progress).await;
    }
    let Some(dir) = &args.place.dir else {
        let problem = Problem::new(format!("{} asks about a folder, and none is named", args.set.display()));
        return Err(problem.fix("name it with `--dir DIR`, or serve it with `groundwork up DIR`").into());
    };
    let scratch = tempfile::tempdir().context("failed to make a scratch folder")?;
    let setup = SetupArgs {
        dir: dir.clone(),
        data_dir: Some(scratch.path().to_owned()),
        embedding_model: args.embedding_model.clone(),
        ..SetupArgs::default()
    };
    let instance = Arc::new(local::ingest_scratch(&setup, "eval").await?);
    let service = Arc::clone(&instance) as Arc<dyn Service>;
    let report = evaluate_service(args, set, service, progress).await;
    instance.close().await;
    report
}

async fn evaluate_service(
    args: &EvalArgs,
    set: &mut DataSet,
    service: Arc<dyn Service>,
    progress: &mut Lines,
) -> anyhow::Result<Report> {
    let target = Running::new(service).await?;
    let note = labels::resolve(set, target.names())?;
    let mut report = evaluate(args, set, &target, true, progress).await?;
    report.notes.extend(note);
    Ok(report)
}

async fn evaluate(
    args: &EvalArgs,
    set: &DataSet,
    target: &dyn Target,
    dense: bool,
    progress: &mut Lines,
) -> anyhow::Result<Report> {
    let configurations: &[Configuration] = match (args.ablation, dense) {
        (_, false) => &[Configuration::KEYWORD],
        (false, true) => &[Configuration::HYBRID],
        (true, true) => {
            &[Configuration::KEYWORD, Configuration::DENSE, Configuration::HYBRID_RRF, Configuration::HYBRID]
        }
    };
    let mut runs = |tag: &str| run_file(args.run_files.as_deref(), &set.name, tag);
    let mut report = measure(set, target, configurations, &mut runs, progress).await?;
    let labelled = set
        .questions
        .iter()
        .any(|question| question.must_abstain || !question.answers.is_empty() || !question.facts.is_empty());
    if labelled && !args.no_answers {
        report.answers = Some(measure_answers(set, target, progress).await?);
    }
    Ok(report)
}

fn run_file(folder: Option<&Path>, set: &str, tag: &str) -> anyhow::Result<Option<RunFile>> {
    let Some(folder) = folder else { return Ok(None) };
    std::fs::create_dir_all(folder).with_context(|| format!("failed to create {}", folder.display()))?;
    let path = folder.join(format!("{set}.{tag}.run"));
    let file = File::create(&path).with_context(|| format!("failed to create {}", path.display()))?;
    Ok(Some(Box::new(BufWriter::new(file))))
}

fn write_file(path: Option<&Path>, text: impl FnOnce() -> String) -> anyhow::Result<()> {
    let Some(path) = path else { return Ok(()) };
    std::fs::write(path, text()).with_context(|| format!("failed to write {}", path.display()))
}

fn render(report: &Report) -> String {
    let mut table = Table::new(["configuration", "nDCG@10", "Recall@5", "Recall@10", "MRR", "MAP", "against baseline"]);
    for row in &report.rows {
        let against = row.against_baseline.map_or_else(String::new, |difference| {
            format!("{:+.3}, p {:.3}: {}", difference.ndcg, difference.p_value, difference.verdict.text())
        });
        let number = |value: f64| format!("{value:.3}");
        let metrics = &row.metrics;
        table.row([
            row.name.clone(),
            number(metrics.ndcg_at_10),
            number(metrics.recall_at_5),
            number(metrics.recall_at_10),
            number(metrics.mrr),
            number(metrics.map),
            against,
        ]);
    }
    let mut text = format!("{}: {} questions, {} documents\n\n", report.set, report.questions, report.documents);
    text.push_str(&table.render());
    text.push('\n');
    let answers = report.answers.iter().flat_map(|answers| answers.named());
    let abstention = report.abstention.iter().flat_map(|scores| scores.named());
    for (name, value) in answers.chain(abstention) {
        text.push_str(&format!("{name} {value:.3}\n"));
    }
    for threshold in &report.thresholds {
        let outcome = if threshold.met { "met" } else { "NOT MET" };
        text.push_str(&format!("threshold {} >= {}: {outcome}\n", threshold.metric, threshold.at_least));
    }
    for note in &report.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    text
}

/// Progress as lines on standard error, at most one a step and tenth.
struct Lines {
    silent: bool,
    last: (String, usize),
}

impl Lines {
    fn new(global: &Global) -> Self {
        Self { silent: global.quiet || global.output != OutputFormat::Table, last: (String::new(), 0) }
    }
}

impl Progress for Lines {
    fn advance(&mut self, step: &str, done: usize, total: usize) {
        let now = (step.to_owned(), done * 10 / total.max(1));
        if !self.silent && now != self.last {
            eprintln!("{step}: {done} of {total}");
            self.last = now;
        }
    }
}
