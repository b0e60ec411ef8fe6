//! Whether the acknowledged rows were found.
//!
//! Only a finished audit can report `clean` or a loss; neither may be inferred from counts.

use highwater_model::audit_record::{GoneTable, Removal};
use highwater_model::display::count;
use highwater_model::judgment::{Data, Judgment, Reason, ReasonCode};
use highwater_model::plan::AuditLevel;
use highwater_model::record::{
    AuditExample, AuditRecord, AuditStatus, Fault, IncidentKind, RunEnding, RunRecord,
};

use super::{faults, incident, judgment, reason};
use crate::cluster_changes::has_restarted;

/// Rows or buckets that a reason names.
const EXAMPLES_NAMED: usize = 3;
/// Shards that a reason names.
const SHARDS_NAMED: usize = 3;
/// Earlier runs that a reason names.
const RUNS_NAMED_MAX: usize = 3;

pub(super) fn judge(record: &RunRecord) -> Judgment<Data> {
    let audit = &record.audit;
    match audit.status {
        AuditStatus::Off | AuditStatus::NothingWritten | AuditStatus::Imported => {
            judgment(Data::NotChecked, Vec::new())
        }
        _ if audit.level == AuditLevel::Off && audit.status != AuditStatus::StoresNothing => {
            judgment(Data::NotChecked, Vec::new())
        }
        AuditStatus::StoresNothing => {
            let places = [record.target.driver.clone()];
            let message = "the target stores nothing that could be checked";
            let note = reason(ReasonCode::StoresNothing, message, &places, "");
            judgment(Data::NotChecked, note.into_iter().collect())
        }
        AuditStatus::Done => compared(record),
        _ => judgment(Data::Unverified, unverified(record)),
    }
}

/// A finished audit. Missing rows outrank altered rows, which outrank surplus rows.
fn compared(record: &RunRecord) -> Judgment<Data> {
    let audit = &record.audit;
    let is_allowed = audit.gone.is_empty()
        && audit.missing_before == 0
        && audit.missing <= faults::allowed_loss(record);
    let loss = lost(audit);
    let (loss, allowed) = if is_allowed { (None, loss) } else { (loss, None) };
    let found = [
        (Some(Data::Lost), loss),
        (Some(Data::Altered), altered(audit)),
        (Some(Data::Altered), invariants_broken(audit)),
        (Some(Data::Duplicated), duplicated(audit)),
        (Some(Data::Surplus), refused_found(audit)),
        (Some(Data::Unverified), foreign(record)),
        (None, not_narrowed(record)),
        (Some(Data::Unverified), wrong_sql(audit)),
        (Some(Data::Unverified), not_idle(record)),
        (Some(Data::Unverified), copies_differ(audit)),
        (Some(Data::LostAllowed), allowed),
        // Rows and checksums outweigh a counter, which servers may reset and keep only
        // approximately.
        ((audit.level < AuditLevel::Sums).then_some(Data::Unverified), counter_differs(record)),
        (None, resent_unknown(audit)),
        (Some(Data::Unverified), value_too_short(audit)),
    ];
    let found = found.into_iter().filter_map(|(value, reason)| Some((value, reason?)));
    let (values, reasons): (Vec<Option<Data>>, Vec<Reason>) = found.unzip();
    let first = values.into_iter().flatten().next();
    judgment(first.unwrap_or(Data::Clean), reasons)
}

fn lost(audit: &AuditRecord) -> Option<Reason> {
    if audit.missing == 0 {
        return None;
    }
    let mut figures: Vec<String> = audit.gone.iter().map(removal).collect();
    let own = audit.missing.saturating_sub(audit.missing_before);
    if own > audit.acknowledged {
        figures.push(format!("{} rows are missing", count(own)));
    } else if own > 0 {
        let (own, acknowledged) = (count(own), count(audit.acknowledged));
        figures.push(format!("{own} of {acknowledged} acknowledged rows are missing"));
    }
    if audit.missing_before > 0 {
        figures.push(format!(
            "{} rows of earlier runs are missing{}",
            count(audit.missing_before),
            of_which_runs(audit)
        ));
    }
    let places = [with_examples(figures.join("; "), audit, &[Fault::Missing])];
    let hint = if audit.gone.is_empty() {
        "check the target's durability and replication settings and its log"
    } else {
        "find out who else uses these tables; run again with --drop, or in a schema of its own"
    };
    let message = "acknowledged rows were not found";
    reason(ReasonCode::RowsLost, message, &places, hint)
}

