use groundwork_crds::{
    AgentPipeline, ApiKeySpec, ChatModelRef, EmbeddingSpec, EmbeddingType, KnowledgeBase, ModelEndpoint,
    ModelEndpointEmbeddingSpec, ModelEndpointSpec, ModelUse, ModelsSpec, PolicyLimitsSpec, PricesSpec, SecretKeyRef,
    ToolPolicyRef, ToolPolicySpec,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::*;
use crate::{Chunking, Contract, Embedding, Keyword, MetadataKeys, Retrieval, SourceKind, SyncPolicy};

fn with_folder(name: &str) -> Options {
    let volume = Volume { namespace: "default".into(), knowledge_base: name.into(), name: name.into() };
    Options { volumes: BTreeMap::from([(volume, PathBuf::from("/docs"))]), ..Options::default() }
}

fn endpoint(name: &str, uses: &[ModelUse]) -> ModelEndpoint {
    ModelEndpoint::new(
        name,
        ModelEndpointSpec {
            base_url: "http://localhost:11434/v1/".into(),
            model: "small".into(),
            api_key: None,
            uses: uses.to_vec(),
            context_window: None,
            prices: None,
            limits: None,
            timeout_seconds: None,
            retries: None,
        },
    )
}

fn with_chat(name: &str, temperature: Option<&str>) -> Objects {
    let mut objects = default_objects("handbook");
    let chat = ChatModelRef { name: name.into(), temperature: temperature.map(str::to_owned) };
    objects.pipelines[0].spec.models = Some(ModelsSpec { default: Some(chat) });
    objects
}

fn failure(objects: &Objects) -> String {
    compile(objects, &with_folder("handbook")).unwrap_err().to_string()
}

#[test]
fn a_folder_without_manifests_gets_the_documented_defaults() {
    let config = default_for_folder(Path::new("/home/ada/Team Handbook (2024)"));
    let [base] = config.knowledge_bases.as_slice() else { panic!("one knowledge base") };
    assert_eq!(base.name, "team-handbook-2024");
    assert_eq!(base.sources[0].name, "team-handbook-2024");
    assert_eq!(base.sources[0].kind, SourceKind::Folder { path: "/home/ada/Team Handbook (2024)".into() });
    assert_eq!(base.contract, Contract::default());
    assert_eq!(base.contract.chunking, Chunking::default());
    assert_eq!(base.contract.keyword, Keyword::default());
    assert_eq!((&base.metadata, &base.sync), (&MetadataKeys::default(), &SyncPolicy::default()));
    assert_eq!(config.pipeline.name, "team-handbook-2024");
    assert_eq!(config.pipeline.retrieval, Retrieval::default());
    assert_eq!((config.pipeline.chat, config.pipeline.temperature_milli), (None, 0));
    assert!(config.endpoints.is_empty());
}

#[test]
fn folder_names_become_object_names() {
    let rows = [
        ("/a/Handbook", "handbook"),
        ("/a/__My  docs__", "my-docs"),
        ("/a/2024 policies", "kb-2024-policies"),
        ("/a/手册", "documents"),
        ("/", "documents"),
        ("/a/abcdefghij-abcdefghij-abcdefghij-abcdef-zz", "abcdefghij-abcdefghij-abcdefghij-abcdef"),
    ];
    for (folder, name) in rows {
        assert_eq!(name_for_folder(Path::new(folder)), name, "{folder}");
    }
}

/// Python: `uuid.uuid5(uuid.uuid5(uuid.NAMESPACE_DNS, "groundwork.dev"), "default/handbook")`.
#[test]
fn the_default_data_id_is_the_uuid5_of_namespace_and_name() {
    assert_eq!(default_data_id("default", "handbook").to_string(), "cbfbff4e-9257-5b4c-a0d3-c36e0516ec08");
}

#[test]
fn the_pipeline_is_the_only_one_or_the_one_asked_for() {
    let mut objects = default_objects("handbook");
    let mut second = objects.pipelines[0].clone();
    second.metadata.name = Some("second".into());
    objects.pipelines.push(second);
    let options = |pipeline: Option<&str>| Options { pipeline: pipeline.map(str::to_owned), ..with_folder("handbook") };
    let name = |pipeline| compile(&objects, &options(Some(pipeline))).map(|config| config.pipeline.name);
    assert_eq!(name("second").unwrap(), "second");
    assert_eq!(name("default/second").unwrap(), "second");
    assert_eq!(
        name("third").unwrap_err().to_string(),
        "failed to find the AgentPipeline third: choose one of handbook, second"
    );
    assert_eq!(
        failure(&objects),
        "failed to choose among several AgentPipelines (handbook, second): name one with --pipeline"
    );
}

#[test]
fn without_a_pipeline_all_knowledge_bases_are_served() {
    let mut objects = default_objects("handbook");
    objects.pipelines.clear();
    let config = compile(&objects, &with_folder("handbook")).unwrap();
    assert_eq!((config.pipeline.name.as_str(), config.knowledge_bases.len()), ("handbook", 1));
    assert_eq!(
        failure(&Objects::default()),
        "failed to find a KnowledgeBase: add one, or let `groundwork init` write it"
    );
}

#[test]
fn references_stay_in_their_namespace() {
    let mut objects = default_objects("handbook");
    objects.knowledge_bases[0].metadata.namespace = Some("team-a".into());
    assert_eq!(
        failure(&objects),
        "AgentPipeline handbook: spec.knowledgeBases[0].name names the KnowledgeBase handbook, which does not exist in \
         namespace default: add a KnowledgeBase of that name"
    );
}

#[test]
fn a_missing_folder_names_both_ways_out() {
    let error = compile(&default_objects("handbook"), &Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "KnowledgeBase handbook: spec.sources[0].persistentVolumeClaim: no folder stands for the volume of source \
         handbook: make a folder handbook beside the manifest, or pass --source handbook=PATH"
    );
    assert_eq!(error.place().unwrap().field, "spec.sources[0].persistentVolumeClaim");
}

#[test]
fn an_endpoint_must_allow_the_use() {
    let mut objects = with_chat("small", None);
    objects.endpoints.push(endpoint("small", &[ModelUse::Embeddings]));
    assert_eq!(
        failure(&objects),
        "AgentPipeline handbook: spec.models.default.name names the ModelEndpoint small, which is not for Chat: add \
         Chat to its spec.uses, or name another"
    );
    assert_eq!(unresolved_references(&objects).len(), 1);
}

#[test]
fn every_unresolved_reference_is_found() {
    let mut objects = with_chat("absent", None);
    objects.pipelines[0].spec.knowledge_bases.push(groundwork_crds::KnowledgeBaseRef { name: "nowhere".into() });
    objects.knowledge_bases[0].spec.embedding = Some(EmbeddingSpec {
        r#type: EmbeddingType::ModelEndpoint,
        hashing: None,
        model_endpoint: Some(ModelEndpointEmbeddingSpec {
            name: "absent".into(),
            dimensions: 3,
            query_prefix: None,
            passage_prefix: None,
            max_batch: None,
        }),
    });
    let places: Vec<_> =
        unresolved_references(&objects).iter().map(|error| error.place().unwrap().field.clone()).collect();
    assert_eq!(
        places,
        ["spec.knowledgeBases[1].name", "spec.models.default.name", "spec.embedding.modelEndpoint.name"]
    );
}

#[test]
fn endpoints_get_defaults_exact_prices_and_a_key_file() {
    let mut objects = with_chat("small", Some("1.25"));
    let mut small = endpoint("small", &[ModelUse::Chat]);
    small.spec.prices = Some(PricesSpec { input: "0.15".into(), output: "12".into() });
    let secret = SecretKeyRef { name: "models".into(), key: "small.key".into() };
    small.spec.api_key = Some(ApiKeySpec { secret_key_ref: secret });
    objects.endpoints.push(small);
    let options = Options { secrets_dir: "/run/secrets".into(), ..with_folder("handbook") };
    let config = compile(&objects, &options).unwrap();
    let found = config.endpoint("small").unwrap();
    assert_eq!(config.pipeline.temperature_milli, 1250);
    assert_eq!(found.base_url, "http://localhost:11434/v1");
    assert_eq!(found.api_key_file.as_deref(), Some(Path::new("/run/secrets/models/small.key")));
    let prices = found.prices.unwrap();
    assert_eq!((prices.input_micros_per_million, prices.output_micros_per_million), (150_000, 12_000_000));
    assert_eq!((found.timeout_ms, found.retries, found.concurrency), (60_000, 2, 4));
    assert_eq!((found.requests_per_minute, found.context_window), (None, None));
}

#[test]
fn values_that_no_rule_checked_are_still_refused() {
    for temperature in ["2.001", "-1", "1e3", "", ".5", "0.1234", "99999999999999999999999"] {
        let mut objects = with_chat("small", Some(temperature));
        objects.endpoints.push(endpoint("small", &[ModelUse::Chat]));
        let message = failure(&objects);
        assert!(message.starts_with("AgentPipeline handbook: spec.models.default.temperature is "), "{message}");
    }
    let mut objects = default_objects("handbook");
    let claim = objects.knowledge_bases[0].spec.sources[0].persistent_volume_claim.as_mut().unwrap();
    claim.path = Some("../other".into());
    assert!(failure(&objects).contains("spec.sources[0].persistentVolumeClaim.path is \"../other\""));
    let mut objects = with_chat("small", None);
    let mut small = endpoint("small", &[ModelUse::Chat]);
    small.spec.api_key =
        Some(ApiKeySpec { secret_key_ref: SecretKeyRef { name: "../..".into(), key: "passwd".into() } });
    objects.endpoints.push(small);
    assert!(failure(&objects).contains("spec.apiKey.secretKeyRef.name is \"../..\""));
}

#[test]
fn manifests_of_the_default_survive_their_own_json() {
    let objects = default_objects("handbook");
    let base: KnowledgeBase =
        serde_json::from_value(serde_json::to_value(&objects.knowledge_bases[0]).unwrap()).unwrap();
    let pipeline: AgentPipeline = serde_json::from_value(serde_json::to_value(&objects.pipelines[0]).unwrap()).unwrap();
    assert_eq!((base, pipeline), (objects.knowledge_bases[0].clone(), objects.pipelines[0].clone()));
    let config = compile(&objects, &with_folder("handbook")).unwrap();
    assert_eq!(config.knowledge_bases[0].contract.embedding, Embedding::Encoder);
}

fn with_policy(limits: PolicyLimitsSpec) -> Objects {
    let mut objects = with_chat("chat", None);
    objects.endpoints.push(endpoint("chat", &[ModelUse::Chat]));
    objects.pipelines[0].spec.tool_policy_ref = Some(ToolPolicyRef { name: "narrow".into() });
    objects.policies.push(ToolPolicy::new("narrow", ToolPolicySpec { limits: Some(limits) }));
    objects
}

#[test]
fn a_policy_is_compiled_to_plain_limits() {
    let limits = PolicyLimitsSpec { wall_clock_seconds: Some(5), tokens: Some(7), ..PolicyLimitsSpec::default() };
    let config = compile(&with_policy(limits), &with_folder("handbook")).unwrap();
    assert_eq!(config.policy.name.as_deref(), Some("narrow"));
    assert_eq!((config.policy.limits.wall_clock_ms, config.policy.limits.tokens), (5000, Some(7)));
    assert_eq!(config.policy.limits.cost_micros, None);
    let none = compile(&default_objects("handbook"), &with_folder("handbook")).unwrap().policy;
    assert_eq!((none.name.as_deref(), none.limits.wall_clock_ms), (None, 180_000));
    assert_ne!(none.hash(), config.policy.hash());
}

#[test]
fn a_bound_of_cost_needs_prices() {
    let limits = PolicyLimitsSpec { cost: Some("0.05".into()), ..PolicyLimitsSpec::default() };
    let mut objects = with_policy(limits);
    let error = compile(&objects, &with_folder("handbook")).unwrap_err().to_string();
    assert!(error.contains("ToolPolicy narrow: spec.limits.cost") && error.contains("spec.prices"), "{error}");
    objects.endpoints[0].spec.prices = Some(PricesSpec { input: "1".into(), output: "2".into() });
    assert_eq!(compile(&objects, &with_folder("handbook")).unwrap().policy.limits.cost_micros, Some(50_000));
}

#[test]
fn a_policy_that_is_not_there_is_named() {
    let mut objects = with_policy(PolicyLimitsSpec::default());
    objects.policies.clear();
    let error = compile(&objects, &with_folder("handbook")).unwrap_err().to_string();
    assert!(error.contains("spec.toolPolicyRef.name names the ToolPolicy narrow"), "{error}");
    assert_eq!(unresolved_references(&objects).len(), 1);
}
