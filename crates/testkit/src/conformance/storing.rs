//! Rules about storing and finding rows.

use std::collections::BTreeMap;

use highwater_analysis::sums::Summer;
use highwater_model::op::{BoundTable, ColumnType, OpId, Value};
use highwater_model::plan::AuditLevel;
use highwater_model::stored::{KeyRange, StoredRow, difference, is_within, value_at};

use super::broken::{Broken, require, same};
use super::dialect::placeholder;
use super::sample;
use super::serving::{MANY_ROWS, abandon};
use super::subject::{Client, POLICY, Subject, insert_request};
use highwater_driver::contract::KeySums;

/// Rows of an abandoned batch: enough that it is in flight at that time.
const ABANDONED_ROWS: usize = 5_000;
/// Rows of a table that is joined with itself twice: 10⁹ rows.
const JOINED_ROWS: usize = 1_000;

/// Every insert mode stores every value of every type exactly.
pub(super) async fn values_come_back_exactly(subject: &Subject) -> Result<(), Broken> {
    for mode in subject.insert_modes().await? {
        let target = subject.open(Some(mode))?;
        let workload = sample::workload("values", subject.sql, target.placeholders());
        let mut admin = subject.create(target.as_ref(), &workload).await?;
        let mut client = subject.connect(target.as_ref(), &workload).await?;
        let mut rows = 0;
        for size in [1, 12, MANY_ROWS] {
            client.applies(sample::batch(rows, size), mode).await?;
            rows += size as u64;
        }
        let (admin, table) = (admin.as_mut(), &workload.tables[0]);
        let what = format!("insert mode {mode}: rows acknowledged");
        subject.expect_rows(admin, table, rows, &what).await?;
        let ends = (0..2 * sample::CYCLE).chain(rows - sample::CYCLE..rows);
        for row in ends {
            expect_stored(&mut client, row, mode).await?;
        }
    }
    Ok(())
}

async fn expect_stored(client: &mut Client, row: u64, mode: &str) -> Result<(), Broken> {
    for (op, column, value) in sample::finders(row) {
        let outcome = client.send(op, &[key(row), value.clone()]).await;
        require!(
            outcome.is_success() && outcome.response_rows == 1,
            "insert mode {mode}: row {row} has not {value:?} in `{column}`: {outcome:?}"
        );
    }
    Ok(())
}

/// A workload's audit query returns its rows as text, null as `None`; an invalid query returns an error.
pub(super) async fn queries_of_the_audit_return_text(subject: &Subject) -> Result<(), Broken> {
    let (target, workload, mut admin, mut client) = subject.stage(None, "asked").await?;
    let wrong = admin.query("SELECT nothing FROM highwater_no_such").await;
    require!(wrong.is_err(), "a wrong query was answered: {wrong:?}");
    let found = admin
        .query(
            "SELECT a, b, c FROM (SELECT -12345678901234567 AS a, 'it''s' AS b, NULL AS c \
             UNION ALL SELECT -1 AS a, '' AS b, '' AS c) AS q ORDER BY a",
        )
        .await?;
    let text = |text: &str| Some(text.to_owned());
    let expected = [
        vec![text("-12345678901234567"), text("it's"), None],
        vec![text("-1"), text(""), text("")],
    ];
    same(&found, &expected, "an answer")?;
    client.adds(0, MANY_ROWS).await?;
    // An admin that did not create the table, as when auditing the user's own statements.
    let mut admin = subject.admin(target.as_ref()).await?;
    subject.quiesce(admin.as_mut()).await?;
    let sql = format!("SELECT count(*) FROM {}", workload.tables[0].name);
    let found = admin.query(&sql).await?;
    same(&found, &[[text(&MANY_ROWS.to_string())]], &sql)
}

/// An endless response is rejected while it is read, and the target responds to the next op.
pub(super) async fn an_endless_answer_is_refused(subject: &Subject) -> Result<(), Broken> {
    let (target, workload, mut admin, mut client) = subject.stage(None, "endless").await?;
    let outcome = client.insert(sample::batch(0, JOINED_ROWS)).await;
    require!(outcome.is_success(), "{JOINED_ROWS} rows: {outcome:?}");
    subject.quiesce(admin.as_mut()).await?;
    let table = &workload.tables[0].name;
    let endless = format!("SELECT 1 {}", (subject.sql.from_thrice)(table));
    let answer = admin.query(&endless).await;
    require!(answer.is_err(), "an answer of 10⁹ rows was read, or cut short and not refused");
    let mut admin = subject.admin(target.as_ref()).await?;
    let answer = admin.query(&format!("SELECT count(*) FROM {table}")).await?;
    same(&answer, &[[Some(JOINED_ROWS.to_string())]], "the rows after it")
}

