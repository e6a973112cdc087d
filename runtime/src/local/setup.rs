//! From a folder and flags to what an instance is opened with.

use groundwork_config::{Embedding, Endpoint, EndpointUse, KnowledgeBase, RuntimeConfig, Source, SourceKind};
use groundwork_knowledge::source::{ListedFile, Listing, Origin};
use std::path::{Path, PathBuf};

use super::data::{DataFolder, Record, canonical_folder};
use super::models::{EmbeddingChoice, RemoteModel};
use super::{chat, probe};
use crate::manifests::{self, CompileOptions, ManifestError};
use crate::output::Problem;

/// Name of the endpoint that `--chat-model` makes.
const CHAT_ENDPOINT: &str = "chat-model";
/// Name of the endpoint that `--embedding-model` makes.
const EMBEDDING_ENDPOINT: &str = "embedding-model";

/// Which folder, and how it is read.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct SetupArgs {
    /// The folder.
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Which AgentPipeline of the manifests; needed only where there are several.
    #[arg(long, value_name = "NAME", help_heading = "Manifests")]
    pub(crate) pipeline: Option<String>,
    /// The folder that stands for a source of the manifests; repeat it for more. Without it, the folder named like the
    /// source beside the manifest.
    #[arg(long = "source", value_name = "NAME=PATH", value_parser = named_path, help_heading = "Manifests")]
    pub(crate) sources: Vec<(String, PathBuf)>,
    /// Where the index lies; without it in your data directory, by the folder's path.
    #[arg(long, value_name = "DIR", env = "GROUNDWORK_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Chat model that writes answers: URL#MODEL, ollama/NAME or openai/NAME. Without one, answers quote the documents.
    #[arg(long, value_name = "MODEL", help_heading = "Models")]
    pub(crate) chat_model: Option<RemoteModel>,
    /// What makes vectors: encoder (in this program, English), hashing (any language, rough), none, URL#MODEL,
    /// ollama/NAME or openai/NAME. Another choice builds the index anew beside the old one.
    #[arg(long, value_name = "MODEL", help_heading = "Models")]
    pub(crate) embedding_model: Option<EmbeddingChoice>,
    /// File with the key for models given as URL#MODEL or openai/NAME; openai/NAME takes OPENAI_API_KEY without it.
    #[arg(long, value_name = "FILE", help_heading = "Models")]
    pub(crate) api_key_file: Option<PathBuf>,
}

fn named_path(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok((name.to_owned(), PathBuf::from(path))),
        _ => Err("write NAME=PATH, such as handbook=./handbook".to_owned()),
    }
}

/// What an instance is opened with.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// The canonical folder.
    pub(crate) folder: PathBuf,
    /// Where its index lies.
    pub(crate) data: DataFolder,
    /// What it serves.
    pub(crate) config: RuntimeConfig,
    /// What a person should know first, one line each.
    notes: Vec<String>,
}

impl Setup {
    /// Reads the folder's manifests, or takes the defaults, and applies the flags.
    pub(super) async fn resolve(args: &SetupArgs, folder: PathBuf, data: DataFolder) -> Result<Self, Problem> {
        data.refuse_other(&folder)?;
        let (mut config, notes) = compiled(args, &folder)?;
        let key = args.api_key_file.as_deref().map(readable_key).transpose()?;
        if let Some(model) = &args.chat_model {
            let endpoint = model.endpoint(CHAT_ENDPOINT, EndpointUse::Chat, key.clone());
            config.pipeline.chat = Some(endpoint.name.clone());
            replace(&mut config.endpoints, endpoint);
        }
        if let Some(choice) = &args.embedding_model {
            embed_with(&mut config, choice, key, &data).await?;
        }
        chat::check_key(&config)?;
        Ok(Self { folder, data, config, notes })
    }

    /// The first lines: which folder, which manifests, where the index lies.
    pub(crate) fn summary(&self) -> String {
        let mut text = format!("{} (index in {})\n", self.folder.display(), self.data.path().display());
        for note in &self.notes {
            text.push_str(&format!("{note}\n"));
        }
        text
    }

    /// The command that lets a chat model write the answers.
    pub(crate) fn command_with_chat(&self, model: &str) -> String {
        format!("groundwork up {} --chat-model ollama/{model}", quoted(&self.folder))
    }

