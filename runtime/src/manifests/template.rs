//! The manifests that say what a folder without manifests means.

use groundwork_config::{Chunking, MetadataKeys, Retrieval, SyncPolicy};

use super::volumes::FOLDER_ANNOTATION;

/// Manifests for the folder in which they are written, every default spelled out. Compiled, they equal what the folder
/// means without them.
pub(crate) fn default_manifests(name: &str) -> String {
    format!("{}---\n{}", knowledge_base(name), pipeline(name))
}

fn knowledge_base(name: &str) -> String {
    let Chunking { parent_tokens, child_tokens, overlap_tokens, .. } = Chunking::default();
    let MetadataKeys { title, date, tags } = MetadataKeys::default();
    let percent = SyncPolicy::default().max_delete_percent;
    format!(
        "\
# What is read, and how it is cut and indexed. Every value below is the default: what you delete stays as it is.
# `groundwork validate -f .` checks this file; docs/api.md explains every field.
apiVersion: groundwork.dev/v1alpha1
kind: KnowledgeBase
metadata:
  name: {name}
  annotations:
    # On this machine the source {name} is the folder of this file; in a cluster it is the volume claimed below.
    {FOLDER_ANNOTATION}{name}: .
spec:
  sources:
    - name: {name}
      type: PersistentVolumeClaim
      persistentVolumeClaim:
        claimName: {name}
      # include: [\"policies/**\", \"*.md\"]   # globs as in .gitignore; without any, everything is read
      # exclude: [\"drafts/**\"]
  metadata:
    titleKey: {title}
    dateKey: {date}
    tagsKey: {tags}
  chunking:
    strategy: Structural
    parentTokens: {parent_tokens}
    childTokens: {child_tokens}
    overlapTokens: {overlap_tokens}
  keyword:
    language: English
    foldIdentifiers: true
  embedding:
    type: Encoder   # for other languages than English: Hashing, ModelEndpoint or None
  sync:
    maxDeletePercent: {percent}
"
    )
}

fn pipeline(name: &str) -> String {
    let Retrieval { candidates, top_k, token_budget, .. } = Retrieval::default();
    format!(
        "\
# How questions are answered. Without `models`, answers are quotes from the documents.
apiVersion: groundwork.dev/v1alpha1
kind: AgentPipeline
metadata:
  name: {name}
spec:
  knowledgeBases:
    - name: {name}
  retrieval:
    mode: Hybrid
    candidates: {candidates}
    topK: {top_k}
    tokenBudget: {token_budget}
    fusion:
      type: RelativeScore
"
    )
}
