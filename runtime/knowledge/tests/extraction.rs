//! The extraction pool against real processes. This test is its own child: started with the argument `child`, it
//! answers jobs whose payload says what to do.

use groundwork_knowledge::document::{Begins, Format, Mark};
use groundwork_knowledge::load::extraction::{Extraction, serve};
use groundwork_knowledge::load::{ExtractionOptions, ExtractionPool, LoadError};
use std::io::Write;
use std::time::{Duration, Instant};

fn main() {
    if std::env::args().nth(1).as_deref() == Some("child") {
        serve(std::io::stdin(), std::io::stdout(), act).expect("the parent keeps its pipes");
        return;
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    runtime.block_on(async {
        answers_and_refusals_pass_through().await;
        a_killed_child_fails_one_document().await;
        children_that_die_or_lie_fail_one_document().await;
        a_slow_child_is_ended().await;
        a_cancelled_job_leaves_the_pool_usable().await;
        children_are_used_again_and_replaced().await;
        a_missing_program_is_named().await;
    });
    println!("extraction: 7 tests passed");
}

/// What a child does with a payload.
fn act(_: Format, payload: Vec<u8>) -> Result<Extraction, String> {
    let text = String::from_utf8(payload).expect("the test sends text");
    let (verb, rest) = text.split_once(' ').unwrap_or((&text, ""));
    match verb {
        "refuse" => Err(rest.to_owned()),
        "sleep" => loop {
            std::thread::sleep(Duration::from_secs(3600));
        },
        "abort" => {
            eprintln!("about to abort");
            std::process::abort()
        }
        "exit" => std::process::exit(3),
        "allocate" => {
            eprintln!("memory allocation of 9999999999 bytes failed");
            std::process::abort()
        }
        "garbage" => {
            std::io::stdout().write_all(b"\xFF\xFF\xFF\xFFgarbage").expect("the pipe is open");
            std::process::exit(0)
        }
        "chatter" => {
            eprintln!("{}", "x".repeat(1 << 20));
            Ok(markdown("chattered"))
        }
        "mark" => {
            let marks = vec![Mark { offset: 99, begins: Begins::Page(1) }];
            Ok(Extraction { marks, ..markdown("short") })
        }
        "pid" => Ok(markdown(&std::process::id().to_string())),
        "environment" => Ok(markdown(&format!("{} variables", std::env::vars().count()))),
        _ => Ok(markdown(&text)),
    }
}

fn markdown(text: &str) -> Extraction {
    Extraction { markdown: text.to_owned(), ..Extraction::default() }
}

fn pool(change: impl FnOnce(&mut ExtractionOptions)) -> ExtractionPool {
    let mut options = ExtractionOptions::new(std::env::current_exe().expect("the test knows its program"));
    options.arguments = vec!["child".into()];
    options.processes = 2;
    options.time_limit = Duration::from_secs(30);
    change(&mut options);
    ExtractionPool::new(options)
}

async fn run(pool: &ExtractionPool, payload: &str) -> Result<String, LoadError> {
    pool.extract(Format::Pdf, payload.as_bytes().to_vec()).await.map(|extraction| extraction.markdown)
}

async fn succeeds(pool: &ExtractionPool, payload: &str) -> String {
    run(pool, payload).await.expect("the job succeeds")
}

async fn fails(pool: &ExtractionPool, payload: &str) -> String {
    run(pool, payload).await.expect_err("the job fails").to_string()
}

async fn answers_and_refusals_pass_through() {
    let pool = pool(|_| {});
    assert_eq!(succeeds(&pool, "hello é").await, "hello é");
    assert_eq!(fails(&pool, "refuse the PDF is encrypted").await, "the PDF is encrypted");
    assert_eq!(succeeds(&pool, "environment").await, "0 variables");
    assert_eq!(succeeds(&pool, "chatter").await, "chattered");
}

async fn a_killed_child_fails_one_document() {
    let pool = pool(|_| {});
    let slow = tokio::spawn({
        let pool = pool.clone();
        async move { run(&pool, "sleep").await }
    });
    let victim = wait_for(|| pool.busy_processes().first().copied()).await;
    assert_eq!(succeeds(&pool, "beside it").await, "beside it");
    let killed = std::process::Command::new("kill").args(["-9", &victim.to_string()]).status().expect("kill runs");
    assert!(killed.success());
    let failure = slow.await.expect("the task ends").expect_err("its child is dead").to_string();
    assert_eq!(failure, "the extraction process ended while reading the file (signal: 9 (SIGKILL))");
    for round in 0..4 {
        let payload = format!("after it {round}");
        assert_eq!(succeeds(&pool, &payload).await, payload);
    }
}

async fn children_that_die_or_lie_fail_one_document() {
    let pool = pool(|_| {});
    for (payload, reason) in [
        (
            "abort",
            "the extraction process ended while reading the file (signal: 6 (SIGABRT) (core dumped): about to abort)",
        ),
        ("exit", "the extraction process ended while reading the file (exit status: 3)"),
        ("allocate", "extraction needs more than 1024 MB of memory"),
        ("garbage", "the extraction process gave an answer that cannot be read (a header of 4294967295 bytes)"),
        ("mark", "the extraction process gave an answer that cannot be read (its marks do not fit its text)"),
    ] {
        // Whether a core was dumped depends on the machine.
        let plain = |text: &str| text.replace(" (core dumped)", "");
        assert_eq!(plain(&fails(&pool, payload).await), plain(reason), "{payload}");
        assert_eq!(succeeds(&pool, "next").await, "next", "after {payload}");
    }
}

async fn a_slow_child_is_ended() {
    let pool = pool(|options| options.time_limit = Duration::from_secs(1));
    let job = tokio::spawn({
        let pool = pool.clone();
        async move { fails(&pool, "sleep").await }
    });
    let slow = wait_for(|| pool.busy_processes().first().copied()).await;
    assert_eq!(job.await.expect("the task ends"), "extraction took longer than 1 s");
    wait_for(|| is_gone(slow).then_some(())).await;
    assert_eq!(succeeds(&pool, "next").await, "next");
}

async fn a_cancelled_job_leaves_the_pool_usable() {
    let pool = pool(|options| options.processes = 1);
    let job = tokio::spawn({
        let pool = pool.clone();
        async move { run(&pool, "sleep").await }
    });
    let cancelled = wait_for(|| pool.busy_processes().first().copied()).await;
    job.abort();
    assert_eq!(succeeds(&pool, "next").await, "next");
    assert!(pool.busy_processes().is_empty());
    wait_for(|| is_gone(cancelled).then_some(())).await;
}

async fn children_are_used_again_and_replaced() {
    let pool = pool(|options| (options.processes, options.jobs_per_process) = (1, 2));
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(succeeds(&pool, "pid").await);
    }
    assert!(seen[0] == seen[1] && seen[2] == seen[3] && seen[1] != seen[2], "{seen:?}");
}

async fn a_missing_program_is_named() {
    let pool = pool(|options| options.program = "/nonexistent/program".into());
    assert!(fails(&pool, "x").await.starts_with("failed to start an extraction process: "));
}

/// Whether a process has ended: it is no more, or waits to be collected.
fn is_gone(process: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    state.rsplit(')').next().is_none_or(|rest| rest.trim().is_empty() || rest.trim_start().starts_with('Z'))
}

async fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "it does not happen");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
