use groundwork_crds::{
    AgentPipeline, AgentPipelineSpec, ChatModelRef, FusionSpec, FusionType, KnowledgeBase, KnowledgeBaseRef, ModelUse,
    RetrievalModeSpec, RetrievalSpec, WeightsSpec,
};
use std::borrow::Cow;

use super::numbers::{decimal, whole, whole_or};
use super::{Error, Objects, Place, endpoint, name, namespace, policy};
use crate::{ArmWeights, Fusion, Pipeline, Retrieval, RetrievalMode};

/// Places of a temperature: it is kept in thousandths.
const TEMPERATURE_PLACES: usize = 3;
const MAX_TEMPERATURE_MILLI: u64 = 2000;
const DEFAULT_RRF_K: u32 = 60;
const MILLI_PER_PERCENT: u32 = 10;

/// The pipeline to run: the one asked for, the only one, or one with defaults.
pub(super) fn choose<'a>(objects: &'a Objects, wanted: Option<&str>) -> Result<Cow<'a, AgentPipeline>, Error> {
    let names = || objects.pipelines.iter().map(|one| name(&one.metadata).to_owned()).collect();
    let is = |one: &&AgentPipeline, wanted: &str| {
        let (own, space) = (name(&one.metadata), namespace(&one.metadata));
        wanted.split_once('/').map_or(own == wanted, |(outer, inner)| outer == space && inner == own)
    };
    let candidates: Vec<&AgentPipeline> =
        objects.pipelines.iter().filter(|one| wanted.is_none_or(|wanted| is(one, wanted))).collect();
    match (candidates.as_slice(), wanted) {
        ([only], _) => Ok(Cow::Borrowed(*only)),
        ([], Some(wanted)) => Err(Error::UnknownPipeline { name: wanted.to_owned(), names: names() }),
        ([], None) => over_all(objects).map(Cow::Owned),
        (several, _) => {
            let full = |one: &&AgentPipeline| format!("{}/{}", namespace(&one.metadata), name(&one.metadata));
            let plain = |one: &&AgentPipeline| name(&one.metadata).to_owned();
            let named = several.iter().map(|one| if wanted.is_some() { full(one) } else { plain(one) });
            Err(Error::SeveralPipelines { names: named.collect() })
        }
    }
}

/// A pipeline with defaults over all knowledge bases of the first one's namespace, named like the first.
fn over_all(objects: &Objects) -> Result<AgentPipeline, Error> {
    let first = objects.knowledge_bases.first().ok_or(Error::NoKnowledgeBase)?;
    let space = namespace(&first.metadata);
    let same = objects.knowledge_bases.iter().filter(|one| namespace(&one.metadata) == space);
    let knowledge_bases = same.map(|one| KnowledgeBaseRef { name: name(&one.metadata).to_owned() }).collect();
    let spec = AgentPipelineSpec {
        knowledge_bases,
        models: None,
        retrieval: None,
        tool_policy_ref: None,
        authentication: None,
        runtime: None,
        expose: None,
    };
    let mut pipeline = AgentPipeline::new(name(&first.metadata), spec);
    pipeline.metadata.namespace = first.metadata.namespace.clone();
    Ok(pipeline)
}

/// The knowledge bases that a pipeline names, in its order.
pub(super) fn knowledge_bases<'a>(
    objects: &'a Objects,
    pipeline: &AgentPipeline,
) -> Result<Vec<&'a KnowledgeBase>, Error> {
    references(objects, pipeline).collect()
}

fn references<'a>(
    objects: &'a Objects,
    pipeline: &AgentPipeline,
) -> impl Iterator<Item = Result<&'a KnowledgeBase, Error>> {
    let space = namespace(&pipeline.metadata).to_owned();
    pipeline.spec.knowledge_bases.iter().enumerate().map(move |(index, reference)| {
        let same = || objects.knowledge_bases.iter().filter(|one| namespace(&one.metadata) == space);
        same().find(|one| name(&one.metadata) == reference.name).ok_or_else(|| Error::UnknownReference {
            place: place(pipeline, &format!("knowledgeBases[{index}].name")),
            kind: "KnowledgeBase",
            name: reference.name.clone(),
            names: same().map(|one| name(&one.metadata).to_owned()).collect(),
        })
    })
}

