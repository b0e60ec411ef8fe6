//! Every case of the protocol, from its recorded response to its outcome.

use highwater_model::outcome::Certainty::{self, Applied, NotApplied, Unknown};

use super::*;
use crate::recordings::{answer, recording};

const BULK: Context = Context { rows: 3, insert: true, bulk: true, has_key: true, stable: true };
const COUNTED: Context = Context { bulk: false, ..BULK };
const QUERY: Context =
    Context { rows: 0, insert: false, bulk: false, has_key: false, stable: true };

fn stable(context: Context, stable: bool) -> Context {
    Context { stable, ..context }
}

fn judged(name: &str, context: Context) -> Outcome {
    judge(&recording(name).answer(), context)
}

fn class(outcome: &Outcome) -> Option<ErrorClass> {
    outcome.error.as_ref().map(|error| error.class)
}

/// Certainty, rows applied and refused, class of error.
fn summary(outcome: &Outcome) -> (Certainty, u64, u64, Option<ErrorClass>) {
    let (applied, refused) = (outcome.rows_applied, outcome.rows_refused);
    (outcome.certainty, applied, refused, class(outcome))
}

fn check(name: &str, context: Context, expected: (Certainty, u64, u64, Option<ErrorClass>)) {
    assert_eq!(summary(&judged(name, context)), expected, "{name}");
}

#[test]
fn c06_a_good_batch_is_applied() {
    check("06-bulk-insert-3-good", BULK, (Applied, 3, 0, None));
    let empty = Context { rows: 0, ..BULK };
    check("06g-bulk-empty", empty, (Applied, 0, 0, None));
}

#[test]
fn c06_a_type_error_refuses_the_whole_batch() {
    for name in [
        "06b-bulk-insert-1-bad-type-of-3",
        "06d-bulk-insert-short-row",
        "06e-bulk-insert-int-overflow",
        "06f-bulk-insert-bad-object",
        "06l-bulk-inner-array",
        "06m-bulk-bad-timestamp",
    ] {
        // The values are checked before anything is written: certain in any case.
        for stable in [true, false] {
            let context = Context { stable, ..BULK };
            check(name, context, (NotApplied, 0, 3, Some(ErrorClass::Data)));
        }
    }
    let outcome = judged("07f-pk-bulk-null-pk", BULK);
    assert_eq!(summary(&outcome), (NotApplied, 0, 3, Some(ErrorClass::Constraint)));
}

#[test]
fn c06q_a_text_that_is_too_long_refuses_its_row() {
    let expected = (Applied, 2, 1, Some(ErrorClass::Data));
    check("06q-bulk-text-too-long", BULK, expected);
}

#[test]
fn c07_a_duplicate_refuses_its_row_behind_http_200() {
    let expected = (Applied, 2, 1, Some(ErrorClass::Constraint));
    check("07b-pk-bulk-1-dup-of-3", BULK, expected);
    check("07c-pk-bulk-dup-within-batch", BULK, expected);
    let expected = (NotApplied, 0, 3, Some(ErrorClass::Constraint));
    check("07g-pk-bulk-all-dup", BULK, expected);
    let one = Context { rows: 1, ..COUNTED };
    let expected = (NotApplied, 0, 1, Some(ErrorClass::Constraint));
    check("07h-pk-single-dup", one, expected);
}

#[test]
fn c07_check_and_not_null_refuse_their_row_in_any_weather() {
    for name in ["07d-pk-bulk-check-violation", "07e-pk-bulk-null-violation"] {
        for stable in [true, false] {
            let context = Context { stable, ..BULK };
            check(name, context, (Applied, 2, 1, Some(ErrorClass::Constraint)));
        }
    }
}

#[test]
fn c07_multi_row_values_and_unnest_hide_refused_rows_in_a_smaller_count() {
    for name in ["07i-pk-multirow-values-1-dup", "07l-pk-unnest-1-dup"] {
        check(name, COUNTED, (Applied, 2, 1, Some(ErrorClass::Constraint)));
        let without_key = Context { has_key: false, ..COUNTED };
        let outcome = judged(name, without_key);
        assert_eq!(class(&outcome), Some(ErrorClass::Rejected), "no duplicates without a key");
        let outcome = judged(name, stable(COUNTED, false));
        assert_eq!((outcome.rows_applied, outcome.rows_unknown), (2, 1));
    }
    let two = Context { rows: 2, ..COUNTED };
    check("07i-pk-multirow-values-1-dup", two, (Applied, 2, 0, None));
}

