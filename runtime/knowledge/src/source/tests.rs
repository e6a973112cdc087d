use groundwork_config::{InlineDocument, Source, SourceKind};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use tempfile::TempDir;

use super::*;

/// A folder with these files; a path that ends with `/` is a folder.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let root = TempDir::new().unwrap();
    for (path, content) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    root
}

fn source(root: &Path) -> Source {
    let kind = SourceKind::Folder { path: root.to_owned() };
    Source { name: "docs".into(), kind, include: Vec::new(), exclude: Vec::new() }
}

fn list(root: &Path) -> Listing {
    Listing::of(&source(root), &|_, _| false)
}

fn paths(listing: &Listing) -> Vec<&str> {
    listing.files.iter().map(|file| file.path.as_str()).collect()
}

fn skipped(listing: &Listing, reason: SkipReason) -> Vec<&str> {
    listing
        .skipped
        .get(&reason)
        .map(|skipped| skipped.examples.iter().map(String::as_str).collect())
        .unwrap_or_default()
}

#[test]
fn files_are_listed_sorted_with_their_formats() {
    let root = folder(&[("b.md", "# B"), ("a/z.txt", "z"), ("a/b.csv", "x,y"), ("main.rs", "fn main() {}")]);
    let listing = list(root.path());
    assert_eq!(paths(&listing), ["a/b.csv", "a/z.txt", "b.md", "main.rs"]);
    assert!(listing.complete && listing.problems.is_empty());
    let formats: Vec<_> = listing.formats().into_iter().collect();
    assert_eq!(formats, [(Format::Markdown, 1), (Format::Text, 1), (Format::Code, 1), (Format::Csv, 1)]);
    let stamp = listing.files[2].stamp.clone().unwrap();
    assert_eq!(stamp, stamp_of(&fs::metadata(root.path().join("b.md")).unwrap()));
    assert_eq!((stamp.size, stamp.inode > 0, stamp.ctime_ns > 0), (3, true, true));
}

#[test]
fn ignore_files_hold_outside_a_repository_and_deeper_ones_win() {
    let root = folder(&[
        (".gitignore", "*.log\n/secret/\n!keep.log\n"),
        ("a.log", "x"),
        ("keep.log", "x"),
        ("secret/plan.md", "x"),
        ("sub/.gitignore", "!b.log\n"),
        ("sub/b.log", "x"),
        ("sub/c.log", "x"),
        ("sub/secret/ok.md", "x"),
    ]);
    let listing = list(root.path());
    assert_eq!(paths(&listing), ["keep.log", "sub/b.log", "sub/secret/ok.md"]);
    assert_eq!(skipped(&listing, SkipReason::Ignored), ["a.log", "secret/", "sub/c.log"]);
}

#[test]
fn the_own_ignore_file_is_stronger_and_lifts_what_is_built_in() {
    let root = folder(&[
        (".gitignore", "drafts/\n"),
        (IGNORE_FILE, "!drafts/\n!vendor/\n!.hidden.md\nprivate.md\n"),
        ("drafts/a.md", "x"),
        ("vendor/b.md", "x"),
        (".hidden.md", "x"),
        (".other.md", "x"),
        ("private.md", "x"),
    ]);
    let listing = list(root.path());
    assert_eq!(paths(&listing), [".hidden.md", "drafts/a.md", "vendor/b.md"]);
    assert_eq!(skipped(&listing, SkipReason::Hidden), [".gitignore", ".groundworkignore", ".other.md"]);
}

#[test]
fn rules_above_the_folder_hold_inside_a_repository_only() {
    let root = folder(&[
        (".gitignore", "*.tmp.md\n"),
        ("repo/.gitignore", "draft.md\n"),
        ("repo/.git/info/exclude", "mine.md\n"),
        ("repo/docs/draft.md", "x"),
        ("repo/docs/mine.md", "x"),
        ("repo/docs/a.tmp.md", "x"),
        ("plain/docs/draft.md", "x"),
        ("plain/docs/a.tmp.md", "x"),
    ]);
    assert_eq!(paths(&list(&root.path().join("repo/docs"))), ["a.tmp.md"]);
    assert_eq!(paths(&list(&root.path().join("plain/docs"))), ["a.tmp.md", "draft.md"]);
}

