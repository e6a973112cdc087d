//! What holds where there is no manifest.

use groundwork_crds::{
    AgentPipeline, AgentPipelineSpec, KnowledgeBase, KnowledgeBaseRef, KnowledgeBaseSpec, PersistentVolumeClaimSpec,
    SourceSpec, SourceType,
};
use std::collections::BTreeMap;
use std::path::Path;

use super::{DEFAULT_NAMESPACE, Objects, Options, Volume, compile};
use crate::RuntimeConfig;

/// Longest name of an object.
const NAME_LENGTH: usize = 40;
/// The name where a folder's own gives nothing.
const FALLBACK_NAME: &str = "documents";

/// What a folder without manifests means: one knowledge base named after it that reads it whole, and one pipeline, all
/// with defaults. `folder` is absolute.
pub fn default_for_folder(folder: &Path) -> RuntimeConfig {
    let name = name_for_folder(folder);
    let volume = Volume { namespace: DEFAULT_NAMESPACE.to_owned(), knowledge_base: name.clone(), name: name.clone() };
    let options = Options { volumes: BTreeMap::from([(volume, folder.to_owned())]), ..Options::default() };
    compile(&default_objects(&name), &options).expect("defaults compile")
}

/// The manifests of [`default_for_folder`], as short as they can be.
pub fn default_objects(name: &str) -> Objects {
    let source = SourceSpec {
        name: name.to_owned(),
        r#type: SourceType::PersistentVolumeClaim,
        inline: None,
        persistent_volume_claim: Some(PersistentVolumeClaimSpec { claim_name: name.to_owned(), path: None }),
        include: Vec::new(),
        exclude: Vec::new(),
    };
    let base = KnowledgeBaseSpec {
        data_id: None,
        sources: vec![source],
        metadata: None,
        chunking: None,
        keyword: None,
        embedding: None,
        sync: None,
        vector_store: None,
        rebuild: None,
        state: None,
        ingestion: None,
    };
    let knowledge_bases = vec![KnowledgeBaseRef { name: name.to_owned() }];
    let pipeline = AgentPipelineSpec {
        knowledge_bases,
        models: None,
        retrieval: None,
        tool_policy_ref: None,
        authentication: None,
        runtime: None,
        expose: None,
    };
    Objects {
        knowledge_bases: vec![KnowledgeBase::new(name, base)],
        pipelines: vec![AgentPipeline::new(name, pipeline)],
        endpoints: Vec::new(),
        policies: Vec::new(),
    }
}

/// The folder's name as the name of an object: lower case, everything but ASCII letters and digits a hyphen, at most 40
/// characters, beginning with a letter; `documents` where nothing is left.
pub fn name_for_folder(folder: &Path) -> String {
    let own = folder.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let plain: String = own.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '-' }).collect();
    let words: Vec<&str> = plain.split('-').filter(|word| !word.is_empty()).collect();
    let joined = words.join("-");
    let letter_first = match joined.chars().next() {
        None => FALLBACK_NAME.to_owned(),
        Some(first) if first.is_ascii_digit() => format!("kb-{joined}"),
        Some(_) => joined,
    };
    letter_first[..letter_first.len().min(NAME_LENGTH)].trim_end_matches('-').to_owned()
}
