//! Writes the tokens of the pieces that scanning finds.

use std::ops::Range;

use super::character::plain_at;
use super::fold::{bigrams, fold, fold_into};
use super::identifier::{Compound, parts};
use super::language::Rules;
use super::scan::{Joining, Piece, Run, next_piece};
use super::{Token, TokenKind};

/// Longest run of capitals that a number after a space can belong to (`AX 3000`, `SKU 4471`).
const LONGEST_PREFIX: usize = 5;

pub(super) struct Writer<'a> {
    text: &'a str,
    rules: &'a Rules,
    tokens: Vec<Token>,
    parts: Vec<Range<usize>>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(text: &'a str, rules: &'a Rules) -> Self {
        Self { text, rules, tokens: Vec::with_capacity(text.len() / 8 + 1), parts: Vec::new() }
    }

    /// Tokens of a text whose identifiers are ordinary words.
    pub(super) fn words(mut self) -> Vec<Token> {
        let mut at = 0;
        while let Some(piece) = next_piece(self.text, at, Joining::Annex29) {
            at = match piece {
                Piece::Wide(span) => self.wide(span),
                Piece::Word(run) => {
                    self.word(run.span.clone(), !run.shape.digit);
                    run.end
                }
            };
        }
        self.tokens
    }

    /// Tokens with identifiers folded.
    pub(super) fn identifiers(mut self) -> Vec<Token> {
        let joining = Joining::Words { apostrophes: self.rules.apostrophes };
        let mut compound = Compound::default();
        let mut prefix: Option<Range<usize>> = None;
        let mut at = 0;
        while let Some(piece) = next_piece(self.text, at, joining) {
            at = match piece {
                Piece::Wide(span) => {
                    prefix = None;
                    self.wide(span)
                }
                Piece::Word(run) => {
                    let end = compound.read(self.text, run, joining);
                    self.compound(&compound);
                    self.spaced(prefix.take(), &compound);
                    prefix = self.prefix(&compound);
                    end
                }
            };
        }
        self.tokens
    }

    fn wide(&mut self, span: Range<usize>) -> usize {
        let end = span.end;
        let tokens = &mut self.tokens;
        bigrams(self.text, span, |term, span| tokens.push(Token { term, span, kind: TokenKind::Word }));
        end
    }

    /// Folds, drops stop words, stems.
    fn word(&mut self, span: Range<usize>, letters_only: bool) {
        let mut term = fold(&self.text[span.clone()]);
        if letters_only {
            if self.rules.is_stop_word(&term) {
                return;
            }
            term = self.rules.stem(term);
        }
        self.tokens.push(Token { term, span, kind: TokenKind::Word });
    }

    fn compound(&mut self, compound: &Compound) {
        if compound.is_abbreviation(self.text) {
            let term = compound.runs.iter().map(|run| fold(&self.text[run.span.clone()])).collect();
            self.tokens.push(Token { term, span: compound.span(), kind: TokenKind::Word });
            return;
        }
        let mut split = false;
        for run in &compound.runs {
            split |= self.run(run);
        }
        if compound.is_identifier() || split {
            if let Some(term) = compound.joined(self.text) {
                self.tokens.push(Token { term, span: compound.span(), kind: TokenKind::Identifier });
            }
        } else {
            self.symbol(compound);
        }
    }

    /// Writes the words of one run; whether it had parts.
    fn run(&mut self, run: &Run) -> bool {
        if run.shape.grouped {
            let term = fold(&self.text[run.span.clone()]).replace(',', "");
            self.tokens.push(Token { term, span: run.span.clone(), kind: TokenKind::Word });
            return false;
        }
        if !run.shape.mixed {
            self.word(run.span.clone(), !run.shape.digit);
            return false;
        }
        let mut found = std::mem::take(&mut self.parts);
        parts(self.text, run, &mut found);
        let split = !found.is_empty();
        if split {
            found.drain(..).for_each(|part| self.part(part));
        }
        // The whole of a name in mixed case is a word too, or `github` would not find `GitHub`; a name with digits
        // is cut in the same way whatever its case.
        if !split || !run.shape.digit {
            self.word(run.span.clone(), !run.shape.digit);
        }
        self.parts = found;
        split
    }

    fn part(&mut self, span: Range<usize>) {
        let digits = self.text[span.clone()].starts_with(|first: char| first.is_numeric());
        self.word(span, !digits);
    }

    /// `C++`, `C#`: a single letter with a sign that belongs to it.
    fn symbol(&mut self, compound: &Compound) {
        let span = compound.span();
        if compound.runs.len() != 1 || span.len() != 1 || self.text.as_bytes()[span.start].is_ascii_digit() {
            return;
        }
        let rest = &self.text[span.end..];
        let sign = if rest.starts_with("++") { "++" } else { "#" };
        let next = rest.strip_prefix(sign).and_then(|rest| rest.chars().next());
        if rest.starts_with(sign) && !next.is_some_and(char::is_alphanumeric) {
            let span = span.start..span.end + sign.len();
            self.tokens.push(Token { term: fold(&self.text[span.clone()]), span, kind: TokenKind::Identifier });
        }
    }

    /// What a number after one space may be joined to: a short run of capitals that is no word of the language.
    fn prefix(&self, compound: &Compound) -> Option<Range<usize>> {
        let [run] = compound.runs.as_slice() else { return None };
        let capitals = run.shape.upper && !run.shape.lower && !run.shape.digit && run.span.len() <= LONGEST_PREFIX;
        let word = &self.text[run.span.clone()];
        let named = capitals && word.is_ascii() && word != "I" && !self.rules.is_stop_word(&word.to_ascii_lowercase());
        (named && run.end == run.span.end && plain_at(self.text, run.end) == ' ').then(|| run.span.clone())
    }

    /// Writes the joined form of `AX 3000`.
    fn spaced(&mut self, prefix: Option<Range<usize>>, compound: &Compound) {
        let Some(prefix) = prefix else { return };
        let span = compound.span();
        let gap = &self.text[prefix.end..span.start];
        let numbered = self.text[span.clone()].starts_with(|first: char| first.is_numeric());
        if !numbered || gap.chars().count() != 1 {
            return;
        }
        if let Some(number) = compound.joined(self.text) {
            let mut term = String::with_capacity(prefix.len() + number.len());
            fold_into(&self.text[prefix.clone()], &mut term);
            term.push_str(&number);
            self.tokens.push(Token { term, span: prefix.start..span.end, kind: TokenKind::Identifier });
        }
    }
}
