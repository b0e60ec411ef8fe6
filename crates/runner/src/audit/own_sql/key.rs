//! Whether the key's expression gives the index of known rows, which are found by their values.

use highwater_model::audit_record::{SqlPart, WrongSql};
use highwater_model::op::{BoundColumn, BoundTable, ColumnType, Value};
use highwater_model::stored::{KeyRange, StoredRow};
use highwater_model::user_error::UserError;

use super::{KnownRow, OwnSql};

/// Rows that are sought by their values, at most: all rows of the table are held against each.
const SOUGHT_MAX: usize = 8;

/// Conditions that find known rows by their values.
struct Conditions(Vec<String>);

impl Conditions {
    /// The table in which the rows are numbered by the condition that they fulfil, with one column
    /// more.
    fn of(&self, table: &BoundTable, column: &str) -> BoundTable {
        let cases =
            self.0.iter().enumerate().map(|(at, condition)| format!(" WHEN {condition} THEN {at}"));
        let mut columns = table.columns.clone();
        columns.push(BoundColumn {
            value: Some(column.to_owned()),
            ..BoundColumn::new("key", ColumnType::Bigint)
        });
        BoundTable {
            key: format!("CASE{} END", cases.collect::<String>()),
            columns,
            locate: None,
            ..table.clone()
        }
    }

    /// An expression that is evaluated for rows that fulfil one of the conditions, and for no others.
    fn only_there(&self, expression: &str) -> String {
        let any = self
            .0
            .iter()
            .map(|condition| format!("({condition})"))
            .collect::<Vec<_>>()
            .join(" OR ");
        format!("CASE WHEN {any} THEN ({expression}) END")
    }
}

impl OwnSql<'_, '_, '_> {
    /// Whether the target takes SQL; a model has none that could be wrong.
    pub(super) fn has_sql(&self) -> bool {
        let known = self.known.first();
        known.is_some_and(|known| self.condition(known).is_some())
    }

    fn condition(&self, known: &KnownRow) -> Option<String> {
        self.admin.admin.condition(self.table, &known.values)
    }

    /// Conditions for known rows that are not found as they were sent by their key.
    fn conditions(&self, by_key: &[StoredRow]) -> Conditions {
        let sought = self.known.iter().filter(|known| {
            let mut same = by_key.iter().filter(|row| row.key == known.row);
            !same.any(|row| known.is_stored_as(self.table, &row.values))
        });
        let conditions: Vec<String> = sought
            .filter_map(|known| self.condition(known))
            .filter(|text| !text.is_empty())
            .collect();
        let step = conditions.len().div_ceil(SOUGHT_MAX).max(1);
        Conditions(conditions.into_iter().step_by(step).collect())
    }

    pub(super) async fn wrong_key(
        &mut self,
        by_key: &[StoredRow],
    ) -> Result<Option<WrongSql>, UserError> {
        let conditions = self.conditions(by_key);
        if conditions.0.is_empty() {
            return Ok(None);
        }
        let all = [KeyRange { first: 0, end: conditions.0.len() as u64 }];
        let with_key = conditions.of(self.table, &conditions.only_there(self.key));
        let evidence = match self.read(&with_key, &all).await? {
            Ok(rows) => self.other_key(&rows),
            Err(error) => {
                // Refused for the key's sake only if the same rows come back without it.
                let without_key = conditions.of(self.table, "NULL");
                let rows = self.read(&without_key, &all).await?.unwrap_or_default();
                let is_stored = |known: &&KnownRow| {
                    let mut rows = rows.iter();
                    rows.any(|row| known.is_stored_as(self.table, &row.values))
                };
                let known = self.known.iter().find(is_stored);
                known.map(|known| format!("the target refuses it for row {}: {error}", known.row))
            }
        };
        Ok(evidence.map(|evidence| WrongSql {
            table: self.table.name.clone(),
            part: SqlPart::Key,
            column: None,
            expression: self.key.to_owned(),
            evidence,
        }))
    }

    /// A known row whose key is another number wherever the row is found.
    fn other_key(&mut self, rows: &[StoredRow]) -> Option<String> {
        for known in &self.known {
            let same = rows.iter().filter(|row| known.is_stored_as(self.table, &row.values));
            let keys: Vec<&Value> = same.clone().filter_map(|row| row.values.last()).collect();
            let own = i64::try_from(known.row).map_or(Value::Null, Value::Integer);
            if keys.contains(&&own) {
                continue;
            }
            for row in same {
                let Some(key) = row.values.last() else {
                    continue;
                };
                if let Value::Integer(number) = key
                    && let Ok(other) = u64::try_from(*number)
                {
                    // The generators may have made two rows with the same values.
                    let values = row.values.clone();
                    let other = StoredRow { key: other, values };
                    if self.rows.difference(&other).is_none() {
                        continue;
                    }
                }
                let key = match key {
                    Value::Integer(number) => number.to_string(),
                    Value::Null => "null".to_owned(),
                    other => format!("{other:?}"),
                };
                return Some(format!(
                    "row {} is there with every value that was sent, and its key comes out as {key}",
                    known.row
                ));
            }
        }
        None
    }
}
