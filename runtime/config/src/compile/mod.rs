//! Compilation from manifests to what the runtime reads: pure, equal input gives equal bytes. Every default is filled in
//! here and nowhere else.

mod defaults;
mod endpoint;
mod error;
mod knowledge_base;
mod numbers;
mod pipeline;
mod policy;
mod secret;
mod store;

pub use defaults::{default_for_folder, default_objects, name_for_folder};
pub use endpoint::check_endpoint;
pub use error::{Error, Place};
pub use knowledge_base::{compile_ingestion, default_data_id};
pub use policy::compile_policy;

use groundwork_crds::{AgentPipeline, KnowledgeBase, ModelEndpoint, ObjectMeta, ToolPolicy};
use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::RuntimeConfig;

/// The namespace of an object that names none.
pub const DEFAULT_NAMESPACE: &str = "default";

/// The objects of a set of manifests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Objects {
    /// Knowledge bases.
    pub knowledge_bases: Vec<KnowledgeBase>,
    /// Pipelines.
    pub pipelines: Vec<AgentPipeline>,
    /// Model endpoints.
    pub endpoints: Vec<ModelEndpoint>,
    /// Tool policies.
    pub policies: Vec<ToolPolicy>,
}

/// What compilation needs beside the manifests.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Name of the pipeline to run, as `NAME` or `NAMESPACE/NAME`; needed only where there are several.
    pub pipeline: Option<String>,
    /// The folders that stand for volumes.
    pub volumes: BTreeMap<Volume, PathBuf>,
    /// The folder of mounted Secrets: a key is the file `NAME/KEY` in it.
    pub secrets_dir: PathBuf,
}

/// What a folder stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Volume {
    /// Namespace of the knowledge base.
    pub namespace: String,
    /// Name of the knowledge base.
    pub knowledge_base: String,
    /// Name of the source, or of its claim; the source's is looked up first.
    pub name: String,
}

/// Compiles the one pipeline that is asked for, with the knowledge bases and endpoints it names. Without any
/// `AgentPipeline`, one with defaults over all knowledge bases is assumed.
pub fn compile(objects: &Objects, options: &Options) -> Result<RuntimeConfig, Error> {
    let manifest = pipeline::choose(objects, options.pipeline.as_deref())?;
    let mut endpoints = endpoint::Collected::new(objects, &options.secrets_dir);
    let knowledge_bases = pipeline::knowledge_bases(objects, &manifest)?
        .into_iter()
        .map(|base| knowledge_base::compile(base, options, &mut endpoints))
        .collect::<Result<_, _>>()?;
    let pipeline = pipeline::compile(&manifest, &mut endpoints)?;
    let endpoints = endpoints.into_endpoints();
    let chat = endpoints.iter().find(|one| pipeline.chat.as_deref() == Some(&one.name));
    let policy = policy::compile(objects, &manifest, chat)?;
    Ok(RuntimeConfig { knowledge_bases, pipeline, endpoints, policy })
}

/// Every reference of the set that names nothing in it, or something that may not be used so. A cluster may hold more
/// objects than one set of manifests, so these are findings and not yet errors.
pub fn unresolved_references(objects: &Objects) -> Vec<Error> {
    let of_pipelines = objects.pipelines.iter().flat_map(|one| pipeline::unresolved_references(objects, one));
    let of_bases = objects.knowledge_bases.iter().filter_map(|one| knowledge_base::unresolved_reference(objects, one));
    of_pipelines.chain(of_bases).collect()
}

fn namespace(metadata: &ObjectMeta) -> &str {
    metadata.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE)
}

fn name(metadata: &ObjectMeta) -> &str {
    metadata.name.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod leaf_tests;
#[cfg(test)]
mod tests;