#[test]
fn c07_a_missing_row_or_a_skipped_one_is_not_applied() {
    let expected = (Applied, 2, 1, Some(ErrorClass::Constraint));
    check("07n-pk-bulk-update", BULK, expected);
    check("07k-pk-on-conflict-update", BULK, (Applied, 3, 0, None));
    let expected = (Applied, 2, 1, Some(ErrorClass::Constraint));
    check("07j-pk-on-conflict-do-nothing", BULK, expected);
}

#[test]
fn c02_to_c05_wrong_statements_are_statement_errors() {
    for name in [
        "02d-sql-get",
        "02f-two-statements",
        "03-missing-table",
        "03c-missing-column",
        "03d-missing-schema",
        "04-syntax-error",
        "04c-bad-json",
        "04d-empty-body",
        "05c-create-cpu-again",
        "07p-bulk-select",
        "10e-user-bench-no-privilege",
    ] {
        check(name, QUERY, (NotApplied, 0, 0, Some(ErrorClass::Statement)));
        check(name, BULK, (NotApplied, 0, 3, Some(ErrorClass::Statement)));
    }
}

#[test]
fn c10_a_wrong_password_is_plain_text_and_an_authentication_error() {
    for name in ["10-unauth-unknown-user", "10d-user-bench-wrong-password"] {
        let outcome = judged(name, BULK);
        let expected = (NotApplied, 0, 3, Some(ErrorClass::Authentication));
        assert_eq!(summary(&outcome), expected);
        let message = outcome.error.unwrap().message;
        assert!(message.starts_with("HTTP 401: password authentication failed"), "{message}");
    }
    let outcome = judged("10g-bearer-garbage", BULK);
    assert_eq!(summary(&outcome), (Unknown, 0, 0, Some(ErrorClass::Unavailable)));
}

#[test]
fn c20_a_blocked_table_is_a_refused_statement_and_no_row_counts() {
    let expected = (NotApplied, 0, 3, Some(ErrorClass::Statement));
    check("20-bulk-insert-write-blocked", BULK, expected);
    let one = Context { rows: 1, ..COUNTED };
    let expected = (NotApplied, 0, 1, Some(ErrorClass::Statement));
    check("20b-single-insert-write-blocked", one, expected);
}

#[test]
fn c45_a_table_that_a_full_disk_has_blocked_refuses_and_says_what_to_look_at() {
    let one = Context { rows: 1, ..COUNTED };
    for (name, context) in
        [("45-bulk-insert-flood-stage", BULK), ("45b-single-insert-flood-stage", one)]
    {
        let expected = (NotApplied, 0, context.rows, Some(ErrorClass::Statement));
        check(name, context, expected);
        let message = judged(name, context).error.unwrap().message;
        assert!(message.contains("disk.watermark.flood_stage"), "{message}");
    }
    let expected = (Unknown, 0, 0, Some(ErrorClass::Statement));
    check("45-bulk-insert-flood-stage", stable(BULK, false), expected);
}

#[test]
fn c22_a_request_that_is_too_long_is_refused() {
    let outcome = judged("22-too-large-request", BULK);
    assert_eq!(summary(&outcome), (NotApplied, 0, 3, Some(ErrorClass::Statement)));
    let message = outcome.error.unwrap().message;
    assert!(message.contains("http.max_content_length"), "{message}");
}

#[test]
fn c24_a_killed_statement_is_unknown_for_an_insert() {
    let text = recording_of_35();
    let expected = (Unknown, 0, 0, Some(ErrorClass::Timeout));
    assert_eq!(summary(&judge(&answer(500, &text), BULK)), expected);
    let expected = (NotApplied, 0, 0, Some(ErrorClass::Timeout));
    assert_eq!(summary(&judge(&answer(500, &text), QUERY)), expected);
}

/// The response of a statement that timed out; its recording is a list of responses.
fn recording_of_35() -> String {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cratedb/recordings");
    let text = std::fs::read_to_string(format!("{directory}/35-session-and-disconnect.txt"));
    let text = text.unwrap();
    let line = text.lines().find(|line| line.contains("JobKilled")).unwrap();
    let (_, rest) = line.split_once("b'").unwrap();
    rest.split_once('\'').unwrap().0.to_owned()
}