#[test]
fn include_and_exclude_are_globs_of_the_source() {
    let root = folder(&[
        ("guide/a.md", "x"),
        ("guide/deep/b.md", "x"),
        ("guide/old/c.md", "x"),
        ("notes.txt", "x"),
        ("readme.md", "x"),
    ]);
    let mut source = source(root.path());
    source.include = vec!["/guide/".into(), "*.txt".into()];
    source.exclude = vec!["old/".into()];
    let listing = Listing::of(&source, &|_, _| false);
    assert_eq!(paths(&listing), ["guide/a.md", "guide/deep/b.md", "notes.txt"]);
    assert_eq!(skipped(&listing, SkipReason::Excluded), ["guide/old/"]);
    assert_eq!(skipped(&listing, SkipReason::NotIncluded), ["readme.md"]);
    source.include = vec!["a{".into()];
    let listing = Listing::of(&source, &|_, _| false);
    assert!(!listing.complete && listing.problems[0].reason.contains("`a{` of include"), "{:?}", listing.problems);
}

#[test]
fn generated_and_foreign_files_are_left_out_by_reason() {
    let root = folder(&[
        ("node_modules/x/readme.md", "x"),
        ("vendor/y.md", "x"),
        ("target/debug/a.md", "x"),
        ("cache/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55"),
        ("cache/a.md", "x"),
        ("env/pyvenv.cfg", "home = /usr/bin"),
        ("env/lib/a.py", "x"),
        ("app/package.json", "{}"),
        ("app/build/out.md", "x"),
        ("build/guide.md", "x"),
        ("Cargo.lock", "x"),
        ("jquery.min.js", "x"),
        ("~$report.docx", "x"),
        ("kb.yaml", "# ours\n---\napiVersion: \"groundwork.dev/v1alpha1\"\nkind: KnowledgeBase\n"),
        ("pod.yaml", "apiVersion: v1\nkind: Pod\n"),
        ("raw.dat", "a\0b"),
    ]);
    let listing = list(root.path());
    assert_eq!(paths(&listing), ["app/package.json", "build/guide.md", "pod.yaml"]);
    let counts: Vec<_> = listing.skipped.iter().map(|(reason, skipped)| (*reason, skipped.count)).collect();
    let expected = [
        (SkipReason::Temporary, 1),
        (SkipReason::Dependencies, 3),
        (SkipReason::BuildOutput, 3),
        (SkipReason::LockFile, 1),
        (SkipReason::Minified, 1),
        (SkipReason::Binary, 1),
        (SkipReason::Manifest, 1),
    ];
    assert_eq!(counts, expected);
    assert_eq!(skipped(&listing, SkipReason::Dependencies), ["env/", "node_modules/", "vendor/"]);
}

#[test]
fn large_files_and_pipes_are_left_out_without_being_opened() {
    let root = folder(&[("a.md", "x")]);
    fs::File::create(root.path().join("big.txt")).unwrap().set_len(100 << 20).unwrap();
    let made = std::process::Command::new("mkfifo").arg(root.path().join("pipe.md")).status();
    let listing = list(root.path());
    assert_eq!(paths(&listing), ["a.md"]);
    assert_eq!(skipped(&listing, SkipReason::TooLarge), ["big.txt"]);
    if made.is_ok_and(|status| status.success()) {
        assert_eq!(skipped(&listing, SkipReason::NotAFile), ["pipe.md"]);
    }
}

