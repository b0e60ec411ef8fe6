//! Converts statements recorded by a target to the SQL of ops: on the sketched table, with a parameter for every value
//! that is compared with a column. Ops are weighted by the number of calls. Other statements become comments with a
//! reason.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::ControlFlow::{self, Continue};
// Writing to a string cannot fail.
use std::fmt::Write as _;

use sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr, Fetch, Ident, LimitClause, ObjectName, ObjectNamePart, Query,
    Select, SelectItem, SetExpr, Statement, Subscript, TableAlias, TableFactor, Value,
    VisitMut as _, VisitorMut,
};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;

use highwater_model::display::{count, foreign};
use highwater_model::op::ColumnType;
use highwater_model::table_shape::{
    ColumnShape, RecordedStatements, StatementText, TEXT_MAX, TableShape,
};

use super::{
    Options, compares, is_made, is_made_field, is_placeholder, is_value, number, placeholder,
    quoted, text,
};
use crate::generators::parameters::MAX_COUNT;
use crate::sketch;
use crate::sql::Sql;

/// A statement as an op sends it.
#[derive(Debug, PartialEq)]
pub(super) struct OpText {
    pub(super) sql: String,
    pub(super) parameters: Vec<OpParameter>,
    /// Differences from the recorded statement.
    remarks: Vec<&'static str>,
}

#[derive(Debug, PartialEq)]
pub(super) struct OpParameter {
    pub(super) name: String,
    pub(super) kind: ColumnType,
    /// Its generator, and its number of values.
    pub(super) options: Options,
    /// The value in the statement, if it was recorded.
    value: Option<String>,
}

/// Why a statement does not become an op.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone)]
pub(super) enum Rejection {
    /// It does not use this table.
    Elsewhere,
    /// It writes, or is not a query for another reason; its first word.
    NoQuery(String),
    /// Any other reason, as a phrase, and the statement without the values that it compares with columns, if it was
    /// parsed.
    Because(String, Option<String>),
}

const RANGE: &str = "the ends of a range are sampled independently";
const CONSTANT: &str = "a constant of its result was not recorded: it is 1";
const LIMIT: &str =
    "the number of its LIMIT was not recorded: it is the mean number of rows of a result";
const OFFSET: &str = "the number of its OFFSET was not recorded: it is 0";

/// Parses a statement on `table` and moves it to the table `like`.
pub(super) fn read(
    recorded: &StatementText,
    table: &TableShape,
    like: &str,
) -> Result<OpText, Rejection> {
    if recorded.sql.chars().count() >= TEXT_MAX {
        let long = because(format!("it has {TEXT_MAX} characters or more"));
        return Err(not_understood(&recorded.sql, table, long));
    }
    let parsed = Parser::parse_sql(&GenericDialect, &recorded.sql);
    let parsed = parsed.map(|mut statements| (statements.pop(), statements.is_empty()));
    let Ok((Some(mut statement), true)) = parsed else {
        let unknown = because("its SQL is not understood here");
        return Err(not_understood(&recorded.sql, table, unknown));
    };
    let mut rewriter = StatementRewriter {
        table,
        like,
        rows: recorded.rows.map(|rows| rows.div_ceil(recorded.calls.max(1)).max(1)),
        with: Vec::new(),
        met: false,
        parameters: Vec::new(),
        remarks: Vec::new(),
        rejection: None,
    };
    if !matches!(statement, Statement::Query(_)) {
        let word = first_word(&recorded.sql);
        return Err(not_understood(&recorded.sql, table, Rejection::NoQuery(word)));
    }
    // The visitor never stops early.
    let ControlFlow::Continue(()) = statement.visit(&mut rewriter);
    if !rewriter.met {
        return Err(Rejection::Elsewhere);
    }
    let sql = statement.to_string();
    match rewriter.rejection {
        Some(Rejection::NoQuery(_)) => return Err(Rejection::NoQuery(first_word(&recorded.sql))),
        Some(Rejection::Because(reason, _)) => return Err(Rejection::Because(reason, Some(sql))),
        Some(rejection) => return Err(rejection),
        None => {}
    }
    let names: Vec<&str> = rewriter.parameters.iter().map(|p| p.name.as_str()).collect();
    if sql.contains("${") || Sql::parse(&sql, &names).is_err() {
        return Err(because("a part of it would read as a parameter"));
    }
    Ok(OpText { sql, parameters: rewriter.parameters, remarks: rewriter.remarks })
}

