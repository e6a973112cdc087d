//! Fitting a prompt to the model's context window. Nobody but the model's server knows its tokens, so they are estimated
//! from above: a passage too few costs less than a refused request.

use crate::ask::AskOptions;
use crate::model::{ChatRequest, ReplyFormat, Turn, estimated_tokens};
use crate::passage::Passage;
use crate::prompt;

/// Part of a window that a reply may take at most, so that a small window has room for sources.
const REPLY_SHARE: u32 = 4;
/// Tokens of the frame that a chat template puts around a message.
const FRAME: u64 = 8;

/// The room that a model has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Tokens of prompt and reply together; `None` is unknown, and nothing is cut for it.
    tokens: Option<u32>,
    reply: u32,
}

impl Window {
    pub(crate) fn of(options: &AskOptions) -> Self {
        let most = options.context_window.map_or(u32::MAX, |tokens| tokens / REPLY_SHARE);
        Self { tokens: options.context_window, reply: options.max_tokens.min(most).max(1) }
    }

    /// Tokens of prompt and reply together, where known.
    pub(crate) fn tokens(&self) -> Option<u32> {
        self.tokens
    }

    /// Upper bound of a reply in tokens.
    pub(crate) fn reply(&self) -> u32 {
        self.reply
    }

    /// Tokens of the instructions and the question where those alone are too many.
    pub(crate) fn exceeded_by(&self, question: &str) -> Option<u64> {
        let needed = around_sources(question);
        (needed > self.room()).then_some(needed)
    }

    /// How many of the best passages fit.
    pub(crate) fn sources(&self, question: &str, passages: &[Passage]) -> usize {
        let mut used = around_sources(question);
        let fits = |(index, passage): &(usize, &Passage)| {
            used += upper(&prompt::source(*index, passage));
            used <= self.room()
        };
        passages.iter().enumerate().take_while(fits).count()
    }

    /// Whether a whole request fits.
    pub(crate) fn fits(&self, request: &ChatRequest) -> bool {
        prompt_tokens(request) <= self.room()
    }

    /// Tokens left for prompts.
    fn room(&self) -> u64 {
        self.tokens.map_or(u64::MAX, |tokens| u64::from(tokens.saturating_sub(self.reply)))
    }
}

/// Tokens of a whole prompt, estimated from above.
pub(crate) fn prompt_tokens(request: &ChatRequest) -> u64 {
    let turns = request.turns.iter().map(|turn| match turn {
        Turn::User(text) | Turn::Assistant(text) => upper(text) + FRAME,
    });
    instructions(&request.format) + turns.sum::<u64>()
}

/// Everything but the sources, in the longest format: which one the server takes is not known before.
fn around_sources(question: &str) -> u64 {
    let instructions = prompt::formats().iter().map(instructions).max().unwrap_or(0);
    instructions + upper(&prompt::question(question, &[])) + FRAME
}

fn instructions(format: &ReplyFormat) -> u64 {
    let schema = match format {
        ReplyFormat::JsonSchema { schema, .. } => upper(&schema.to_string()),
        ReplyFormat::JsonMode | ReplyFormat::Text => 0,
    };
    upper(&prompt::system(format)) + schema + FRAME
}

/// A third more than the estimate: tokenizers differ by about that much.
fn upper(text: &str) -> u64 {
    (estimated_tokens(text) * 4).div_ceil(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::passage;

    fn window(tokens: u32) -> Window {
        Window::of(&AskOptions { context_window: Some(tokens), ..AskOptions::default() })
    }

    #[test]
    fn a_reply_takes_a_quarter_of_a_small_window() {
        for (tokens, reply) in [(256, 64), (2048, 512), (4096, 1024), (100_000, 1024)] {
            assert_eq!(window(tokens).reply(), reply, "{tokens}");
        }
        assert_eq!(Window::of(&AskOptions::default()).reply(), 1024);
    }

    #[test]
    fn the_best_passages_stay_and_what_stays_fits() {
        let passages: Vec<_> =
            (0..40).map(|n| passage(&format!("{n}.md"), &"Thirty days of leave. ".repeat(20))).collect();
        let mut before = 0;
        for tokens in [256, 1024, 2048, 4096, 8192, 16_384] {
            let window = window(tokens);
            let kept = window.sources("How long?", &passages);
            assert!(kept >= before, "{tokens}");
            before = kept;
            for format in prompt::formats() {
                let request = ChatRequest {
                    system: prompt::system(&format),
                    turns: vec![Turn::User(prompt::question("How long?", &passages[..kept]))],
                    format,
                    temperature: 0.0,
                    max_tokens: window.reply(),
                };
                assert!(kept == 0 || window.fits(&request), "{tokens}");
            }
        }
        assert_eq!(before, 40, "a large window takes them all");
        assert_eq!(Window::of(&AskOptions::default()).sources("How long?", &passages), 40);
    }

    #[test]
    fn a_question_is_too_long_by_itself_or_it_is_not() {
        assert_eq!(window(4096).exceeded_by("How long is the notice period?"), None);
        assert!(window(2048).exceeded_by(&"长".repeat(3000)).is_some_and(|needed| needed > 4000));
        assert_eq!(Window::of(&AskOptions::default()).exceeded_by(&"长".repeat(4000)), None);
    }
}
