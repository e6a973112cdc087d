//! TREC run files, so that other tools can read a run: `question Q0 document rank score tag`.

use std::io::{self, Write};

/// Writes one ranking. Scores fall strictly, so that a reader that sorts by score sees the same order, ties included.
pub(crate) fn write_ranking(out: &mut dyn Write, question: &str, ranking: &[String], tag: &str) -> io::Result<()> {
    for (index, document) in ranking.iter().enumerate() {
        writeln!(out, "{question} Q0 {document} {} {} {tag}", index + 1, ranking.len() - index)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_fall_strictly() {
        let mut out = Vec::new();
        write_ranking(&mut out, "q1", &["b".into(), "a".into()], "hybrid").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "q1 Q0 b 1 2 hybrid\nq1 Q0 a 2 1 hybrid\n");
    }
}
