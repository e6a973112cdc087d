//! TREC run files, so that other tools can read a run: `question Q0 document rank score tag`. These tools split at white
//! space, so it is percent-encoded in names, and with it the percent sign.

use std::io::{self, Write};

/// Writes one ranking. Scores fall strictly, so that a reader that sorts by score sees the same order, ties included.
pub(crate) fn write_ranking(out: &mut dyn Write, question: &str, ranking: &[String], tag: &str) -> io::Result<()> {
    let (question, tag) = (column(question), column(tag));
    for (index, document) in ranking.iter().enumerate() {
        writeln!(out, "{question} Q0 {} {} {} {tag}", column(document), index + 1, ranking.len() - index)?;
    }
    Ok(())
}

/// The text as one column. Some readers split at separators that are controls, not white space.
fn column(text: &str) -> String {
    let mut column = String::with_capacity(text.len());
    for character in text.chars() {
        if character == '%' || character.is_whitespace() || character.is_control() {
            let mut bytes = [0; 4];
            column.extend(character.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")));
        } else {
            column.push(character);
        }
    }
    column
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

    #[test]
    fn a_line_has_six_columns_whatever_is_called_how() {
        let mut out = Vec::new();
        let ranking = ["my notes/a b.md".into(), "差旅\u{3000}须知.md".into(), "50%\u{1f}off.md".into()];
        write_ranking(&mut out, "late fee", &ranking, "hybrid, rrf").unwrap();
        let text = String::from_utf8(out).unwrap();
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["late%20fee", "Q0", "my%20notes/a%20b.md", "1", "3", "hybrid,%20rrf"]);
        assert_eq!(rows[1][2], "差旅%E3%80%80须知.md");
        assert_eq!(rows[2][2], "50%25%1Foff.md");
        assert!(rows.iter().all(|row| row.len() == 6), "{text}");
    }
}
