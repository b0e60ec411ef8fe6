//! Fault plans: what is planted, in which database, and what the audit must say of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use highwater_driver::{Target, TargetOptions};
use highwater_model::judgment::Data;
use highwater_model::plan::{AuditLevel, StopRule};
use highwater_model::record::{AuditRecord, AuditStatus, Fault, RunRecord};
use highwater_model::units::{Nanos, Seed};
use highwater_runner::interrupts;
use highwater_runner::observer::Silent;
use highwater_runner::run::run;
use highwater_testing::postgres::{Postgres, SUPERUSER};
use highwater_workload::random::Draws;

use crate::support::{Job, closed};
use crate::tampered::{Faults, Tampered};

pub(crate) const BATCH: u64 = 20;
pub(crate) const BATCHES: u64 = 40;
pub(crate) const ROWS: u64 = BATCH * BATCHES;

/// Something planted in the stored rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Planted {
    /// A row is gone.
    Dropped(u64),
    /// A row is there twice.
    Duplicated(u64),
    /// Two rows have each other's value of `n`.
    Swapped(u64, u64),
    /// `n` of one row is greater by what it is smaller in the other.
    Offset(u64, u64),
    /// The last digit of `note` is another one.
    Edited(u64),
    /// Somebody wrote a row that has no key of ours.
    Strange(u64),
}

impl Planted {
    /// The rows that are concerned.
    pub(crate) fn rows(self) -> Vec<u64> {
        match self {
            Self::Dropped(row) | Self::Duplicated(row) | Self::Edited(row) => vec![row],
            Self::Swapped(one, other) | Self::Offset(one, other) => vec![one, other],
            Self::Strange(_) => Vec::new(),
        }
    }

    /// How many rows are wrong.
    fn count(self) -> u64 {
        (self.rows().len() as u64).max(1)
    }

    /// The row after which a trigger plants it: then all that are concerned are there.
    fn last_row(self) -> u64 {
        match self {
            Self::Strange(row) => row,
            _ => self.rows().into_iter().max().unwrap(),
        }
    }

    fn fault(self) -> (Fault, Option<&'static str>) {
        match self {
            Self::Dropped(_) => (Fault::Missing, None),
            Self::Duplicated(_) => (Fault::Duplicated, None),
            Self::Swapped(..) | Self::Offset(..) => (Fault::Altered, Some("n")),
            Self::Edited(_) => (Fault::Altered, Some("note")),
            Self::Strange(_) => (Fault::Surplus, None),
        }
    }

    /// The statement, in the SQL that both databases share.
    pub(crate) fn sql(self) -> String {
        match self {
            Self::Dropped(row) => format!("DELETE FROM meters WHERE id = {row};"),
            Self::Duplicated(row) => {
                format!("INSERT INTO meters SELECT * FROM meters WHERE id = {row};")
            }
            // 2001 apart from everything, so that the values of both differ for certain.
            Self::Swapped(one, other) => format!(
                "UPDATE meters SET n = (SELECT sum(o.n) FROM meters o WHERE o.id IN ({one}, {other})) - n \
                 WHERE id IN ({one}, {other});"
            ),
            Self::Offset(one, other) => format!(
                "UPDATE meters SET n = n + CASE WHEN id = {one} THEN 7 ELSE -7 END \
                 WHERE id IN ({one}, {other});"
            ),
            Self::Edited(row) => format!(
                "UPDATE meters SET note = substr(note, 1, 10) || \
                 CASE WHEN substr(note, 11, 1) = '1' THEN '2' ELSE '1' END WHERE id = {row};"
            ),
            Self::Strange(row) => format!("INSERT INTO meters (id, n) VALUES (-1 - {row}, 7);"),
        }
    }
}

/// A plan.
#[derive(Debug, Clone, Default)]
pub(crate) struct FaultPlan {
    pub(crate) planted: Vec<Planted>,
    pub(crate) lost_answers: BTreeSet<u64>,
    pub(crate) applied_late: BTreeSet<u64>,
    /// Connections that a proxy cuts in the middle of a batch, and after how many bytes.
    pub(crate) cuts: Option<(u32, usize)>,
    /// Triggers plant the faults during the load, and not somebody between load and audit.
    pub(crate) by_trigger: bool,
    /// Done besides, between load and audit.
    pub(crate) besides: &'static str,
}

