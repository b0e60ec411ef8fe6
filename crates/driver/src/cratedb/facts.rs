//! What the cluster says of itself: version, nodes, and the settings that matter for a repetition.

use std::collections::BTreeMap;

use serde_json::Value;

use super::admin::HttpAdmin;
use crate::contract::{TargetError, TargetFacts};
use crate::network::one_line;

/// Settings of the cluster that change what a load sees, by the beginning of their names.
const TOLD: [&str; 6] = [
    "bulk.",
    "cluster.routing.rebalance.",
    "indices.breaker.",
    "overload_protection.",
    "stats.enabled",
    "statement_timeout",
];
/// Most settings that are told.
const SETTINGS_MAX: usize = 80;

/// See [`crate::contract::Admin::facts`].
pub(super) async fn read(admin: &mut HttpAdmin) -> Result<TargetFacts, TargetError> {
    let version = admin.rows("SELECT version()").await?;
    let version = text(&version, 0, 0);
    let cluster = admin.rows("SELECT settings FROM sys.cluster").await?;
    let mut settings = BTreeMap::new();
    if let Some(value) = cluster.first().and_then(|row| row.first()) {
        flatten("", value, &mut settings);
    }
    settings.retain(|name: &String, _| TOLD.iter().any(|told| name.starts_with(told)));
    let nodes = admin
        .rows(
            "SELECT count(*), min(heap['max']), min(os_info['available_processors']), \
             min(version['number']), max(version['number']) FROM sys.nodes",
        )
        .await?;
    let count = text(&nodes, 0, 0);
    settings.insert("nodes".to_owned(), count.clone());
    settings.insert("heap_bytes".to_owned(), text(&nodes, 0, 1));
    settings.insert("processors".to_owned(), text(&nodes, 0, 2));
    let (oldest, newest) = (text(&nodes, 0, 3), text(&nodes, 0, 4));
    if oldest != newest {
        settings.insert("versions".to_owned(), format!("{oldest} to {newest}"));
    }
    settings.insert("insert".to_owned(), admin.insert().to_owned());
    // The translog is synchronised before each answer, unless a table says otherwise.
    let durability = "translog.durability=REQUEST unless set for the table";
    settings.insert("durability".to_owned(), durability.to_owned());
    let tls = if admin.is_encrypted() { "on" } else { "off" };
    settings.insert("tls".to_owned(), tls.to_owned());
    let noun = if count == "1" { "node" } else { "nodes" };
    Ok(TargetFacts {
        version,
        dialects: vec!["cratedb".to_owned(), "postgresql".to_owned()],
        settings,
        traits: vec![
            format!("{count} {noun}"),
            format!("insert={}", admin.insert()),
        ],
    })
}

/// A value as one line.
fn text(rows: &[Vec<Value>], row: usize, column: usize) -> String {
    let value = rows.get(row).and_then(|row| row.get(column));
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => one_line(text),
        Some(other) => one_line(&other.to_string()),
    }
}

/// Names of an object's leaves with dots between, as SET reads them.
fn flatten(prefix: &str, value: &Value, out: &mut BTreeMap<String, String>) {
    let Value::Object(members) = value else {
        if out.len() < 4 * SETTINGS_MAX {
            let shown = match value {
                Value::String(text) => one_line(text),
                other => one_line(&other.to_string()),
            };
            out.insert(prefix.to_owned(), shown);
        }
        return;
    };
    for (name, member) in members {
        let dot = if prefix.is_empty() { "" } else { "." };
        flatten(&format!("{prefix}{dot}{name}"), member, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_dotted_names() {
        let value =
            serde_json::json!({"bulk": {"request_timeout": "1m"}, "stats": {"enabled": true}});
        let mut out = BTreeMap::new();
        flatten("", &value, &mut out);
        let expected = [("bulk.request_timeout", "1m"), ("stats.enabled", "true")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(out, BTreeMap::from(expected));
    }
}
