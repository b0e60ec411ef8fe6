//! Invariants of a workload file are checked after the load.

use highwater_model::judgment::{Data, ReasonCode};
use highwater_model::quantity::print_instant;
use highwater_model::record::RunRecord;

use crate::called::{Called, Place, Running, record, split};
use crate::shares::soon;

/// A file whose only op is this transaction, on accounts with a constant sum.
fn workload(statements: &str) -> String {
    format!(
        "format = 1\nname = \"bank\"\nversion = 1\nsummary = \"money that moves\"\n\
         [ops.transfer]\n\
         parameters = [\n\
         {{ name = \"from\", type = \"bigint\", generator = \"uniform\", min = 1, max = 50 }},\n\
         {{ name = \"to\", type = \"bigint\", generator = \"uniform\", min = 51, max = 100 }},\n\
         ]\n\
         [ops.transfer.transaction]\n\
         any = [{statements}]\n\
         [streams.transfers]\nunit = \"queries\"\narrivals = \"poisson\"\nops = {{ transfer = 1 }}\n\
         [invariants.sum]\nequals = 10_000\n\
         [invariants.sum.sql]\nany = \"SELECT sum(balance) FROM accounts\"\n\
         [invariants.all-there]\nequals = true\n\
         [invariants.all-there.sql]\nany = \"SELECT count(*) = 100 FROM accounts\"\n"
    )
}

const TAKE: &str = "\"UPDATE accounts SET balance = balance - 1 WHERE id = :from\"";
const GIVE: &str = "\"UPDATE accounts SET balance = balance + 1 WHERE id = :to\"";
/// Uses its parameter and changes nothing.
const KEEP: &str = "\"UPDATE accounts SET balance = balance WHERE id = :to\"";

/// A directory with a hundred accounts and the file of these transactions.
fn bank(statements: &[&str]) -> Place {
    let place = Place::new();
    place.database(
        "bank.db",
        "CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER); \
         INSERT INTO accounts WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) \
         SELECT i, 100 FROM n",
    );
    place.file("bank.toml", &workload(&statements.join(", ")));
    place
}

fn run(place: &Place, more: &str) -> Called {
    let load = "sqlite:bank.db -c 4 -d 2s --warm-up 500ms --json";
    place.typed(&format!("run -f bank.toml {load} {more}"))
}

#[test]
fn transactions_that_keep_the_sum_are_clean() {
    let place = bank(&[TAKE, GIVE]);
    let record = record(&run(&place, ""));
    let data = record.judgments.data.value;
    assert_eq!(data, Data::Clean, "{:?}", record.audit);
    let found = record.audit.invariants.iter().map(|invariant| invariant.found.as_deref());
    let found: Vec<Option<&str>> = found.collect();
    assert_eq!(found, [Some("10000"), Some("1")]);
    place.call(&["show"]).prints("2 of 2 invariants hold");
    let later = place.typed("audit");
    assert_eq!(later.code, Some(2), "{later:?}");
    later.reports("its data were checked by invariants alone");
    place.call(&["show"]).prints("2 of 2 invariants hold");
}

#[test]
fn transactions_that_do_not_are_reported_with_the_found_value() {
    let called = run(&bank(&[TAKE, KEEP]), "");
    assert_eq!(called.code, Some(4), "{}", called.stderr);
    let record = record(&called);
    assert_eq!(record.judgments.data.value, Data::Altered);
    let reason = &record.judgments.data.reasons[0];
    assert_eq!(reason.code, ReasonCode::InvariantBroken);
    let acknowledged: i64 =
        record.results.iter().map(|r| i64::try_from(r.acknowledged).unwrap()).sum();
    // The warm-up is excluded from the results.
    let found = record.audit.invariants[0].found.as_ref().unwrap();
    let taken = 10_000 - found.parse::<i64>().unwrap();
    assert!(taken >= acknowledged && acknowledged > 0, "{taken}");
    let said = &reason.evidence;
    assert!(said.contains("expected 10000") && !said.contains("all-there"), "{said}");
}

#[test]
fn without_an_audit_nothing_is_queried() {
    let record = record(&run(&bank(&[TAKE, KEEP]), "--audit off"));
    assert_eq!(record.judgments.data.value, Data::NotChecked);
    assert!(record.audit.invariants.is_empty());
}

