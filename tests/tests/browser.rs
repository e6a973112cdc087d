//! The page in a real browser, against the built program.

use anyhow::{Context, Result, ensure};
use groundwork_tests::skip::skip;
use groundwork_tests::{Browser, Groundwork, View};
use serde_json::Value;
use thirtyfour::Key;

const LIGHT: View = View { width: 1280, height: 860, scheme: "light" };
const DARK: View = View { width: 1280, height: 860, scheme: "dark" };
const PHONE: View = View { width: 360, height: 740, scheme: "light" };

const ANSWERED: &str = "document.querySelector('.answer[data-band]:not([aria-busy])')";
/// That the quote is marked and scrolled to where it is seen.
const MARKED: &str = "(() => { const mark = document.querySelector('#document mark')?.getBoundingClientRect(); \
                      return mark && mark.top >= 0 && mark.bottom <= innerHeight; })()";

/// A server and a browser, or `None` where there can be no browser.
async fn start(test: &str, folder: &std::path::Path) -> Result<Option<(Groundwork, Browser)>> {
    if let Some(reason) = Browser::missing() {
        skip(test, "chromium", &reason);
        return Ok(None);
    }
    let mut server = Groundwork::up(folder, &["--embedding-model", "hashing"]).await?;
    server.wait_until_idle().await?;
    Ok(Some((server, Browser::start().await?)))
}

fn handbook() -> Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    let filler =
        |number: u32| format!("## Paragraph {number}\n\nThis part speaks about matter {number} at some length.\n\n");
    let leave = format!(
        "# Working hours and leave\n\nThe week has 38 hours.\n\n{}## Notice periods\n\nDuring the first six months \
         either side may end the contract with two weeks' notice. After that the notice period is three months to the \
         end of a quarter.\n\nNotice must be given in writing.\n\n{}",
        (1..20).map(filler).collect::<String>(),
        (20..60).map(filler).collect::<String>()
    );
    std::fs::write(folder.path().join("leave.md"), leave)?;
    let chinese =
        "# 员工手册\n\n## 年假\n\n员工入职满一年后，每年享有十五天带薪年假。未使用的年假可顺延至次年三月底。\n";
    std::fs::write(folder.path().join("员工手册.md"), chinese)?;
    std::fs::write(folder.path().join("pump.md"), "# Pumps\n\nThe pump AX-3000 delivers 40 litres a minute.\n")?;
    Ok(folder)
}

async fn ask(browser: &Browser, question: &str) -> Result<()> {
    browser.evaluate("document.activeElement.blur()").await?;
    browser.press("/").await?;
    browser.press(question).await?;
    browser.press(Key::Enter).await?;
    browser.wait_until(&format!("{ANSWERED}?.querySelector('h2').textContent === {question:?}")).await
}

async fn text(browser: &Browser, selector: &str) -> Result<String> {
    let text = browser.evaluate(&format!("return document.querySelector('{selector}')?.textContent")).await?;
    Ok(text.as_str().with_context(|| format!("{selector} is not on the page"))?.to_owned())
}

async fn fits(browser: &Browser) -> Result<bool> {
    let widths = browser.evaluate("return [document.documentElement.scrollWidth, window.innerWidth]").await?;
    Ok(widths[0].as_u64() <= widths[1].as_u64())
}