#[test]
fn links_are_followed_inside_the_source_only_and_never_in_circles() {
    let root = folder(&[("outside.md", "x"), ("docs/a/x.md", "x"), ("docs/b/y.md", "y")]);
    let docs = root.path().join("docs");
    symlink("../b", docs.join("a/to_b")).unwrap();
    symlink("..", docs.join("a/up")).unwrap();
    symlink("../a", docs.join("b/to_a")).unwrap();
    symlink("../outside.md", docs.join("out.md")).unwrap();
    symlink("nowhere.md", docs.join("dangling.md")).unwrap();
    symlink("self.md", docs.join("self.md")).unwrap();
    symlink("a/x.md", docs.join("link.md")).unwrap();
    let listing = list(&docs);
    assert_eq!(paths(&listing), ["a/to_b/y.md", "a/x.md", "b/to_a/x.md", "b/y.md", "link.md"]);
    assert_eq!(skipped(&listing, SkipReason::LinkOutside), ["out.md"]);
    let named: Vec<_> = listing.problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(named, ["a/to_b/to_a", "a/up", "b/to_a/to_b", "b/to_a/up", "dangling.md", "self.md"]);
    assert!(listing.complete);
}

#[test]
fn a_missing_folder_makes_the_listing_incomplete() {
    let root = folder(&[("file", "x")]);
    let missing = list(&root.path().join("nowhere"));
    assert!(!missing.complete && missing.problems[0].reason.starts_with("the folder does not exist"));
    assert!(missing.problems[0].path.ends_with("nowhere"));
    let file = list(&root.path().join("file"));
    assert!(!file.complete && file.problems[0].reason.starts_with("this is not a folder"));
}

#[test]
fn a_folder_that_is_too_deep_makes_the_listing_incomplete() {
    let root = folder(&[("a.md", "x")]);
    fs::create_dir_all(root.path().join("d/".repeat(140))).unwrap();
    let listing = list(root.path());
    assert_eq!(paths(&listing), ["a.md"]);
    assert!(!listing.complete && listing.problems.len() == 1);
}

#[cfg(target_os = "linux")]
#[test]
fn names_are_composed_and_names_that_are_no_text_are_named() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let root = folder(&[("cafe\u{301}.md", "decomposed"), ("u\u{308}ber/a.md", "x")]);
    fs::write(root.path().join(OsStr::from_bytes(b"br\xf6ken.md")), "x").unwrap();
    let listing = list(root.path());
    assert_eq!(paths(&listing), ["caf\u{e9}.md", "\u{fc}ber/a.md"]);
    assert_eq!(listing.problems[0].path, "br\u{fffd}ken.md");
    assert!(listing.problems[0].reason.contains("not valid UTF-8"));

    fs::write(root.path().join("caf\u{e9}.md"), "composed").unwrap();
    let listing = list(root.path());
    assert_eq!(paths(&listing), ["caf\u{e9}.md", "\u{fc}ber/a.md"]);
    assert_eq!(listing.problems.iter().filter(|problem| problem.path == "caf\u{e9}.md").count(), 1);
}

#[test]
fn the_first_bytes_of_unchanged_files_are_not_read() {
    let root = folder(&[("image.md", "a\0b"), ("other.md", "a\0b")]);
    let listing = Listing::of(&source(root.path()), &|path, _| path == "image.md");
    assert_eq!(paths(&listing), ["image.md"]);
    assert_eq!(listing.files[0].format, Some(Format::Markdown));
}

#[test]
fn inline_documents_are_listed_like_files() {
    let document = |path: &str, content: &str| InlineDocument { path: path.into(), content: content.into() };
    let documents = vec![document("b.md", "# B"), document("a.txt", "x"), document("c.png", "x")];
    let kind = SourceKind::Inline { documents };
    let source = Source { name: "notes".into(), kind, include: Vec::new(), exclude: vec!["b.*".into()] };
    let listing = Listing::of(&source, &|_, _| false);
    assert_eq!(paths(&listing), ["a.txt"]);
    assert_eq!((listing.files[0].stamp.clone(), listing.files[0].format), (None, Some(Format::Text)));
    assert_eq!(skipped(&listing, SkipReason::Excluded), ["b.md"]);
    assert!(listing.complete);
}

#[test]
fn the_folders_to_watch_are_those_that_are_listed() {
    let root = folder(&[("a/b/c.md", "x"), ("node_modules/x/y.md", "x"), ("skip/z.md", "x"), (".gitignore", "skip")]);
    let real = root.path().canonicalize().unwrap();
    assert_eq!(folders(&source(root.path())), [real.clone(), real.join("a"), real.join("a/b")]);
}