/// Every reference of the pipeline that does not hold.
pub(super) fn unresolved_references(objects: &Objects, pipeline: &AgentPipeline) -> Vec<Error> {
    let bases = references(objects, pipeline).filter_map(Result::err);
    let chat = chat_model(pipeline).and_then(|chat| {
        endpoint::resolve(objects, place(pipeline, "models.default.name"), &chat.name, ModelUse::Chat).err()
    });
    let policy = policy::named(objects, pipeline).err();
    bases.chain(chat).chain(policy).collect()
}

fn chat_model(pipeline: &AgentPipeline) -> Option<&ChatModelRef> {
    pipeline.spec.models.as_ref().and_then(|models| models.default.as_ref())
}

pub(super) fn compile(pipeline: &AgentPipeline, endpoints: &mut endpoint::Collected<'_>) -> Result<Pipeline, Error> {
    let chat = chat_model(pipeline);
    let endpoint = chat.map(|chat| {
        let place = place(pipeline, "models.default.name");
        endpoints.named(place, &chat.name, ModelUse::Chat).map(|endpoint| endpoint.name.clone())
    });
    Ok(Pipeline {
        name: name(&pipeline.metadata).to_owned(),
        retrieval: retrieval(pipeline)?,
        chat: endpoint.transpose()?,
        temperature_milli: chat.map_or(Ok(0), |chat| temperature(pipeline, chat))?,
    })
}

fn temperature(pipeline: &AgentPipeline, chat: &ChatModelRef) -> Result<u16, Error> {
    let Some(text) = &chat.temperature else { return Ok(0) };
    let at = || place(pipeline, "models.default.temperature");
    let milli = decimal(at(), text, TEMPERATURE_PLACES)?;
    u16::try_from(milli.min(u64::from(u16::MAX))).ok().filter(|_| milli <= MAX_TEMPERATURE_MILLI).ok_or_else(|| {
        Error::Value { place: at(), value: text.clone(), expected: "it must lie between \"0\" and \"2\"".to_owned() }
    })
}

fn retrieval(pipeline: &AgentPipeline) -> Result<Retrieval, Error> {
    let spec = pipeline.spec.retrieval.clone().unwrap_or_default();
    let at = |field: &str| place(pipeline, &format!("retrieval.{field}"));
    let default = Retrieval::default();
    Ok(Retrieval {
        mode: mode(&spec, default.mode),
        candidates: whole_or(at("candidates"), spec.candidates, default.candidates)?,
        top_k: whole_or(at("topK"), spec.top_k, default.top_k)?,
        fusion: spec.fusion.as_ref().map_or(Ok(default.fusion), |fusion| fuse(pipeline, fusion))?,
        weights: spec.weights.as_ref().map(|weights| arm_weights(pipeline, weights)).transpose()?,
        token_budget: whole_or(at("tokenBudget"), spec.token_budget, default.token_budget)?,
    })
}

fn mode(spec: &RetrievalSpec, default: RetrievalMode) -> RetrievalMode {
    match spec.mode {
        None => default,
        Some(RetrievalModeSpec::Keyword) => RetrievalMode::Keyword,
        Some(RetrievalModeSpec::Vector) => RetrievalMode::Vector,
        Some(RetrievalModeSpec::Hybrid) => RetrievalMode::Hybrid,
    }
}

fn fuse(pipeline: &AgentPipeline, fusion: &FusionSpec) -> Result<Fusion, Error> {
    let at = |field: &str| place(pipeline, &format!("retrieval.fusion.{field}"));
    match (fusion.r#type, &fusion.rrf) {
        (FusionType::RelativeScore, _) => Ok(Fusion::RelativeScore),
        (FusionType::Rrf, Some(rrf)) => Ok(Fusion::Rrf { k: whole_or(at("rrf.k"), rrf.k, DEFAULT_RRF_K)? }),
        (FusionType::Rrf, None) => Err(Error::Missing { place: at("rrf") }),
    }
}

fn arm_weights(pipeline: &AgentPipeline, weights: &WeightsSpec) -> Result<ArmWeights, Error> {
    let milli = |field: &str, percent| {
        whole::<u32>(place(pipeline, &format!("retrieval.weights.{field}")), percent)
            .map(|percent| percent * MILLI_PER_PERCENT)
    };
    Ok(ArmWeights { keyword_milli: milli("keyword", weights.keyword)?, vector_milli: milli("vector", weights.vector)? })
}

fn place(pipeline: &AgentPipeline, field: &str) -> Box<Place> {
    Box::new(Place {
        kind: "AgentPipeline",
        namespace: namespace(&pipeline.metadata).to_owned(),
        name: name(&pipeline.metadata).to_owned(),
        field: format!("spec.{field}"),
    })
}
