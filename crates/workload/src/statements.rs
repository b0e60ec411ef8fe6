//! What the statements of a workload may change, as far as their words show it.
//!
//! What must not be here: running them.

use super::definition::{OpBodyDefinition, QueryParameter};
use super::instance::Workload;
use super::sql::Sql;
use highwater_model::op::OpId;

/// A statement as a file has it, and a place in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenStatement {
    /// With its named parameters.
    pub text: String,
    /// Bytes of the text before the place; none if the place is not known.
    pub at: Option<usize>,
}

impl Workload {
    /// What a file has for the statement at a position of an op, once for each dialect that has its
    /// own; `position` counts characters of the statement with placeholders.
    pub fn written(
        &self,
        op: usize,
        statement: usize,
        position: Option<usize>,
    ) -> Vec<WrittenStatement> {
        let body = self.definition.ops.get(op).map(|op| &op.body);
        let (texts, parameters): (Vec<&Sql>, _) = match body {
            Some(OpBodyDefinition::Query {
                sql, parameters, ..
            }) => (sql.values().collect(), parameters),
            Some(OpBodyDefinition::Transaction { sql, parameters }) => {
                let of_dialects = sql.values().filter_map(|all| all.get(statement));
                (of_dialects.collect(), parameters)
            }
            _ => return Vec::new(),
        };
        let written = texts.into_iter().map(|sql| {
            let used = |(position, parameter): (usize, &QueryParameter)| {
                if sql.uses(position) {
                    parameter.count
                } else {
                    0
                }
            };
            let counts: Vec<u64> = parameters.iter().enumerate().map(used).collect();
            WrittenStatement {
                text: sql.text().to_owned(),
                at: position.map(|position| sql.written_at(position, &counts)),
            }
        });
        written.collect()
    }

    /// Whether an op changes nothing, as far as the words of its statements show it.
    pub fn only_reads(&self, id: OpId) -> bool {
        match self.op_definition(id).map(|op| &op.body) {
            Some(OpBodyDefinition::Query {
                sql, writes: None, ..
            }) => sql.values().all(Sql::only_reads),
            _ => false,
        }
    }

    /// Whether a statement of an op may change rows in a way that the workload does not describe.
    pub fn changes_unknown_rows(&self) -> bool {
        let mut bodies = self.definition.ops.iter().map(|op| &op.body);
        bodies.any(|body| match body {
            OpBodyDefinition::Query {
                sql, writes: None, ..
            } => !sql.values().all(Sql::only_reads),
            OpBodyDefinition::Transaction { sql, .. } => {
                !sql.values().flatten().all(Sql::only_reads)
            }
            OpBodyDefinition::Query { .. } | OpBodyDefinition::Insert { .. } => false,
        })
    }

    /// Per table, whether a statement that the streams of these names may send changes it in a way
    /// that the workload does not describe. A table whose name merely appears in such a statement
    /// counts too: no comparison is better than one with unknown content.
    pub fn changed_by_statements<'n>(
        &self,
        streams: impl IntoIterator<Item = &'n str>,
    ) -> Vec<bool> {
        let streams = streams.into_iter().filter_map(|name| self.stream(name));
        let ops = streams.flat_map(|stream| stream.ops);
        let mut texts: Vec<String> = Vec::new();
        for (id, _) in ops {
            let body = self
                .definition
                .ops
                .get(usize::from(id.0))
                .map(|op| &op.body);
            let statements: Vec<&Sql> = match body {
                Some(OpBodyDefinition::Query {
                    sql, writes: None, ..
                }) => sql.values().collect(),
                Some(OpBodyDefinition::Transaction { sql, .. }) => sql.values().flatten().collect(),
                _ => Vec::new(),
            };
            let changing = statements.into_iter().filter(|sql| !sql.only_reads());
            texts.extend(changing.map(|sql| sql.text().to_lowercase()));
        }
        let names = self.definition.tables.iter();
        let names = names.map(|table| table.name.to_lowercase());
        names
            .map(|name| texts.iter().any(|text| text.contains(&name)))
            .collect()
    }
}
