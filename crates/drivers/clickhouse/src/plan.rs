//! How a session sends each op: its statement, split at the values, or the columns of its table with the server's
//! types. The values of `--insert` are the format of a batch and, with several servers, its target table. Must not
//! handle values; see `encode`.

use highwater_driver::failure::Failure;
use highwater_driver::sql::connection::{Place, Row, TextWire, pairs, values};
use highwater_model::literal::LiteralSql;
use highwater_model::op::{BoundOpKind, BoundTable, BoundWorkload, ColumnType};
use highwater_model::user_error::UserError;

use super::cluster::ABOVE;
use super::dialect;
use super::encode::{InsertPlan, NativeColumn, NativeType, Plan, Source};
use super::errors::ServerError;
use super::wire::Wire;
use crate::dialect::CLICKHOUSE;

/// The tables into which batches are inserted, and the mode.
pub(super) struct Tables {
    /// The database of a cluster server's own tables: those of the URL's database are `Distributed` over all servers.
    /// `None` with a single server.
    pub(super) own: Option<String>,
    pub(super) mode: Mode,
}

/// The plans of every op, in the workload's order.
pub(super) async fn plans(
    wire: &mut Wire,
    workload: &BoundWorkload,
    tables: &Tables,
) -> Result<Vec<Plan>, UserError> {
    let shown = wire.node().shown.clone();
    let mut plans = Vec::with_capacity(workload.ops.len());
    for (number, op) in workload.ops.iter().enumerate() {
        let place = Place::of_op(&shown, number, &op.name);
        plans.push(match &op.kind {
            BoundOpKind::Query { sql, parameters } => {
                let (cut, values) = dialect::cut(sql);
                if values.iter().any(|position| *position >= parameters.len()) {
                    return Err(place.miscounted(values.len(), parameters.len(), "$1"));
                }
                query(sql, cut)
            }
            BoundOpKind::Literal(sql) => query(&sql.numbered('$'), sql.clone()),
            BoundOpKind::Transaction(_) => return Err(UserError::no_transactions(&op.name)),
            BoundOpKind::Insert { table, .. } => {
                let table = place.table(workload, *table)?;
                Plan::Insert(insert_plan(wire, table, tables, &place).await?)
            }
        });
    }
    Ok(plans)
}

fn query(text: &str, sql: LiteralSql) -> Plan {
    Plan::Query { reads: reads(text), inserts: dialect::inserted_rows(text), sql }
}

/// Whether a statement only reads.
fn reads(sql: &str) -> bool {
    let word = dialect::first_word(sql);
    ["SELECT", "WITH", "SHOW", "DESCRIBE", "EXISTS"]
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known))
}

async fn rows(wire: &mut Wire, sql: &str, place: &Place) -> Result<Vec<Row>, UserError> {
    let mut rows = Vec::new();
    let mut take = |row| {
        rows.push(row);
        Ok(())
    };
    let read = wire.each_row(sql, &mut take).await;
    read.map_err(|failure| place.failed(failure))?;
    Ok(rows)
}

async fn insert_plan(
    wire: &mut Wire,
    table: &BoundTable,
    tables: &Tables,
    place: &Place,
) -> Result<InsertPlan, UserError> {
    let name = CLICKHOUSE.literal(&table.name);
    let [database, engine, partition] = found(wire, table, tables, place).await?;
    let is_distributed = tables.mode.is_distributed && engine == ABOVE;
    let is_atomic = !is_distributed && atomicity(&engine, table)? && partition.is_empty();
    let columns = format!(
        "SELECT name, type FROM system.columns WHERE database = {} AND table = {name}",
        CLICKHOUSE.literal(&database)
    );
    let declared: Vec<_> = pairs(rows(wire, &columns, place).await?).collect();
    let columns = native_columns(table, &declared).map_err(|cause| place.misunderstood(&cause))?;
    let names: Vec<String> =
        columns.iter().map(|column| CLICKHOUSE.identifier(&column.name)).collect();
    let head = format!(
        "INSERT INTO {}.{} ({}) FORMAT {}\n",
        CLICKHOUSE.identifier(&database),
        CLICKHOUSE.identifier(&table.name),
        names.join(", "),
        tables.mode.format.name()
    );
    Ok(InsertPlan {
        head: head.into_bytes(),
        columns,
        format: tables.mode.format,
        is_atomic,
        is_distributed,
    })
}

