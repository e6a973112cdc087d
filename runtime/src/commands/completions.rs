use clap::CommandFactory;
use std::process::ExitCode;

use crate::cli::Cli;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  groundwork completions bash > ~/.local/share/bash-completion/completions/groundwork
  groundwork completions zsh  > ~/.zfunc/_groundwork
  groundwork completions fish > ~/.config/fish/completions/groundwork.fish";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

pub(crate) fn run(args: CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "groundwork", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
