//! The outline of source code: blank lines and indentation, with the enclosing symbols as context.

use std::ops::Range;

use super::outline::{Block, Cut, Gather, Kind, Outline, lines, paragraphs};
use super::symbol;
use super::token::count;

/// Longest path of symbols, in bytes, to which another is added.
const LONGEST_PATH: usize = 120;

/// Sections begin where, after a blank line, a line without indentation begins something; short neighbours share one.
pub(super) fn outline(path: &str, body: &str, start: usize, child: u32) -> Outline {
    let mut outline = Outline::new();
    let mut symbols = Symbols { path, open: Vec::new() };
    let mut gather = Gather::new(child);
    let (mut tokens, mut unit) = (0_u32, Vec::new());
    for span in paragraphs(body, start) {
        if begins_unit(&body[span.clone()]) {
            gather.push(&mut outline, std::mem::take(&mut tokens), std::mem::take(&mut unit));
        }
        tokens = tokens.saturating_add(count(&body[span.clone()]));
        let cuts = lines(&body[..span.end], span.start).map(|line| symbols.cut(body, line, &mut outline.notes));
        unit.push(Block { cuts: cuts.collect(), span, kind: Kind::Rigid });
    }
    gather.push(&mut outline, tokens, unit);
    gather.close(&mut outline);
    outline
}

fn begins_unit(block: &str) -> bool {
    let line = block.trim_start_matches(['\n', '\r']);
    line.starts_with(|first: char| !first.is_whitespace() && !matches!(first, '}' | ')' | ']'))
}

/// The symbols whose bodies are open, by indentation.
struct Symbols<'a> {
    path: &'a str,
    /// Indentation and index of the context line that names the symbol with those around it.
    open: Vec<(usize, usize)>,
}

impl Symbols<'_> {
    /// A cut at the line, with the symbols around it; the line itself may open one.
    fn cut(&mut self, body: &str, line: Range<usize>, notes: &mut Vec<String>) -> Cut {
        let text = body[line.clone()].trim_end();
        let code = text.trim_start();
        let indent = text.len() - code.len();
        let continues = code.starts_with(['{', '}', ')', ']']);
        while !code.is_empty()
            && self.open.last().is_some_and(|(open, _)| *open > indent || *open == indent && !continues)
        {
            self.open.pop();
        }
        let note = self.open.last().map_or(0, |(_, note)| *note);
        if let Some(name) = symbol::defined(self.path, code) {
            let around = notes[note].as_str();
            let name = if note == 0 || around.len() > LONGEST_PATH { name } else { format!("{around} > {name}") };
            notes.push(name);
            self.open.push((indent, notes.len() - 1));
        }
        Cut { at: line.start, note }
    }
}
