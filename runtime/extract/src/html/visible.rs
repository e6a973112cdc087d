//! Which elements a reader sees, and their text.

use scraper::ElementRef;

/// Whether the element and all in it is left out: not shown, or not content.
pub(super) fn is_left_out(element: ElementRef<'_>) -> bool {
    const NAMES: [&str; 24] = [
        "script",
        "style",
        "template",
        "noscript",
        "nav",
        "svg",
        "math-annotation",
        "iframe",
        "object",
        "embed",
        "audio",
        "video",
        "canvas",
        "button",
        "input",
        "select",
        "textarea",
        "dialog",
        "head",
        "footer",
        "menu",
        "map",
        "noframes",
        "datalist",
    ];
    NAMES.contains(&element.value().name())
        || element.attr("hidden").is_some_and(|value| !value.eq_ignore_ascii_case("until-found"))
        || element.attr("aria-hidden").is_some_and(|value| value.eq_ignore_ascii_case("true"))
        || element.attr("role").is_some_and(|role| matches!(role, "navigation" | "search" | "contentinfo" | "menu"))
        || element.attr("style").is_some_and(hides)
}

fn hides(style: &str) -> bool {
    let style: String = style.to_ascii_lowercase().split_whitespace().collect();
    style.contains("display:none") || style.contains("visibility:hidden")
}

/// Whether a browser begins a new line for the element.
pub(super) fn is_block(name: &str) -> bool {
    const NAMES: [&str; 36] = [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "caption",
        "center",
        "dd",
        "details",
        "dialog",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "html",
        "legend",
        "li",
        "main",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "ul",
    ];
    NAMES.contains(&name)
}

/// The text of all that is visible in it, as written; blocks and line breaks begin a new line.
///
/// Works with a list of its own, so that depth costs no stack.
pub(super) fn text(element: ElementRef<'_>) -> String {
    let mut text = String::new();
    let mut pending: Vec<_> = element.children().rev().collect();
    while let Some(node) = pending.pop() {
        if let Some(found) = node.value().as_text() {
            text.push_str(found);
        } else if let Some(child) = ElementRef::wrap(node).filter(|child| !is_left_out(*child)) {
            let name = child.value().name();
            if name == "br" || is_block(name) || matches!(name, "tr") {
                text.push('\n');
            } else if matches!(name, "td" | "th") {
                text.push(' ');
            } else if name == "img" {
                text.push_str(child.attr("alt").unwrap_or_default());
            }
            pending.extend(child.children().rev());
        }
    }
    text
}
