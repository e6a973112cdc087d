//! Names that a line of source code defines, by a light look at common languages.

/// Words that may stand before a definition's keyword.
const MODIFIERS: &[&str] = &[
    "pub",
    "export",
    "default",
    "async",
    "static",
    "public",
    "private",
    "protected",
    "internal",
    "final",
    "abstract",
    "unsafe",
    "const",
    "extern",
    "inline",
    "override",
    "suspend",
    "open",
    "data",
    "sealed",
    "partial",
    "virtual",
    "local",
];
/// Keywords that a name follows.
const KEYWORDS: &[&str] = &[
    "fn",
    "func",
    "function",
    "def",
    "class",
    "struct",
    "enum",
    "union",
    "trait",
    "interface",
    "mod",
    "module",
    "namespace",
    "type",
    "object",
    "record",
    "protocol",
    "extension",
    "macro_rules!",
    "sub",
    "fun",
    "service",
    "message",
];
/// Words before a parenthesis that define nothing.
const CONTROL: &[&str] =
    &["if", "for", "while", "switch", "catch", "else", "return", "match", "do", "loop", "try", "with", "elif", "when"];
/// Longest name in bytes.
const LONGEST: usize = 80;

/// The symbol that the trimmed line begins, if it begins one.
pub(super) fn defined(path: &str, line: &str) -> Option<String> {
    if line.len() > 400 {
        return None;
    }
    let extension = path.rsplit_once('.').map(|(_, extension)| extension);
    let found = match extension {
        Some("yaml" | "yml") => yaml_key(line),
        Some("toml" | "ini") => line.strip_prefix('[').and_then(|rest| rest.split(']').next()).map(str::to_owned),
        _ => keyword(line).or_else(|| assigned(line)).or_else(|| called(line)),
    };
    found.filter(|name| !name.is_empty() && name.len() <= LONGEST)
}

/// `key:` with its value on the lines below.
fn yaml_key(line: &str) -> Option<String> {
    let key = line.trim_start_matches("- ").strip_suffix(':')?;
    (!key.contains([' ', '#', '{', '['])).then(|| key.trim_matches('"').to_owned())
}

/// `pub fn name`, `class Name`, `impl Trait for Type`.
fn keyword(line: &str) -> Option<String> {
    let mut rest = line;
    loop {
        let (word, after) = rest.split_once([' ', '\t'])?;
        rest = after.trim_start();
        // `pub(crate)`
        let plain = word.split_once('(').map_or(word, |(plain, _)| plain);
        if word == "impl" || word.starts_with("impl<") {
            let head = line.split('{').next().unwrap_or(line).trim();
            return head.strip_prefix("impl").map(|head| after_generics(head).trim().to_owned());
        }
        if KEYWORDS.contains(&word) {
            return name(rest);
        }
        if !MODIFIERS.contains(&plain) {
            return None;
        }
    }
}

fn after_generics(text: &str) -> &str {
    if !text.starts_with('<') {
        return text;
    }
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[at + 1..];
        }
    }
    text
}

/// The name at the start of `rest`; a receiver in parentheses (`func (s *Server) Name`) becomes its type.
fn name(rest: &str) -> Option<String> {
    if let Some((receiver, rest)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        let kind = receiver.rsplit([' ', '*']).next().unwrap_or_default();
        return name(rest.trim_start()).map(|name| format!("{kind}.{name}"));
    }
    let end = rest.find(|letter: char| !is_name(letter)).unwrap_or(rest.len());
    (end > 0).then(|| rest[..end].to_owned())
}

/// `const name = (…) => {`, `name = function (`.
fn assigned(line: &str) -> Option<String> {
    let (left, right) = line.split_once('=')?;
    let function = right.trim_start().starts_with("function") || line.ends_with("=> {");
    let name = left.split(':').next()?.split_whitespace().last()?;
    (function && name.chars().all(|letter| is_name(letter) || letter == '.')).then(|| name.to_owned())
}

/// `type name(arguments) {`.
fn called(line: &str) -> Option<String> {
    let (head, _) = line.split_once('(')?;
    let first = head.split_whitespace().next()?;
    let name = head.split_whitespace().last()?.trim_start_matches(['*', '&']);
    let defines = line.ends_with('{') && !CONTROL.contains(&first) && !head.contains(['=', '.', '"', '}']);
    (defines && name.chars().all(|letter| is_name(letter) || matches!(letter, ':' | '~'))).then(|| name.to_owned())
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '$')
}
