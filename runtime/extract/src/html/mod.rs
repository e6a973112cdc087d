//! HTML: the main content's headings, paragraphs, lists, tables and code.

mod nesting;
mod visible;
mod writer;

use scraper::{ElementRef, Html, Selector};

use crate::{Extracted, one_line};

/// Extracts a page.
///
/// Scripts, styles, navigation, forms' controls and hidden elements are left out. Where the page marks its main content
/// (`main`, `role=main`, a single `article`), the rest is left out too. Never fails: a page without text gives none.
pub fn extract(html: &str) -> Extracted {
    let html = nesting::limited(html);
    let page = Html::parse_document(&html);
    let title = first_text(&page, "head > title").or_else(|| first_text(&page, "h1"));
    let markdown = main_content(&page).map(writer::write).filter(|text| !text.is_empty());
    let markdown = markdown.or_else(|| select(&page, "body").next().map(writer::write)).unwrap_or_default();
    Extracted { markdown, title, ..Extracted::default() }
}

/// The one element that the page says is its content.
fn main_content(page: &Html) -> Option<ElementRef<'_>> {
    select(page, "main, [role=main]").next().or_else(|| {
        let mut articles = select(page, "article");
        articles.next().filter(|_| articles.next().is_none())
    })
}

fn first_text(page: &Html, selector: &str) -> Option<String> {
    let text = one_line(&visible::text(select(page, selector).next()?));
    Some(text).filter(|text| !text.is_empty())
}

fn select<'a>(page: &'a Html, selector: &str) -> impl Iterator<Item = ElementRef<'a>> {
    let selector = Selector::parse(selector).expect("the selector is a constant of this module");
    let found: Vec<_> = page.select(&selector).collect();
    found.into_iter()
}

#[cfg(test)]
mod tests;
