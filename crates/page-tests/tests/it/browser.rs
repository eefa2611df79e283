//! A browser without a window, and what it says about a page.

use fantoccini::elements::Element;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Map, Value, json};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};
use url::Url;

const DRIVER: &str = "chromedriver";
/// Names under which the browser is installed.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// For whom missing browsers are a fault.
const NEEDED: &str = "SCHEDLAB_NEEDS_BROWSER";

/// A program that is installed, by its path.
fn installed(name: &str) -> Option<String> {
    let paths = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&paths).map(|dir| dir.join(name)).find(|path| path.is_file());
    Some(found?.to_str()?.to_string())
}

/// The driver and the browser; says loudly which of them is missing.
fn programs() -> Option<(String, String)> {
    let browser = BROWSERS.into_iter().find_map(installed);
    match (installed(DRIVER), browser) {
        (Some(driver), Some(browser)) => Some((driver, browser)),
        (driver, browser) => {
            let missing = match (driver, browser) {
                (None, None) => "chromedriver and Chromium",
                (None, _) => "chromedriver",
                _ => "Chromium",
            };
            let message =
                format!("NOT TESTED: {missing} missing; apt-get install chromium chromium-driver");
            assert!(std::env::var_os(NEEDED).is_none(), "{message}");
            eprintln!("{message}");
            None
        }
    }
}

/// A page in a browser. Both are gone when this is.
pub struct Browser {
    pub client: Client,
    _driver: Child,
}

/// What the driver is asked for the browser's log.
#[derive(Debug)]
struct Log(&'static str);

impl WebDriverCompatibleCommand for Log {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, url::ParseError> {
        base.join(&format!("session/{}/se/log", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({ "type": self.0 }).to_string()))
    }
}

impl Browser {
    /// Starts one; `None` if there is none on this machine.
    pub async fn start() -> Option<Self> {
        let (driver, browser) = programs()?;
        // A port that is free now will be so in a moment.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(driver);
        command.arg(format!("--port={port}")).stdout(Stdio::null()).stderr(Stdio::null());
        let driver = command.kill_on_drop(true).spawn().expect("it is installed");
        let args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,1600"];
        let mut wanted = Map::new();
        wanted.insert("goog:chromeOptions".into(), json!({ "binary": browser, "args": args }));
        let logs = json!({ "browser": "ALL", "performance": "ALL" });
        wanted.insert("goog:loggingPrefs".into(), logs);
        let address = format!("http://127.0.0.1:{port}");
        for _ in 0..100 {
            let mut builder = ClientBuilder::new(HttpConnector::new());
            let builder = builder.capabilities(wanted.clone());
            if let Ok(client) = builder.connect(&address).await {
                return Some(Self { client, _driver: driver });
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("the browser does not start");
    }

    /// Opens a page and waits until it has drawn everything.
    pub async fn open(&self, page: &Path, hash: &str) {
        let url = format!("file://{}{hash}", page.display());
        // The same page with another hash would not be loaded again.
        self.client.goto("about:blank").await.unwrap();
        self.client.goto(&url).await.unwrap();
        self.wait_for("document.documentElement.dataset.ready !== undefined").await;
    }

    /// The value of an expression in the page.
    pub async fn eval(&self, expression: &str) -> Value {
        let script = format!("return {expression};");
        self.client
            .execute(&script, Vec::new())
            .await
            .unwrap_or_else(|e| panic!("{expression}: {e}"))
    }

    /// The value of an expression as a text.
    pub async fn text(&self, expression: &str) -> String {
        self.eval(expression).await.as_str().unwrap_or_default().to_string()
    }

    /// The value of an expression as a number.
    pub async fn number(&self, expression: &str) -> f64 {
        let value = self.eval(expression).await;
        value.as_f64().unwrap_or_else(|| panic!("{expression} is {value}"))
    }

    /// Waits until an expression is true.
    pub async fn wait_for(&self, expression: &str) {
        for _ in 0..600 {
            if self.eval(expression).await == json!(true) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("never true: {expression}");
    }

    /// An element of the page.
    pub async fn find(&self, css: &str) -> Element {
        self.client.find(Locator::Css(css)).await.unwrap_or_else(|e| panic!("{css}: {e}"))
    }

    /// Presses a key while an element has the focus.
    pub async fn press(&self, css: &str, key: &str) {
        self.eval(&format!("document.querySelector({css:?}).focus()")).await;
        self.find(css).await.send_keys(key).await.unwrap();
    }

    /// What the console says, and the addresses that were asked for, since the last time.
    pub async fn logs(&self) -> (Vec<String>, Vec<String>) {
        let entries = |log: Value| log.as_array().cloned().unwrap_or_default();
        let console = self.client.issue_cmd(Log("browser")).await.unwrap();
        let console = entries(console).iter().map(|e| e["message"].to_string()).collect();
        let events = self.client.issue_cmd(Log("performance")).await.unwrap();
        let mut addresses = Vec::new();
        for event in entries(events) {
            let message = event["message"].as_str().unwrap_or_default();
            let event: Value = serde_json::from_str(message).unwrap_or_default();
            if event["message"]["method"] == "Network.requestWillBeSent" {
                let url = &event["message"]["params"]["request"]["url"];
                addresses.push(url.as_str().unwrap_or_default().to_string());
            }
        }
        (console, addresses)
    }

    /// The span of time that a timeline shows, ns.
    pub async fn span(&self) -> (f64, f64) {
        // The hash follows what is seen 200 ms later, by a timer of the page. A later timer of the
        // page fires after that one, however busy the machine is.
        let later = "requestAnimationFrame(() => setTimeout(arguments[0], 250))";
        self.client.execute_async(later, Vec::new()).await.expect("the page has frames and timers");
        let hash = self.text("location.hash").await;
        let of = |key: &str| {
            let part = hash.split(['#', '&']).find_map(|part| part.strip_prefix(key));
            part.and_then(|x| x.parse().ok()).unwrap_or_else(|| panic!("no {key} in {hash}"))
        };
        (of("from="), of("to="))
    }
}
