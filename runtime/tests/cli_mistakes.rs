//! Mistakes get an error that names the thing and the fix, on standard error, and never a backtrace.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Place, Ran, Up};

#[test]
fn mistakes_name_the_thing_and_the_fix() {
    let place = Place::handbook();
    let table: [(&[&str], i32, &[&str]); 14] = [
        (&["up", "missing"], 1, &["failed to open the folder missing", "name a folder that exists"]),
        (&["ingest", "fees.md"], 1, &["fees.md", "it is a file", "name its folder"]),
        (&["ask", "late fee?"], 1, &["nothing is ingested", "groundwork ingest"]),
        (&["ask"], 2, &["<QUESTION>"]),
        (&["search", "x", "--top-k", "0"], 2, &["--top-k", "1..=100"]),
        (&["search", "x", "--mode", "fuzzy"], 2, &["keyword, vector, hybrid"]),
        (&["up", "--source", "handbook"], 2, &["NAME=PATH"]),
        (&["up", "--chat-model", "gpt"], 2, &["ollama/NAME"]),
        (&["ingest", "--embedding-model", "hash"], 2, &["encoder, hashing or none"]),
        (&["eval", "q.yaml", "--threshold", "ndcg_at_1=0.5"], 2, &["no metric ndcg_at_1", "did you mean ndcg_at_10?"]),
        (&["eval", "q.yaml", "--threshold", "bogus=1"], 2, &["no metric bogus", "fact_recall"]),
        (&["ingest", "--chat-model", "openai/x"], 1, &["OPENAI_API_KEY is not set", "--api-key-file"]),
        (&["ask", "x", "--url", "localhost:1"], 1, &["localhost:1", "http://"]),
        (&["ask", "x", "--url", "http://127.0.0.1:9"], 1, &["failed to reach groundwork at http://127.0.0.1:9"]),
    ];
    for (arguments, code, messages) in table {
        let ran = place.run(arguments).expect(code);
        for message in messages {
            assert!(ran.stderr.contains(message), "{arguments:?} does not say {message:?}:\n{}", ran.stderr);
        }
        assert!(ran.stdout.is_empty(), "{arguments:?}: {}", ran.stdout);
        assert!(!ran.stderr.contains("backtrace") && !ran.stderr.contains("panicked"), "{}", ran.stderr);
    }
}

#[test]
fn a_data_folder_among_the_documents_is_refused() {
    let place = Place::handbook();
    let ran = place.run(&["ingest", "--embedding-model", "none", "--data-dir", "index/data"]).expect(1);
    assert!(ran.stderr.contains("among the documents") && ran.stderr.contains("--data-dir"), "{}", ran.stderr);
    let hidden = place.run(&["ingest", "--embedding-model", "none", "--data-dir", ".index", "-o", "json"]).expect(0);
    assert_eq!(hidden.json()["reports"][0]["added"], 4);
}

#[test]
fn the_data_folder_of_another_folder_is_refused_by_all_who_write() {
    let (first, second) = (Place::handbook(), Place::with(&[("garden.md", "# Garden\n\nRoses need water.\n")]));
    let data = first.data_home().join("index");
    let data = data.to_str().unwrap();
    let folders = [first.folder().canonicalize().unwrap(), second.folder().canonicalize().unwrap()];
    let up = Up::start(&first, &["--no-watch", "--data-dir", data]).ready();
    let ingest: &[&str] = &["ingest", "--embedding-model", "hashing", "--data-dir", data];
    let refused = |ran: Ran| {
        let ran = ran.expect(1);
        for words in [folders[0].to_str().unwrap(), folders[1].to_str().unwrap(), "--data-dir", "instance.json"] {
            assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
        }
    };
    refused(second.run(ingest));
    up.signal("INT");
    up.wait().expect(0);
    refused(second.run(ingest));
    refused(second.run(&["up", "--port", "0", "--data-dir", data]));
    first.run(&["ask", "What is the late fee?", "--data-dir", data]).expect(0);
}

#[test]
fn a_folder_that_moved_keeps_its_index_after_one_deletion() {
    let place = Place::with(&[("old/garden/roses.md", "# Garden\n\nRoses need water.\n")]);
    let data = place.data_home().join("index");
    let ingest = |folder: &str| {
        let data = data.to_str().unwrap();
        place.run(&["ingest", folder, "--embedding-model", "hashing", "-o", "json", "--data-dir", data])
    };
    ingest("old/garden").expect(0);
    std::fs::rename(place.folder().join("old"), place.folder().join("new")).unwrap();
    ingest("new/garden").expect(1);
    std::fs::remove_file(data.join("instance.json")).unwrap();
    let report = ingest("new/garden").expect(0).json();
    let report = &report["reports"][0];
    assert_eq!([&report["unchanged"], &report["added"], &report["removed"]], [1, 0, 0], "{report}");
}

#[test]
fn a_data_folder_without_an_index_is_named_and_no_folder_above() {
    let place = Place::handbook();
    place.ingest().expect(0);
    let empty = place.data_home().join("empty");
    let mut named = place.command(&["ask", "What is the late fee?", "--data-dir"]);
    let mut set = place.command(&["ask", "What is the late fee?"]);
    for command in [named.arg(&empty), set.env("GROUNDWORK_DATA_DIR", &empty)] {
        let ran = Ran::of(command.output().unwrap()).expect(1);
        for words in [empty.to_str().unwrap(), "groundwork ingest DIR --data-dir", "GROUNDWORK_DATA_DIR"] {
            assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
        }
        assert!(!ran.stderr.contains("above"), "{}", ran.stderr);
    }
}