#[test]
fn a_share_of_several_checks_no_invariant_and_states_it() {
    let said = "the workload's invariants are of the whole load, and a share checks none of them";
    let place = bank(&[TAKE, GIVE]);
    let load = "run -f bank.toml sqlite:bank.db -c 4 -d 1s --warm-up 0s --json";
    let at = print_instant(soon());
    let both = ["--share 1/2 -o one", "--share 2/2 -o two"]
        .map(|share| place.start(&split(&format!("{load} {share} --start-at {at}"))));
    for record in both.map(Running::end).map(|called| record(&called)) {
        assert!(record.audit.invariants.is_empty(), "{:?}", record.audit);
        let data = &record.judgments.data;
        assert_eq!(data.value, Data::Unverified);
        assert_eq!(data.reasons[0].code, ReasonCode::OneShare);
        assert!(data.reasons[0].evidence.contains(said), "{data:?}");
        assert!(found(&record, "invariants_not_asked", said));
    }
    // No other process ran the queries either.
    let [one, two] = ["one", "two"].map(|store| place.only_run(store));
    let merged = place.call(&["show", &one, &two, "--format", "json"]);
    let merged = record(&merged);
    let data = &merged.judgments.data;
    assert_eq!(data.value, Data::Unverified, "{data:?}");
    assert!(found(&merged, "invariants_not_asked", said));
    let whole = record(&place.typed(load));
    assert_eq!(whole.audit.invariants.len(), 2);
    assert_eq!(whole.judgments.data.value, Data::Clean);
    assert!(!found(&whole, "invariants_not_asked", said));
}

/// Payments of which one in four is rolled back as ordered, into a history that has entries already.
fn payments(grows_by: &str) -> Place {
    let place = Place::new();
    place.database(
        "bank.db",
        "CREATE TABLE history (account INTEGER); INSERT INTO history VALUES (1), (2)",
    );
    let file = "format = 1\nname = \"bank\"\nversion = 1\nsummary = \"payments\"\n[ops.pay]\n\
         parameters = [\n\
         { name = \"account\", type = \"bigint\", generator = \"uniform\", min = 1, max = 4 },\n\
         { name = \"cancels\", type = \"boolean\", generator = \"expression\", value = \":account = 4\" },\n]\n\
         transaction.any = [\"INSERT INTO history VALUES (:account)\", { rollback = true, when = \"cancels\" }]\n\
         [invariants.payments]\nsql.any = \"SELECT count(*) FROM history\"\n";
    place.file("bank.toml", &format!("{file}grows_by = {grows_by}\n"));
    place
}

#[test]
fn a_value_grows_by_what_was_acknowledged_and_not_rolled_back() {
    let record = |grows_by| record(&run(&payments(grows_by), "--stream pay"));
    let good = record("{ pay = 1 }");
    assert_eq!(good.judgments.data.value, Data::Clean, "{:?}", good.audit);
    let invariant = &good.audit.invariants[0];
    assert_eq!(invariant.before.as_deref(), Some("2"));
    assert_eq!(Some(&invariant.expected), invariant.found.as_ref());
    assert!(good.results.iter().any(|result| result.rolled_back > 0));
    let wrong = record("{ pay = 2 }");
    assert_eq!(wrong.judgments.data.value, Data::Altered);
    assert!(wrong.judgments.data.reasons[0].evidence.ends_with(", before the load 2"));
    // Nothing is known of the op.
    let unknown = record("{}");
    assert_eq!(unknown.judgments.data.value, Data::Unverified);
    let evidence = &unknown.judgments.data.reasons[0].evidence;
    assert!(evidence.contains("none of the workload's invariants could be compared"), "{evidence}");
    let notes = unknown.notes.iter().filter(|note| note.code == "invariants_not_asked");
    assert_eq!(notes.count(), 1);
}

/// A table with rows, and one that the statements of its creation fill.
const FILLED_BY_CREATE: &str = "format = 1\nname = \"own\"\nversion = 1\nsummary = \"two tables\"\n\
    [tables.rates]\ncreate.any = [\"CREATE TABLE rates (n INTEGER)\", \"INSERT INTO rates VALUES (1), (2)\"]\n\
    [tables.sales]\ncolumns = [{ name = \"n\", type = \"bigint\", generator = \"sequence\" }]\n\
    create.any = \"CREATE TABLE sales (n BIGINT)\"\nkey.any = \"n\"\n\
    [ops.sell]\ninsert = \"sales\"\nbatch = 10\n\
    [streams.sell]\nunit = \"rows\"\narrivals = \"constant\"\nops = { sell = 1 }\n\
    [invariants.rates]\nequals = 2\nsql.any = \"SELECT count(*) FROM rates\"\n";

#[test]
fn a_table_that_its_creation_fills_is_checked_by_invariants_alone() {
    let place = Place::new();
    place.file("own.toml", FILLED_BY_CREATE);
    for more in ["", "", "--drop"] {
        let load = "run -f own.toml sqlite:own.db -d 1s --warm-up 0s --rate 1k --json";
        let record = record(&place.typed(&format!("{load} {more}")));
        assert_eq!(record.judgments.data.value, Data::Clean, "{:?}", record.judgments);
        assert_eq!(record.audit.found, record.audit.acknowledged);
        assert!(record.audit.found > 0 && record.audit.invariants[0].holds, "{:?}", record.audit);
    }
    // A later audit compares rows, and the invariants are those of the run's end.
    place.database("own.db", "DELETE FROM rates");
    let later = record(&place.typed("audit --json"));
    assert!(later.audit.later && later.audit.found > 0);
    assert_eq!(later.judgments.data.value, Data::Clean, "{:?}", later.judgments);
    assert_eq!(later.audit.invariants[0].found.as_deref(), Some("2"));
    place.file("own.toml", &FILLED_BY_CREATE.replace("insert = \"sales\"", "insert = \"rates\""));
    place.call(&["check", "own.toml"]).reports("table `rates` has no columns");
}

