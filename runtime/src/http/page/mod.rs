//! The one page, inside the binary.

/// The page.
pub(crate) const HTML: &str = include_str!("index.html");
/// Its style.
pub(crate) const STYLE: &str = include_str!("style.css");
/// Its script.
pub(crate) const SCRIPT: &str = include_str!("app.js");
/// Its icon.
pub(crate) const ICON: &str = include_str!("favicon.svg");
