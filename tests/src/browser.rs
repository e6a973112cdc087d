use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use thirtyfour::common::command::FormatRequestData;
use thirtyfour::prelude::*;
use thirtyfour::{ChromiumLikeCapabilities, LoggingPrefsLogLevel, RequestData, SessionId};

use crate::Process;

const START: Duration = Duration::from_secs(60);
/// How long the page may take to get where a test waits for it.
const WAIT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);

/// Flags of a browser that talks to nobody by itself. Names other than loopback do not resolve.
const FLAGS: [&str; 10] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

/// A headless Chromium with a profile of its own. Dropping it ends it.
pub struct Browser {
    driver: WebDriver,
    _chromedriver: Process,
    _profile: TempDir,
}

/// How a page is looked at.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// CSS pixels.
    pub width: u32,
    /// CSS pixels.
    pub height: u32,
    /// `light` or `dark`.
    pub scheme: &'static str,
}

impl Browser {
    /// Why there can be no browser here, if so.
    pub fn missing() -> Option<String> {
        let absent = |name: &&str| !Command::new(name).arg("--version").output().is_ok_and(|it| it.status.success());
        let missing: Vec<&str> = ["chromium", "chromedriver"].into_iter().filter(absent).collect();
        (!missing.is_empty()).then(|| format!("{} cannot be started", missing.join(" and ")))
    }

    /// Starts a driver and a browser.
    pub async fn start() -> Result<Self> {
        install_crypto();
        let profile = TempDir::new()?;
        let mut chromedriver = Process::start(Command::new("chromedriver").arg("--port=0"))?;
        let port = chromedriver.wait_for_line("its port", driver_port, START).await?;
        let driver = WebDriver::new(format!("http://127.0.0.1:{port}"), capabilities(&profile)?).await?;
        Ok(Self { driver, _chromedriver: chromedriver, _profile: profile })
    }

    /// Opens a page with this view.
    pub async fn open(&self, url: &str, view: View) -> Result<()> {
        let View { width, height, scheme } = view;
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500});
        self.devtools("Emulation.setDeviceMetricsOverride", metrics).await?;
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.devtools("Emulation.setEmulatedMedia", media).await?;
        Ok(self.driver.goto(url).await?)
    }

    /// Types into what has the focus.
    pub async fn press(&self, keys: impl Into<TypingData>) -> Result<()> {
        let typing: TypingData = keys.into();
        Ok(self.driver.action_chain().send_keys(typing).perform().await?)
    }

    /// What a function body returns in the page.
    pub async fn evaluate(&self, script: &str) -> Result<Value> {
        Ok(self.driver.execute(script, Vec::new()).await?.json().clone())
    }

    /// Waits until an expression is true in the page.
    pub async fn wait_until(&self, expression: &str) -> Result<()> {
        let deadline = Instant::now() + WAIT;
        while self.evaluate(&format!("return Boolean({expression})")).await? != true {
            if Instant::now() > deadline {
                let text = self.evaluate("return document.body.innerText").await?;
                bail!("the page did not get to where {expression}; it shows:\n{}", text.as_str().unwrap_or_default());
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    /// Writes what is seen to `screenshots/NAME.png` in the target folder.
    pub async fn screenshot(&self, name: &str) -> Result<PathBuf> {
        let debug = crate::binary()?.parent().map(PathBuf::from).context("the program lies in a folder")?;
        let folder = debug.parent().context("the target folder has a parent")?.join("screenshots");
        std::fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{name}.png"));
        self.driver.screenshot(&path).await?;
        Ok(path)
    }

    /// Console messages since the last call, one `LEVEL message` each.
    pub async fn console(&self) -> Result<Vec<String>> {
        let entries = self.driver.browser_log().await?;
        Ok(entries.into_iter().map(|entry| format!("{} {}", entry.level, entry.message)).collect())
    }

    /// Addresses of all requests since the last call.
    pub async fn requests(&self) -> Result<Vec<String>> {
        let address = |entry: thirtyfour::BrowserLogEntry| {
            let message: Value = serde_json::from_str(&entry.message).ok()?;
            let message = &message["message"];
            (message["method"] == "Network.requestWillBeSent")
                .then(|| message["params"]["request"]["url"].as_str().map(str::to_owned))
                .flatten()
        };
        Ok(self.driver.get_log("performance").await?.into_iter().filter_map(address).collect())
    }

    /// Ends the browser, then its driver.
    pub async fn quit(self) -> Result<()> {
        Ok(self.driver.quit().await?)
    }

    async fn devtools(&self, command: &'static str, parameters: Value) -> Result<()> {
        self.driver.cmd(DevTools { command, parameters }).await?;
        Ok(())
    }
}

/// A command of Chromium's own protocol, sent through the driver.
#[derive(Debug)]
struct DevTools {
    command: &'static str,
    parameters: Value,
}

impl FormatRequestData for DevTools {
    fn format_request(&self, session: &SessionId) -> RequestData {
        let body = json!({"cmd": self.command, "params": self.parameters});
        RequestData::new(reqwest::Method::POST, format!("session/{session}/goog/cdp/execute")).add_body(body)
    }
}

/// rustls takes no provider by itself; every client of a test needs one, also for plain HTTP.
pub(crate) fn install_crypto() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

fn capabilities(profile: &TempDir) -> Result<Capabilities> {
    let mut chrome = DesiredCapabilities::chrome();
    for flag in FLAGS {
        chrome.add_arg(flag)?;
    }
    chrome.add_arg(&format!("--user-data-dir={}", profile.path().display()))?;
    chrome.set_logging_prefs("browser", LoggingPrefsLogLevel::All)?;
    chrome.set_logging_prefs("performance", LoggingPrefsLogLevel::All)?;
    Ok(chrome.into())
}

/// `ChromeDriver was started successfully on port 36911.`
fn driver_port(line: &str) -> Option<u16> {
    let (_, rest) = line.split_once("started successfully on port ")?;
    rest.trim_end_matches('.').parse().ok()
}
