use groundwork_crds_fixtures::full;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::*;

pub(super) fn reading(text: &str) -> Reading {
    let mut reading = Reading::default();
    let content = text.to_owned();
    reading.take(&files::Text { name: "test.yaml".into(), content, asked_for: true });
    reading
}

pub(super) fn errors(text: &str) -> Vec<String> {
    reading(text).errors.iter().map(ToString::to_string).collect()
}

const GOOD: &str = "\
apiVersion: groundwork.dev/v1alpha1
kind: KnowledgeBase
metadata:
  name: handbook
spec:
  sources:
    - name: handbook
      type: PersistentVolumeClaim
      persistentVolumeClaim:
        claimName: handbook
";

#[test]
fn the_full_set_is_right() {
    for object in full() {
        assert_eq!(errors(&object.to_string()), Vec::<String>::new());
    }
    assert_eq!(reading(GOOD).manifests.count(), 1);
}

/// What to replace in [`GOOD`] by what, and the errors that follow.
type Row = (&'static str, &'static str, Vec<&'static str>);

fn mistakes_in_the_spec() -> Vec<Row> {
    vec![
        (
            "  sources:",
            "  sorces:",
            vec![
                "test.yaml:6: KnowledgeBase handbook: spec.sorces: unknown field sorces: did you mean sources?",
                "test.yaml:5: KnowledgeBase handbook: spec.sources: is missing: add sources: Where documents come from, 1 to \
             64",
            ],
        ),
        (
            "      type: Persis",
            "      kind: Persis",
            vec![
                "test.yaml:8: KnowledgeBase handbook: spec.sources[0].kind: unknown field kind: choose one of exclude, \
             include, inline, name, persistentVolumeClaim, type",
                "test.yaml:7: KnowledgeBase handbook: spec.sources[0].type: is missing: add type: What kind of place it is; \
             the field of the same name describes it",
            ],
        ),
        (
            "type: PersistentVolumeClaim",
            "type: PersistentVolumeclaim",
            vec![
                "test.yaml:8: KnowledgeBase handbook: spec.sources[0].type: \"PersistentVolumeclaim\" is not a possible value: \
             did you mean PersistentVolumeClaim?",
            ],
        ),
        (
            "    - name: handbook",
            "    - name: 7",
            vec![
                "test.yaml:7: KnowledgeBase handbook: spec.sources[0].name: must be text, but is a whole number: write it in \
             quotes: \"7\"",
            ],
        ),
    ]
}

fn mistakes_in_the_head() -> Vec<Row> {
    vec![
        (
            "kind: KnowledgeBase",
            "kind: KnowlegeBase",
            vec!["test.yaml:2: KnowlegeBase handbook: kind: unknown kind KnowlegeBase: did you mean KnowledgeBase?"],
        ),
        (
            "v1alpha1",
            "v1",
            vec![
                "test.yaml:1: KnowledgeBase handbook: apiVersion: groundwork.dev/v1 does not exist: write apiVersion: \
             groundwork.dev/v1alpha1",
            ],
        ),
        (
            "groundwork.dev",
            "groundwrok.dev",
            vec![
                "test.yaml:1: KnowledgeBase handbook: apiVersion: groundwrok.dev/v1alpha1 does not exist: write apiVersion: \
             groundwork.dev/v1alpha1",
            ],
        ),
        (
            "  name: handbook\nspec",
            "  nmae: handbook\nspec",
            vec![
                "test.yaml:3: KnowledgeBase: metadata.name: is missing: add a name",
                "test.yaml:4: KnowledgeBase: metadata.nmae: unknown field nmae: did you mean name?",
            ],
        ),
        (
            "  name: handbook\nspec",
            "  name: Hand Book\nspec",
            vec![
                "test.yaml:4: KnowledgeBase Hand Book: metadata.name: must be at most 40 lower-case letters, digits and \
             hyphens, begin with a letter and end with a letter or digit, for example handbook-2024",
            ],
        ),
        (
            "metadata:\n  name: handbook\n",
            "metadata:\n  name: handbook\n  labels: {tier: 1}\n",
            vec!["test.yaml:5: KnowledgeBase handbook: metadata.labels.tier: must be text: write it in quotes"],
        ),
        (
            "metadata:\n  name: handbook\nspec",
            "status: {}\nspec",
            vec![
                "test.yaml:1: KnowledgeBase: metadata: is missing: add metadata with a name",
                "test.yaml:3: KnowledgeBase: status: unknown field status: choose one of apiVersion, kind, metadata, spec",
            ],
        ),
    ]
}

#[test]
fn mistakes_have_line_field_problem_and_fix() {
    for (from, to, expected) in mistakes_in_the_spec().into_iter().chain(mistakes_in_the_head()) {
        assert!(GOOD.contains(from), "{from}");
        assert_eq!(errors(&GOOD.replacen(from, to, 1)), expected, "{to}");
    }
}

#[test]
fn every_document_of_a_file_is_checked_with_its_own_lines() {
    let second = GOOD.replace("type: Pers", "typo: Pers");
    let third = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n";
    let reading = reading(&format!("{GOOD}---\n{second}---\n{third}"));
    assert_eq!((reading.manifests.count(), reading.manifests.foreign()), (1, 1));
    assert_eq!(reading.errors.iter().map(|error| error.place.line).collect::<Vec<_>>(), [19, 18]);
}

#[test]
fn the_same_object_twice_names_the_first() {
    let found = errors(&format!("{GOOD}---\n{GOOD}"));
    assert_eq!(
        found,
        ["test.yaml:15: KnowledgeBase handbook: metadata.name: is there twice, first in test.yaml:4: \
                        rename one, or remove it"]
    );
    let elsewhere = GOOD.replace("metadata:\n", "metadata:\n  namespace: team-a\n");
    assert!(errors(&format!("{GOOD}---\n{elsewhere}")).is_empty());
}

#[test]
fn broken_yaml_names_its_line() {
    let found = errors("apiVersion: groundwork.dev/v1alpha1\nkind: [KnowledgeBase\nmetadata: {\n");
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("test.yaml:") && found[0].contains("is not YAML: "), "{found:?}");
    let twice = errors(&GOOD.replace("  name: handbook\n", "  name: handbook\n  name: other\n"));
    assert!(twice[0].starts_with("test.yaml:5: is not YAML: "), "{twice:?}");
}

