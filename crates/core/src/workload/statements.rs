//! What the statements of a workload may change, as far as their words show it.
//!
//! What must not be here: running them.

use super::definition::OpBodyDefinition;
use super::instance::Workload;
use super::sql::Sql;
use crate::model::op::OpId;

impl Workload {
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