/// Database, engine, and partition key of the table of that name into which a batch is inserted: the server's own table
/// if there is one, unless batches go through the `Distributed` table.
async fn found(
    wire: &mut Wire,
    table: &BoundTable,
    tables: &Tables,
    place: &Place,
) -> Result<[String; 3], UserError> {
    let literal = |text: &str| CLICKHOUSE.literal(text);
    let own = tables.own.as_deref().filter(|_| !tables.mode.is_distributed);
    let own_too = own.map_or(String::new(), |own| format!(", {}", literal(own)));
    let sql = format!(
        "SELECT database, engine, partition_key FROM system.tables \
         WHERE database IN ({}{own_too}) AND name = {}",
        literal(&wire.node().database),
        literal(&table.name)
    );
    let found = rows(wire, &sql, place).await?.into_iter().map(values);
    // The server's own first.
    let first = found.min_by_key(|[database, ..]: &[String; 3]| own != Some(database.as_str()));
    first.ok_or_else(|| {
        let missing = ServerError {
            status: 404,
            code: 60,
            message: format!("table `{}` does not exist", table.name),
        };
        place.failed(Failure::Server(missing))
    })
}

/// Whether a block is stored as a whole or not at all; an error if acknowledged rows may not be stored at all.
fn atomicity(engine: &str, table: &BoundTable) -> Result<bool, UserError> {
    if engine.ends_with("MergeTree") {
        return Ok(true);
    }
    if engine.ends_with("Log") || engine == "Memory" {
        return Ok(false);
    }
    Err(UserError::usage(format!(
        "table `{}` has the engine {engine}, which acknowledges rows that it does not hold itself",
        table.name
    ))
    .with_hint(
        "such rows cannot be audited: insert into the table below it, such as a MergeTree; a table of a \
         cluster needs a URL with all its servers, or --drop",
    ))
}

/// The columns of a block. An object without a column of its name is stored in one column per attribute.
fn native_columns(
    table: &BoundTable,
    declared: &[(String, String)],
) -> Result<Vec<NativeColumn>, String> {
    let find = |name: &str| declared.iter().find(|(known, _)| known == name);
    let mut columns = Vec::new();
    for (position, column) in table.columns.iter().enumerate() {
        let is_flat = column.kind == ColumnType::Object && find(&column.name).is_none();
        if is_flat && !column.attributes.is_empty() {
            for attribute in &column.attributes {
                let (name, declared) = find(attribute).ok_or_else(|| {
                    let (table, object) = (&table.name, &column.name);
                    format!(
                        "table `{table}` has neither a column `{object}` nor one for its attribute \
                         `{attribute}`"
                    )
                })?;
                let source = Source::Attribute(position, attribute.clone());
                columns.push(native_column(name, declared, ColumnType::Text, source)?);
            }
            continue;
        }
        let (name, declared) = find(&column.name)
            .ok_or_else(|| format!("table `{}` has no column `{}`", table.name, column.name))?;
        let source = Source::Column(position);
        columns.push(native_column(name, declared, column.kind, source)?);
    }
    Ok(columns)
}

fn native_column(
    name: &str,
    declared: &str,
    kind: ColumnType,
    source: Source,
) -> Result<NativeColumn, String> {
    let inner = declared.strip_prefix("Nullable(");
    let inner = inner.and_then(|inner| inner.strip_suffix(')'));
    let native = NativeType::parse(inner.unwrap_or(declared));
    let native = native.filter(|native| native.takes(kind)).ok_or_else(|| {
        let kind = kind.name();
        format!("column `{name}` has the type {declared}, in which a value of the workload's type {kind} is not sent")
    })?;
    Ok(NativeColumn {
        name: name.to_owned(),
        declared: declared.to_owned(),
        native,
        nullable: inner.is_some(),
        source,
    })
}

/// The encoding of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// One block, column by column: no prefix of it is a valid request.
    Native,
    /// Row by row, without separators.
    RowBinary,
    /// One JSON object per row, as text.
    JsonEachRow,
}

/// An insert mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mode {
    pub(super) format: Format,
    /// Through the `Distributed` table, which forwards rows, instead of the server's own table.
    pub(super) is_distributed: bool,
}

/// The formats, in the order of the insert modes.
const FORMATS: [Format; 3] = [Format::Native, Format::RowBinary, Format::JsonEachRow];
/// The values of `--insert` with several servers: one per format for the servers' own tables (also for a single
/// server), then one per format for the `Distributed` tables.
const NAMES: &[&str] = &[
    "native",
    "rowbinary",
    "jsoneachrow",
    "distributed",
    "distributed-rowbinary",
    "distributed-jsoneachrow",
];
/// Alternative name of the default, which states that the servers' own tables are used.
const LOCAL: &str = "local";

