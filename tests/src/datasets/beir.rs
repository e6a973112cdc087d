//! Writing of BEIR folders.

use anyhow::Context;
use serde_json::json;
use std::fs::{File, create_dir_all};
use std::io::{BufWriter, Write};
use std::path::Path;

use super::Dataset;

pub(super) fn write(set: &Dataset, folder: &Path) -> anyhow::Result<()> {
    create_dir_all(folder.join("qrels")).with_context(|| format!("failed to create {}", folder.display()))?;
    let mut corpus = create(folder, "corpus.jsonl")?;
    for document in &set.documents {
        writeln!(corpus, "{}", json!({"_id": document.id, "title": document.title, "text": document.text}))?;
    }
    corpus.flush()?;
    let mut queries = create(folder, "queries.jsonl")?;
    for query in &set.queries {
        let metadata = json!({"answers": query.answers});
        writeln!(queries, "{}", json!({"_id": query.id, "text": query.text, "metadata": metadata}))?;
    }
    queries.flush()?;
    let mut judgements = create(folder, "qrels/test.tsv")?;
    writeln!(judgements, "query-id\tcorpus-id\tscore")?;
    for (query, documents) in &set.judgements {
        for (document, grade) in documents {
            writeln!(judgements, "{query}\t{document}\t{grade}")?;
        }
    }
    Ok(judgements.flush()?)
}

fn create(folder: &Path, name: &str) -> anyhow::Result<BufWriter<File>> {
    let path = folder.join(name);
    let file = File::create(&path).with_context(|| format!("failed to create {}", path.display()))?;
    Ok(BufWriter::new(file))
}