/// The earlier runs whose rows are missing.
fn of_which_runs(audit: &AuditRecord) -> String {
    let runs = audit.earlier.iter().flat_map(|earlier| &earlier.runs);
    let named: Vec<String> = runs
        .filter(|run| run.missing > 0)
        .map(|run| format!("{} of {}", count(run.missing), run.run))
        .collect();
    match named.len() {
        0 => String::new(),
        1..=RUNS_NAMED_MAX => format!(" ({})", named.join(", ")),
        more => {
            let first = &named[..RUNS_NAMED_MAX];
            let (first, more) = (first.join(", "), more - RUNS_NAMED_MAX);
            format!(" ({first} and {more} more runs)")
        }
    }
}

/// What happened to a table as a whole.
fn removal(gone: &GoneTable) -> String {
    let how = match gone.how {
        Removal::Dropped => "was dropped during the run",
        Removal::Truncated => "was truncated during the run, or its rows were deleted",
        Removal::Empty => "is empty: truncated, or its rows deleted, or none was ever stored",
    };
    format!("table `{}` {how}", gone.table)
}

fn duplicated(audit: &AuditRecord) -> Option<Reason> {
    let what = if audit.narrowed {
        "rows are there more than once"
    } else {
        "rows are too many in key buckets that were sent"
    };
    let faults = [Fault::Surplus, Fault::Duplicated];
    let places = wrong_rows(audit.duplicated, what, audit, &faults);
    let hint = "a primary key on the table rejects rows that are sent twice";
    let message = "more rows were found than were sent";
    reason(ReasonCode::RowsSurplus, message, &places, hint)
}

fn refused_found(audit: &AuditRecord) -> Option<Reason> {
    let (rows, what) = (audit.refused_found, "refused rows are there");
    let places = wrong_rows(rows, what, audit, &[Fault::Surplus]);
    let hint =
        "a client that trusts these refusals sends rows twice: report it to the target's makers";
    let message = "rows were found that the target had refused";
    reason(ReasonCode::RefusedFound, message, &places, hint)
}

/// Rows of another writer are not the target's fault, and what else that writer changed is unknown.
fn foreign(record: &RunRecord) -> Option<Reason> {
    let audit = &record.audit;
    let what = "rows that no run of this program sent are in the tables";
    let mut places = wrong_rows(audit.foreign, what, audit, &[Fault::Surplus]);
    places.extend(incident(record, IncidentKind::TablesLost).map(str::to_owned));
    let hint = "find out who else writes to these tables; run again with --drop, or in a schema of \
                its own";
    let message = "another program writes to the tables";
    reason(ReasonCode::ForeignWriter, message, &places, hint)
}

fn altered(audit: &AuditRecord) -> Option<Reason> {
    let what = if audit.narrowed {
        "rows differ from what was sent"
    } else {
        "key buckets differ from what was sent"
    };
    let places = wrong_rows(audit.altered, what, audit, &[Fault::Altered]);
    let hint = "compare the table's column types with the workload's";
    let message = "rows were found with other values than were sent";
    reason(ReasonCode::RowsAltered, message, &places, hint)
}

fn invariants_broken(audit: &AuditRecord) -> Option<Reason> {
    let broken = audit.invariants.iter().filter(|invariant| !invariant.holds).map(|invariant| {
        let found = invariant.found.as_deref().unwrap_or("not one value");
        let (name, expected) = (&invariant.name, &invariant.expected);
        let before = invariant.before.as_ref();
        let before = before.map_or(String::new(), |value| format!(", before the load {value}"));
        format!("invariant `{name}` failed: expected {expected}, found {found}{before}")
    });
    let broken: Vec<String> = broken.take(EXAMPLES_NAMED).collect();
    let message = "an invariant of the workload failed";
    let hint = "rerun with --drop to start from new tables; if it still fails, check the isolation level \
                of the writing transactions";
    reason(ReasonCode::InvariantBroken, message, &broken, hint)
}

/// Rows that were queried with a wrong expression are not judged.
fn wrong_sql(audit: &AuditRecord) -> Option<Reason> {
    let places: Vec<String> = audit.wrong_sql.iter().map(ToString::to_string).collect();
    let message = "the audit's own SQL is wrong about rows that are there";
    let hint = "correct the workload file, or the column's type in its `create`; then run again with \
                --drop";
    reason(ReasonCode::AuditSqlWrong, message, &places, hint)
}