/// That the page asked nobody else, and that its policy had nothing to refuse. The browser's own start page is made of
/// `chrome://` addresses, which never leave it.
async fn kept_to_itself(server: &Groundwork, browser: &Browser) -> Result<()> {
    let own = format!("{}/", server.url());
    let harmless = [own.as_str(), "data:", "chrome://"];
    let mut foreign = browser.requests().await?;
    foreign.retain(|url| !harmless.iter().any(|start| url.starts_with(start)));
    ensure!(foreign.is_empty(), "requests left the server: {foreign:?}");
    let console = browser.console().await?;
    ensure!(console.is_empty(), "the console is not empty: {console:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_citation_opens_its_document_at_the_quote() -> Result<()> {
    let folder = handbook()?;
    let Some((server, browser)) = start("a_citation_opens_its_document_at_the_quote", folder.path()).await? else {
        return Ok(());
    };
    browser.open(server.url(), LIGHT).await?;
    browser.wait_until("document.activeElement.id === 'question'").await?;
    browser.screenshot("start-light").await?;
    ask(&browser, "How long is the notice period after the first six months?").await?;
    ensure!(text(&browser, ".badge").await? == "Answered");
    ensure!(text(&browser, ".sentences").await?.contains("three months to the end of a quarter"));
    browser.screenshot("answer-light").await?;

    browser.evaluate("document.querySelector('.reference').focus()").await?;
    browser.press(Key::Enter).await?;
    browser.wait_until(MARKED).await?;
    ensure!(text(&browser, "#document mark").await? == text(&browser, ".citation q").await?);
    let seen = "const mark = document.querySelector('#document mark').getBoundingClientRect(); \
                const body = document.querySelector('.document-body').getBoundingClientRect(); \
                return mark.top >= body.top && mark.bottom <= body.bottom && mark.bottom <= window.innerHeight";
    ensure!(browser.evaluate(seen).await? == true, "the quote is scrolled into view");
    browser.screenshot("document-light").await?;

    browser.press(Key::Escape).await?;
    browser.wait_until("document.getElementById('document').hidden").await?;
    ensure!(browser.evaluate("return document.activeElement.className").await? == "reference", "the focus came back");
    kept_to_itself(&server, &browser).await?;
    browser.quit().await
}

#[tokio::test(flavor = "multi_thread")]
async fn it_fits_a_phone_and_the_dark() -> Result<()> {
    let folder = handbook()?;
    let Some((server, browser)) = start("it_fits_a_phone_and_the_dark", folder.path()).await? else { return Ok(()) };
    let background = "return getComputedStyle(document.body).backgroundColor";
    let mut backgrounds = Vec::<Value>::new();
    for (view, name) in [(DARK, "dark"), (PHONE, "phone")] {
        browser.open(server.url(), view).await?;
        ensure!(fits(&browser).await?, "{name}: the start page scrolls sideways");
        ask(&browser, "How long is the notice period after the first six months?").await?;
        ensure!(fits(&browser).await?, "{name}: the answer scrolls sideways");
        browser.screenshot(&format!("answer-{name}")).await?;
        browser.evaluate("document.querySelector('.citation .open').click()").await?;
        browser.wait_until(MARKED).await?;
        ensure!(fits(&browser).await?, "{name}: the document scrolls sideways");
        browser.screenshot(&format!("document-{name}")).await?;
        backgrounds.push(browser.evaluate(background).await?);
    }
    ensure!(backgrounds[0] != backgrounds[1], "dark and light look the same: {backgrounds:?}");
    kept_to_itself(&server, &browser).await?;
    browser.quit().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_known_is_said() -> Result<()> {
    let folder = handbook()?;
    let Some((server, browser)) = start("what_is_not_known_is_said", folder.path()).await? else { return Ok(()) };
    browser.open(server.url(), LIGHT).await?;
    ask(&browser, "What does the pump AX-3999 deliver?").await?;
    ensure!(text(&browser, ".badge").await? == "Not found");
    ensure!(text(&browser, ".reason").await?.contains("AX-3999"));
    browser.screenshot("not-found-light").await?;
    ask(&browser, "年假可以顺延到什么时候？").await?;
    ensure!(text(&browser, ".citation q").await?.contains("顺延"));
    browser.screenshot("chinese-light").await?;
    ensure!(text(&browser, ".chip").await?.contains("AX-3999"), "recent questions are offered again");
    kept_to_itself(&server, &browser).await?;

    let url = server.url().to_owned();
    ensure!(server.stop().await?.success());
    browser.evaluate("document.activeElement.blur()").await?;
    browser.press("/").await?;
    browser.press("Is anybody there?").await?;
    browser.press(Key::Enter).await?;
    browser.wait_until("!document.getElementById('problem').hidden").await?;
    ensure!(text(&browser, "#problem").await?.contains("does not answer"), "{url} is gone");
    browser.screenshot("gone-light").await?;
    browser.quit().await
}