    pub(super) fn record(&self) -> Record {
        Record::new(&self.folder, self.config.clone())
    }
}

/// The folder as a shell reads it.
fn quoted(folder: &Path) -> String {
    let text = folder.display().to_string();
    let plain = text.chars().all(|c| c.is_alphanumeric() || "/._-~".contains(c));
    if plain { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// The configuration that the folder's manifests say, or the default one, and what to tell of it.
fn compiled(args: &SetupArgs, folder: &Path) -> Result<(RuntimeConfig, Vec<String>), Problem> {
    let files = manifests::find_manifests(folder).map_err(|error| {
        Problem::new(format!("failed to list the folder {}", folder.display()))
            .because(error)
            .fix("check that you may read it")
    })?;
    if files.is_empty() {
        return without_manifests(args, folder);
    }
    let failed = |errors: &[ManifestError]| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Problem::new("failed to use the manifests").because(lines.join("\n    "))
    };
    let loaded = manifests::load(&files).map_err(|errors| failed(&errors))?;
    let options = CompileOptions {
        pipeline: args.pipeline.as_deref(),
        source_paths: &args.sources.iter().cloned().collect(),
        secrets_dir: &secrets_dir(),
    };
    let config = loaded.compile(&options).map_err(|error| failed(&[error]))?;
    let names: Vec<String> = files.iter().map(|file| relative(file, folder)).collect();
    let mut notes = vec![format!("manifests: {}", names.join(", "))];
    notes.extend(outside(&config, folder, &files));
    Ok((config, notes))
}

fn without_manifests(args: &SetupArgs, folder: &Path) -> Result<(RuntimeConfig, Vec<String>), Problem> {
    let flag = match (&args.pipeline, args.sources.first()) {
        (Some(name), _) => format!("--pipeline {name}"),
        (None, Some((name, path))) => format!("--source {name}={}", path.display()),
        (None, None) => {
            let note = "no manifests: everything in the folder is one knowledge base (`groundwork init` writes them)";
            return Ok((groundwork_config::compile::default_for_folder(folder), vec![note.to_owned()]));
        }
    };
    Err(Problem::new(format!("failed to apply {flag}"))
        .because(format!("{} holds no manifests", folder.display()))
        .fix("leave the flag out, or let `groundwork init` write manifests first"))
}

/// Where a manifest's Secrets are looked up: a key is the file `NAME/KEY` in it. Not in the folder of the documents.
fn secrets_dir() -> PathBuf {
    dirs::config_dir().unwrap_or_default().join("groundwork").join("secrets")
}

fn relative(file: &Path, folder: &Path) -> String {
    file.strip_prefix(folder).unwrap_or(file).display().to_string()
}

/// How many documents of the folder no source reads.
fn outside(config: &RuntimeConfig, folder: &Path, manifests: &[PathBuf]) -> Option<String> {
    let sources: Vec<&Path> =
        config.knowledge_bases.iter().flat_map(|base| &base.sources).filter_map(folder_of).collect();
    let kind = SourceKind::Folder { path: folder.to_owned() };
    let whole = Source { name: String::new(), kind, include: Vec::new(), exclude: Vec::new() };
    let left_out = |file: &&ListedFile| match &file.origin {
        Origin::File(path) => !sources.iter().any(|source| path.starts_with(source)) && !manifests.contains(path),
        Origin::Inline(_) => false,
    };
    // Nothing is read, only listed: first bytes do not matter for a count.
    let count = Listing::of(&whole, &|_, _| true).files.iter().filter(left_out).count() as u64;
    (count > 0).then(|| format!("{} beside the sources are not read", crate::output::count(count, "file")))
}

fn folder_of(source: &Source) -> Option<&Path> {
    match &source.kind {
        SourceKind::Folder { path } => Some(path),
        SourceKind::Inline { .. } => None,
    }
}

fn readable_key(file: &Path) -> Result<PathBuf, Problem> {
    let failed = || Problem::new(format!("failed to read the key file {}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| failed().because(error))?;
    if text.trim().is_empty() {
        return Err(failed().because("it is empty"));
    }
    file.canonicalize().map_err(|error| failed().because(error))
}

fn replace(endpoints: &mut Vec<Endpoint>, endpoint: Endpoint) {
    endpoints.retain(|other| other.name != endpoint.name);
    endpoints.push(endpoint);
}

async fn embed_with(
    config: &mut RuntimeConfig,
    choice: &EmbeddingChoice,
    key: Option<PathBuf>,
    data: &DataFolder,
) -> Result<(), Problem> {
    let embedding = match choice {
        EmbeddingChoice::None => Embedding::None,
        EmbeddingChoice::Encoder => Embedding::Encoder,
        EmbeddingChoice::Hashing => Embedding::Hashing { dimensions: super::models::HASHING_DIMENSIONS },
        EmbeddingChoice::Remote(model) => {
            let endpoint = model.endpoint(EMBEDDING_ENDPOINT, EndpointUse::Embeddings, key);
            chat::check_endpoint_key(&endpoint)?;
            let dimensions = match known_dimensions(data, &endpoint) {
                Some(dimensions) => dimensions,
                None => probe::dimensions(&endpoint).await?,
            };
            let embedding = model.embedding(&endpoint.name, dimensions);
            replace(&mut config.endpoints, endpoint);
            embedding
        }
    };
    for base in &mut config.knowledge_bases {
        base.contract.embedding = embedding.clone();
    }
    Ok(())
}

/// The length of this endpoint's vectors as an earlier run found it, so that starting needs no answer of the model.
fn known_dimensions(data: &DataFolder, endpoint: &Endpoint) -> Option<u32> {
    let record = data.record().ok()?;
    let same = record.config.endpoint(&endpoint.name)?;
    let known = same.base_url == endpoint.base_url && same.model == endpoint.model;
    record.config.knowledge_bases.iter().filter(|_| known).find_map(|base| match &base.contract.embedding {
        Embedding::Endpoint { endpoint: name, dimensions, .. } if *name == endpoint.name => Some(*dimensions),
        _ => None,
    })
}

/// The folder and its data folder, before anything is read.
pub(super) fn place(args: &SetupArgs) -> Result<(PathBuf, DataFolder), Problem> {
    let folder = canonical_folder(&args.dir)?;
    let data = match &args.data_dir {
        Some(path) => DataFolder::at(std::path::absolute(path).unwrap_or_else(|_| path.clone())),
        None => DataFolder::of(&folder)?,
    };
    Ok((folder, data))
}

/// Refuses a data folder among the documents: each sync would read what the one before wrote, without end.
pub(super) fn refuse_data_among_documents(args: &SetupArgs, folder: &Path, data: &DataFolder) -> Result<(), Problem> {
    let (config, _) = compiled(args, folder)?;
    apart(&config.knowledge_bases, data.path())
}

/// Refuses a data folder that lies among the documents of a knowledge base.
pub(super) fn apart(knowledge_bases: &[KnowledgeBase], data: &Path) -> Result<(), Problem> {
    let data = resolved(data);
    let hidden = |rest: &Path| rest.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."));
    let sources = knowledge_bases.iter().flat_map(|base| &base.sources).filter_map(folder_of).map(resolved);
    // A hidden folder is not read, so the index may lie in one.
    let around = sources.into_iter().find(|source| data.strip_prefix(source).is_ok_and(|rest| !hidden(rest)));
    around.map_or(Ok(()), |source| {
        Err(Problem::new(format!("failed to use the data folder {}", data.display()))
            .because(format!("it lies among the documents of {}", source.display()))
            .fix("name one elsewhere with `--data-dir PATH`, or leave it out"))
    })
}

/// The path without links, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|start| Some((start, start.canonicalize().ok()?)));
    match existing {
        // Joining an empty rest would put a slash at the end.
        Some((start, canonical)) if start == path => canonical,
        Some((start, canonical)) => canonical.join(path.strip_prefix(start).unwrap_or(Path::new(""))),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_a_name_and_a_path() {
        assert_eq!(named_path("handbook=./a=b"), Ok(("handbook".to_owned(), PathBuf::from("./a=b"))));
        for wrong in ["handbook", "=path", "handbook=", ""] {
            assert!(named_path(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn folders_are_quoted_for_the_shell() {
        assert_eq!(quoted(Path::new("/home/me/docs")), "/home/me/docs");
        assert_eq!(quoted(Path::new("/home/me/my docs")), "'/home/me/my docs'");
        assert_eq!(quoted(Path::new("/it's")), r"'/it'\''s'");
    }
}