#[test]
fn a_day_that_is_none_names_its_field() {
    let place = Place::handbook();
    place.ingest().expect(0);
    let ran = place.run(&["search", "late fee", "--until", "31.12.2024"]).expect(1);
    assert!(ran.stderr.contains("filter.until") && ran.stderr.contains("YYYY-MM-DD"), "{}", ran.stderr);
}

#[test]
fn manifests_that_cannot_be_used_are_named() {
    let place = Place::handbook();
    place.write("groundwork.yaml", "apiVersion: groundwork.dev/v1alpha1\nkind: KnowledgeBase\nmetadata: [broken\n");
    let broken = place.run(&["ingest"]).expect(1);
    assert!(broken.stderr.contains("groundwork.yaml"), "{}", broken.stderr);
    std::fs::remove_file(place.folder().join("groundwork.yaml")).unwrap();
    let unknown = place.run(&["ingest", "--pipeline", "nightly"]).expect(1);
    assert!(unknown.stderr.contains("nightly"), "{}", unknown.stderr);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let place = Place::handbook();
    place.ingest().expect(0);
    let command = "\"$0\" search -o json late fee | head -c 1";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", command, env!("CARGO_BIN_EXE_groundwork")]).current_dir(place.folder());
    shell.env("XDG_DATA_HOME", place.data_home()).env("HOME", place.data_home());
    let output = shell.output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn every_command_teaches_with_examples() {
    let place = Place::handbook();
    for command in ["up", "ingest", "ask", "search", "completions"] {
        let help = place.run(&[command, "--help"]).expect(0).stdout;
        assert!(help.contains("Examples:"), "{command}:\n{help}");
    }
    let script = place.run(&["completions", "bash"]).expect(0).stdout;
    assert!(script.contains("_groundwork"));
}

#[test]
fn a_half_written_record_is_named_with_the_fix() {
    let place = Place::handbook();
    place.ingest().expect(0);
    let folders = std::fs::read_dir(place.data_home().join("groundwork")).unwrap();
    let record = folders.flatten().map(|folder| folder.path().join("instance.json")).find(|file| file.is_file());
    let record = record.unwrap();
    std::fs::write(&record, &std::fs::read(&record).unwrap()[..40]).unwrap();
    let ran = place.run(&["ask", "What is the late fee?"]).expect(1);
    for words in ["instance.json", "damaged", "groundwork ingest DIR"] {
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("version"), "{}", ran.stderr);
    place.ingest().expect(0);
    place.run(&["ask", "What is the late fee?"]).expect(0);
}

#[test]
fn what_goes_into_a_file_has_no_escape_codes() {
    let place = Place::handbook();
    place.write("deep/broken.yaml", "apiVersion: groundwork.dev/v1alpha1\nkind: KnowledgeBase\nmetadata: [broken\n");
    let commands: [&[&str]; 5] = [
        &["validate", "-f", "deep/broken.yaml"],
        &["ask", "Where is nothing ingested?"],
        &["ingest", "--embedding-model", "hashing"],
        &["ask", "What is the late fee?"],
        &["search", "--explain", "late fee"],
    ];
    for no_color in [None, Some("1")] {
        for arguments in commands {
            let mut command = place.command(arguments);
            command.env("TERM", "xterm-256color").envs(no_color.map(|value| ("NO_COLOR", value)));
            let output = command.output().unwrap();
            for stream in [output.stdout, output.stderr] {
                let text = String::from_utf8(stream).unwrap();
                assert!(!text.contains('\u{1b}'), "{arguments:?}, NO_COLOR {no_color:?}: {text:?}");
            }
        }
    }
}

/// What a command writes to a terminal, which `script` (util-linux) makes; nothing where that is not installed.
#[cfg(target_os = "linux")]
fn on_a_terminal(place: &Place, no_color: &str) -> Option<String> {
    let shell = format!("'{}' search --explain 'late fee'", env!("CARGO_BIN_EXE_groundwork"));
    let mut command = std::process::Command::new("script");
    command.args(["-qec", &shell, "/dev/null"]).current_dir(place.folder()).stdin(std::process::Stdio::null());
    command.env("XDG_DATA_HOME", place.data_home()).env("HOME", place.data_home());
    command.env("TERM", "xterm-256color").env("NO_COLOR", no_color);
    let output = command.output().ok()?;
    Some(String::from_utf8(output.stdout).unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn no_color_is_honoured_on_a_terminal() {
    let place = Place::handbook();
    place.ingest().expect(0);
    let (Some(coloured), Some(plain)) = (on_a_terminal(&place, ""), on_a_terminal(&place, "1")) else {
        return groundwork_tests::skip::skip("no_color_is_honoured_on_a_terminal", "script", "script is not installed");
    };
    assert!(coloured.contains("fees.md") && coloured.contains('\u{1b}'), "{coloured:?}");
    assert!(plain.contains("fees.md") && !plain.contains('\u{1b}'), "{plain:?}");
}