/// A note: only the buckets with wrong rows are known, not the rows.
fn not_narrowed(record: &RunRecord) -> Option<Reason> {
    let audit = &record.audit;
    if !audit.is_wrong() || audit.narrowed || audit.level < AuditLevel::Sums {
        return None;
    }
    let is_merged = record.clients.len() > 1;
    let (why, hint) = if is_merged {
        let why = "records are merged without the target";
        (why, "compare the rows with `highwater audit`")
    } else {
        let why = "the audit ended before it had compared their rows";
        (why, "allow the audit more time with --audit-timeout")
    };
    let places = [audit.error.clone().unwrap_or_else(|| why.to_owned())];
    let message = "wrong key buckets were found, but not which of their rows are wrong";
    reason(ReasonCode::NotNarrowed, message, &places, hint)
}

/// A note: rows with an unknown outcome that turned out to be stored.
fn resent_unknown(audit: &AuditRecord) -> Option<Reason> {
    let stored = if audit.level < AuditLevel::Sums {
        let expected = audit.acknowledged.saturating_sub(audit.missing) + audit.surplus;
        audit.found.saturating_sub(expected)
    } else {
        audit.resolved.rows_found
    };
    if audit.unknown == 0 || stored == 0 {
        return None;
    }
    let [stored, unknown] = [stored, audit.unknown].map(count);
    let place = format!("{stored} of {unknown} rows of unknown outcome were stored");
    let message = "rows of unknown outcome were found, which is allowed";
    reason(ReasonCode::ResentUnknown, message, &[place], "")
}

/// Many counters include rolled-back and rejected rows, so only a count that is too low
/// contradicts. They also include the rows of other load generators, so a single share cannot use
/// them. One that a restart reset says nothing where rows and checksums do.
fn counter_differs(record: &RunRecord) -> Option<Reason> {
    let audit = &record.audit;
    let counted = audit.server_counter?;
    if record.plan.definition.share.of > 1 || counted >= audit.acknowledged {
        return None;
    }
    // A target that was lost in the run is polled no more: what it did until the audit is not seen.
    let is_lost = record.incidents.iter().any(|of| of.kind == IncidentKind::TargetLost);
    let is_reset = || is_lost || record.target_telemetry.as_ref().is_some_and(has_restarted);
    if audit.level >= AuditLevel::Sums && is_reset() {
        return None;
    }
    let [counted, all] = [counted, audit.acknowledged].map(count);
    let place =
        format!("the server's counter shows {counted} inserted rows, but it acknowledged {all}");
    let message = "the server's own count of rows contradicts what it acknowledged";
    let hint = "check whether the server restarted (counters reset), then its log";
    reason(ReasonCode::CounterDiffers, message, &[place], hint)
}

/// Keys alone do not show which of several writes is stored. An audit that only counts does not
/// claim to.
fn value_too_short(audit: &AuditRecord) -> Option<Reason> {
    let replaced = audit.replaced.filter(|replaced| !replaced.marked)?;
    if audit.level < AuditLevel::Sums {
        return None;
    }
    let places = [format!(
        "only keys were compared ({}): values are too short to identify their write",
        count(replaced.keys)
    )];
    let message = "values are too short to identify their write; only keys were compared";
    let hint = "use values of at least 8 bytes (kv: --set min_block_bytes=8 max_block_bytes=8), or \
                choose --audit count";
    reason(ReasonCode::ValueTooShort, message, &places, hint)
}

fn copies_differ(audit: &AuditRecord) -> Option<Reason> {
    if audit.copies_differ.is_empty() {
        return None;
    }
    let places: Vec<String> = audit.copies_differ.iter().take(SHARDS_NAMED).cloned().collect();
    let places = [places.join("; ")];
    let message = "copies of a shard do not hold the same rows";
    let hint =
        "a copy that lacks rows loses them when it becomes the primary one; see the target's log";
    reason(ReasonCode::CopiesDiffer, message, &places, hint)
}

fn not_idle(record: &RunRecord) -> Option<Reason> {
    let places = [incident(record, IncidentKind::NotIdle)?.to_owned()];
    let message = "statements of this run were still running when the audit started";
    let hint = "wait until the target is idle, then run again";
    reason(ReasonCode::NotIdle, message, &places, hint)
}