fn because(what: impl Into<String>) -> Rejection {
    Rejection::Because(what.into(), None)
}

/// The reason for a statement that cannot be parsed: not on this table, not a query, or `otherwise`.
fn not_understood(sql: &str, table: &TableShape, otherwise: Rejection) -> Rejection {
    const QUERY: [&str; 4] = ["SELECT", "WITH", "VALUES", "TABLE"];
    let word = first_word(sql);
    let lower = sql.to_lowercase();
    let mut words = lower.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    match words.any(|part| part == table.name.to_lowercase()) {
        false => Rejection::Elsewhere,
        true if QUERY.contains(&word.as_str()) => otherwise,
        true => Rejection::NoQuery(word),
    }
}

/// The first word of a statement, in upper case.
fn first_word(sql: &str) -> String {
    let word = sql.trim_start_matches(|c: char| !c.is_alphanumeric());
    let end = word.find(|c: char| !c.is_alphanumeric());
    word.get(..end.unwrap_or(word.len())).unwrap_or_default().to_uppercase()
}

/// Moves a statement to another table and replaces its values by parameters.
struct StatementRewriter<'a> {
    table: &'a TableShape,
    like: &'a str,
    /// Mean number of rows per result.
    rows: Option<u64>,
    /// Names defined by a WITH clause.
    with: Vec<Ident>,
    /// Whether the table was found.
    met: bool,
    parameters: Vec<OpParameter>,
    remarks: Vec<&'static str>,
    /// The first reason to reject it.
    rejection: Option<Rejection>,
}

impl VisitorMut for StatementRewriter<'_> {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        if let Some(with) = &query.with {
            let names = with.cte_tables.iter().map(|cte| cte.alias.name.clone());
            self.with.extend(names);
        }
        let writes = matches!(
            &*query.body,
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_)
        );
        if writes {
            self.reject(Rejection::NoQuery(String::new()));
        }
        if let Some(LimitClause::LimitOffset { limit, offset, .. }) = &mut query.limit_clause {
            self.limit(limit.as_mut());
            if let Some(offset) = offset.as_mut().filter(|offset| is_placeholder(&offset.value)) {
                offset.value = number(0);
                self.remark(OFFSET);
            }
        }
        if let Some(Fetch { quantity, .. }) = &mut query.fetch {
            self.limit(quantity.as_mut());
        }
        Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Infallible> {
        if select.into.is_some() {
            self.reject(Rejection::NoQuery(String::new()));
        }
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item
                && is_placeholder(expr)
            {
                *expr = number(1);
                self.remark(CONSTANT);
            }
        }
        Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<Infallible> {
        // A writing statement within a WITH clause names its table outside a FROM clause.
        self.met |= self.is_own(relation);
        Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Infallible> {
        let TableFactor::Table { name, alias, args, .. } = factor else {
            return Continue(());
        };
        let of_with = |with: &Ident| {
            let [part] = name.0.as_slice() else {
                return false;
            };
            part.as_ident().is_some_and(|part| same(with, &part.value))
        };
        // A table function, or a name defined by a WITH clause.
        if args.is_some() || self.with.iter().any(of_with) {
            return Continue(());
        }
        if !self.is_own(name) {
            self.reject(because(format!("it queries `{name}` too")));
            return Continue(());
        }
        self.met = true;
        // Its old name becomes the alias, so that `table.column` keeps its meaning.
        if alias.is_none() {
            *alias = Some(TableAlias {
                explicit: true,
                name: Ident::with_quote('"', &self.table.name),
                columns: Vec::new(),
                at: None,
            });
        }
        *name = ObjectName::from(Ident::new(self.like));
        Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        match expr {
            Expr::BinaryOp { left, op, right } if compares(op) => {
                if is_value(right) {
                    self.parameterize(left, right, op);
                } else if is_value(left) {
                    self.parameterize(right, left, op);
                }
            }
            Expr::Between { expr, low, high, .. } if is_value(low) && is_value(high) => {
                self.parameterize(expr, low, &BinaryOperator::GtEq);
                self.parameterize(expr, high, &BinaryOperator::LtEq);
            }
            Expr::InList { expr, list, .. } if list.iter().all(is_value) => {
                if let Some(name) = self.parameter(expr, list.len(), None) {
                    *list = vec![placeholder(&name)];
                }
            }
            Expr::Identifier(name) => self.check_column(name),
            Expr::CompoundIdentifier(parts) => {
                if let [_, _, _] = parts.as_slice() {
                    // Removes the schema before the table's old name, which is now an alias.
                    parts.remove(0);
                }
                if let Some(name) = parts.last_mut() {
                    self.check_column(name);
                }
            }
            Expr::Value(value) => {
                if let Value::Placeholder(text) = &value.value
                    && !text.starts_with(':')
                {
                    self.reject(because(format!("no column shows what its `{text}` is")));
                }
            }
            _ => {}
        }
        Continue(())
    }
}

