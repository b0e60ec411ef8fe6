//! A page in a headless Chromium, over the DevTools protocol: a socket, JSON both ways.
//!
//! Starting Chromium takes more than a second of a core. Parallel tests therefore share a process, in which each page
//! has its own browser context: cookies, storage, and cache are not shared.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use highwater_testing::programs::CHROMIUM;
use serde_json::{Value, json};
use tempfile::TempDir;
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket, client::IntoClientRequest};

/// Chromium's message about an expression whose page was left.
const LEFT: &str = "Inspected target navigated or closed";
/// Maximum number of pages that may lead to the expected one.
const PAGES_ON_THE_WAY: u32 = 10;
/// Time for the browser to start, and to respond.
const PATIENCE: Duration = Duration::from_mins(1);

/// The process that tests share while any of them has a page in it.
static RUNNING: Mutex<Weak<Process>> = Mutex::new(Weak::new());

struct Process {
    child: Child,
    profile: TempDir,
    /// Address that it listens on.
    address: String,
}

/// A browser with one page.
pub(crate) struct Browser {
    context: String,
    socket: WebSocket<MaybeTlsStream<TcpStream>>,
    session: String,
    sent: u64,
    scheme: &'static str,
    /// The only address that may be requested; empty for pages from files.
    own: String,
    /// Errors of the page, and its requests to the network.
    pub(crate) complaints: Vec<String>,
    /// Ended with the last of its pages.
    _process: Arc<Process>,
}

/// The browser's program; `None` if it is not installed and its tests are skipped.
pub(crate) fn program() -> Option<PathBuf> {
    if CHROMIUM.is_left_out() {
        return None;
    }
    CHROMIUM.path()
}

