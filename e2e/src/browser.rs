//! A headless Chromium that is driven over its `DevTools` protocol: pages are opened, keys pressed, screenshots taken.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// How long the browser may take for one command.
const LIMIT: Duration = Duration::from_mins(1);

/// A browser with one page. It ends when it is dropped.
pub struct Browser {
    _child: tokio::process::Child,
    _profile: tempfile::TempDir,
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    session: String,
    next: u64,
    /// The URLs of all requests so far.
    pub requests: Vec<String>,
    /// What pages logged: errors, violations of their policy.
    pub messages: Vec<String>,
    is_loaded: bool,
}

impl Browser {
    /// Starts the program `CHROMIUM`, or `chromium`; `None` if there is no such program.
    ///
    /// # Errors
    /// The browser does not start.
    pub async fn start() -> Result<Option<Self>> {
        let program = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".into());
        let profile = tempfile::tempdir()?;
        let mut command = tokio::process::Command::new(&program);
        command
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--remote-debugging-port=0",
                "--hide-scrollbars",
            ])
            .args(["--no-first-run", "--disable-background-networking", "--disable-component-update"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("failed to start {program}")),
        };
        let mut lines = BufReader::new(child.stderr.take().context("no standard error")?).lines();
        let url = tokio::time::timeout(LIMIT, async {
            while let Some(line) = lines.next_line().await? {
                if let Some((_, url)) = line.split_once("DevTools listening on ") {
                    return Ok(url.to_owned());
                }
            }
            bail!("{program} ended")
        })
        .await??;
        // What it writes later would block it.
        tokio::spawn(async move { while matches!(lines.next_line().await, Ok(Some(_))) {} });
        let (socket, _) = tokio_tungstenite::connect_async(url).await?;
        let mut browser = Self {
            _child: child,
            _profile: profile,
            socket,
            session: String::new(),
            next: 0,
            requests: Vec::new(),
            messages: Vec::new(),
            is_loaded: false,
        };
        let target = browser.send("Target.createTarget", json!({"url": "about:blank"})).await?;
        let arguments = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.send("Target.attachToTarget", arguments).await?;
        session["sessionId"].as_str().context("no session")?.clone_into(&mut browser.session);
        for domain in ["Page", "Network", "Log", "Runtime"] {
            browser.send(&format!("{domain}.enable"), json!({})).await?;
        }
        Ok(Some(browser))
    }

    /// Sends a command and returns its result.
    async fn send(&mut self, method: &str, parameters: Value) -> Result<Value> {
        self.next += 1;
        let id = self.next;
        let mut command = json!({"id": id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            command["sessionId"] = self.session.clone().into();
        }
        self.socket.send(Message::text(command.to_string())).await?;
        tokio::time::timeout(LIMIT, async {
            loop {
                let message = self.receive().await?;
                if message["id"] == id {
                    ensure!(message["error"].is_null(), "{method}: {}", message["error"]);
                    return Ok(message["result"].clone());
                }
            }
        })
        .await
        .with_context(|| format!("{method} takes too long"))?
    }

    async fn receive(&mut self) -> Result<Value> {
        loop {
            let message = self.socket.next().await.context("the browser ended")??;
            let Message::Text(text) = message else { continue };
            let message: Value = serde_json::from_str(&text)?;
            let parameters = &message["params"];
            match message["method"].as_str() {
                Some("Network.requestWillBeSent") => {
                    let url = parameters["request"]["url"].as_str().unwrap_or_default();
                    self.requests.push(url.to_owned());
                }
                Some("Log.entryAdded") => {
                    self.messages.push(parameters["entry"]["text"].as_str().unwrap_or_default().to_owned());
                }
                Some("Page.loadEventFired") => self.is_loaded = true,
                _ => {}
            }
            return Ok(message);
        }
    }

    async fn loaded(&mut self) -> Result<()> {
        tokio::time::timeout(LIMIT, async {
            while !self.is_loaded {
                self.receive().await?;
            }
            Ok(())
        })
        .await
        .context("the page is not loaded")?
    }

    /// Opens a page and waits until it is loaded.
    ///
    /// # Errors
    /// It cannot be loaded.
    pub async fn open(&mut self, url: &str) -> Result<()> {
        self.is_loaded = false;
        let result = self.send("Page.navigate", json!({"url": url})).await?;
        ensure!(result["errorText"].is_null(), "{url}: {}", result["errorText"]);
        self.loaded().await
    }

    /// Sets the size of the page, and whether the system is dark.
    ///
    /// # Errors
    /// The browser does not respond.
    pub async fn view(&mut self, width: u32, height: u32, is_dark: bool) -> Result<()> {
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.send("Emulation.setDeviceMetricsOverride", metrics).await?;
        let scheme = if is_dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.send("Emulation.setEmulatedMedia", features).await.map(drop)
    }

    /// Evaluates an expression in the page.
    ///
    /// # Errors
    /// It throws.
    pub async fn evaluate(&mut self, expression: &str) -> Result<Value> {
        let arguments = json!({"expression": expression, "returnByValue": true});
        let result = self.send("Runtime.evaluate", arguments).await?;
        ensure!(result["exceptionDetails"].is_null(), "{expression}: {}", result["exceptionDetails"]);
        Ok(result["result"]["value"].clone())
    }

    /// Presses and releases a key.
    ///
    /// # Errors
    /// The browser does not respond.
    pub async fn press(&mut self, key: &str) -> Result<()> {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            _ if key.chars().count() > 1 => (0, ""),
            _ => (0, key),
        };
        let mut event = json!({"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code});
        if !text.is_empty() {
            event["text"] = text.into();
        }
        self.send("Input.dispatchKeyEvent", event).await?;
        let event = json!({"type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": code});
        self.send("Input.dispatchKeyEvent", event).await.map(drop)
    }

    /// Presses Tab until `expression` about `document.activeElement`, called `element`, holds.
    ///
    /// # Errors
    /// No element that the keyboard reaches is the one.
    pub async fn tab_to(&mut self, expression: &str) -> Result<()> {
        for _ in 0..200 {
            self.press("Tab").await?;
            let found =
                self.evaluate(&format!("(element => Boolean({expression}))(document.activeElement)")).await?;
            if found == true {
                return Ok(());
            }
        }
        bail!("the keyboard does not reach {expression}")
    }

    /// Presses Enter and waits until the page that it leads to is loaded.
    ///
    /// # Errors
    /// It leads to none.
    pub async fn enter(&mut self) -> Result<()> {
        self.is_loaded = false;
        self.press("Enter").await?;
        self.loaded().await
    }

    /// Clicks a link and waits until the page that it leads to is loaded.
    ///
    /// # Errors
    /// There is no such element, or it leads to no page.
    pub async fn follow(&mut self, selector: &str) -> Result<()> {
        self.is_loaded = false;
        self.click(selector).await?;
        self.loaded().await
    }

    /// Clicks into the middle of the element of a selector.
    ///
    /// # Errors
    /// There is no such element.
    pub async fn click(&mut self, selector: &str) -> Result<()> {
        let selector = Value::from(selector);
        let place = self
            .evaluate(&format!(
                "(() => {{ const element = document.querySelector({selector}); element.scrollIntoView({{block: 'center'}}); \
                 const box = element.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2] }})()"
            ))
            .await?;
        for kind in ["mousePressed", "mouseReleased"] {
            let event =
                json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1});
            self.send("Input.dispatchMouseEvent", event).await?;
        }
        Ok(())
    }

    /// Returns a screenshot as base64 of a PNG.
    ///
    /// # Errors
    /// The browser does not respond.
    pub async fn screenshot(&mut self) -> Result<String> {
        let result = self.send("Page.captureScreenshot", json!({"format": "png"})).await?;
        Ok(result["data"].as_str().context("no picture")?.to_owned())
    }
}
