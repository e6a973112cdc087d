use proptest::prelude::*;
use std::time::{Duration, Instant};

use super::extract;

#[test]
fn a_page_becomes_its_main_content() {
    let page = r#"<!doctype html><html><head><title> Travel &amp;
        expenses </title><style>p { color: red }</style><script>var a = "<p>no</p>";</script></head>
      <body><nav><a href="/">Home</a></nav><header>Site header</header>
      <main>
        <h1>Travel</h1>
        <p>Book <a href="https://example.com/x">early</a>, at least <b>14&nbsp;days</b> ahead.<br>Ask first.</p>
        <div hidden>secret</div><p style="display: none">gone</p><span aria-hidden="true">icon</span>
        <h2>Limits for AX_3000</h2>
        <table><thead><tr><th>City</th><th>Per night</th></tr></thead>
          <tbody><tr><td>Berlin</td><td>140 € | net</td></tr><tr><td colspan="2">others on request</td></tr></tbody></table>
        <ul><li>One</li><li><p>Two</p><ol start="3"><li>inner</li><li>next</li></ol></li></ul>
        <pre><code class="language-sh">cd /tmp
  ls &lt;dir&gt;</code></pre>
        <p>Run <code>make test</code> now.</p>
        <blockquote><p>Quoted.</p></blockquote>
        <img src="x.png" alt="A diagram">
      </main><footer>Imprint</footer></body></html>"#;
    let extracted = extract(page);
    assert_eq!(extracted.title.as_deref(), Some("Travel & expenses"));
    assert_eq!(
        extracted.markdown,
        "# Travel\n\nBook early, at least 14 days ahead.\nAsk first.\n\n## Limits for AX_3000\n\n\
         | City | Per night |\n| --- | --- |\n| Berlin | 140 € \\| net |\n| others on request | |\n\n\
         - One\n- Two\n    3. inner\n    4. next\n\n```sh\ncd /tmp\n  ls <dir>\n```\n\nRun `make test` now.\n\n\
         > Quoted.\n\nA diagram\n"
    );
}

#[test]
fn pages_differ_in_how_they_mark_content() {
    for (name, page, expected) in [
        ("no structure", "just text", "just text\n"),
        ("one article", "<div>teaser</div><article><p>a</p></article>", "a\n"),
        ("two articles", "<article>a</article><article>b</article>", "a\n\nb\n"),
        ("an empty main", "<main> </main><p>body</p>", "body\n"),
        ("an unclosed list", "<ul><li>a<li>b</ul>c", "- a\n- b\n\nc\n"),
        ("a layout table", "<table><tr><td><h2>A</h2><p>b</p></td><td>c</td></tr></table>", "## A\n\nb\n\nc\n"),
        ("a table without header", "<table><tr><td>a</td><td>b</td></tr></table>", "| a | b |\n| --- | --- |\n"),
        ("a definition list", "<dl><dt>Term<dd>Meaning</dl>", "Term\n\nMeaning\n"),
        ("words in inline elements", "<p>Ein<b>schreib</b>en<wbr>s <i>a</i><i>b</i></p>", "Einschreibens ab\n"),
        ("soft hyphens", "<p>Ver&shy;si&shy;che&shy;rung</p>", "Versicherung\n"),
        ("scripts and comments alone", "<script>x</script><!-- y -->", ""),
        ("Chinese", "<p>员工每年有<b>十五天</b>年假。</p>", "员工每年有十五天年假。\n"),
        ("a heading's line feeds", "<h2>a<br>b</h2>", "## a b\n"),
        ("text that looks like a heading", "<p># no heading</p>", "\\# no heading\n"),
    ] {
        assert_eq!(extract(page).markdown, expected, "{name}");
    }
}

#[test]
fn nesting_costs_neither_stack_nor_time() {
    let deep = |open: &str, close: &str| format!("{}text{}", open.repeat(100_000), close.repeat(100_000));
    for page in [
        deep("<div>", "</div>"),
        deep("<b>", ""),
        deep("<ul><li>", ""),
        deep("<table><tr><td>", ""),
        deep("<blockquote>", "</x>"),
        deep("<span><font a=1>", "</span>"),
    ] {
        let start = Instant::now();
        let markdown = std::thread::Builder::new()
            .stack_size(8 << 20)
            .spawn(move || extract(&page).markdown)
            .unwrap()
            .join()
            .expect("the stack suffices");
        assert!(markdown.contains("text"), "{markdown:.100}");
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    }
}

proptest! {
    #[test]
    fn any_text_gives_clean_markdown(page in "(<(/)?(p|div|table|tr|td|ul|li|pre|b|h2|script|br|a href='>')>|<!--|-->|&lt;|[a \r\n\u{e9}<>&\"']){0,60}") {
        let markdown = extract(&page).markdown;
        prop_assert!(!markdown.contains('\r'));
        prop_assert!(markdown.is_empty() || markdown.ends_with('\n'));
        prop_assert_eq!(&extract(&page).markdown, &markdown);
    }

    #[test]
    fn limiting_keeps_flat_pages_as_they_are(page in "(<p>|</p>|<br>|<b>x</b>|[a-z<>'\" ]|\u{4e2d}){0,80}") {
        prop_assert!(matches!(super::nesting::limited(&page), std::borrow::Cow::Borrowed(_)));
    }
}