impl Browser {
    /// Opens an empty page of this size, `dark` or not.
    pub(crate) fn start(program: &Path, (width, height): (u32, u32), dark: bool) -> Self {
        let process = Process::running(program);
        let request = process.address.as_str().into_client_request().unwrap();
        let (socket, _) = tungstenite::connect(request).unwrap();
        if let MaybeTlsStream::Plain(stream) = socket.get_ref() {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
        }
        let mut browser = Self {
            context: String::new(),
            socket,
            session: String::new(),
            sent: 0,
            scheme: if dark { "dark" } else { "light" },
            own: String::new(),
            complaints: Vec::new(),
            _process: process,
        };
        let context = browser.send("Target.createBrowserContext", &json!({}));
        context["browserContextId"].as_str().unwrap().clone_into(&mut browser.context);
        let page = json!({"url": "about:blank", "browserContextId": browser.context});
        let target = browser.send("Target.createTarget", &page);
        let attached = browser.send(
            "Target.attachToTarget",
            &json!({"targetId": target["targetId"], "flatten": true}),
        );
        attached["sessionId"].as_str().unwrap().clone_into(&mut browser.session);
        for domain in ["Page.enable", "Runtime.enable", "Log.enable", "Network.enable"] {
            browser.send(domain, &json!({}));
        }
        let offline = json!({
            "offline": true, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1
        });
        browser.send("Network.emulateNetworkConditions", &offline);
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600
        });
        browser.send("Emulation.setDeviceMetricsOverride", &metrics);
        browser.media("");
        browser
    }

    /// Emulates a medium such as `print`; empty for the screen.
    pub(crate) fn media(&mut self, medium: &str) {
        let features = [json!({"name": "prefers-color-scheme", "value": self.scheme})];
        let media = json!({"media": medium, "features": features});
        self.send("Emulation.setEmulatedMedia", &media);
    }

    /// Opens a file, and waits until its script has run.
    pub(crate) fn open(&mut self, page: &Path) {
        self.until(page, "document.documentElement?.dataset.ready");
    }

    /// Opens a file without a script.
    pub(crate) fn go(&mut self, file: &Path) {
        self.until(file, "location.protocol === 'file:' && document.readyState === 'complete'");
    }

    /// Opens a page served on this machine; other addresses must not be requested.
    pub(crate) fn visit(&mut self, url: &str) {
        // A fragment is never sent.
        let (sent, _) = url.split_once('#').unwrap_or((url, ""));
        sent.clone_into(&mut self.own);
        let online = json!({
            "offline": false, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1
        });
        self.send("Network.emulateNetworkConditions", &online);
        self.send("Page.navigate", &json!({"url": url}));
        self.wait("document.readyState === 'complete' && location.protocol === 'http:'");
    }

    fn until(&mut self, file: &Path, condition: &str) {
        let url = format!("file://{}", file.display());
        self.send("Page.navigate", &json!({"url": url}));
        self.wait(condition);
    }

    /// Waits until an expression is true in the page, or in the page that replaces it, as after a link with a token.
    pub(crate) fn wait(&mut self, condition: &str) {
        let ready = format!(
            "new Promise(done => {{ const poll = () => {condition} ? done(true) : \
             setTimeout(poll, 20); poll(); }})"
        );
        for _ in 0..PAGES_ON_THE_WAY {
            if let Ok(value) = self.evaluate_unless_left(&ready) {
                assert_eq!(value, json!(true));
                return;
            }
        }
        panic!("{condition}: one page leads to the next");
    }

    /// The value of an expression in the page; waits for promises.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let value = self.evaluate_unless_left(expression);
        value.unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// The same, but an error if another page replaces the current one meanwhile.
    pub(crate) fn evaluate_unless_left(&mut self, expression: &str) -> Result<Value, Value> {
        let response = self.try_to_send(
            "Runtime.evaluate",
            &json!({
                "expression": expression, "awaitPromise": true, "returnByValue": true
            }),
        );
        let response = match response {
            Err(error) if error["message"] == LEFT => return Err(error),
            response => response.unwrap(),
        };
        assert!(response.get("exceptionDetails").is_none(), "{expression}: {response}");
        Ok(response["result"]["value"].clone())
    }

    /// Opens everything that is folded.
    pub(crate) fn unfold(&mut self) {
        self.evaluate("document.querySelectorAll('details').forEach(of => { of.open = true; })");
    }

    /// A screenshot, as a PNG file.
    pub(crate) fn picture(&mut self) -> Vec<u8> {
        let picture = self.send("Page.captureScreenshot", &json!({"format": "png"}));
        BASE64_STANDARD.decode(picture["data"].as_str().unwrap()).unwrap()
    }

    /// Presses and releases a key.
    pub(crate) fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            _ => (0, ""),
        };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            let event = json!({"type": kind, "key": key, "code": key, "text": text,
                               "windowsVirtualKeyCode": code});
            self.send("Input.dispatchKeyEvent", &event);
        }
    }

    /// Moves the pointer to a position in the window.
    pub(crate) fn point(&mut self, x: f64, y: f64) {
        let event = json!({"type": "mouseMoved", "x": x, "y": y});
        self.send("Input.dispatchMouseEvent", &event);
    }

    /// Drags the pointer from one position in the window to another.
    pub(crate) fn drag(&mut self, from: [f64; 2], to: [f64; 2]) {
        let steps = [
            ("mouseMoved", "none", from),
            ("mousePressed", "left", from),
            ("mouseMoved", "left", to),
            ("mouseReleased", "left", to),
        ];
        for (kind, button, [x, y]) in steps {
            let event = json!({"type": kind, "button": button, "x": x, "y": y, "clickCount": 1});
            self.send("Input.dispatchMouseEvent", &event);
        }
    }

    /// Sends a command and waits for the response; events before it are inspected.
    fn send(&mut self, method: &str, parameters: &Value) -> Value {
        let response = self.try_to_send(method, parameters);
        response.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// The same, but returns the browser's error for a failed command.
    fn try_to_send(&mut self, method: &str, parameters: &Value) -> Result<Value, Value> {
        self.sent += 1;
        let id = self.sent;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.socket.send(Message::text(message.to_string())).unwrap();
        loop {
            let Message::Text(text) = self.socket.read().unwrap() else {
                continue;
            };
            let response: Value = serde_json::from_str(&text).unwrap();
            if response["id"] == json!(id) {
                return match response.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(response["result"].clone()),
                };
            }
            self.look_at(&response);
        }
    }

    /// Records an error of the page, or a request other than for itself.
    fn look_at(&mut self, event: &Value) {
        let details = &event["params"];
        let wrong = match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => true,
            "Runtime.consoleAPICalled" => {
                details["type"] == "error" || details["type"] == "warning"
            }
            "Log.entryAdded" => details["entry"]["level"] == "error",
            "Network.requestWillBeSent" => {
                let url = details["request"]["url"].as_str().unwrap_or_default();
                let own = !self.own.is_empty() && url.starts_with(&self.own);
                !(url.starts_with("file://") && details["type"] == "Document"
                    || url.starts_with("about:")
                    || own)
            }
            _ => false,
        };
        if wrong {
            self.complaints.push(event.to_string());
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // After a failed test, the socket may be in any state; then the page ends with the process.
        let context = json!({"browserContextId": self.context});
        let message = json!({"id": 0, "method": "Target.disposeBrowserContext", "params": context});
        drop(self.socket.send(Message::text(message.to_string())));
    }
}

impl Process {
    /// The running process, or a new one.
    fn running(program: &Path) -> Arc<Self> {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.upgrade().unwrap_or_else(|| {
            let started = Arc::new(Self::start(program));
            *running = Arc::downgrade(&started);
            started
        })
    }

    fn start(program: &Path) -> Self {
        let profile = TempDir::new().unwrap();
        let child = Command::new(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--remote-debugging-port=0",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let address = address(&profile);
        Self { child, profile, address }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        // Files that the browser's children still write do not matter.
        drop(std::fs::remove_dir_all(self.profile.path()));
    }
}

/// The browser's address: it writes port and path into its profile.
fn address(profile: &TempDir) -> String {
    const LOOKS: u32 = 3_000;
    let file = profile.path().join("DevToolsActivePort");
    for _ in 0..LOOKS {
        match std::fs::read_to_string(&file) {
            Ok(text) if text.lines().count() == 2 => {
                return format!("ws://127.0.0.1:{}", text.replace('\n', ""));
            }
            Err(error) if error.kind() != ErrorKind::NotFound => panic!("{error}"),
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    panic!("chromium does not start");
}
