//! Rules about what is asked around the load.

use super::broken::{Broken, require};
use super::sample;
use super::subject::Subject;

/// Rows of a table of which each is joined with each, and with each again: 10⁹ rows.
const ROWS: usize = 1_000;

pub(super) async fn an_endless_answer_is_refused(subject: &Subject) -> Result<(), Broken> {
    let (target, workload, mut admin, mut client) = subject.stage(None, "endless").await?;
    let outcome = client.insert(sample::batch(0, ROWS)).await;
    require!(outcome.is_success(), "{ROWS} rows: {outcome:?}");
    subject.quiesce(admin.as_mut()).await?;
    let table = &workload.tables[0].name;
    let endless = format!("SELECT 1 {}", (subject.sql.from_thrice)(table));
    let answer = admin.query(&endless).await;
    require!(
        answer.is_err(),
        "an answer of 10⁹ rows was read, or cut short and not refused"
    );
    let mut admin = subject.admin(target.as_ref()).await?;
    let answer = admin
        .query(&format!("SELECT count(*) FROM {table}"))
        .await?;
    require!(
        answer == [[Some(ROWS.to_string())]],
        "the number of rows after it: {answer:?}"
    );
    Ok(())
}