impl<'a> StatementRewriter<'a> {
    fn remark(&mut self, what: &'static str) {
        if !self.remarks.contains(&what) {
            self.remarks.push(what);
        }
    }

    fn limit(&mut self, limit: Option<&mut Expr>) {
        if let Some(limit) = limit.filter(|limit| is_placeholder(limit)) {
            match self.rows {
                Some(rows) => {
                    *limit = number(rows);
                    self.remark(LIMIT);
                }
                None => self.reject(because("the number of its LIMIT was not recorded")),
            }
        }
    }

    fn reject(&mut self, rejection: Rejection) {
        self.rejection.get_or_insert(rejection);
    }

    /// Whether a name refers to the table.
    fn is_own(&self, name: &ObjectName) -> bool {
        let parts = name.0.iter().map(ObjectNamePart::as_ident);
        match parts.collect::<Option<Vec<_>>>().as_deref() {
            Some([one]) => same(one, &self.table.name),
            Some([schema, one]) => {
                let known = self.table.schema.as_ref();
                known.is_some_and(|known| same(schema, known)) && same(one, &self.table.name)
            }
            _ => false,
        }
    }

    /// Replaces a value that is compared with a column by a parameter.
    fn parameterize(&mut self, side: &Expr, value: &mut Expr, op: &BinaryOperator) {
        let literal = (!is_placeholder(value)).then(|| value.to_string());
        if let Some(name) = self.parameter(side, 1, literal) {
            *value = placeholder(&name);
            if !matches!(op, BinaryOperator::Eq | BinaryOperator::NotEq) {
                self.remark(RANGE);
            }
        }
    }

    /// The path to the column, or to the field of an object, in an expression.
    fn column(&self, expr: &Expr) -> Option<Vec<&'a ColumnShape>> {
        match expr {
            Expr::Nested(inner) => self.column(inner),
            Expr::Identifier(name) => Some(vec![find(&self.table.columns, name)?]),
            Expr::CompoundIdentifier(parts) => {
                Some(vec![find(&self.table.columns, parts.last()?)?])
            }
            Expr::CompoundFieldAccess { root, access_chain } => {
                let mut path = self.column(root)?;
                for access in access_chain {
                    let AccessExpr::Subscript(Subscript::Index { index: Expr::Value(key) }) =
                        access
                    else {
                        return None;
                    };
                    let Value::SingleQuotedString(key) = &key.value else {
                        return None;
                    };
                    let fields = &path.last()?.fields;
                    path.push(fields.iter().find(|field| field.name == *key)?);
                }
                Some(path)
            }
            _ => None,
        }
    }

    /// The generator that samples the values of a column, or of an object's field, from existing rows; `None` if the
    /// sketched table does not have it.
    fn reference_to(&self, path: &[&ColumnShape]) -> Option<Options> {
        let (column, fields) = path.split_first()?;
        let is_value = path.last()?.kind != Some(ColumnType::Object);
        if !is_value || !is_made(column) || !fields.iter().all(|field| is_made_field(field)) {
            return None;
        }
        let mut options = vec![
            ("generator", quoted("reference")),
            ("table", quoted(self.like)),
            ("column", quoted(&column.name)),
        ];
        if !fields.is_empty() {
            let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            options.push(("field", quoted(&names.join("."))));
        }
        Some(options)
    }

    /// The name of a parameter with the generator of the column in an expression; `None` if that is not a column. A
    /// `value` that is compared twice with a column is one parameter.
    fn parameter(&mut self, side: &Expr, count: usize, value: Option<String>) -> Option<String> {
        let path = self.column(side)?;
        let names: Vec<&str> = path.iter().map(|column| column.name.as_str()).collect();
        let options = self.reference_to(&path);
        if options.is_none() {
            let names = names.join(".");
            self.reject(because(format!("no values can be sampled like those of `{names}`")));
        }
        // A rejected statement is also rewritten completely, so that statements that differ only in values are listed
        // as one.
        let mut options = options.unwrap_or_default();
        let kind = path.last().and_then(|column| column.kind);
        let kind = kind.unwrap_or(ColumnType::Text);
        if i64::try_from(count).is_ok_and(|count| count > MAX_COUNT) {
            self.reject(because(format!("its list has {count} values")));
        }
        if count > 1 {
            options.push(("count", count.to_string()));
        }
        let is_same = |other: &&OpParameter| value.is_some() && other.value == value;
        let mut alike = self.parameters.iter().filter(|other| other.options == options);
        if let Some(same) = alike.find(is_same) {
            return Some(same.name.clone());
        }
        let base = names.join("_").to_lowercase();
        let taken = |name: &String| self.parameters.iter().any(|other| other.name == *name);
        let numbered = (2..).map(|number| format!("{base}_{number}"));
        let name = std::iter::once(base.clone()).chain(numbered).find(|name| !taken(name))?;
        self.parameters.push(OpParameter { name: name.clone(), kind, options, value });
        Some(name)
    }

    /// Rejects columns that the sketched table does not have.
    fn check_column(&mut self, name: &mut Ident) {
        let Some(column) = find(&self.table.columns, name) else {
            return;
        };
        // Normalizes spelling, so that equal statements have equal texts.
        if name.quote_style.is_none() {
            name.value.make_ascii_lowercase();
        }
        if !is_made(column) && self.table.create.is_none() {
            self.reject(because(format!("column `{}` is left out", column.name)));
        }
    }
}

