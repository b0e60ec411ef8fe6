//! ClickHouse, queried without its driver.

use highwater_model::literal::{LiteralSql, LiteralStyle};
use highwater_model::op::Value;
use highwater_testing::clickhouse::{ClickHouse, SUPERUSER};

use crate::case::{Answer, Database};

impl Database for ClickHouse {
    fn url(&self) -> String {
        Self::url(self, SUPERUSER)
    }

    fn style(&self) -> LiteralStyle {
        LiteralStyle::Numbers
    }

    /// With each value in place of its placeholder.
    fn run(&self, sql: &str, parameters: &[Value]) -> Answer {
        let mut text = sql.to_owned();
        // From the last one on: `$1` begins `$10`.
        for position in (0..parameters.len()).rev() {
            let mut literal = LiteralSql::default();
            literal.push_value(position);
            let mut written = String::new();
            literal.write(parameters, self.style(), &mut written);
            text = text.replace(&format!("${}", position + 1), &written);
        }
        let answer = self.sql(&text);
        let cells = |line: &str| line.split('\t').map(str::to_owned).collect();
        answer.lines().map(cells).collect()
    }
}
