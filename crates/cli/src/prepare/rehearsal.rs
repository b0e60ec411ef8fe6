//! A small-scale rehearsal of each built-in workload: it creates the tables, writes the canary rows, and runs each
//! other op once. The tables have separate names, and are removed afterwards. A user's own statements are prepared
//! but never executed. Must not load a target, or judge.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::time_limit;
use highwater_driver::{Admin, Connect, Request, Target, TargetFacts, Timeline};
use highwater_model::op::{BoundOpKind, BoundWorkload, Op, OpBody};
use highwater_model::outcome::ErrorClass;
use highwater_model::transaction::StepKind;
use highwater_model::units::{Nanos, Seed};
use highwater_model::user_error::UserError;
use highwater_model::user_error::UserErrorKind;
use highwater_runner::canary::try_workload;
use highwater_workload::{OpContext, Workload, WorkloadSpec, catalog};

/// Time limit of one op.
const OP_LIMIT: Nanos = Nanos::from_secs(30);
/// Number of ops of a stream that are searched for each kind of op.
const OPS_MAX: u64 = 2_000;
/// The last canary row, and the number of rows that queries refer to.
const LAST_ROW: u64 = 1_000_000;
const ROWS: u64 = 20;

/// The expected result of running a workload.
#[derive(Debug)]
pub enum Rehearsal {
    /// The target accepts all of it.
    Taken,
    /// The workload has no statements for this target.
    NotWritten,
    /// The target rejects a part of it.
    Refused(UserError),
}

/// The result of preparing a user's own statements.
#[derive(Debug)]
pub enum OwnStatements {
    /// It prepared the statements of this number of ops.
    Prepared(usize),
    /// They cannot be prepared yet: a run creates this table first.
    Absent(String),
    /// A run would be rejected for this reason.
    Refused(UserError),
}

/// Lets the target prepare a user's own statements, as a run does before it sends anything.
///
/// # Errors
///
/// If the connection to the target was lost.
pub(super) async fn prepare_own(
    target: &dyn Target,
    admin: &mut dyn Admin,
    facts: &TargetFacts,
    timeline: &Rc<dyn Timeline>,
    workload: &Workload,
) -> Result<OwnStatements, UserError> {
    let bound = match workload.bind(&facts.dialects, target.placeholders()) {
        Ok(bound) => Arc::new(bound),
        Err(error) => return Ok(OwnStatements::Refused(error)),
    };
    let mut ops = bound.ops.iter();
    let transaction = ops.find(|op| matches!(op.kind, BoundOpKind::Transaction(_)));
    if let Some(op) = transaction.filter(|_| !facts.transactions) {
        return Ok(OwnStatements::Refused(UserError::no_transactions(&op.name)));
    }
    for table in &bound.tables {
        match admin.query(&format!("SELECT 1 FROM {} WHERE 1 = 0", table.name)).await {
            Err(error) if error.kind == UserErrorKind::Unreachable => return Err(error),
            Err(_) => return Ok(OwnStatements::Absent(table.name.clone())),
            Ok(_) => {}
        }
    }
    let prepared = bound.ops.len();
    let connect = Connect { workload: bound, number: 0, attempt: 0, timeline: Rc::clone(timeline) };
    match target.check_statements(connect).await {
        Ok(()) => Ok(OwnStatements::Prepared(prepared)),
        Err(error) if error.kind == UserErrorKind::Unreachable => Err(error),
        Err(error) => Ok(OwnStatements::Refused(error)),
    }
}

/// Rehearses the built-in workloads one after the other; names of tables begin with `prefix`.
///
/// # Errors
///
/// If the connection to the target was lost.
pub(super) async fn rehearse(
    target: &dyn Target,
    admin: &mut dyn Admin,
    facts: &TargetFacts,
    timeline: &Rc<dyn Timeline>,
    prefix: &str,
) -> Result<Vec<(&'static str, Rehearsal)>, UserError> {
    let mut found = Vec::new();
    for entry in catalog() {
        let made = WorkloadSpec::parse(entry.text).ok();
        let made = made.and_then(|spec| spec.instantiate(&BTreeMap::new(), Seed(42)).ok());
        let bound = made.and_then(|workload| {
            let bound = workload.bind(&facts.dialects, target.placeholders()).ok()?;
            Some((workload, bound))
        });
        let needs = |bound: &BoundWorkload| {
            let mut ops = bound.ops.iter();
            ops.any(|op| matches!(op.kind, BoundOpKind::Transaction(_)))
        };
        let rehearsal = match bound {
            Some((_, bound)) if needs(&bound) && !facts.transactions => Rehearsal::NotWritten,
            Some((workload, mut bound)) => {
                rename_tables(&mut bound, prefix);
                let bound = Arc::new(bound);
                let tried = attempt(target, admin, &workload, &bound, timeline).await;
                let dropped = drop_tables(admin, &bound).await;
                match tried.and(dropped) {
                    Ok(()) => Rehearsal::Taken,
                    Err(error) if error.kind == UserErrorKind::Unreachable => return Err(error),
                    Err(error) => Rehearsal::Refused(error),
                }
            }
            None => Rehearsal::NotWritten,
        };
        found.push((entry.name, rehearsal));
    }
    Ok(found)
}