fn unverified(record: &RunRecord) -> Vec<Reason> {
    let audit = &record.audit;
    if let Some(reason) = wrong_sql(audit) {
        return [Some(reason), not_idle(record)].into_iter().flatten().collect();
    }
    let share = &record.plan.definition.share;
    let why = with_exhausted(audit);
    let ended = RunEnding::from_incidents(&record.incidents);
    let (code, message, evidence, hint) = match audit.status {
        AuditStatus::Timeout => (
            ReasonCode::AuditTimeout,
            "the audit did not end within its limit",
            why.unwrap_or_else(|| format!("{} key buckets compared", count(audit.buckets))),
            "allow it more time with --audit-timeout, or write fewer rows",
        ),
        AuditStatus::Partial => (
            ReasonCode::OneShare,
            "the target holds the rows of all shares, and this record knows one of them",
            format!("share {} of {}", share.index, share.of),
            "show all shares' records together: highwater show RECORD RECORD …",
        ),
        AuditStatus::OneShare => (
            ReasonCode::OneShare,
            "a share of a load cannot be checked for what must hold of the whole",
            why.unwrap_or_else(|| record.workload.name.clone()),
            "run it on one load generator, or state --audit off",
        ),
        AuditStatus::NoInvariant => (
            ReasonCode::NoInvariant,
            "the workload defines nothing that could be checked",
            why.unwrap_or_else(|| record.workload.name.clone()),
            "name a key in the workload, or state --audit off",
        ),
        _ if audit.exhausted.as_ref().is_some_and(|of| of.ended) => (
            ReasonCode::AuditFailed,
            "the target had no room even for a small part of the audit",
            why.unwrap_or_default(),
            "give it more memory, or space for temporary data: its answer names the limit",
        ),
        _ if ended == RunEnding::Interrupted => (
            ReasonCode::AuditFailed,
            "the run was ended before its audit was done",
            why.unwrap_or_else(|| format!("audit status: {}", audit.status.name())),
            if incident(record, IncidentKind::Killed).is_some() {
                "`highwater audit` compares the rows that its ledger names"
            } else {
                "one Ctrl-C lets what is in flight finish and audits; a second one ends at once"
            },
        ),
        _ => (
            ReasonCode::AuditFailed,
            "the audit query failed",
            why.unwrap_or_else(|| format!("audit status: {}", audit.status.name())),
            if let Some(hint) = &audit.hint {
                hint
            } else if ended == RunEnding::TargetLost {
                "run `highwater check URL` to see whether it responds again"
            } else {
                "run `highwater check URL` to see the user's privileges"
            },
        ),
    };
    let mut reasons: Vec<Reason> = reason(code, message, &[evidence], hint).into_iter().collect();
    reasons.extend(not_idle(record));
    reasons
}

/// Why the audit was skipped, and which checksums the target lacked memory for.
fn with_exhausted(audit: &AuditRecord) -> Option<String> {
    let why = audit.error.clone()?;
    Some(match &audit.exhausted {
        Some(exhausted) if exhausted.ended => format!(
            "{} statements, each smaller than the one before: {why}",
            count(exhausted.statements)
        ),
        Some(exhausted) => format!(
            "{why}; {} statements had no room, so that smaller ones followed: {}",
            count(exhausted.statements),
            exhausted.error
        ),
        None => why,
    })
}

/// The number of rows or buckets with these faults, and examples of them; empty if there are none.
fn wrong_rows(number: u64, what: &str, audit: &AuditRecord, faults: &[Fault]) -> Vec<String> {
    let figures = (number > 0).then(|| format!("{} {what}", count(number)));
    figures.map(|figures| with_examples(figures, audit, faults)).into_iter().collect()
}

/// The figures, then some rows or buckets with these faults.
fn with_examples(mut figures: String, audit: &AuditRecord, faults: &[Fault]) -> String {
    let of_fault = |example: &&AuditExample| faults.contains(&example.fault);
    let named: Vec<String> =
        audit.examples.iter().filter(of_fault).take(EXAMPLES_NAMED).map(example).collect();
    if !named.is_empty() {
        figures = format!("{figures} ({})", named.join("; "));
    }
    figures
}

fn example(example: &AuditExample) -> String {
    let keys = if example.first_key == example.last_key {
        format!("{} key {}", example.table, example.first_key)
    } else {
        let (table, first_key, last_key) = (&example.table, &example.first_key, &example.last_key);
        format!("{table} keys {first_key}–{last_key}")
    };
    match (&example.column, &example.expected, &example.stored) {
        (Some(column), Some(expected), Some(stored)) => {
            return format!("{keys}: {column} is {stored}, sent was {expected}");
        }
        (Some(column), ..) => return format!("{keys}: {column}"),
        _ => {}
    }
    if example.first_key == example.last_key && example.fault != Fault::Surplus {
        return match example.fault {
            Fault::Duplicated => format!("{keys}: more than once"),
            _ => keys,
        };
    }
    let unknown = match example.unknown {
        0 => String::new(),
        unknown => format!(" and {} with an unknown outcome", count(unknown)),
    };
    let (acknowledged, found) = (count(example.acknowledged), count(example.found));
    format!("{keys}: {acknowledged} acknowledged{unknown}, {found} found")
}
