use groundwork_knowledge::store::Principal;
use std::fmt::Write;
use std::process::ExitCode;
use std::time::Duration;

use crate::cli::{FilterArgs, Global, PlaceArgs};
use crate::local;
use crate::output::{self, Style, Table};
use crate::wire::{Arm, Mode, SearchHit, SearchRequest, SearchResponse};

const EXAMPLES: &str = "\
Examples:
  groundwork search \"late fee\"
  groundwork search --mode keyword --top-k 20 --tag policy notice period
  groundwork search --explain --from 2024-01-01 \"late fee\"
  groundwork search -o json \"late fee\" | jq -r '.hits[] | [.rank, .document] | @tsv'";

/// Characters of a passage that a hit shows.
const EXCERPT: usize = 240;

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SearchArgs {
    /// What to look for; several words need no quotation marks.
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,
    /// Which arms search; the pipeline's mode where left out.
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// Passages shown (1 to 100).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    top_k: Option<u32>,
    /// Show each arm's rank and score of every hit, the arms' weights and times.
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(crate) async fn run(args: SearchArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let service = local::open_for_reading(&args.place, "search").await?;
    let request =
        SearchRequest { query: args.query.join(" "), mode: args.mode, top_k: args.top_k, filter: args.filter.into() };
    let found = service.search(&Principal::local(), request).await?;
    let style = output::stdout_style();
    output::result(global.output, &found, || {
        let mut text = found.hits.iter().map(|hit| render_hit(hit, style)).collect::<String>();
        if args.explain {
            text.push_str(&explain(&found, style));
        }
        if !global.quiet {
            text.push_str(&footer(&found, style));
        }
        text
    })?;
    Ok(ExitCode::SUCCESS)
}

fn render_hit(hit: &SearchHit, style: Style) -> String {
    let mut text = format!("{} {}", style.bold(&format!("{}.", hit.rank)), hit.excerpt.place());
    let _ = writeln!(text, " {}", style.dim(&format!("{:.3}", hit.score)));
    let _ = writeln!(text, "   {}\n", excerpt(&hit.excerpt.quote));
    text
}

/// The text on one line, cut at a word.
fn excerpt(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        let word: String = word.chars().take(EXCERPT).collect();
        if line.chars().count() + word.chars().count() > EXCERPT {
            line.push_str(" …");
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    line
}

fn explain(found: &SearchResponse, style: Style) -> String {
    let mut hits = Table::new(["rank", "score", "keyword rank", "BM25", "vector rank", "cosine", "document"]);
    for hit in &found.hits {
        let arm = |name: &str| hit.arms.iter().find(|arm| arm.arm == name);
        let rank = |name| arm(name).map_or_else(|| "-".to_owned(), |arm| arm.rank.to_string());
        let score = |name| arm(name).map_or_else(|| "-".to_owned(), |arm| format!("{:.3}", arm.score));
        hits.row([
            hit.rank.to_string(),
            format!("{:.4}", hit.score),
            rank("keyword"),
            score("keyword"),
            rank("vector"),
            score("vector"),
            format!("{}, {}", hit.excerpt.document, hit.excerpt.locator),
        ]);
    }
    let mut arms = Table::new(["knowledge base", "arm", "weight", "passages", "time"]);
    for arm in &found.arms {
        let name = match arm.arm {
            Arm::Keyword => "keyword",
            Arm::Vector => "vector",
        };
        let time = format!("{:.1} ms", arm.elapsed_ms);
        arms.row([
            arm.knowledge_base.clone(),
            name.into(),
            format!("{:.2}", arm.weight),
            arm.passages.to_string(),
            time,
        ]);
    }
    format!(
        "{}\n{}\n{}\n{}\n",
        style.bold("How each arm saw the hits"),
        hits.render(),
        style.bold("The arms"),
        arms.render()
    )
}

fn footer(found: &SearchResponse, style: Style) -> String {
    let mut text = String::new();
    for note in &found.notes {
        let _ = writeln!(text, "{} {note}", style.warn("note:"));
    }
    let passages = output::count(found.hits.len() as u64, "passage");
    let documents = output::count(found.documents_searched, "document");
    let elapsed = output::duration(Duration::from_secs_f64(found.elapsed_ms / 1000.0));
    let _ = writeln!(text, "{}", style.dim(&format!("{passages} of {documents} in {elapsed}")));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_line_cut_at_a_word() {
        assert_eq!(excerpt("one\n  two\tthree"), "one two three");
        let long = excerpt(&"word ".repeat(100));
        assert!(long.ends_with("word …") && long.chars().count() <= EXCERPT + 2, "{long}");
    }
}
