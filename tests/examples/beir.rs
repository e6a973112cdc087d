//! Writes the evaluation sets as BEIR folders, which `groundwork eval` reads: `beir FOLDER [SET...]`.

use anyhow::{Context, Result};
use groundwork_tests::datasets::{EVAL_DATA, SETS, eval_data, load};
use std::path::PathBuf;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().context("name the folder to write to")?);
    let named: Vec<String> = arguments.collect();
    let root = eval_data().with_context(|| format!("{EVAL_DATA} names no folder with the evaluation data"))?;
    for name in SETS.iter().filter(|set| named.is_empty() || named.iter().any(|name| name == *set)) {
        let target = folder.join(name);
        std::fs::create_dir_all(&target).with_context(|| format!("failed to create {}", target.display()))?;
        load(&root, name)?.write_beir(&target)?;
    }
    Ok(())
}
