//! The possible effects of a workload's statements, as shown by their words. Must not run them.

use super::definition::{OpBodyDefinition, OpDefinition};
use super::instance::Workload;
use super::sql::Sql;
use highwater_model::op::OpId;

/// A statement as written in a file, and a position in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenStatement {
    /// With its named parameters.
    pub text: String,
    /// Byte position in the text; `None` if unknown.
    pub at: Option<usize>,
}

impl Workload {
    /// The file's text for the statement at a position of an op, once for each dialect with separate text; `position`
    /// counts characters of the statement with placeholders.
    pub fn written(
        &self,
        op: usize,
        statement: usize,
        position: Option<usize>,
    ) -> Vec<WrittenStatement> {
        let Some(OpDefinition { body, .. }) = self.definition.ops.get(op) else {
            return Vec::new();
        };
        let texts: Vec<&Sql> = match body {
            OpBodyDefinition::Transaction { sql, .. } => {
                sql.values().filter_map(|all| all.get(statement)).collect()
            }
            _ => body.statements(),
        };
        texts
            .into_iter()
            .map(|sql| {
                let counts = sql.counts(body.parameters().iter().map(|parameter| parameter.count));
                WrittenStatement {
                    text: sql.text().to_owned(),
                    at: position.map(|position| sql.written_at(position, &counts)),
                }
            })
            .collect()
    }

    /// Whether the words of an op's statements show that it changes nothing.
    pub fn only_reads(&self, id: OpId) -> bool {
        let is_query = |body: &&OpBodyDefinition| matches!(body, OpBodyDefinition::Query { .. });
        let body = self.op_definition(id).map(|op| &op.body).filter(is_query);
        body.is_some_and(|body| body.writes().is_none() && changing(body).is_empty())
    }

    /// Whether a statement of an op may change rows in a way that the workload does not describe.
    pub fn changes_unknown_rows(&self) -> bool {
        let mut ops = self.definition.ops.iter();
        ops.any(|op| !changing(&op.body).is_empty())
    }

    /// Per table, whether a statement of the streams of these names may change it in a way that the workload does not
    /// describe. A table whose name merely appears in such a statement counts too: no comparison is better than one
    /// with unknown content.
    pub fn changed_by_statements<'n>(
        &self,
        streams: impl IntoIterator<Item = &'n str>,
    ) -> Vec<bool> {
        let ops =
            streams.into_iter().filter_map(|name| self.stream(name)).flat_map(|stream| stream.ops);
        let changing =
            ops.filter_map(|(id, _)| self.op_definition(id)).flat_map(|op| changing(&op.body));
        let texts: Vec<String> = changing.map(|sql| sql.text().to_lowercase()).collect();
        let changed = |name: String| texts.iter().any(|text| text.contains(&name));
        self.definition.tables.iter().map(|table| changed(table.name.to_lowercase())).collect()
    }
}

/// Statements that may change rows in a way that the workload does not describe.
fn changing(body: &OpBodyDefinition) -> Vec<&Sql> {
    if body.writes().is_some() {
        return Vec::new();
    }
    body.statements().into_iter().filter(|sql| !sql.only_reads()).collect()
}