impl FaultPlan {
    /// Plan number `number`: every tenth without any fault, every tenth with lost answers and cut
    /// connections alone, and of the others a third by triggers.
    pub(crate) fn drawn(number: u64, cuts: bool) -> Self {
        let draws = Draws::of(Seed(number), &["fault plan"]);
        let mut next = 0;
        let mut draw = |below: u64| {
            next += 1;
            draws.below(next, below)
        };
        let mut plan = Self::default();
        if number.is_multiple_of(10) {
            return plan;
        }
        plan.by_trigger = number % 3 == 1;
        for _ in 0..draw(3) {
            plan.lost_answers.insert(draw(BATCHES));
        }
        for _ in 0..draw(3) {
            plan.applied_late.insert(draw(BATCHES));
        }
        plan.lost_answers = &plan.lost_answers - &plan.applied_late;
        // Where a cut falls nobody knows before, and a trigger must not be on such a row.
        if cuts && !plan.by_trigger && draw(2) == 0 {
            let count = u32::try_from(1 + draw(3)).unwrap();
            plan.cuts = Some((count, 1_500 + usize::try_from(draw(20_000)).unwrap()));
        }
        if number % 10 == 5 {
            return plan;
        }
        let mut taken = BTreeSet::new();
        for _ in 0..=draw(4) {
            let mut row = |batch: Option<u64>| loop {
                let row = match batch {
                    Some(batch) => batch * BATCH + draw(BATCH),
                    None => draw(ROWS),
                };
                if taken.insert(row) {
                    return row;
                }
            };
            let one = row(None);
            // Rows of different batches come in any order.
            let other = row(plan.by_trigger.then_some(one / BATCH));
            plan.planted.push(match draw(6) {
                0 => Planted::Dropped(one),
                1 => Planted::Duplicated(one),
                2 => Planted::Swapped(one, other),
                3 => Planted::Offset(one, other),
                4 => Planted::Strange(one),
                _ => Planted::Edited(one),
            });
        }
        if plan.by_trigger {
            let unknown = &plan.lost_answers | &plan.applied_late;
            plan.planted
                .retain(|planted| !unknown.contains(&(planted.last_row() / BATCH)));
        }
        plan
    }
}

/// A real database.
pub(crate) enum Database {
    Sqlite(PathBuf),
    Postgres(Arc<Postgres>),
}

impl Database {
    pub(crate) fn sqlite(root: &Path) -> Self {
        Self::Sqlite(root.join("meters.db"))
    }

    fn url(&self, port: Option<u16>) -> String {
        match self {
            Self::Sqlite(path) => format!("sqlite:{}", path.display()),
            Self::Postgres(server) => {
                let url = server.url(SUPERUSER, "postgres");
                let own = format!(":{}", server.port());
                port.map_or(url.clone(), |port| url.replace(&own, &format!(":{port}")))
            }
        }
    }

    /// The target, behind a proxy at `port`, with that insert mode.
    pub(crate) fn open(&self, port: Option<u16>, insert: Option<&str>) -> Arc<dyn Target> {
        let options = TargetOptions {
            insert: insert.map(str::to_owned),
            data_directory: None,
            application_name: "audit".to_owned(),
            seed: Seed(42),
            connect_timeout: Nanos::from_secs(5),
        };
        highwater_drivers::open(&[self.url(port)], &options).unwrap()
    }

    /// Statements that plant a fault as soon as its last row is inserted.
    fn trigger(&self, planted: Planted) -> String {
        let (row, sql) = (planted.last_row(), planted.sql());
        match self {
            Self::Sqlite(_) => format!(
                "CREATE TRIGGER plant_{row} AFTER INSERT ON meters WHEN NEW.id = {row} \
                 BEGIN {sql} END;"
            ),
            Self::Postgres(_) => format!(
                "CREATE OR REPLACE FUNCTION plant_{row}() RETURNS trigger LANGUAGE plpgsql \
                 AS $$ BEGIN {sql} RETURN NULL; END $$; \
                 CREATE TRIGGER plant_{row} AFTER INSERT ON meters FOR EACH ROW \
                 WHEN (NEW.id = {row} AND pg_trigger_depth() = 0) \
                 EXECUTE FUNCTION plant_{row}();"
            ),
        }
    }

    /// Executes statements on a connection of its own.
    pub(crate) fn execute(&self, sql: &str) {
        match self {
            Self::Sqlite(path) => {
                let connection = rusqlite::Connection::open(path).unwrap();
                connection
                    .busy_timeout(std::time::Duration::from_secs(5))
                    .unwrap();
                connection.execute_batch(sql).unwrap();
            }
            Self::Postgres(server) => drop(server.sql("postgres", sql)),
        }
    }

    pub(crate) fn clone_for_tamper(&self) -> Self {
        match self {
            Self::Sqlite(path) => Self::Sqlite(path.clone()),
            Self::Postgres(server) => Self::Postgres(Arc::clone(server)),
        }
    }
}

