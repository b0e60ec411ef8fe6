//! Importers, compared with the figures that the tools printed.

mod cockroach;
mod hdr;
mod ingest_bench;
mod k6;
mod locust;
mod pgbench;
mod sysbench;

use std::path::PathBuf;

use super::{HEAD, Import, ImportedRun, Stamp, plan, recognize, record};
use highwater_model::numbers::to_f64;
use highwater_model::record::MissingField;
use highwater_model::record::{ImportedRecord, RunRecord};
use highwater_model::user_error::UserError;

/// A sample by its name.
fn sample(name: &str) -> String {
    let directory = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src/samples"));
    std::fs::read_to_string(directory.join(name)).unwrap()
}

/// The run reported by the texts of one run; for an error, also its line, from 1.
fn parsed_run(texts: &[&str]) -> Result<ImportedRun, (usize, UserError)> {
    let mut import: Option<Import> = None;
    for text in texts {
        let head: String = text.chars().take(HEAD).collect();
        let format = recognize(&head, None).map_err(|wrong| (0, wrong))?;
        let import = import.get_or_insert_with(|| Import::new(format));
        import.begin(format).map_err(|wrong| (0, wrong))?;
        for (number, line) in (1..).zip(text.lines()) {
            import.line(line).map_err(|wrong| (number, wrong))?;
        }
    }
    import.unwrap().end().map_err(|wrong| (0, wrong))
}

/// The line at which the texts of one run cannot be read; its error or hint must contain `part`.
#[track_caller]
fn fails(texts: &[&str], part: &str) -> usize {
    let (line, wrong) = parsed_run(texts).unwrap_err();
    let said = format!("{}; {}", wrong.message, wrong.hint.unwrap_or_default());
    assert!(said.contains(part), "{said}");
    line
}

/// Whether a note contains this text.
fn noted(run: &ImportedRun, part: &str) -> bool {
    run.notes.iter().any(|note| note.contains(part))
}

/// Whether all of these fields are missing in the samples.
fn leave_out(names: &[&str], fields: &[MissingField]) -> bool {
    let origin = imported_record(names).1.origin;
    fields.iter().all(|field| origin.leaves_out(*field))
}

/// The run in the samples, and its record.
fn imported(names: &[&str]) -> (ImportedRun, RunRecord) {
    let (parsed, record) = imported_record(names);
    (parsed, record.run)
}

/// The text report of the samples.
fn printed_report(names: &[&str]) -> String {
    highwater_report::text(&imported_record(names).1)
}

/// The summary of the samples, without colors.
fn printed_summary(names: &[&str]) -> String {
    let record = imported_record(names).1;
    highwater_report::summary(&record, "here").short(120, &highwater_report::without_color)
}

fn imported_record(names: &[&str]) -> (ImportedRun, ImportedRecord) {
    let texts: Vec<String> = names.iter().map(|name| sample(name)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let run = parsed_run(&texts).unwrap();
    let stamp = Stamp {
        id: "2026-11-20T18-20-11-import".to_owned(),
        version: "0.1.0".to_owned(),
        files: names.iter().map(|n| [(*n).to_owned(), String::new()]).collect(),
        ..Stamp::default()
    };
    let record = record(&run, plan(&run), &stamp);
    (run, record)
}

/// The number after a word in a tool's output.
fn printed(text: &str, behind: &str) -> f64 {
    let (_, rest) = text.split_once(behind).unwrap();
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
    rest[..end.unwrap_or(rest.len())].parse().unwrap()
}

/// The number after a word, as a whole number.
fn counted(text: &str, behind: &str) -> u64 {
    highwater_model::numbers::round_to_u64(printed(text, behind))
}

/// Checks that a value is within a relative tolerance of the expected one.
#[track_caller]
fn close(found: f64, expected: f64, part: f64) {
    let off = (found / expected - 1.0).abs();
    assert!(off <= part, "{found} is {off} from {expected}");
}

fn ms(ns: Option<u64>) -> f64 {
    to_f64(ns.unwrap()) / 1e6
}

#[test]
fn for_any_other_tool_the_message_names_a_csv_file_and_an_example() {
    let wrong = recognize("[OVERALL], RunTime(ms), 10110\n", None).unwrap_err();
    for part in ["CSV file", "`nodes,sessions,rows_per_s,p99_ms`", "size RATE --from FILE"] {
        assert!(wrong.hint.as_deref().unwrap().contains(part), "{wrong:?}");
    }
}

#[test]
fn a_tool_that_is_named_reads_no_output_of_another() {
    let text = sample("nodeingestbench.out");
    let wrong = recognize(&text, Some("pgbench")).unwrap_err();
    assert!(wrong.message.contains("no output of pgbench"), "{wrong:?}");
    let tool = recognize(&text, None).unwrap().tool();
    assert_eq!(recognize(&text, Some(tool)).unwrap().tool(), tool);
}
