use groundwork_crds::{
    ChunkingStrategySpec, EmbeddingSpec, EmbeddingType, InlineSpec, KnowledgeBase as Manifest, LanguageSpec,
    ModelEndpointEmbeddingSpec, ModelUse, PersistentVolumeClaimSpec, SourceSpec, SourceType,
};
use std::path::{Component, Path, PathBuf};
use uuid::Uuid;

use super::numbers::{whole, whole_or};
use super::{Error, Objects, Options, Place, Volume, endpoint, name, namespace, store};
use crate::{
    Chunking, ChunkingStrategy, Contract, Embedding, Ingestion, InlineDocument, Keyword, KnowledgeBase, Language,
    MetadataKeys, Source, SourceKind, SyncPolicy,
};

const DEFAULT_MAX_BATCH: u32 = 64;

/// The data id of a knowledge base that names none, where no cluster gives it a uid: uuid5 of `NAMESPACE/NAME` under the
/// uuid5 of the API group.
pub fn default_data_id(namespace: &str, name: &str) -> Uuid {
    let group = Uuid::new_v5(&Uuid::NAMESPACE_DNS, groundwork_crds::GROUP.as_bytes());
    Uuid::new_v5(&group, format!("{namespace}/{name}").as_bytes())
}

pub(super) fn compile(
    manifest: &Manifest,
    options: &Options,
    endpoints: &mut endpoint::Collected<'_>,
) -> Result<KnowledgeBase, Error> {
    let sources = manifest.spec.sources.iter().enumerate();
    Ok(KnowledgeBase {
        name: name(&manifest.metadata).to_owned(),
        data_id: data_id(manifest)?,
        sources: sources.map(|(index, spec)| source(manifest, index, spec, options)).collect::<Result<_, _>>()?,
        metadata: metadata(manifest),
        contract: Contract {
            chunking: chunking(manifest)?,
            keyword: keyword(manifest),
            embedding: embedding(manifest, endpoints)?,
            ..Contract::default()
        },
        sync: sync(manifest)?,
        store: store::compile(manifest.spec.vector_store.as_ref(), &options.secrets_dir, |field| {
            place(manifest, &format!("vectorStore.{field}"))
        })?,
    })
}

/// What an ingestion of one knowledge base reads, with the endpoints of its namespace among `objects`.
///
/// # Errors
/// A reference that does not hold, a volume that no folder stands for, or a value that the schema or a rule would have
/// refused.
pub fn compile_ingestion(manifest: &Manifest, objects: &Objects, options: &Options) -> Result<Ingestion, Error> {
    let mut endpoints = endpoint::Collected::new(objects, &options.secrets_dir);
    let knowledge_base = compile(manifest, options, &mut endpoints)?;
    Ok(Ingestion { knowledge_base, endpoints: endpoints.into_endpoints() })
}

/// The embedding's reference, if it does not hold.
pub(super) fn unresolved_reference(objects: &Objects, manifest: &Manifest) -> Option<Error> {
    let endpoint = manifest.spec.embedding.as_ref()?.model_endpoint.as_ref()?;
    let place = place(manifest, "embedding.modelEndpoint.name");
    endpoint::resolve(objects, place, &endpoint.name, ModelUse::Embeddings).err()
}

fn data_id(manifest: &Manifest) -> Result<Uuid, Error> {
    let metadata = &manifest.metadata;
    let Some(text) = manifest.spec.data_id.as_ref().or(metadata.uid.as_ref()) else {
        return Ok(default_data_id(namespace(metadata), name(metadata)));
    };
    Uuid::parse_str(text).map_err(|_| Error::Value {
        place: place(manifest, "dataId"),
        value: text.clone(),
        expected: "it must be a UUID".to_owned(),
    })
}

fn source(manifest: &Manifest, index: usize, spec: &SourceSpec, options: &Options) -> Result<Source, Error> {
    let at = |field: &str| place(manifest, &format!("sources[{index}].{field}"));
    let kind = match (spec.r#type, &spec.inline, &spec.persistent_volume_claim) {
        (SourceType::Inline, Some(inline), _) => inline_documents(inline),
        (SourceType::Inline, None, _) => return Err(Error::Missing { place: at("inline") }),
        (SourceType::PersistentVolumeClaim, _, Some(claim)) => {
            folder(manifest, at("persistentVolumeClaim"), &spec.name, claim, options)?
        }
        (SourceType::PersistentVolumeClaim, _, None) => {
            return Err(Error::Missing { place: at("persistentVolumeClaim") });
        }
    };
    Ok(Source { name: spec.name.clone(), kind, include: spec.include.clone(), exclude: spec.exclude.clone() })
}

fn inline_documents(inline: &InlineSpec) -> SourceKind {
    let documents = inline.documents.iter();
    let document = |one: &groundwork_crds::InlineDocumentSpec| InlineDocument {
        path: one.path.clone(),
        content: one.content.clone(),
    };
    SourceKind::Inline { documents: documents.map(document).collect() }
}

fn folder(
    manifest: &Manifest,
    place: Box<Place>,
    source_name: &str,
    claim: &PersistentVolumeClaimSpec,
    options: &Options,
) -> Result<SourceKind, Error> {
    let volume = |volume_name: &str| {
        options.volumes.get(&Volume {
            namespace: namespace(&manifest.metadata).to_owned(),
            knowledge_base: name(&manifest.metadata).to_owned(),
            name: volume_name.to_owned(),
        })
    };
    let Some(root) = volume(source_name).or_else(|| volume(&claim.claim_name)) else {
        return Err(Error::VolumeMissing { place, source_name: source_name.to_owned() });
    };
    let path = claim.path.as_deref().map_or(Ok(root.clone()), |path| inside(*place, root, path))?;
    Ok(SourceKind::Folder { path })
}

