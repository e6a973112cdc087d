//! The real binary as extraction process: what it reads, and what its limits do.

use groundwork_config::MetadataKeys;
use groundwork_knowledge::document::NormalisedDocument;
use groundwork_knowledge::load::{ExtractionOptions, ExtractionPool, LoadError, Loader, LoaderOptions};
use std::path::PathBuf;
use std::time::Duration;

fn loader(memory_bytes: u64) -> Loader {
    let mut options = ExtractionOptions::new(PathBuf::from(env!("CARGO_BIN_EXE_groundwork")));
    options.memory_limit = memory_bytes;
    options.arguments = vec!["extract".into(), "--memory-bytes".into(), memory_bytes.to_string().into()];
    options.time_limit = Duration::from_secs(120);
    Loader::new(LoaderOptions { metadata: MetadataKeys::default(), extraction: Some(ExtractionPool::new(options)) })
}

async fn load(loader: &Loader, path: &str, bytes: &[u8]) -> Result<NormalisedDocument, LoadError> {
    loader.load(path, bytes.to_vec()).await
}

#[tokio::test]
async fn html_comes_back_as_markdown_whatever_its_encoding() {
    let loader = loader(1 << 30);
    let page = b"<meta charset=iso-8859-1><title>Preise</title><h1>Pr\xE4mie</h1><p>Gr\xF6\xDFe\r\nzwei</p>";
    let document = load(&loader, "page.html", page).await.unwrap();
    assert_eq!(document.title.as_deref(), Some("Preise"));
    assert_eq!(document.body, "# Prämie\n\nGröße zwei\n");
}

#[tokio::test]
async fn refusals_are_reasons_for_people() {
    let loader = loader(1 << 30);
    for (path, bytes, reason) in [
        ("a.html", &b"<script>1</script>"[..], "the file has no text"),
        ("a.pdf", b"%PDF-1.4\nnothing", "the PDF is broken: "),
        ("a.docx", b"no archive", "the file is not a valid DOCX file: "),
        ("a.xlsx", b"no archive", "the file is not a valid XLSX file: "),
    ] {
        let message = load(&loader, path, bytes).await.unwrap_err().to_string();
        assert!(message.starts_with(reason), "{path}: {message}");
    }
}

#[tokio::test]
async fn a_file_that_needs_too_much_memory_fails_alone() {
    let loader = loader(192 << 20);
    let elements = "<p>".repeat(6_000_000);
    let outcome = load(&loader, "bomb.html", elements.as_bytes()).await.map(|document| document.body.len());
    assert_eq!(outcome.unwrap_err().to_string(), "extraction needs more than 192 MB of memory");
    assert_eq!(load(&loader, "small.html", b"<p>fine</p>").await.unwrap().body, "fine\n");
}