#[test]
fn an_empty_optional_field_is_one_left_out() {
    assert!(errors(&format!("{GOOD}  sync:\n  chunking: {{strategy: null}}\n")).is_empty());
    let found = errors(&GOOD.replace("claimName: handbook", "claimName:"));
    assert!(found[0].contains("spec.sources[0].persistentVolumeClaim.claimName: is missing: add claimName: "));
}

#[test]
fn only_our_groups_yaml_files_are_manifests() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("groundwork.yaml", GOOD);
    write("quoted.yml", "# ours\n---\napiVersion: \"groundwork.dev/v1alpha1\"\nkind: Nothing\n");
    write("compose.yaml", "services: {}\n");
    write("deployment.yaml", "apiVersion: apps/v1\nkind: Deployment\n");
    write("notes.md", "apiVersion: groundwork.dev/v1alpha1\n");
    std::fs::create_dir(folder.path().join("deep")).unwrap();
    write("deep/groundwork.yaml", GOOD);
    let found = find_manifests(folder.path()).unwrap();
    assert_eq!(found, [folder.path().join("groundwork.yaml"), folder.path().join("quoted.yml")]);
    assert_eq!(load(&found[..1]).unwrap().count(), 1);
    let all = load(&[folder.path().to_owned()]).unwrap_err();
    assert_eq!(
        all.iter().map(|error| error.problem.as_str()).collect::<Vec<_>>(),
        [
            "is there twice, first in ".to_owned()
                + &format!("{}:4", folder.path().join("deep/groundwork.yaml").display()),
            "unknown kind Nothing".to_owned(),
        ]
    );
}