#[test]
fn c25_a_refusal_by_the_write_pool_is_reported_by_its_text() {
    let rejected = recording("25-write-pool-rejection-conc1").first(2);
    let context = Context { rows: 2, has_key: false, ..BULK };
    let outcome = judge(&rejected, context);
    assert_eq!(summary(&outcome), (NotApplied, 0, 2, Some(ErrorClass::Rejected)));
    // The same code with another text has another meaning.
    let other = recording("28d-nomaster-count").answer();
    assert_eq!(summary(&judge(&other, BULK)), (Unknown, 0, 0, Some(ErrorClass::Unavailable)));
    let one = Context { rows: 1, ..COUNTED };
    let expected = (NotApplied, 0, 1, Some(ErrorClass::Rejected));
    check("25b-write-pool-rejection-single-row", one, expected);
    // Around a failover, the previous attempt may have been executed.
    assert_eq!(judge(&rejected, stable(context, false)).certainty, Unknown);
}

#[test]
fn c25_some_rows_pass_a_full_write_pool() {
    let mixed = recording("25-write-pool-rejection-conc32");
    let answer = mixed.first(12);
    let context = Context { rows: answer.entries, has_key: false, ..BULK };
    let outcome = judge(&answer, context);
    assert_eq!(outcome.certainty, Applied);
    assert_eq!(class(&outcome), Some(ErrorClass::Rejected));
    assert_eq!((outcome.rows_applied, outcome.rows_refused), (answer.applied, 12 - answer.applied));
    assert!(answer.applied > 0);
}

#[test]
fn c27_around_a_failover_refused_rows_are_unknown() {
    let bare = "{\"rowcount\":-2}";
    let duplicate = "{\"rowcount\":-2,\"error\":{\"code\":4091,\"message\":\
        \"DuplicateKeyException[A document with the same primary key exists already]\"}}";
    // As a surviving node responded: 18 without a reason, 10 duplicates of a table without a key.
    let recorded = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/cratedb/recordings/27-cluster-kill-master.txt"
    ));
    let recorded = recorded.unwrap();
    assert!(recorded.contains("('{\"rowcount\": -2}', 18)") && recorded.contains("4091"));
    let entries = [vec![bare; 18], vec![duplicate; 10], vec!["{\"rowcount\":1}"; 172]].concat();
    let body = format!("{{\"cols\":[],\"duration\":1.0,\"results\":[{}]}}", entries.join(","));
    let answer = answer(200, &body);
    let context = Context { rows: 200, has_key: false, ..BULK };
    // Without a key, duplicates come only from the server's own retries, however stable it looks.
    let counts = |context| {
        let outcome = judge(&answer, context);
        (outcome.rows_applied, outcome.rows_refused, outcome.rows_unknown)
    };
    assert_eq!(counts(context), (172, 0, 28));
    assert_eq!(counts(stable(context, false)), (172, 0, 28));
    let keyed = Context { has_key: true, ..context };
    assert_eq!(summary(&judge(&answer, keyed)), (Applied, 172, 28, Some(ErrorClass::Constraint)));
    assert!(depends_on_stability(&answer, keyed));
    assert_eq!(counts(stable(keyed, false)), (172, 0, 28));
}

#[test]
fn c28_without_a_master_http_200_hides_that_all_failed() {
    for name in ["28-nomaster-insert-early", "28c-nomaster-insert"] {
        let outcome = judged(name, BULK);
        assert_eq!(summary(&outcome), (Unknown, 0, 0, Some(ErrorClass::Unavailable)));
        assert_eq!(outcome.error.unwrap().code.as_deref(), Some("5031"));
    }
    let one = Context { rows: 1, ..COUNTED };
    let expected = (Unknown, 0, 0, Some(ErrorClass::Unavailable));
    check("28i-nomaster-single-insert", one, expected);
    for name in ["28d-nomaster-count", "28f-nomaster-cluster-health"] {
        check(name, QUERY, (NotApplied, 0, 0, Some(ErrorClass::Unavailable)));
    }
}

