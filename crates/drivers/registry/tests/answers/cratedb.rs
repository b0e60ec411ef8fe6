//! A CrateDB named by a developer, queried over HTTP without its driver.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use highwater_model::op::Value;

use crate::case::{Answer, Database};

/// The variable with the URLs.
const NAMED: &str = "HIGHWATER_TEST_URLS";

/// The CrateDB URLs in a list separated by commas or spaces.
pub(crate) fn named() -> Vec<String> {
    let list = std::env::var(NAMED).unwrap_or_default();
    let crates = list.split([',', ' ', '\n', '\t']).filter(|url| url.starts_with("crate:"));
    crates.map(str::to_owned).collect()
}

/// `crate://HOST:PORT/SCHEMA`, without a password.
pub(crate) struct CrateDb {
    address: String,
    schema: String,
}

impl CrateDb {
    /// A separate schema, named after the URL's.
    pub(crate) fn new(url: &str, schema: &str) -> Self {
        let rest = url.strip_prefix("crate://").unwrap();
        let (address, first) = rest.split_once('/').unwrap_or((rest, "doc"));
        Self { address: address.to_owned(), schema: format!("{first}_{schema}") }
    }
}

impl Database for CrateDb {
    fn url(&self) -> String {
        format!("crate://{}/{}", self.address, self.schema)
    }

    fn run(&self, sql: &str, parameters: &[Value]) -> Answer {
        let args: Vec<serde_json::Value> = parameters
            .iter()
            .map(|value| match value {
                Value::Text(text) => serde_json::Value::from(text.to_string()),
                Value::TimestampMs(number) | Value::Integer(number) => {
                    serde_json::Value::from(*number)
                }
                other => panic!("{other:?}"),
            })
            .collect();
        let body = serde_json::json!({ "stmt": sql, "args": args }).to_string();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let (address, schema, length) = (&self.address, &self.schema, body.len());
        let request = format!(
            "POST /_sql HTTP/1.0\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Default-Schema: {schema}\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let answer: serde_json::Value = serde_json::from_str(body).unwrap();
        let rows = answer["rows"].as_array();
        let rows = rows.unwrap_or_else(|| panic!("{sql}: {answer}"));
        let cells = |row: &serde_json::Value| row.as_array().unwrap().iter().map(cell).collect();
        rows.iter().map(cells).collect()
    }
}

fn cell(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