fn find<'a>(columns: &'a [ColumnShape], name: &Ident) -> Option<&'a ColumnShape> {
    columns.iter().find(|column| same(name, &column.name))
}

/// Whether an identifier has this name; case is ignored without quotes.
fn same(name: &Ident, known: &str) -> bool {
    match name.quote_style {
        None => name.value.eq_ignore_ascii_case(known),
        Some(_) => name.value == known,
    }
}

/// Maximum number of ops in a mix: the most frequent ones.
const OPS_MAX: usize = 20;
/// Maximum number of statements without an op that are listed individually.
const LISTED_MAX: usize = 30;
/// Characters of a statement in a comment.
pub(super) const SHOWN_MAX: usize = 300;
/// Why a statement other than a query is left out.
const NO_QUERY: &str = "no query";
/// Maximum weight in a stream.
const WEIGHT_MAX: u64 = 1_000_000;

/// The queries on the table recorded by a target.
pub(super) struct Mix {
    /// Most frequent first.
    ops: Vec<MixOp>,
    /// By reason and text.
    left_out: Vec<LeftOut>,
    /// Calls covered by the ops, and all calls on the table.
    calls: (u64, u64),
}

struct MixOp {
    text: OpText,
    calls: u64,
}

struct LeftOut {
    reason: String,
    shown: String,
    /// Number of distinct texts.
    texts: u64,
    calls: u64,
}

/// The mix of a table whose sketch is named `like`.
pub(super) fn mix(table: &TableShape, like: &str) -> Mix {
    let mut ops: BTreeMap<String, MixOp> = BTreeMap::new();
    let mut left: BTreeMap<(String, String), LeftOut> = BTreeMap::new();
    let mut all = 0;
    for recorded in &table.recorded.texts {
        let (key, reason) = match read(recorded, table, like) {
            Ok(text) => {
                let op = ops.entry(text.sql.clone()).or_insert(MixOp { text, calls: 0 });
                op.calls += recorded.calls;
                all += recorded.calls;
                continue;
            }
            Err(Rejection::Elsewhere) => continue,
            Err(Rejection::NoQuery(word)) => (word, NO_QUERY.to_owned()),
            Err(Rejection::Because(reason, alike)) => {
                (alike.unwrap_or_else(|| shown(&recorded.sql)), reason)
            }
        };
        all += recorded.calls;
        let found = left.entry((reason.clone(), key)).or_insert(LeftOut {
            reason,
            shown: shown(&recorded.sql),
            texts: 0,
            calls: 0,
        });
        found.texts += 1;
        found.calls += recorded.calls;
    }
    let mut ops: Vec<MixOp> = ops.into_values().collect();
    ops.sort_by_key(|op| std::cmp::Reverse(op.calls));
    let mut left_out: Vec<LeftOut> = left.into_values().collect();
    for op in ops.drain(OPS_MAX.min(ops.len())..) {
        left_out.push(LeftOut {
            reason: format!("it is not among the {OPS_MAX} most frequent"),
            shown: shown(&op.text.sql),
            texts: 1,
            calls: op.calls,
        });
    }
    left_out.sort_by_key(|left| std::cmp::Reverse(left.calls));
    let kept = ops.iter().map(|op| op.calls).sum();
    Mix { ops, left_out, calls: (kept, all) }
}