/// The outcome of a query has its number of rows, including 0.
pub(super) async fn responses_are_counted(subject: &Subject) -> Result<(), Broken> {
    let target = subject.open(None)?;
    let mut workload = sample::insert_only("answers", subject.sql);
    let p1 = placeholder(target.placeholders(), 1);
    workload.ops.push(sample::query(
        "below",
        format!("SELECT * FROM {} WHERE k < {p1}", workload.tables[0].name),
        &[ColumnType::Bigint],
    ));
    let mut admin = subject.create(target.as_ref(), &workload).await?;
    let mut client = subject.connect(target.as_ref(), &workload).await?;
    client.adds(0, 3_000).await?;
    subject.quiesce(admin.as_mut()).await?;
    for rows in [0, 1, 2_500, 0, 3_000] {
        let outcome = client.send(OpId(1), &[key(rows)]).await;
        require!(
            outcome.is_success() && outcome.response_rows == rows && outcome.rows_applied == 0,
            "a query for {rows} rows: {outcome:?}"
        );
    }
    Ok(())
}

/// Parameters of each type reach the statement exactly: near misses find nothing.
pub(super) async fn parameters_of_each_type_are_bound(subject: &Subject) -> Result<(), Broken> {
    let target = subject.open(None)?;
    let workload = sample::workload("parameters", subject.sql, target.placeholders());
    let mut admin = subject.create(target.as_ref(), &workload).await?;
    let mut client = subject.connect(target.as_ref(), &workload).await?;
    client.adds(0, 30).await?;
    subject.quiesce(admin.as_mut()).await?;
    // The smallest difference must not match, which it would if both sides lost the same digits.
    for row in 0..sample::CYCLE {
        for (op, column, value) in sample::finders(row) {
            let near = sample::near_miss(column, &value);
            let outcome = client.send(op, &[key(row), near.clone()]).await;
            require!(
                outcome.is_success() && outcome.response_rows == 0,
                "row {row} has {value:?} in `{column}` and is found by {near:?}: {outcome:?}"
            );
        }
    }
    expect_stored(&mut client, 5, "default").await
}

/// Rows are counted by key div width, for narrow and wide buckets, without empty ones.
pub(super) async fn keys_are_counted_by_bucket(subject: &Subject) -> Result<(), Broken> {
    let (_target, workload, mut admin, mut client) = subject.stage(None, "keys").await?;
    let table = &workload.tables[0];
    subject.quiesce(admin.as_mut()).await?;
    let empty = admin.count_by_key(table, 10).await?;
    require!(empty.buckets.is_empty(), "an empty table has {empty:?}");
    // A gap from 25 to 1,000, and one key far away.
    for (first_row, rows) in [(0, 25), (1_000, 10), (1 << 40, 1)] {
        client.adds(first_row, rows).await?;
    }
    subject.quiesce(admin.as_mut()).await?;
    let far = 1_u64 << 40;
    for width in [10, 7, 1_005, far, u64::MAX] {
        let mut buckets = BTreeMap::new();
        for key in (0..25).chain(1_000..1_010).chain([far]) {
            *buckets.entry(key / width).or_insert(0) += 1;
        }
        let buckets: Vec<(u64, u64)> = buckets.into_iter().collect();
        let counts = admin.count_by_key(table, width).await?;
        require!(
            counts.buckets == buckets && counts.without_key == 0,
            "width {width}: {counts:?} instead of {buckets:?}"
        );
    }
    Ok(())
}

/// Checksums by key equal those of the sent rows, for every type of value.
pub(super) async fn checksums_are_those_of_the_rows_sent(subject: &Subject) -> Result<(), Broken> {
    if subject.open(None)?.capabilities().auditable < AuditLevel::Sums {
        return Ok(());
    }
    let (_target, workload, mut admin, mut client) = subject.stage(None, "sums").await?;
    let table = &workload.tables[0];
    let batches = [sample::batch(0, 300), sample::batch(1 << 40, 17)];
    let mut summer = Summer::new(&table.columns);
    for batch in &batches {
        client.applies(batch.clone(), "default").await?;
    }
    subject.quiesce(admin.as_mut()).await?;
    for width in [256, 1 << 20, 1 << 45] {
        let mut expected = KeySums::default();
        for batch in &batches {
            for row in 0..batch.rows {
                let mut sums = vec![0; table.columns.len()];
                summer.add(batch, row..row + 1, &mut sums);
                expected.add((batch.first_row + row as u64) / width, 1, &sums);
            }
        }
        let found = admin.sums_by_key(table, width).await?;
        require!(
            found.without_key == 0 && found.covered.len() == table.columns.len(),
            "width {width}: {found:?}"
        );
        let mut covered = found.clone();
        for bucket in expected.buckets.iter_mut().chain(&mut covered.buckets) {
            for (sum, covered) in bucket.sums.iter_mut().zip(&found.covered) {
                *sum *= u64::from(*covered);
            }
        }
        let what = format!("width {width}");
        same(&covered.buckets, &expected.buckets, &what)?;
    }
    Ok(())
}