fn folder_of(manifest: &str, folders: &[&str], given: &[(&str, &Path)]) -> Result<PathBuf, String> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::write(root.join("groundwork.yaml"), manifest).unwrap();
    folders.iter().for_each(|name| std::fs::create_dir_all(root.join(name)).unwrap());
    let source_paths = given.iter().map(|(name, path)| ((*name).to_owned(), root.join(path))).collect();
    let options = CompileOptions { pipeline: None, source_paths: &source_paths, secrets_dir: Path::new("") };
    let manifests = load(&[root.join("groundwork.yaml")]).unwrap();
    let config =
        manifests.compile(&options).map_err(|error| error.to_string().replace(&root.display().to_string(), "DIR"))?;
    match &config.knowledge_bases[0].sources[0].kind {
        groundwork_config::SourceKind::Folder { path } => Ok(path.strip_prefix(&root).unwrap().to_owned()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_folder_stands_for_the_volume() {
    let claim = GOOD.replace("claimName: handbook", "claimName: shared\n        path: deep");
    let annotated =
        claim.replace("metadata:\n", "metadata:\n  annotations: {local.groundwork.dev/handbook: elsewhere}\n");
    let all = ["handbook/deep", "shared/deep", "elsewhere/deep", "given/deep"];
    let given: &[(&str, &Path)] = &[("handbook", Path::new("given"))];
    let rows = [
        (&claim, &all[1..2], &given[..0], "shared/deep"),
        (&claim, &all[..2], &given[..0], "handbook/deep"),
        (&annotated, &all[..3], &given[..0], "elsewhere/deep"),
        (&annotated, &all[..], given, "given/deep"),
    ];
    for (manifest, folders, given, expected) in rows {
        assert_eq!(folder_of(manifest, folders, given), Ok(expected.into()));
    }
}

#[test]
fn a_volume_without_folder_names_both_ways_out() {
    let at = "KnowledgeBase handbook: spec.sources[0].persistentVolumeClaim: ";
    assert_eq!(
        folder_of(GOOD, &[], &[]).unwrap_err(),
        format!(
            "DIR/groundwork.yaml:9: {at}no folder stands for the volume of source handbook: make a folder handbook \
                 beside the manifest, or pass --source handbook=PATH"
        )
    );
    let absent = folder_of(GOOD, &[], &[("handbook", Path::new("absent"))]).unwrap_err();
    assert!(absent.starts_with(&format!("DIR/groundwork.yaml:9: {at}failed to open the folder DIR/absent: ")));
    assert_eq!(
        folder_of(GOOD, &["x"], &[("handbok", Path::new("x"))]).unwrap_err(),
        "--source handbok names no source: did you mean handbook?"
    );
}

#[test]
fn the_choice_of_a_pipeline_is_an_error_of_the_whole_set() {
    let pipeline = |name: &str| {
        json!({"apiVersion": "groundwork.dev/v1alpha1", "kind": "AgentPipeline", "metadata": {"name": name},
               "spec": {"knowledgeBases": [{"name": "handbook"}]}})
    };
    let manifests = reading(&format!("{GOOD}---\n{}\n---\n{}", pipeline("a"), pipeline("b"))).manifests;
    let folder = tempfile::tempdir().unwrap();
    let source_paths = BTreeMap::from([("handbook".to_owned(), folder.path().to_owned())]);
    let options = |pipeline| CompileOptions { pipeline, source_paths: &source_paths, secrets_dir: Path::new("") };
    let message = manifests.compile(&options(None)).unwrap_err().to_string();
    assert_eq!(message, "failed to choose among several AgentPipelines (a, b): name one with --pipeline");
    assert_eq!(manifests.compile(&options(Some("b"))).unwrap().pipeline.name, "b");
}

#[test]
fn every_example_is_right_and_survives_its_own_yaml() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("examples");
    let manifests = load(&[examples]).unwrap_or_else(|errors| panic!("{errors:#?}"));
    assert!(manifests.count() >= 2, "there are examples");
    assert_eq!(manifests.unresolved_references(), []);
    for document in &manifests.documents {
        let yaml = match &document.object {
            document::Object::KnowledgeBase(one) => serde_saphyr::to_string(one),
            document::Object::AgentPipeline(one) => serde_saphyr::to_string(one),
            document::Object::ModelEndpoint(one) => serde_saphyr::to_string(one),
            document::Object::ToolPolicy(one) => serde_saphyr::to_string(one),
        };
        let again = reading(&yaml.unwrap());
        assert!(again.errors.is_empty(), "{:?}", again.errors);
        assert_eq!(format!("{:?}", again.manifests.documents[0].object), format!("{:?}", document.object));
    }
}

#[test]
fn yaml_that_explodes_is_refused_in_words_that_help() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    let deep = format!("a: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    for text in [bomb, deep] {
        let found = errors(&format!("{GOOD}---\n{text}"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("too large when it is read") && found[0].contains("aliases"), "{found:?}");
        assert!(!found[0].contains("budget") && !found[0].contains("breach"), "{found:?}");
    }
}
