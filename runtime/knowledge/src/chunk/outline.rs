//! The structure of a body, whatever its format: sections of blocks that tile it.

use std::ops::Range;

use super::token::count;

/// A body's structure. The blocks of all sections, in order, tile the body after the front matter.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// Text of the first heading.
    pub(super) heading: Option<String>,
    pub(super) sections: Vec<Section>,
    /// Lines of context that cuts refer to; the first is empty.
    pub(super) notes: Vec<String>,
    /// Where each record of a table file begins.
    pub(super) rows: Option<Vec<usize>>,
}

/// A stretch of blocks that windows do not leave.
#[derive(Debug)]
pub(super) struct Section {
    /// Level of its heading; sections without headings have all the same.
    pub(super) level: u8,
    /// Headings above it and its own.
    pub(super) path: Vec<String>,
    pub(super) blocks: Vec<Block>,
}

/// A paragraph, list, table or the like with the white space after it.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
    /// Where it may be cut if it must: ascending, the first at its start. Empty for prose, which is cut at sentences.
    pub(super) cuts: Vec<Cut>,
}

/// How a block may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Stays with what follows it.
    Heading,
    /// At sentences.
    Prose,
    /// At its cuts, where it does not fit whole: lists, code.
    Rigid,
    /// At its cuts where it does not fit whole, and then windows neither overlap nor hold anything else: tables.
    Rows,
    /// Anywhere between words.
    Words,
}

/// A place where a block may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) at: usize,
    /// Index of the context line of what begins here.
    pub(super) note: usize,
}

impl Outline {
    pub(super) fn new() -> Self {
        Self { notes: vec![String::new()], ..Self::default() }
    }

    /// One section of words.
    pub(super) fn plain(body: &str, start: usize) -> Self {
        let mut outline = Self::new();
        if start < body.len() {
            outline.flat(vec![Block { span: start..body.len(), kind: Kind::Words, cuts: Vec::new() }]);
        }
        outline
    }

    /// Paragraphs between blank lines; short neighbours share a section.
    pub(super) fn text(body: &str, start: usize, child: u32) -> Self {
        let mut outline = Self::new();
        let mut gather = Gather::new(child);
        for span in paragraphs(body, start) {
            let tokens = count(&body[span.clone()]);
            gather.push(&mut outline, tokens, vec![Block { span, kind: Kind::Prose, cuts: Vec::new() }]);
        }
        gather.close(&mut outline);
        outline
    }

    /// Adds a section without headings.
    pub(super) fn flat(&mut self, blocks: Vec<Block>) {
        self.sections.push(Section { level: 1, path: Vec::new(), blocks });
    }
}

/// Gathers small neighbours into sections of up to a chunk. What is half a chunk or more always begins a section, so
/// that an edit above moves nothing below the next such part.
pub(super) struct Gather {
    child: u32,
    tokens: u32,
    blocks: Vec<Block>,
}

impl Gather {
    pub(super) fn new(child: u32) -> Self {
        Self { child, tokens: 0, blocks: Vec::new() }
    }

    pub(super) fn push(&mut self, outline: &mut Outline, tokens: u32, blocks: Vec<Block>) {
        if tokens >= self.child / 2 || self.tokens + tokens > self.child {
            self.close(outline);
        }
        self.tokens += tokens;
        self.blocks.extend(blocks);
    }

    pub(super) fn close(&mut self, outline: &mut Outline) {
        self.tokens = 0;
        if !self.blocks.is_empty() {
            outline.flat(std::mem::take(&mut self.blocks));
        }
    }
}

/// Paragraphs with the blank lines after them; blank lines at the start belong to the first.
pub(super) fn paragraphs(body: &str, start: usize) -> Vec<Range<usize>> {
    let mut starts = vec![start];
    let (mut blank, mut seen) = (false, false);
    for line in lines(body, start) {
        let empty = body[line.clone()].trim().is_empty();
        if !empty && blank && seen {
            starts.push(line.start);
        }
        seen |= !empty;
        blank = empty;
    }
    spans(&starts, body.len())
}

/// Lines with their line ends.
pub(super) fn lines(body: &str, start: usize) -> impl Iterator<Item = Range<usize>> {
    body[start..].split_inclusive('\n').scan(start, |at, line| {
        let span = *at..*at + line.len();
        *at = span.end;
        Some(span)
    })
}

/// The spans between ascending starts.
pub(super) fn spans(starts: &[usize], end: usize) -> Vec<Range<usize>> {
    let ends = starts.iter().skip(1).copied().chain([end]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).filter(|span| !span.is_empty()).collect()
}

/// The text with each stretch of white space as one space.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