#[test]
fn c29_a_shard_that_is_gone_is_unknown() {
    let entry = "{\"rowcount\":-2,\"error\":{\"code\":4040,\"message\":\
        \"ShardNotFoundException[no such shard]\"}}";
    let body = format!("{{\"cols\":[],\"duration\":1.0,\"results\":[{entry},{{\"rowcount\":1}}]}}");
    let context = Context { rows: 2, ..BULK };
    let outcome = judge(&answer(200, &body), context);
    assert_eq!((outcome.rows_applied, outcome.rows_unknown), (1, 1));
    assert_eq!(class(&outcome), Some(ErrorClass::Unavailable));
    assert_eq!(outcome.exceptions[0].first, 0);
}

#[test]
fn c32_a_missing_table_after_a_start_is_no_statement_error() {
    let expected = (NotApplied, 0, 3, Some(ErrorClass::Unavailable));
    check("03-missing-table", stable(BULK, false), expected);
}

#[test]
fn c33_refusals_beyond_ten_a_shard_are_judged_by_the_others() {
    let context = Context { rows: 14, ..BULK };
    let expected = (NotApplied, 0, 14, Some(ErrorClass::Constraint));
    check("33b-dup-14-again-error-cap", context, expected);
    check(
        "33b-dup-14-again-error-cap",
        stable(context, false),
        (Unknown, 0, 0, Some(ErrorClass::Constraint)),
    );
    // Nine reasons and one row without: the server would have given it one.
    let recorded = recording("33b-dup-14-again-error-cap").body;
    let one = recorded.find("{\"rowcount\":-2,").unwrap();
    let second = recorded[one + 1..].find("{\"rowcount\":-2,").unwrap() + one + 1;
    let nine = format!("{}{}", &recorded[..one], &recorded[second..]);
    let outcome = judge(&answer(200, &nine), Context { rows: 13, ..BULK });
    assert_eq!((outcome.rows_refused, outcome.rows_unknown), (9, 4));
}

#[test]
fn c34_out_of_memory_is_unknown_for_an_insert() {
    let outcome = judged("34-oom-or-breaker-1", BULK);
    assert_eq!(summary(&outcome), (Unknown, 0, 0, Some(ErrorClass::Resource)));
}

#[test]
fn an_answer_that_does_not_fit_the_request_is_unknown() {
    let four = Context { rows: 4, ..BULK };
    check("06-bulk-insert-3-good", four, (Unknown, 0, 0, Some(ErrorClass::Protocol)));
    let outcome = judge(&answer(200, "<html>"), BULK);
    assert_eq!(summary(&outcome), (Unknown, 0, 0, Some(ErrorClass::Protocol)));
    let many = Context { rows: 1, ..COUNTED };
    check("07i-pk-multirow-values-1-dup", many, (Unknown, 0, 0, Some(ErrorClass::Protocol)));
}

#[test]
fn queries_say_how_many_rows_they_returned() {
    let outcome = judged("09c-select-row", QUERY);
    assert_eq!((outcome.response_rows, outcome.rows_applied), (1, 0));
    assert!(outcome.is_success() && outcome.response_bytes > 400);
    // A statement without columns returns one empty row.
    assert_eq!(judged("05-drop-if-exists", QUERY).response_rows, 0);
}

/// A smaller statement may succeed; the same one will fail again.
#[test]
fn a_circuit_breaker_is_no_absence() {
    for name in ["47-breaker-of-a-fetch", "34-oom-or-breaker-1"] {
        let recorded = recording(name);
        let reason = reason_of(&recorded.answer());
        let error = target_error("h", recorded.status, &reason);
        assert_eq!(error.kind, UserErrorKind::Exhausted, "{error}");
        assert!(error.message.contains(&reason.text), "{error}");
    }
}

#[test]
fn a_missing_privilege_has_a_separate_hint() {
    for (status, code, text, hint) in [
        (404, 4045, "SchemaUnknownException[Schema 'sys' unknown]", "GRANT DQL ON SCHEMA sys"),
        (404, 4045, "SchemaUnknownException[Schema 'doc' unknown]", "/SCHEMA"),
        (401, 4011, "MissingPrivilegeException[Missing 'DDL' …]", "GRANT DDL, DML, DQL"),
        (401, 0, "HTTP 401: …", "user and password"),
    ] {
        let reason = Reason { code, text: text.to_owned() };
        let error = target_error("crate://h", status, &reason);
        assert!(error.hint.unwrap().contains(hint), "{text}");
    }
}
