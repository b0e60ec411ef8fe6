//! ClickHouse, one server or three shards, queried without its driver.

use highwater_model::literal::{LiteralSql, LiteralStyle};
use highwater_model::op::Value;
use highwater_testing::clickhouse::{ClickHouse, SUPERUSER};
use highwater_testing::clickhouse_shards::Shards;

use crate::case::{Answer, Database};

impl Database for ClickHouse {
    fn url(&self) -> String {
        Self::url(self, SUPERUSER)
    }

    fn style(&self) -> LiteralStyle {
        LiteralStyle::Numbers
    }

    fn run(&self, sql: &str, parameters: &[Value]) -> Answer {
        answer(self, sql, parameters)
    }
}

impl Database for Shards {
    fn url(&self) -> String {
        Self::url(self)
    }

    fn style(&self) -> LiteralStyle {
        LiteralStyle::Numbers
    }

    /// On the last server, over all servers.
    fn run(&self, sql: &str, parameters: &[Value]) -> Answer {
        answer(self.server(2), sql, parameters)
    }
}

/// A server's response, with each value replacing its placeholder.
fn answer(server: &ClickHouse, sql: &str, parameters: &[Value]) -> Answer {
    let mut text = sql.to_owned();
    // Starting with the last one: `$1` is a prefix of `$10`.
    for position in (0..parameters.len()).rev() {
        let mut literal = LiteralSql::default();
        literal.push_value(position);
        let mut written = String::new();
        literal.write(parameters, LiteralStyle::Numbers, &mut written);
        text = text.replace(&format!("${}", position + 1), &written);
    }
    let answer = server.sql(&text);
    let cells = |line: &str| line.split('\t').map(str::to_owned).collect();
    answer.lines().map(cells).collect()
}