async fn attempt(
    target: &dyn Target,
    admin: &mut dyn Admin,
    workload: &Workload,
    bound: &Arc<BoundWorkload>,
    timeline: &Rc<dyn Timeline>,
) -> Result<(), UserError> {
    for statement in bound.tables.iter().flat_map(|table| &table.create) {
        admin.query(statement).await?;
    }
    try_workload(target, admin, workload, bound, LAST_ROW, timeline).await?;
    let connect = Connect {
        workload: Arc::clone(bound),
        number: 0,
        attempt: 0,
        timeline: Rc::clone(timeline),
    };
    let mut session = target.connect(connect).await?;
    let mut request = Request::empty();
    for op in ops(workload) {
        let name = workload.op_name(op.id).to_owned();
        request.op = op;
        session.encoder().encode(&mut request);
        let executed = session.execute(&mut request);
        let outcome = time_limit::ended(timeline, OP_LIMIT, executed).await;
        // A slow response is not a rejection; the run will measure it.
        let Some(outcome) = outcome else {
            return Ok(());
        };
        if let Some(error) = outcome.error {
            let code = error.code.map_or_else(String::new, |code| format!(" ({code})"));
            let cause = format!("{name}: {}{code}", error.message);
            return Err(match error.class {
                ErrorClass::Connection => UserError::unreachable(cause),
                _ => UserError::statement(cause),
            });
        }
    }
    Ok(())
}

/// One op of each kind other than inserts in the workload's streams.
fn ops(workload: &Workload) -> Vec<Op> {
    let mut seen = BTreeSet::new();
    let mut ops: Vec<Op> = Vec::new();
    for stream in workload.streams() {
        for index in 0..OPS_MAX {
            if seen.insert(workload.op_id(stream, index).0) {
                ops.push(workload.op(stream, index, &OpContext { first_row: ROWS }));
            }
        }
    }
    ops.retain(|op| !matches!(op.body, OpBody::Insert(_)));
    ops
}

async fn drop_tables(admin: &mut dyn Admin, bound: &BoundWorkload) -> Result<(), UserError> {
    let mut dropped = Ok(());
    for table in bound.tables.iter().rev() {
        let statement = format!("DROP TABLE IF EXISTS {}", table.name);
        dropped = dropped.and(admin.query(&statement).await.map(drop));
    }
    dropped
}

/// Renames the tables, and the indexes named after them.
fn rename_tables(bound: &mut BoundWorkload, prefix: &str) {
    let names: Vec<String> = bound.tables.iter().map(|table| table.name.clone()).collect();
    let rename = |sql: &mut String| *sql = renamed(sql, &names, prefix, Renaming::Stays);
    for table in &mut bound.tables {
        for statement in &mut table.create {
            // Some statements create partitions by statements within texts.
            *statement = renamed(statement, &names, prefix, Renaming::IsRenamed);
        }
        rename(&mut table.name);
    }
    for op in &mut bound.ops {
        match &mut op.kind {
            BoundOpKind::Query { sql, .. } => rename(sql),
            BoundOpKind::Transaction(transaction) => {
                for step in &mut transaction.steps {
                    if let StepKind::Statement(statement) = &mut step.kind {
                        rename(&mut statement.sql);
                    }
                }
            }
            BoundOpKind::Insert { .. } | BoundOpKind::Literal(_) => {}
        }
    }
}

/// Renames within texts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Renaming {
    Stays,
    IsRenamed,
}

/// The statement with a prefix before each word that is one of these names, or begins with one and a `_`.
fn renamed(sql: &str, names: &[String], prefix: &str, quoted_names: Renaming) -> String {
    let mut text = String::with_capacity(sql.len());
    let mut word = String::new();
    let mut quoted = false;
    for letter in sql.chars().chain(['\n']) {
        if !quoted && (letter.is_alphanumeric() || letter == '_') {
            word.push(letter);
            continue;
        }
        let of_name = |name: &String| {
            let rest = word.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        if names.iter().any(of_name) {
            text.push_str(prefix);
        }
        text.push_str(&word);
        word.clear();
        quoted ^= letter == '\'' && quoted_names == Renaming::Stays;
        text.push(letter);
    }
    text.pop();
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_indexes_are_renamed_and_texts_and_columns_are_not() {
        let names = ["cpu".to_owned()];
        for (sql, other) in [
            ("CREATE INDEX cpu_ts ON cpu (ts)", "CREATE INDEX x_cpu_ts ON x_cpu (ts)"),
            ("SELECT usage_cpu, 'cpu' FROM cpu AS c", "SELECT usage_cpu, 'cpu' FROM x_cpu AS c"),
            ("SELECT max(cpu.a)", "SELECT max(x_cpu.a)"),
        ] {
            assert_eq!(renamed(sql, &names, "x_", Renaming::Stays), other);
        }
    }

    #[test]
    fn no_column_of_a_built_in_workload_is_taken_for_a_table() {
        for entry in catalog() {
            let spec = WorkloadSpec::parse(entry.text).unwrap();
            let workload = spec.instantiate(&BTreeMap::new(), Seed(1)).unwrap();
            let dialects = ["sqlite", "postgresql"].map(str::to_owned);
            let style = highwater_model::op::PlaceholderStyle::Dollar;
            let bound = workload.bind(&dialects, style).unwrap();
            for table in &bound.tables {
                for column in &table.columns {
                    let names: Vec<String> =
                        bound.tables.iter().map(|table| table.name.clone()).collect();
                    assert_eq!(
                        renamed(&column.name, &names, "x_", Renaming::IsRenamed),
                        column.name,
                        "{}",
                        entry.name
                    );
                }
            }
            let kinds: BTreeSet<u16> = ops(&workload).iter().map(|op| op.id.0).collect();
            let planned = workload.streams().iter().flat_map(|stream| &stream.ops);
            let tried = planned.filter(|(id, _)| {
                let op = &bound.ops[usize::from(id.0)];
                !matches!(op.kind, BoundOpKind::Insert { .. })
            });
            assert!(tried.map(|(id, _)| id.0).all(|id| kinds.contains(&id)), "{}", entry.name);
        }
    }
}
