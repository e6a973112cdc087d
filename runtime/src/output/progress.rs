//! Shows how far knowledge bases are: a bar on a terminal, plain lines otherwise.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};
use tokio::sync::watch;

use super::{count, duration, stderr_is_terminal};
use crate::local::BaseProgress;
use crate::wire::Phase;

/// Time between two plain lines of the same phase.
const LINE_INTERVAL: Duration = Duration::from_secs(5);
/// A phase that ends sooner than this shows nothing.
const UNWORTHY: Duration = Duration::from_millis(400);

/// Where progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Show {
    /// A bar on standard error.
    Bar,
    /// Lines on standard error.
    Lines,
    /// Nowhere.
    Nothing,
}

impl Show {
    /// What fits standard error.
    pub(crate) fn fitting(quiet: bool) -> Self {
        match (quiet, stderr_is_terminal()) {
            (true, _) => Self::Nothing,
            (false, true) => Self::Bar,
            (false, false) => Self::Lines,
        }
    }
}

/// Shows the progress of one knowledge base until its sender is gone. Aborting the future leaves a bar behind only
/// until `bars` is cleared.
pub(crate) async fn show(show: Show, bars: MultiProgress, name: String, mut progress: watch::Receiver<BaseProgress>) {
    let mut view = View { show, bars, name, bar: None, line_at: None };
    loop {
        let state = progress.borrow_and_update().clone();
        view.update(&state);
        if progress.changed().await.is_err() {
            break;
        }
    }
    view.clear();
}

/// Bars that are drawn on standard error.
pub(crate) fn bars() -> MultiProgress {
    MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10))
}

struct View {
    show: Show,
    bars: MultiProgress,
    name: String,
    bar: Option<(Phase, ProgressBar)>,
    line_at: Option<(Phase, Instant)>,
}

impl View {
    fn update(&mut self, state: &BaseProgress) {
        let running = matches!(state.phase, Phase::Keywords | Phase::Vectors) && state.total > 0;
        let worthy = state.since.is_some_and(|since| since.elapsed() > UNWORTHY);
        match self.show {
            Show::Nothing => {}
            Show::Bar if running && worthy => self.draw(state),
            Show::Bar => self.clear(),
            Show::Lines if running && worthy => self.line(state),
            Show::Lines => {}
        }
    }

    fn draw(&mut self, state: &BaseProgress) {
        if self.bar.as_ref().is_some_and(|(phase, _)| *phase != state.phase) {
            self.clear();
        }
        let (_, bar) = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{prefix} [{bar:30}] {human_pos}/{human_len} {msg}");
            let style = style.expect("the template is fixed").progress_chars("=> ");
            let bar = self.bars.add(ProgressBar::new(state.total).with_style(style));
            bar.set_prefix(format!("{}: {}", self.name, noun(state.phase)));
            (state.phase, bar)
        });
        bar.set_length(state.total);
        bar.set_position(state.done);
        bar.set_message(left(state));
    }

    fn clear(&mut self) {
        if let Some((_, bar)) = self.bar.take() {
            bar.finish_and_clear();
            self.bars.remove(&bar);
        }
    }

    fn line(&mut self, state: &BaseProgress) {
        let due = self.line_at.is_none_or(|(phase, at)| phase != state.phase || at.elapsed() >= LINE_INTERVAL);
        if due {
            self.line_at = Some((state.phase, Instant::now()));
            let of = count(state.total, if state.phase == Phase::Keywords { "file" } else { "chunk" });
            eprintln!("{}: {} {} of {of} {}", self.name, noun(state.phase), state.done, left(state));
        }
    }
}

fn noun(phase: Phase) -> &'static str {
    match phase {
        Phase::Vectors => "vectors",
        _ => "keywords",
    }
}

fn left(state: &BaseProgress) -> String {
    state.remaining().map(|time| format!("({} left)", duration(time))).unwrap_or_default()
}