/// A folder inside a volume; a path that would leave it is refused even where no rule ran before.
fn inside(place: Place, root: &Path, path: &str) -> Result<PathBuf, Error> {
    if Path::new(path).components().all(|component| matches!(component, Component::Normal(_))) {
        return Ok(root.join(path));
    }
    let place = Box::new(Place { field: format!("{}.path", place.field), ..place });
    Err(Error::Value { place, value: path.to_owned(), expected: "it must be a relative path without ..".to_owned() })
}

fn metadata(manifest: &Manifest) -> MetadataKeys {
    let spec = manifest.spec.metadata.clone().unwrap_or_default();
    let default = MetadataKeys::default();
    MetadataKeys {
        title: spec.title_key.unwrap_or(default.title),
        date: spec.date_key.unwrap_or(default.date),
        tags: spec.tags_key.unwrap_or(default.tags),
    }
}

fn chunking(manifest: &Manifest) -> Result<Chunking, Error> {
    let spec = manifest.spec.chunking.clone().unwrap_or_default();
    let at = |field: &str| place(manifest, &format!("chunking.{field}"));
    let default = Chunking::default();
    Ok(Chunking {
        strategy: match spec.strategy {
            None => default.strategy,
            Some(ChunkingStrategySpec::Structural) => ChunkingStrategy::Structural,
            Some(ChunkingStrategySpec::Fixed) => ChunkingStrategy::Fixed,
        },
        parent_tokens: whole_or(at("parentTokens"), spec.parent_tokens, default.parent_tokens)?,
        child_tokens: whole_or(at("childTokens"), spec.child_tokens, default.child_tokens)?,
        overlap_tokens: whole_or(at("overlapTokens"), spec.overlap_tokens, default.overlap_tokens)?,
    })
}

fn keyword(manifest: &Manifest) -> Keyword {
    let spec = manifest.spec.keyword.clone().unwrap_or_default();
    let default = Keyword::default();
    Keyword {
        language: spec.language.map_or(default.language, language),
        fold_identifiers: spec.fold_identifiers.unwrap_or(default.fold_identifiers),
    }
}

fn language(language: LanguageSpec) -> Language {
    match language {
        LanguageSpec::English => Language::English,
        LanguageSpec::German => Language::German,
        LanguageSpec::French => Language::French,
        LanguageSpec::Spanish => Language::Spanish,
        LanguageSpec::Italian => Language::Italian,
        LanguageSpec::Portuguese => Language::Portuguese,
        LanguageSpec::Dutch => Language::Dutch,
        LanguageSpec::Swedish => Language::Swedish,
        LanguageSpec::Norwegian => Language::Norwegian,
        LanguageSpec::Danish => Language::Danish,
        LanguageSpec::Finnish => Language::Finnish,
        LanguageSpec::Russian => Language::Russian,
    }
}

fn embedding(manifest: &Manifest, endpoints: &mut endpoint::Collected<'_>) -> Result<Embedding, Error> {
    let Some(spec) = &manifest.spec.embedding else { return Ok(Contract::default().embedding) };
    let at = |field: &str| place(manifest, &format!("embedding.{field}"));
    let EmbeddingSpec { r#type, hashing, model_endpoint } = spec;
    match (r#type, hashing, model_endpoint) {
        (EmbeddingType::None, ..) => Ok(Embedding::None),
        (EmbeddingType::Encoder, ..) => Ok(Embedding::Encoder),
        (EmbeddingType::Hashing, Some(hashing), _) => {
            Ok(Embedding::Hashing { dimensions: whole(at("hashing.dimensions"), hashing.dimensions)? })
        }
        (EmbeddingType::Hashing, None, _) => Err(Error::Missing { place: at("hashing") }),
        (EmbeddingType::ModelEndpoint, _, Some(spec)) => remote(manifest, spec, endpoints),
        (EmbeddingType::ModelEndpoint, _, None) => Err(Error::Missing { place: at("modelEndpoint") }),
    }
}

fn remote(
    manifest: &Manifest,
    spec: &ModelEndpointEmbeddingSpec,
    endpoints: &mut endpoint::Collected<'_>,
) -> Result<Embedding, Error> {
    let at = |field: &str| place(manifest, &format!("embedding.modelEndpoint.{field}"));
    let endpoint = endpoints.named(at("name"), &spec.name, ModelUse::Embeddings)?;
    Ok(Embedding::Endpoint {
        endpoint: endpoint.name.clone(),
        model: endpoint.model.clone(),
        dimensions: whole(at("dimensions"), spec.dimensions)?,
        query_prefix: spec.query_prefix.clone().unwrap_or_default(),
        passage_prefix: spec.passage_prefix.clone().unwrap_or_default(),
        max_batch: whole_or(at("maxBatch"), spec.max_batch, DEFAULT_MAX_BATCH)?,
    })
}

fn sync(manifest: &Manifest) -> Result<SyncPolicy, Error> {
    let percent = manifest.spec.sync.as_ref().and_then(|sync| sync.max_delete_percent);
    let default = SyncPolicy::default().max_delete_percent;
    Ok(SyncPolicy { max_delete_percent: whole_or(place(manifest, "sync.maxDeletePercent"), percent, default)? })
}

fn place(manifest: &Manifest, field: &str) -> Box<Place> {
    Box::new(Place {
        kind: "KnowledgeBase",
        namespace: namespace(&manifest.metadata).to_owned(),
        name: name(&manifest.metadata).to_owned(),
        field: format!("spec.{field}"),
    })
}
