//! `up`: one process holds a folder, the others ask it.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Place, Up};

#[test]
fn a_second_up_is_refused_with_the_address_of_the_first() {
    let place = Place::handbook();
    let up = Up::start(&place, &[]).ready();
    let second = place.run(&["up", "--port", "0"]).expect(1);
    assert!(second.stderr.contains(&up.url), "{}", second.stderr);
    assert!(second.stderr.contains("already served"), "{}", second.stderr);
}

#[test]
fn other_commands_become_its_clients() {
    let place = Place::handbook();
    let up = Up::start(&place, &["--no-watch"]).ready();
    let answer = place.run(&["ask", "-o", "json", "What is the late fee?"]).expect(0).json();
    assert_eq!(answer["band"], "answered");
    place.write("garden.md", "# Garden\n\nThe gardener comes on Tuesdays.\n");
    let report = place.ingest().expect(0).json();
    assert_eq!(report["reports"][0]["added"], 1, "{report}");
    let found = place.run(&["search", "-o", "json", "gardener", "--url", &up.url]).expect(0).json();
    assert!(found["hits"][0]["document"].as_str().unwrap().ends_with("garden.md"), "{found}");
    up.signal("INT");
    up.wait().expect(0);
    let after = place.run(&["ask", "When does the gardener come?"]).expect(0);
    assert!(after.stdout.contains("Tuesdays"), "{}", after.stdout);
}

#[test]
fn a_change_of_the_folder_is_followed() {
    let place = Place::handbook();
    let up = Up::start(&place, &[]).ready();
    place.write("garden.md", "# Garden\n\nThe gardener comes on Tuesdays.\n");
    up.until("synced", |up| up.status().is_some_and(|status| status["knowledge_bases"][0]["documents"] == 5));
    place.run(&["ask", "When does the gardener come?"]).expect(0);
}

#[test]
fn both_signals_end_it_in_order() {
    for signal in ["INT", "TERM"] {
        let place = Place::handbook();
        let up = Up::start(&place, &[]).ready();
        up.signal(signal);
        up.wait().expect(0);
        place.run(&["ask", "What is the late fee?"]).expect(0);
    }
}

#[test]
fn after_a_kill_it_just_starts_again() {
    let place = Place::handbook();
    let up = Up::start(&place, &[]).ready();
    let first = up.url.clone();
    up.signal("KILL");
    assert_eq!(up.wait().code, -1, "ended by the signal");
    place.run(&["ask", "What is the late fee?"]).expect(0);
    let again = Up::start(&place, &[]).ready();
    assert_ne!(again.url, "", "{first}");
    place.run(&["ask", "What is the late fee?"]).expect(0);
}

#[test]
fn its_first_lines_say_what_it_found_and_where_it_answers() {
    let place = Place::handbook();
    place.write_bytes("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    let mut command = place.command(&["up", "--port", "0", "--embedding-model", "hashing"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = Vec::new();
    for line in std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap())) {
        let line = line.unwrap();
        let ready = line.starts_with("ready: http://127.0.0.1:");
        lines.push(line);
        if ready {
            break;
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    let text = lines.join("\n");
    assert!(text.contains("4 documents (2 markdown, 1 csv, 1 text)"), "{text}");
    assert!(text.contains("skipped 1"), "{text}");
    assert!(text.contains("read: 4 added"), "{text}");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let place = Place::handbook();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let refused = place.run(&["up", "--port", &port]).expect(1);
    assert!(refused.stderr.contains(&port) && refused.stderr.contains("--port"), "{}", refused.stderr);
}