/// Rows are read back with every value, for one key, many ranges, and missing keys.
pub(super) async fn rows_are_read_back_exactly(subject: &Subject) -> Result<(), Broken> {
    if subject.open(None)?.capabilities().auditable < AuditLevel::Sums {
        return Ok(());
    }
    let (_target, workload, mut admin, mut client) = subject.stage(None, "back").await?;
    let table = &workload.tables[0];
    let batch = sample::batch(0, 2_000);
    client.applies(batch.clone(), "default").await?;
    subject.quiesce(admin.as_mut()).await?;
    let range = |first, end| KeyRange { first, end };
    for ranges in [
        vec![range(0, 1)],
        vec![range(0, 2_000)],
        vec![range(3, 5), range(7, 8), range(1_990, 5_000)],
        (0..1_000).map(|row| range(2 * row, 2 * row + 1)).collect(),
        vec![range(2_000, 3_000)],
    ] {
        let mut found = BTreeMap::new();
        let mut wrong = None;
        let mut take = |row: StoredRow| {
            let at = usize::try_from(row.key).unwrap_or(usize::MAX);
            if let Some(differs) = difference(&table.columns, &batch, at, &row.values) {
                wrong.get_or_insert((row.key, differs));
            }
            *found.entry(row.key).or_insert(0) += 1;
        };
        admin.read_rows(table, &ranges, &mut take).await?;
        require!(wrong.is_none(), "a row came back otherwise: {wrong:?}");
        let expected_keys = (0..2_000).filter(|key| is_within(&ranges, *key));
        let expected_keys: BTreeMap<u64, i32> = expected_keys.map(|key| (key, 1)).collect();
        require!(
            found == expected_keys,
            "{} rows of {} came back for {ranges:?}",
            found.len(),
            expected_keys.len()
        );
    }
    Ok(())
}

/// A condition on a row's values finds that row, whatever its key.
pub(super) async fn rows_are_found_by_their_values(subject: &Subject) -> Result<(), Broken> {
    let (_target, workload, mut admin, mut client) = subject.stage(None, "found").await?;
    let table = &workload.tables[0];
    let batch = sample::batch(0, MANY_ROWS);
    client.applies(batch.clone(), "default").await?;
    subject.quiesce(admin.as_mut()).await?;
    for row in 0..2 * sample::CYCLE {
        let at = usize::try_from(row).unwrap_or(usize::MAX);
        let values: Vec<Value> = table
            .columns
            .iter()
            .zip(&batch.columns)
            .map(|(c, data)| value_at(c, data, at))
            .collect();
        let Some(condition) = admin.condition(table, &values) else {
            return Ok(());
        };
        let sought = BoundTable {
            key: format!("CASE WHEN {condition} THEN ({}) END", table.key),
            locate: None,
            ..table.clone()
        };
        let mut keys = Vec::new();
        let mut take = |found: StoredRow| keys.push(found.key);
        let all = [KeyRange { first: 0, end: 1 << 40 }];
        admin.read_rows(&sought, &all, &mut take).await?;
        same(&keys, &[row], &format!("rows sought by {condition}"))?;
    }
    Ok(())
}

/// After an abandoned batch and quiescence, either all or none of its rows exist, if the target reports atomic batches,
/// and nothing changes afterwards.
pub(super) async fn abandoned_batches_are_whole(subject: &Subject) -> Result<(), Broken> {
    for mode in subject.insert_modes().await? {
        let target = subject.open(Some(mode))?;
        let workload = sample::insert_only("whole", subject.sql);
        let mut admin = subject.create(target.as_ref(), &workload).await?;
        let atomic = admin.facts().await?.atomic_batches;
        for _ in 0..3 {
            let client = subject.connect(target.as_ref(), &workload).await?;
            abandon(client, insert_request(sample::batch(0, ABANDONED_ROWS))).await;
            let found = subject.count(admin.as_mut(), &workload.tables[0]).await?;
            let all = ABANDONED_ROWS as u64;
            require!(
                found == 0 || found == all || !atomic,
                "insert mode {mode}: {found} of {all} rows of an abandoned batch are there"
            );
            let what = format!("insert mode {mode}: rows later");
            let table = &workload.tables[0];
            subject.expect_rows(admin.as_mut(), table, found, &what).await?;
            admin.create_tables(&workload, &POLICY.dropping(true)).await?;
        }
    }
    Ok(())
}

fn key(row: u64) -> Value {
    i64::try_from(row).map_or(Value::Null, Value::Integer)
}
