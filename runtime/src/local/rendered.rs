//! Files of JSON that another program renders for this one.

use serde::de::DeserializeOwned;
use std::path::Path;

use crate::json::{self, Mistake, MistakeKind};
use crate::output::Problem;

/// Reads a file. A field that this version does not know is refused: without it, something else would be done than was
/// asked.
pub(crate) fn read<T: DeserializeOwned>(file: &Path) -> Result<T, Problem> {
    let failed = || Problem::new(format!("failed to read {}", file.display()));
    let json = std::fs::read(file).map_err(|error| failed().because(error))?;
    json::parse(&json).map_err(|mistake| {
        let problem = failed().because(told(&mistake));
        match mistake.kind {
            MistakeKind::Unknown => problem.fix(
                "this runtime does not know it: the runtime image must be of the version of the operator that wrote the \
                 file",
            ),
            MistakeKind::Syntax | MistakeKind::Value => problem,
        }
    })
}

fn told(mistake: &Mistake) -> String {
    let Mistake { field, reason, line, .. } = mistake;
    match field {
        Some(field) => format!("line {line}: {field}: {reason}"),
        None => format!("line {line}: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groundwork_config::Limits;

    #[test]
    fn a_mistake_names_file_line_and_field_and_a_newer_field_the_version() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let file = folder.path().join("limits.json");
        let wall = "{\n  \"wallClockMs\": 1000";
        let table = [
            (format!("{wall},\n  \"hops\": 3\n}}"), "line 3: hops: unknown field `hops`", true),
            ("{\n\"wallClockMs\": \"long\"}".to_owned(), "line 2: wallClockMs: invalid type", false),
            ("{}".to_owned(), "wallClockMs: missing field", false),
            (wall.to_owned(), "line 2: EOF while parsing", false),
        ];
        for (text, expected, newer) in table {
            std::fs::write(&file, &text).expect("written");
            let told = read::<Limits>(&file).expect_err("refused").line();
            assert!(told.contains("limits.json") && told.contains(expected), "{text}: {told}");
            assert_eq!(told.contains("version of the operator"), newer, "{text}: {told}");
        }
        let missing = read::<Limits>(&folder.path().join("none.json")).expect_err("not there").line();
        assert!(missing.contains("none.json"), "{missing}");
    }
}
