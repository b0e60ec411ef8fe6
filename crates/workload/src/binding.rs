//! Binds a workload to the SQL of one target: statements with placeholders or literals. Must not hold values, which are
//! generated for each op.

use super::definition::preferred;
use super::definition::{OpBodyDefinition, QueryParameter};
use super::generators::columns::{ColumnGenerator, Object};
use super::instance::Workload;
use super::sql::Sql;
use super::table::{Column, Table};
use highwater_model::op::{
    BoundColumn, BoundOp, BoundOpKind, BoundStatement, BoundTable, BoundWorkload, ColumnType,
    PlaceholderStyle,
};
use highwater_model::stored_form::DeclaredColumn;
use highwater_model::user_error::UserError;

impl Workload {
    /// The workload in SQL: each table and op uses the first of `dialects` that it supports.
    pub fn bind(
        &self,
        dialects: &[String],
        style: PlaceholderStyle,
    ) -> Result<BoundWorkload, UserError> {
        self.bind_as(dialects, Some(style))
    }

    /// The same with values in the text of queries; see [`Workload::takes_literals`].
    pub fn bind_literally(&self, dialects: &[String]) -> Result<BoundWorkload, UserError> {
        self.bind_as(dialects, None)
    }

    /// Whether there are queries, and all values can be written in the text.
    pub fn takes_literals(&self) -> bool {
        let mut bodies = self.definition.ops.iter().map(|op| &op.body);
        let is_query = |body: &&OpBodyDefinition| matches!(body, OpBodyDefinition::Query { .. });
        let is_transaction =
            |body: &OpBodyDefinition| matches!(body, OpBodyDefinition::Transaction { .. });
        bodies.clone().any(|body| is_query(&body)) && !bodies.any(is_transaction)
    }

    /// Without a placeholder style, values are literals.
    fn bind_as(
        &self,
        dialects: &[String],
        style: Option<PlaceholderStyle>,
    ) -> Result<BoundWorkload, UserError> {
        let tables = self.definition.tables.iter().map(|table| {
            let place = format!("table `{}`", table.name);
            Ok(BoundTable {
                name: table.name.clone(),
                columns: self.bound_columns(table, dialects),
                create: preferred(&table.create, dialects, &place)?.clone(),
                key: preferred(&table.key, dialects, &place)?.clone(),
                locate: preferred(&table.locate, dialects, &place).ok().cloned(),
                replaces: table.replaces.is_some(),
                slice: None,
            })
        });
        let ops = self.definition.ops.iter().map(|op| {
            let kind = match &op.body {
                OpBodyDefinition::Insert { table, batch } => {
                    BoundOpKind::Insert { table: *table, batch: *batch }
                }
                OpBodyDefinition::Query { sql, parameters, .. } => {
                    let sql = preferred(sql, dialects, &format!("op `{}`", op.name))?;
                    let counts: Vec<u64> = parameters.iter().map(|p| p.count).collect();
                    match style {
                        Some(style) => BoundOpKind::Query {
                            sql: sql.with_placeholders(style, &counts),
                            parameters: values(parameters).map(|(_, kind)| kind).collect(),
                        },
                        None => BoundOpKind::Literal(sql.template(&counts)),
                    }
                }
                OpBodyDefinition::Transaction { sql, parameters } => {
                    let sql = preferred(sql, dialects, &format!("op `{}`", op.name))?;
                    let style = style.ok_or_else(|| no_literals(&op.name))?;
                    let bound = sql.iter().map(|sql| bound_statement(sql, parameters, style));
                    BoundOpKind::Transaction(bound.collect())
                }
            };
            let name = op.name.clone();
            Ok(BoundOp { name, kind })
        });
        Ok(BoundWorkload {
            tables: tables.collect::<Result<_, UserError>>()?,
            ops: ops.collect::<Result<_, UserError>>()?,
            rows: None,
        })
    }

    fn bound_columns(&self, table: &Table, dialects: &[String]) -> Vec<BoundColumn> {
        let values = preferred(&table.values, dialects, "").ok();
        let entity = table.entity.and_then(|position| self.definition.entities.get(position));
        let attributes = |column: &Column| match (&column.generator, entity) {
            (ColumnGenerator::Object(Object::Object(positions)), Some(entity)) => positions
                .iter()
                .filter_map(|position| entity.attributes.get(*position))
                .map(|attribute| attribute.name.clone())
                .collect(),
            // A checksum is computed from texts, and fractions have several.
            (ColumnGenerator::Object(Object::Fields(fields)), _) => fields
                .iter()
                .filter(|field| !matches!(field.kind, ColumnType::Float | ColumnType::Object))
                .map(|field| field.name.clone())
                .collect(),
            _ => Vec::new(),
        };
        table
            .columns
            .iter()
            .map(|column| BoundColumn {
                name: column.name.clone(),
                kind: column.kind,
                attributes: attributes(column),
                value: values.and_then(|values| values.get(&column.name)).cloned(),
                declared: DeclaredColumn::default(),
            })
            .collect()
    }
}

fn no_literals(op: &str) -> UserError {
    UserError::usage(format!("op `{op}` is a transaction, whose values are always parameters"))
}

/// A statement of a transaction with its own placeholders, and the positions of their values among the op's.
fn bound_statement(
    sql: &Sql,
    parameters: &[QueryParameter],
    style: PlaceholderStyle,
) -> BoundStatement {
    let used = values(parameters).enumerate().filter(|(_, (parameter, _))| sql.uses(*parameter));
    let (values, types) = used.map(|(place, (_, kind))| (place, kind)).unzip();
    let counts = sql.counts(parameters.iter().map(|parameter| parameter.count));
    BoundStatement { sql: sql.with_placeholders(style, &counts), parameters: types, values }
}

/// All values in order: the parameter and type of each.
fn values(parameters: &[QueryParameter]) -> impl Iterator<Item = (usize, ColumnType)> {
    parameters.iter().enumerate().flat_map(|(position, parameter)| {
        let count = usize::try_from(parameter.count).unwrap_or(1);
        std::iter::repeat_n((position, parameter.kind), count)
    })
}