/// Whether a record contains this sentence as a reason or an incident with this code.
fn found(record: &RunRecord, code: &str, message: &str) -> bool {
    let mut findings = record.notes.iter();
    findings.any(|finding| finding.code == code && finding.message == message)
}

#[test]
fn mistakes_of_an_invariant_are_reported_at_their_place() {
    let place = Place::new();
    let good = workload(&format!("{TAKE}, {GIVE}"));
    for (from, to, message) in [
        ("equals = true", "equals = 1.5", "an integer, a text, true or false"),
        ("equals = true", "", "either `equals` or `grows_by`"),
        ("equals = true", "equals = 1\ngrows_by = {}", "either `equals` or `grows_by`"),
        ("equals = true", "grows_by = { transfr = 1 }", "did you mean `transfer`?"),
        ("equals = true", "grows_by = { transfer = 0.5 }", "a whole number"),
        ("SELECT sum(balance)", "DELETE", "changes something"),
        ("SELECT sum(balance)", "SELECT :x + sum(balance)", "unknown parameter `:x`"),
        ("SELECT sum(balance) FROM accounts", "", "is empty"),
    ] {
        place.file("bad.toml", &good.replace(from, to));
        let called = place.call(&["check", "bad.toml"]);
        assert_eq!(called.code, Some(2), "{to}: {called:?}");
        assert!(called.stderr.contains(message), "{to}: {}", called.stderr);
    }
}

/// Accounts that the workload fills, and transactions that change them.
fn filled(with_invariant: bool) -> String {
    let bank = workload(&format!("{TAKE}, {GIVE}"));
    let (begin, rest) = bank.split_once("[ops.transfer]\n").unwrap();
    let (ops, invariants) = rest.split_once("[invariants.sum]").unwrap();
    let invariants = format!("[invariants.sum]{invariants}");
    let table = "[[tables.accounts.columns]]\nname = \"id\"\ntype = \"bigint\"\n\
                 generator = \"sequence\"\nstart = 1\n\
                 [[tables.accounts.columns]]\nname = \"balance\"\ntype = \"bigint\"\n\
                 generator = \"constant\"\nvalue = 100\n\
                 [tables.accounts.create]\nany = \"CREATE TABLE accounts (id BIGINT PRIMARY KEY, balance BIGINT)\"\n\
                 [tables.accounts.key]\nany = \"id - 1\"\n\
                 [load]\nop = \"open\"\nrows = 100\n\
                 [ops.open]\ninsert = \"accounts\"\nbatch = 10\n";
    let invariants = if with_invariant { &invariants } else { "" };
    format!("{begin}{table}[ops.transfer]\n{ops}{invariants}")
}

/// The record of a run with these streams of a workload that fills its own table.
fn run_filled(workload: &str, length: &str, stream: &str) -> RunRecord {
    let place = Place::new();
    place.file("bank.toml", workload);
    let load = format!("-d {length} --warm-up 0s --stream {stream} --json");
    record(&place.typed(&format!("run -f bank.toml sqlite:b.db {load}")))
}

#[test]
fn rows_that_transactions_change_are_not_taken_for_altered() {
    for (with_invariant, stream, expected) in [
        (true, "transfers@max", Data::Clean),
        (false, "transfers@max", Data::Unverified),
        // Only the load wrote, and a stream that only inserts is compared row by row.
        (false, "open@1000", Data::Clean),
    ] {
        let data = run_filled(&filled(with_invariant), "3s", stream).judgments.data;
        assert_eq!(data.value, expected, "{stream}: {data:?}");
        if expected == Data::Unverified {
            assert_eq!(data.reasons[0].code, ReasonCode::NoInvariant);
        }
    }
}

#[test]
fn an_answer_that_is_not_one_value_is_none() {
    let queries = [
        "SELECT balance FROM accounts LIMIT 2",
        "SELECT 10000, 10000",
        "SELECT NULL",
        "SELECT 10000 WHERE 1 = 0",
    ];
    let invariants = queries.iter().zip(1..).map(|(query, number)| {
        format!("[invariants.q{number}]\nequals = 10_000\nsql = {{ any = \"{query}\" }}\n")
    });
    let bank = filled(false) + &invariants.collect::<String>();
    let record = run_filled(&bank, "1s", "transfers@10");
    assert_eq!(record.judgments.data.value, Data::Altered);
    assert_eq!(record.audit.invariants.len(), queries.len());
    for of in &record.audit.invariants {
        assert!(!of.holds && of.found.is_none(), "{of:?}");
    }
}
