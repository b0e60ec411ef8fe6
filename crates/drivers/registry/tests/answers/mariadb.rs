//! MariaDB, queried with its own client.

use highwater_model::literal::{LiteralSql, LiteralStyle};
use highwater_model::op::Value;
use highwater_testing::mariadb::{MariaDb, SUPERUSER};

use crate::case::{Answer, Database};

impl Database for MariaDb {
    fn url(&self) -> String {
        Self::url(self, SUPERUSER)
    }

    fn style(&self) -> LiteralStyle {
        LiteralStyle::Backslashes
    }

    /// With each value replacing its placeholder, in the time zone and SQL mode of the driver's sessions.
    fn run(&self, sql: &str, parameters: &[Value]) -> Answer {
        let mut text = sql.to_owned();
        // Starting with the last one: `?1` is a prefix of `?10`.
        for position in (0..parameters.len()).rev() {
            let mut literal = LiteralSql::default();
            literal.push_value(position);
            let mut written = String::new();
            literal.write(parameters, self.style(), &mut written);
            text = text.replace(&format!("?{}", position + 1), &written);
        }
        let answer = self.sql(&format!("SET time_zone = '+00:00'; {text}"));
        let cells = |line: &str| line.split('\t').map(plain).collect();
        answer.lines().map(cells).collect()
    }
}

/// Converts a time as printed by the server to milliseconds; leaves other cells unchanged.
fn plain(cell: &str) -> String {
    if cell.len() == "2016-01-01 00:00:00.000".len() && cell.as_bytes()[10] == b' ' {
        return super::postgres::plain(&format!("{cell}+00"));
    }
    cell.to_owned()
}
