//! Reading a model's reply: strictly, since whatever it is, it is only data.

use serde::Deserialize;
use std::fmt;

use crate::citation::is_invisible;
use crate::model::ReplyFormat;

/// More sentences than any answer needs; a reply beyond is not read.
const MOST_SENTENCES: usize = 30;
const MOST_CITATIONS: usize = 8;
const LONGEST_SENTENCE: usize = 2000;
/// Length of texts that are quoted back to the model.
const SHOWN: usize = 200;

/// What the model replied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Sentences(Vec<Draft>),
    Abstain(String),
}

/// A sentence before its citations are checked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Draft {
    pub(crate) text: String,
    pub(crate) citations: Vec<Claim>,
}

/// A citation before it is checked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    pub(crate) source: u32,
    pub(crate) quote: String,
}

/// What did not pass, in words for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rejected {
    /// The whole reply.
    Reply(String),
    /// A sentence without a citation.
    Uncited { text: String },
    /// A sentence whose quotes failed.
    Quotes { text: String, failures: Vec<(String, String)> },
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reply(reason) => write!(f, "the reply is not in the form asked for: {reason}"),
            Self::Uncited { text } => write!(f, "the sentence {:?} has no citation", shown(text)),
            Self::Quotes { text, failures } => {
                write!(f, "the sentence {:?}:", shown(text))?;
                failures.iter().try_for_each(|(quote, reason)| write!(f, " {:?}: {reason};", shown(quote)))
            }
        }
    }
}

fn shown(text: &str) -> &str {
    &text[..text.floor_char_boundary(SHOWN)]
}

/// Reads a reply in the format that was asked for.
pub(crate) fn parse(text: &str, format: &ReplyFormat) -> Result<Reply, Rejected> {
    let reply = if *format == ReplyFormat::Text { numbered(text) } else { json(text) };
    reply.and_then(bounded).map_err(Rejected::Reply)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonReply {
    abstain: Option<String>,
    #[serde(default)]
    sentences: Vec<Draft>,
}

fn json(text: &str) -> Result<Reply, String> {
    let reply: JsonReply = serde_json::from_str(unfenced(text)).map_err(|error| error.to_string())?;
    match reply.abstain.filter(|reason| !reason.trim().is_empty()) {
        Some(_) if !reply.sentences.is_empty() => Err("it both answers and abstains".into()),
        Some(reason) => Ok(Reply::Abstain(reason)),
        None => Ok(Reply::Sentences(reply.sentences)),
    }
}

/// Many models put JSON into a code block although told not to.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    inner.and_then(|inner| inner.strip_suffix("```")).unwrap_or(text).trim()
}

fn numbered(text: &str) -> Result<Reply, String> {
    let mut sentences: Vec<Draft> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(reason) = line.strip_prefix("ABSTAIN:").filter(|_| sentences.is_empty()) {
            return Ok(Reply::Abstain(reason.trim().to_owned()));
        }
        if let Some(claim) = claim(line) {
            let sentence = sentences.last_mut().ok_or("a citation stands before the first sentence")?;
            sentence.citations.push(claim);
        } else if let Some(text) = numbered_sentence(line) {
            sentences.push(Draft { text: text.to_owned(), citations: Vec::new() });
        } else {
            return Err(format!("the line {:?} is neither a numbered sentence nor a citation", shown(line)));
        }
    }
    Ok(Reply::Sentences(sentences))
}

fn claim(line: &str) -> Option<Claim> {
    let (source, quote) = line.strip_prefix('[')?.split_once(']')?;
    let quote = quote.trim().trim_start_matches(':').trim();
    let marks = |c: char| matches!(c, '"' | '“' | '”');
    let quote = quote.strip_prefix(marks)?.strip_suffix(marks)?;
    Some(Claim { source: source.trim().parse().ok()?, quote: quote.to_owned() })
}

fn numbered_sentence(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let text = (text.len() < line.len()).then_some(text)?.strip_prefix(['.', ')'])?.trim();
    (!text.is_empty()).then_some(text)
}

fn bounded(reply: Reply) -> Result<Reply, String> {
    let Reply::Sentences(sentences) = reply else { return Ok(reply) };
    if sentences.is_empty() {
        return Err("it has no sentence and does not abstain".into());
    }
    if sentences.len() > MOST_SENTENCES {
        return Err(format!("it has more than {MOST_SENTENCES} sentences"));
    }
    let sentences = sentences.into_iter().map(clean).collect::<Result<_, _>>()?;
    Ok(Reply::Sentences(sentences))
}

fn clean(mut draft: Draft) -> Result<Draft, String> {
    draft.text.retain(|c| !is_invisible(c));
    draft.text = without_marks(&draft.text);
    if draft.text.is_empty() || draft.text.len() > LONGEST_SENTENCE {
        return Err("it has an empty or endless sentence".into());
    }
    draft.citations.truncate(MOST_CITATIONS);
    Ok(draft)
}

/// On one line and without citation marks, which are ours to set.
fn without_marks(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        let digits = rest[open + 1..].find(|c: char| !c.is_ascii_digit() && !matches!(c, ',' | ' ')).unwrap_or(0);
        let close = open + 1 + digits;
        let is_mark = digits > 0 && rest[close..].starts_with(']');
        plain.push_str(if is_mark { rest[..open].trim_end() } else { &rest[..open + 1] });
        rest = if is_mark { next_mark(&rest[close + 1..]) } else { &rest[open + 1..] };
    }
    plain.push_str(rest);
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Skips what only joins one mark with the next.
fn next_mark(rest: &str) -> &str {
    let next = rest.trim_start_matches([',', ' ']);
    if next.starts_with('[') { next } else { rest }
}

#[cfg(test)]
mod tests;