/// A statement as a single comment line.
fn shown(sql: &str) -> String {
    let words: Vec<&str> = sql.split_whitespace().collect();
    foreign(&words.join(" "), SHOWN_MAX)
}

impl Mix {
    /// Names and weights for the stream; `None` without ops.
    pub(super) fn weights(&self) -> Option<String> {
        let most = self.ops.first()?.calls;
        let weights = self.ops.iter().enumerate().map(|(number, op)| {
            // In proportion to the greatest one, if that exceeds the maximum weight.
            let weight = scaled(op.calls, most);
            format!("recorded-{} = {}", number + 1, weight.max(1))
        });
        Some(weights.collect::<Vec<_>>().join(", "))
    }

    /// The ops, and comments on the rest.
    pub(super) fn write(&self, out: &mut String, table: &TableShape) {
        self.write_head(out, &table.recorded);
        for (number, op) in self.ops.iter().enumerate() {
            let calls = count(op.calls);
            let _ = writeln!(out, "\n[ops.recorded-{}]", number + 1);
            let summary = shown(&format!("{calls} calls: {}", op.text.sql));
            let _ = writeln!(out, "summary = {}", text(&summary));
            for remark in &op.text.remarks {
                let _ = writeln!(out, "# {remark}");
            }
            let sql = text(&op.text.sql);
            let _ = writeln!(out, "sql = {{ {} = {sql} }}", table.dialect);
            if op.text.parameters.is_empty() {
                continue;
            }
            let lines = op.text.parameters.iter().map(|parameter| {
                let kind = quoted(parameter.kind.name());
                let mut options = vec![("name", quoted(&parameter.name)), ("type", kind)];
                options.extend(parameter.options.iter().cloned());
                format!("    {},\n", sketch::inline(&options))
            });
            let _ = writeln!(out, "parameters = [\n{}]", lines.collect::<String>());
        }
    }

    fn write_head(&self, out: &mut String, recorded: &RecordedStatements) {
        if let Some(remark) = &recorded.remark {
            let _ = writeln!(out, "\n# {remark}.");
        }
        let Some(source) = &recorded.source else {
            return;
        };
        let (kept, all) = (count(self.calls.0), count(self.calls.1));
        let _ = writeln!(
            out,
            "\n# Queries on this table that {source} recorded: the ops `recorded-…` stand for\n\
             # {kept} of {all} calls, which are their weights. Values compared with a column are\n\
             # sampled from existing rows; how often each value was queried is unknown."
        );
        let read = u64::try_from(recorded.texts.len()).unwrap_or(u64::MAX);
        if recorded.different > read {
            let (read, there) = (count(read), count(recorded.different));
            let _ =
                writeln!(out, "# Only the {read} most frequent of {there} statements were read.");
        }
        if self.left_out.is_empty() {
            return;
        }
        let _ = writeln!(out, "# Left out, with the reason:");
        for left in self.left_out.iter().take(LISTED_MAX) {
            let others = match left.texts {
                1 => String::new(),
                more if left.reason == NO_QUERY => {
                    format!(" and {} that begin so", count(more - 1))
                }
                more => format!(" and {} with other values", count(more - 1)),
            };
            let calls = count(left.calls);
            let _ = writeln!(out, "# {calls} × {}{others} · {}", left.shown, left.reason);
        }
        let rest = self.left_out.iter().skip(LISTED_MAX);
        let (others, calls) = rest.fold((0_u64, 0), |(n, sum), left| (n + 1, sum + left.calls));
        if others > 0 {
            let _ = writeln!(out, "# and {} others with {} calls", count(others), count(calls));
        }
    }
}

/// The calls scaled such that the most calls get the maximum weight, if they exceed it.
fn scaled(calls: u64, most: u64) -> u64 {
    let weight = u128::from(calls) * u128::from(most.min(WEIGHT_MAX)) / u128::from(most.max(1));
    u64::try_from(weight).unwrap_or(WEIGHT_MAX)
}
