use anyhow::{Context, bail};
use groundwork_config::compile::name_for_folder;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::cli::Global;
use crate::manifests::{default_manifests, find_manifests};

const FILE_NAME: &str = "groundwork.yaml";

#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    /// The folder of documents.
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
}

pub(crate) async fn run(args: InitArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let file = write(&args.folder)?;
    if !global.quiet {
        println!("wrote {}: it says what `groundwork up` does without it.", file.display());
        println!("next: change it, check it with `groundwork validate -f {}`,", quoted(&file));
        println!("      then run `groundwork up {}`.", quoted(&args.folder));
    }
    Ok(ExitCode::SUCCESS)
}

/// The path as a shell reads it back.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |one: char| one.is_alphanumeric() || "/._-+".contains(one);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Writes the manifests; never over something that is there.
fn write(folder: &Path) -> anyhow::Result<PathBuf> {
    let absolute = folder.canonicalize().with_context(|| format!("failed to open the folder {}", folder.display()))?;
    let present = find_manifests(&absolute).with_context(|| format!("failed to list {}", folder.display()))?;
    if let Some(present) = present.first() {
        bail!("{} is there already: change it, or remove it first", present.display());
    }
    let file = folder.join(FILE_NAME);
    let text = default_manifests(&name_for_folder(&absolute));
    let mut open = OpenOptions::new().write(true).create_new(true).open(&file).with_context(|| {
        format!("failed to create {}: if it is there already, rename or remove it first", file.display())
    })?;
    open.write_all(text.as_bytes()).with_context(|| format!("failed to write {}", file.display()))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use groundwork_config::compile::default_for_folder;
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::{quoted, write};
    use crate::manifests::{CompileOptions, load};

    #[test]
    fn written_manifests_mean_what_the_folder_means_without_them() {
        let parent = tempfile::tempdir().unwrap();
        for name in ["Team Handbook", "2024", "手册"] {
            let folder = parent.path().join(name);
            // A folder of the same name inside must not be taken for the source.
            std::fs::create_dir_all(folder.join("team-handbook")).unwrap();
            let file = write(&folder).unwrap();
            let nothing = BTreeMap::new();
            let options = CompileOptions { pipeline: None, source_paths: &nothing, secrets_dir: Path::new("") };
            let compiled = load(&[file]).unwrap().compile(&options).unwrap();
            assert_eq!(compiled, default_for_folder(&folder.canonicalize().unwrap()), "{name}");
        }
    }

    #[test]
    fn printed_commands_can_be_pasted() {
        assert_eq!(quoted(Path::new("./docs/手册")), "./docs/手册");
        assert_eq!(quoted(Path::new("My Docs/it's")), r"'My Docs/it'\''s'");
    }

    #[test]
    fn nothing_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let file = write(folder.path()).unwrap();
        let before = std::fs::read(&file).unwrap();
        assert!(write(folder.path()).unwrap_err().to_string().contains("is there already"));
        std::fs::write(&file, "a: list of things\n").unwrap();
        assert!(format!("{:#}", write(folder.path()).unwrap_err()).contains("rename or remove it first"));
        assert_ne!(std::fs::read(&file).unwrap(), before);
        assert_eq!(std::fs::read(&file).unwrap(), b"a: list of things\n");
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = write(Path::new("/no/such/folder")).unwrap_err();
        assert!(format!("{error:#}").starts_with("failed to open the folder /no/such/folder: "));
    }
}