impl Format {
    /// The server's name of the format.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Native => "Native",
            Self::RowBinary => "RowBinary",
            Self::JsonEachRow => "JSONEachRow",
        }
    }
}

impl Mode {
    /// The mode without `--insert`.
    pub(super) const fn default_one() -> Self {
        Self { format: Format::Native, is_distributed: false }
    }

    /// The values of `--insert` to suggest, for one server or for several.
    pub(super) fn names(is_cluster: bool) -> &'static [&'static str] {
        if is_cluster { NAMES } else { &NAMES[..FORMATS.len()] }
    }

    /// Parses a value of `--insert`.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        if name == LOCAL {
            return Some(Self::default_one());
        }
        let at = NAMES.iter().position(|known| *known == name)?;
        Some(Self { format: FORMATS[at % FORMATS.len()], is_distributed: at >= FORMATS.len() })
    }

    /// The value of `--insert`.
    pub(super) fn name(self) -> &'static str {
        let mut names = NAMES.iter().copied();
        let named = names.find(|name| Self::from_name(name) == Some(self));
        named.unwrap_or_default()
    }

    /// Whether a batch is always stored as a whole or not at all.
    pub(super) fn is_atomic(self) -> bool {
        self == Self::default_one()
    }
}

#[cfg(test)]
mod tests {
    use highwater_model::op::BoundColumn;

    use super::*;

    fn table() -> BoundTable {
        BoundTable {
            name: "t".to_owned(),
            columns: vec![
                BoundColumn::new("k", ColumnType::Bigint),
                BoundColumn {
                    attributes: vec!["host".to_owned(), "rack".to_owned()],
                    ..BoundColumn::new("tags", ColumnType::Object)
                },
            ],
            key: "k".to_owned(),
            ..BoundTable::default()
        }
    }

    fn sources(declared: &[(&str, &str)]) -> Result<Vec<Source>, String> {
        let declared: Vec<(String, String)> =
            declared.iter().map(|(name, kind)| ((*name).to_owned(), (*kind).to_owned())).collect();
        let columns = native_columns(&table(), &declared)?;
        Ok(columns.into_iter().map(|column| column.source).collect())
    }

    #[test]
    fn an_object_is_one_text_or_a_column_for_each_attribute() {
        let whole = sources(&[("k", "Int64"), ("tags", "String")]).unwrap();
        assert_eq!(whole, [Source::Column(0), Source::Column(1)]);
        let flat = sources(&[("rack", "String"), ("host", "String"), ("k", "Int64")]).unwrap();
        let attribute = |name: &str| Source::Attribute(1, name.to_owned());
        assert_eq!(flat, [Source::Column(0), attribute("host"), attribute("rack")]);
        for (declared, says) in [
            (&[("k", "Int64"), ("host", "String")][..], "`rack`"),
            (&[("tags", "String")], "no column `k`"),
            (&[("k", "Int64"), ("tags", "LowCardinality(String)")], "LowCardinality(String)"),
            (&[("k", "DateTime"), ("tags", "String")], "DateTime"),
        ] {
            let error = sources(declared).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn engines_store_a_block_atomically_or_are_rejected() {
        for (engine, expected) in [
            ("MergeTree", Some(true)),
            ("ReplacingMergeTree", Some(true)),
            ("Log", Some(false)),
            ("Memory", Some(false)),
            ("Distributed", None),
            ("Buffer", None),
            ("Null", None),
        ] {
            assert_eq!(atomicity(engine, &table()).ok(), expected, "{engine}");
        }
    }

    #[test]
    fn what_begins_with_a_question_reads() {
        for (sql, expected) in [
            ("SELECT 1", true),
            ("\n select(1)", true),
            ("WITH 1 AS x SELECT x", true),
            ("INSERT INTO t SELECT 1", false),
            ("SELECTED", false),
            ("", false),
        ] {
            assert_eq!(reads(sql), expected, "{sql}");
        }
    }

    #[test]
    fn each_name_is_one_way_and_those_of_a_server_are_local() {
        for is_cluster in [false, true] {
            let names = Mode::names(is_cluster);
            for name in names {
                assert_eq!(Mode::from_name(name).map(Mode::name), Some(*name));
            }
            assert_eq!(Mode::from_name(names[0]), Some(Mode::default_one()));
        }
        assert_eq!(Mode::from_name("Native"), None);
        let above = Mode { format: Format::RowBinary, is_distributed: true };
        assert_eq!(Mode::from_name("distributed-rowbinary"), Some(above));
        assert_eq!(Mode::from_name("local").map(Mode::name), Some("native"));
    }
}
