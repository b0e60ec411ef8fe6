//! A headless Firefox and one page in it, over WebDriver BiDi: a socket, JSON both ways. Requires only Firefox itself.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use highwater_testing::programs::{in_path, report_left_out};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket, client::IntoClientRequest};

use crate::page::Page;

/// Time for the browser to respond.
const PATIENCE: Duration = Duration::from_mins(1);
/// Maximum checks whether it has started.
const LOOKS: u32 = 3_000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// A browser with one page.
pub(crate) struct Firefox {
    child: Child,
    profile: TempDir,
    socket: WebSocket<MaybeTlsStream<TcpStream>>,
    page: Value,
    sent: u64,
    complaints: Vec<String>,
}

/// The browser's program; `None` if it is not installed and its tests are skipped.
pub(crate) fn program() -> Option<PathBuf> {
    let found = in_path("firefox-esr").or_else(|| in_path("firefox"));
    if found.is_none() {
        report_left_out("need Firefox", "`apt-get install firefox-esr`");
    }
    found
}

impl Firefox {
    /// Starts one with an empty page of this size, `dark` or not.
    pub(crate) fn start(program: &Path, (width, height): (u32, u32), dark: bool) -> Self {
        let profile = TempDir::new().unwrap();
        let scheme = u8::from(!dark);
        let settings = format!(
            "user_pref('layout.css.prefers-color-scheme.content-override', {scheme});\n\
             user_pref('app.update.enabled', false);\n\
             user_pref('toolkit.telemetry.enabled', false);\n\
             user_pref('datareporting.policy.dataSubmissionEnabled', false);\n\
             user_pref('network.captive-portal-service.enabled', false);\n\
             user_pref('network.connectivity-service.enabled', false);\n"
        );
        std::fs::write(profile.path().join("user.js"), settings).unwrap();
        let child = Command::new(program)
            .args(["--headless", "--no-remote", "--remote-debugging-port", "0"])
            .arg("--profile")
            .arg(profile.path())
            .arg("about:blank")
            .env("HOME", profile.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let address = address(&profile);
        let request = address.as_str().into_client_request().unwrap();
        let (socket, _) = tungstenite::connect(request).unwrap();
        if let MaybeTlsStream::Plain(stream) = socket.get_ref() {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
        }
        let mut browser =
            Self { child, profile, socket, page: Value::Null, sent: 0, complaints: Vec::new() };
        browser.send("session.new", &json!({"capabilities": {}}));
        let events = json!({"events": ["log.entryAdded"]});
        browser.send("session.subscribe", &events);
        let tree = browser.send("browsingContext.getTree", &json!({}));
        browser.page = tree["contexts"][0]["context"].clone();
        let size = json!({"context": browser.page, "viewport": {"width": width, "height": height}});
        browser.send("browsingContext.setViewport", &size);
        browser
    }

    /// Sends a command and waits for the response; events before it are inspected.
    fn send(&mut self, method: &str, parameters: &Value) -> Value {
        self.sent += 1;
        let id = self.sent;
        let message = json!({"id": id, "method": method, "params": parameters});
        self.socket.send(Message::text(message.to_string())).unwrap();
        loop {
            let Message::Text(text) = self.socket.read().unwrap() else {
                continue;
            };
            let response: Value = serde_json::from_str(&text).unwrap();
            if response["id"] == json!(id) {
                assert_eq!(response["type"], "success", "{method}: {response}");
                return response["result"].clone();
            }
            if response["method"] == "log.entryAdded" && response["params"]["level"] == "error" {
                self.complaints.push(response.to_string());
            }
        }
    }
}

impl Page for Firefox {
    fn visit(&mut self, url: &str) {
        let to = json!({"context": self.page, "url": url, "wait": "complete"});
        self.send("browsingContext.navigate", &to);
    }

    fn evaluate(&mut self, expression: &str) -> Value {
        let response = self.send(
            "script.evaluate",
            &json!({
                "expression": expression, "awaitPromise": true,
                "target": {"context": self.page}
            }),
        );
        assert_eq!(response["type"], "success", "{expression}: {response}");
        plain(&response["result"])
    }

    fn evaluate_unless_left(&mut self, expression: &str) -> Result<Value, Value> {
        Ok(self.evaluate(expression))
    }

    fn complaints(&self) -> &[String] {
        &self.complaints
    }
}

impl Drop for Firefox {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        // Files that the browser's children still write do not matter.
        drop(std::fs::remove_dir_all(self.profile.path()));
    }
}

/// Converts a typed value to JSON; values that JSON does not have, such as a node, become an empty object.
fn plain(typed: &Value) -> Value {
    let value = &typed["value"];
    match typed["type"].as_str().unwrap_or_default() {
        "undefined" | "null" => Value::Null,
        "string" | "number" | "boolean" => value.clone(),
        "array" => value.as_array().into_iter().flatten().map(plain).collect(),
        "object" => {
            let entries = value.as_array().into_iter().flatten().map(|entry| {
                let key = entry[0].as_str().unwrap_or_default();
                (key.to_owned(), plain(&entry[1]))
            });
            Value::Object(entries.collect::<Map<_, _>>())
        }
        _ => json!({}),
    }
}

/// The browser's address: it writes the port into its profile.
fn address(profile: &TempDir) -> String {
    let file = profile.path().join("WebDriverBiDiServer.json");
    for _ in 0..LOOKS {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        // A partly written file is not valid JSON.
        if let Ok(server) = serde_json::from_str::<Value>(&text) {
            return format!("ws://127.0.0.1:{}/session", server["ws_port"]);
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    panic!("Firefox does not start");
}