/// Runs a plan; the record, and what was planted in rows whose fate was known.
pub(crate) fn carry_out(
    plan: &FaultPlan,
    database: &Database,
    level: AuditLevel,
    root: &Path,
) -> (RunRecord, Vec<Planted>) {
    let proxy = match (database, plan.cuts) {
        (Database::Postgres(server), Some((cuts, after))) => {
            Some(crate::proxy::Proxy::start(server.port(), cuts, after))
        }
        _ => None,
    };
    let inner = database.open(proxy.as_ref().map(|proxy| proxy.port), None);
    if plan.by_trigger {
        let triggers: String = plan.planted.iter().map(|p| database.trigger(*p)).collect();
        let database = database.clone_for_tamper();
        let faults = Faults {
            lost_answers: plan.lost_answers.clone(),
            applied_late: plan.applied_late.clone(),
            made: Some(Box::new(move || {
                if !triggers.is_empty() {
                    database.execute(&triggers);
                }
            })),
            ..Faults::default()
        };
        let record = execute(&job(level), Tampered::target(inner, faults), root);
        return (record, plan.planted.clone());
    }
    let done = Arc::new(Mutex::new(Vec::new()));
    let (expected, noted) = (plan.planted.clone(), Arc::clone(&done));
    let (tampers_with, besides) = (database.clone_for_tamper(), plan.besides);
    let faults = Faults {
        lost_answers: plan.lost_answers.clone(),
        applied_late: plan.applied_late.clone(),
        made: None,
        tamper: Some(Box::new(move |unknown: &BTreeSet<u64>| {
            // A row of unknown fate that is changed is nobody's loss: it may never have been there.
            let known = |planted: &Planted| {
                let rows = planted.rows();
                rows.iter().all(|row| !unknown.contains(&(row / BATCH)))
            };
            let planted: Vec<Planted> = expected.into_iter().filter(known).collect();
            let mut sql: String = planted.iter().map(|planted| planted.sql()).collect();
            sql.push_str(besides);
            if !sql.is_empty() {
                tampers_with.execute(&sql);
            }
            *noted.lock().unwrap() = planted;
        })),
        ..Faults::default()
    };
    let record = execute(&job(level), Tampered::target(inner, faults), root);
    let planted = done.lock().unwrap().clone();
    (record, planted)
}

/// Runs a job on tables of its own.
pub(crate) fn execute(job: &Job, target: Arc<dyn Target>, root: &Path) -> RunRecord {
    let mut request = job.request(target, root);
    request.drop_tables = true;
    let (_keep, interrupts) = interrupts::channel();
    run(request, Rc::new(Silent), interrupts).unwrap().record
}

pub(crate) fn job(level: AuditLevel) -> Job {
    let mut job = Job::new("", &[("insert", closed(4))]);
    job.text = Some(include_str!("meters.toml"));
    job.settings = vec![("batch", BATCH.to_string())];
    job.sessions = 4;
    job.audit = level;
    job.stop = StopRule {
        rows: Some(ROWS),
        ..StopRule::default()
    };
    job
}

/// Everything planted is found and named, and nothing else.
pub(crate) fn assert_found(record: &RunRecord, planted: &[Planted], what: &str) {
    let audit = &record.audit;
    let count = |fault: Fault| -> u64 {
        let of_fault = planted.iter().filter(|planted| planted.fault().0 == fault);
        of_fault.map(|planted| planted.count()).sum()
    };
    let context = format!(
        "{what}: {planted:?}\n{audit:#?}\n{:?}",
        record.judgments.data
    );
    assert_eq!(audit.status, AuditStatus::Done, "{context}");
    assert!(audit.narrowed, "{context}");
    assert_eq!(audit.missing, count(Fault::Missing), "{context}");
    assert_eq!(audit.duplicated, count(Fault::Duplicated), "{context}");
    let strange = count(Fault::Surplus);
    assert_eq!(audit.surplus, audit.duplicated + strange, "{context}");
    assert_eq!(audit.foreign, strange, "{context}");
    assert_eq!(audit.altered, count(Fault::Altered), "{context}");
    for planted in planted {
        let (fault, column) = planted.fault();
        for row in planted.rows() {
            assert!(names(audit, fault, row, column), "{row}: {context}");
        }
    }
    let expected = match (audit.missing, audit.altered, audit.surplus) {
        (0, 0, 0) => Data::Clean,
        // What somebody else wrote is no fault of the target.
        (0, 0, _) if audit.duplicated == 0 => Data::Unverified,
        (0, 0, _) => Data::Duplicated,
        (0, ..) => Data::Altered,
        _ => Data::Lost,
    };
    assert_eq!(record.judgments.data.value, expected, "{context}");
}

fn names(audit: &AuditRecord, fault: Fault, row: u64, column: Option<&str>) -> bool {
    audit.examples.iter().any(|example| {
        let same = (example.fault, example.first_key, example.last_key) == (fault, row, row);
        same && example.column.as_deref() == column
    })
}
