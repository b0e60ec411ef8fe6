//! Every term of the audit's sums is needed: without it, its fault is missed; with all terms, it is found. The rows are
//! stored in real databases, and both sides are summed by the code that audits runs.

use std::rc::Rc;
use std::sync::Arc;

use highwater_analysis::sums::{self, Buckets, Comparison};
use highwater_driver::clock::{RealClock, RealTimeline};
use highwater_driver::{KeySums, Target};
use highwater_model::op::{BoundTable, ColumnData, RowBatch};
use highwater_model::plan::AuditLevel;
use highwater_model::record::{Expectation, ExpectedBucket, FoundBucket};
use highwater_model::stored::KEY_PRIME;

use super::database::{Database, on};
use super::plans::{FaultPlan, ROWS, carry_out, job};
use super::planted::Planted;

/// All rows in one bucket, so that no narrow bucket substitutes for a weight, even with keys `KEY_PRIME` apart.
const WIDTH: u64 = 1 << 26;

/// The omitted term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Term {
    /// The number of rows.
    Rows,
    /// Σ (key mod p) · (value mod q) of a column.
    Column(&'static str),
    /// The factor (key mod p): every row gets weight 1.
    Weight,
    /// The hash of a text: its length is used instead.
    TextHash,
    /// The residue of null: it counts as 0.
    Null,
    /// An attribute of an object.
    Attribute(&'static str),
}

/// Terms, and for each a fault that only it detects: SQL for SQLite, and for PostgreSQL if that differs.
fn cases() -> Vec<(Term, String, Option<String>)> {
    let planted = |planted: Planted| planted.sql();
    let set = |what: &str, row: u64| format!("UPDATE meters SET {what} WHERE id = {row};");
    let object = |attribute: &str| {
        (
            set(&format!("tags = json_set(tags, '$.{attribute}', 'Bonn')"), 3),
            Some(set(&format!("tags = jsonb_set(tags, '{{{attribute}}}', '\"Bonn\"')"), 3)),
        )
    };
    let (id, city) = (object("id"), object("city"));
    vec![
        (Term::Rows, planted(Planted::Dropped(123)), None),
        (Term::Rows, planted(Planted::Duplicated(5)), None),
        (Term::Weight, planted(Planted::Swapped(17, 518)), None),
        (Term::Weight, planted(Planted::Offset(40, 41)), None),
        // To a key with the same weight in the same bucket.
        (Term::Column("id"), set(&format!("id = id + {KEY_PRIME}"), 7), None),
        (Term::Column("n"), set("n = n + 1", 700), None),
        (Term::Column("x"), set("x = x + 0.5", 701), None),
        (Term::Column("ok"), set("ok = NOT ok", 702), None),
        (
            Term::Column("at"),
            set("at = at + 1000", 0),
            Some(set("at = at + interval '1 second'", 0)),
        ),
        (
            Term::Column("city"),
            set("city = CASE city WHEN 'Wien' THEN 'Graz' ELSE 'Wien' END", 799),
            None,
        ),
        (Term::Column("note"), planted(Planted::Edited(64)), None),
        (Term::Column("tags"), city.0.clone(), city.1.clone()),
        (Term::TextHash, planted(Planted::Edited(65)), None),
        (
            Term::Null,
            "UPDATE meters SET ok = NULL \
             WHERE id = (SELECT min(id) FROM meters WHERE NOT ok);"
                .to_owned(),
            None,
        ),
        (Term::Attribute("id"), id.0, id.1),
        (Term::Attribute("city"), city.0, city.1),
    ]
}

impl Term {
    /// Removes the term from both sides.
    fn take_out(self, table: &mut BoundTable, batch: &mut RowBatch) {
        let position = |name: &str| table.columns.iter().position(|c| c.name == name).unwrap();
        match self {
            // Removed from the comparison and from the keys: see below.
            Self::Rows => {}
            Self::Weight => table.key = format!("({}) * {KEY_PRIME}", table.key),
            Self::Column(name) => {
                let at = position(name);
                table.columns.remove(at);
                batch.columns.remove(at);
            }
            Self::TextHash => {
                let at = position("note");
                table.columns[at].value = Some("length(note)".to_owned());
                let ColumnData::Text(texts) = &batch.columns[at] else {
                    panic!("{:?}", batch.columns[at]);
                };
                let lengths = texts.iter().map(|text| i64::try_from(text.len()).unwrap());
                batch.columns[at] = ColumnData::Integer(lengths.collect());
            }
            Self::Null => {
                let at = position("ok");
                table.columns[at].value = Some("CASE WHEN ok THEN 1 ELSE 0 END".to_owned());
                let ColumnData::Boolean(values) = &batch.columns[at] else {
                    panic!("{:?}", batch.columns[at]);
                };
                let values = values.iter().map(|value| i64::from(*value));
                batch.columns[at] = ColumnData::Integer(values.collect());
            }
            Self::Attribute(name) => {
                let at = position("tags");
                table.columns[at].attributes.retain(|known| known != name);
            }
        }
    }

    /// Distance between the keys of neighboring rows.
    fn stride(self) -> u64 {
        if self == Self::Weight { KEY_PRIME } else { 1 }
    }

    /// Whether the comparison detects the term's fault.
    fn sees(self, comparison: &Comparison) -> bool {
        match self {
            // Other sums would call it altered.
            Self::Rows => comparison.missing + comparison.surplus > 0,
            _ => !comparison.wrong.is_empty(),
        }
    }
}

fn expected(table: &BoundTable, batch: &RowBatch, stride: u64) -> Vec<ExpectedBucket> {
    let mut all = Buckets::new(&table.columns);
    all.widen(WIDTH);
    let mut batch = batch.clone();
    for row in 0..ROWS {
        batch.first_row = row * (stride - 1);
        let at = usize::try_from(row).unwrap();
        all.add(&batch, at..at + 1);
    }
    all.all()
        .zip(0..)
        .map(|((rows, sums), bucket)| ExpectedBucket {
            bucket,
            acknowledged: rows,
            unknown: 0,
            sums: sums.to_vec(),
        })
        .collect()
}

/// Compares the database's content with the sent rows; without the term `without`.
fn compared(target: &Arc<dyn Target>, sent: &Sent, without: Option<Term>) -> Comparison {
    let (mut table, mut batch) = (sent.table.clone(), sent.batch.clone());
    let stride = without.map_or(1, Term::stride);
    if let Some(term) = without {
        term.take_out(&mut table, &mut batch);
    }
    let found: KeySums = RealTimeline::block_on(RealClock::start(), |timeline| async move {
        let timeline: Rc<dyn highwater_driver::Timeline> = timeline;
        let mut admin = target.administer(timeline).await.unwrap();
        admin.sums_by_key(&table, WIDTH).await.unwrap()
    })
    .unwrap();
    assert!(found.covered.iter().all(|covered| *covered));
    let (mut table, mut batch) = (sent.table.clone(), sent.batch.clone());
    if let Some(term) = without {
        term.take_out(&mut table, &mut batch);
    }
    let expected = expected(&table, &batch, stride);
    assert_eq!((expected.len(), found.buckets.len()), (1, 1), "one bucket");
    let rows = if without == Some(Term::Rows) { ROWS } else { found.buckets[0].rows };
    sums::compare(&Expectation {
        table: table.name,
        width: WIDTH,
        columns: table.columns.into_iter().map(|column| column.name).collect(),
        expected,
        found: vec![FoundBucket { bucket: 0, rows, sums: found.buckets[0].sums.clone() }],
    })
}

/// The rows as sent.
struct Sent {
    table: BoundTable,
    batch: RowBatch,
}

fn check(database: &Database, dialect: &str, root: &std::path::Path) {
    carry_out(&FaultPlan::default(), database, AuditLevel::Off, root);
    database.execute("DROP TABLE IF EXISTS sent; CREATE TABLE sent AS SELECT * FROM meters;");
    let target = database.open(None, None);
    let workload = job(AuditLevel::Off).workload();
    let bound = workload.bind(&[dialect.to_owned()], target.placeholders()).unwrap();
    let sent = Sent {
        table: bound.tables[0].clone(),
        batch: workload.row_batch(0, 0, usize::try_from(ROWS).unwrap()),
    };
    for (term, sqlite, postgres) in cases() {
        let context = format!("{dialect}: {term:?}");
        for without in [None, Some(term)] {
            let nothing = compared(&target, &sent, without);
            assert!(nothing.wrong.is_empty(), "{context}: false alarm: {nothing:?}");
        }
        let sql = postgres.filter(|_| dialect == "postgresql").unwrap_or(sqlite);
        database.execute(&sql);
        let whole = compared(&target, &sent, None);
        assert!(term.sees(&whole), "{context}: not found: {whole:?}");
        let part = compared(&target, &sent, Some(term));
        assert!(!term.sees(&part), "{context}: found without it: {part:?}");
        database.execute("DELETE FROM meters; INSERT INTO meters SELECT * FROM sent;");
    }
}

#[test]
fn every_term_of_the_sums_finds_what_no_other_finds_in_sqlite() {
    let root = tempfile::tempdir().unwrap();
    check(&Database::sqlite(root.path()), "sqlite", root.path());
}

#[test]
fn every_term_of_the_sums_finds_what_no_other_finds_in_postgresql() {
    on(Database::postgres(), |database, root| {
        check(database, "postgresql", root);
    });
}
