//! The three judgments with their reasons. Values that are not good are in upper case.
//!
//! Must not judge.

use highwater_model::display::{count, foreign};
use highwater_model::judgment::{Data, Judgments, Measurement, ObjectiveValue, Reason};
use highwater_model::plan::{AuditLevel, Objective};
use highwater_model::record::{AuditRecord, AuditStatus, RecordRef, RunRecord};

use crate::layout::{labeled, list};

/// Maximum characters of the sentence of one reason.
const EVIDENCE: usize = 400;

pub(super) fn lines(record: RecordRef<'_>) -> Vec<String> {
    remarked(record)
        .flat_map(|(judged, remark)| {
            let value = match judged.tone {
                Tone::Good | Tone::None => judged.value.to_owned(),
                Tone::Bad | Tone::Open => judged.value.to_uppercase(),
            };
            let name = judged.name.to_lowercase();
            let line = labeled(&name, &format!("{value:<11} {remark}"));
            std::iter::once(line).chain(judged.reasons.iter().flat_map(reason_lines))
        })
        .collect()
}

fn reason_lines(reason: &Reason) -> Vec<String> {
    let sentence = foreign(&reason.sentence(), EVIDENCE);
    let mut lines = vec![format!("  {sentence} [{}]", reason.code.name())];
    lines.extend(reason.hint.iter().map(|hint| format!("    hint: {hint}")));
    lines
}

/// How good the value of a judgment is, in ascending order of severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tone {
    None,
    Good,
    Open,
    Bad,
}

/// A judgment in words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judged<'a> {
    /// `Measurement`.
    pub(crate) name: &'static str,
    /// `valid`.
    pub(crate) value: &'static str,
    pub(crate) tone: Tone,
    pub(crate) reasons: &'a [Reason],
}

/// All three, in the order of every output.
pub(crate) fn three(judged: &Judgments) -> [Judged<'_>; 3] {
    let measured = match judged.measurement.value {
        Measurement::Valid => ("valid", Tone::Good),
        Measurement::Invalid => ("invalid", Tone::Bad),
        Measurement::Inconclusive => ("inconclusive", Tone::Open),
    };
    let found = data(judged.data.value);
    let met = match judged.objective.value {
        ObjectiveValue::Met => ("met", Tone::Good),
        ObjectiveValue::Missed => ("missed", Tone::Bad),
        ObjectiveValue::NotDecided => ("not decided", Tone::Open),
        ObjectiveValue::NoneSet => ("none set", Tone::None),
    };
    [
        ("Measurement", measured, &judged.measurement.reasons),
        ("Data", found, &judged.data.reasons),
        ("Objective", met, &judged.objective.reasons),
    ]
    .map(|(name, (value, tone), reasons)| Judged { name, value, tone, reasons })
}

/// The judgments of a record, each with the remark after its value, which may be empty.
pub(crate) fn remarked(record: RecordRef<'_>) -> impl Iterator<Item = (Judged<'_>, String)> {
    let run = record.measured_run();
    let remarks = [String::new(), audited(&run), objectives(&run)];
    three(record.judgments()).into_iter().zip(remarks)
}

pub(crate) const fn data(value: Data) -> (&'static str, Tone) {
    match value {
        Data::Clean => ("clean", Tone::Good),
        Data::Lost => ("lost", Tone::Bad),
        Data::Duplicated => ("duplicated", Tone::Bad),
        Data::Surplus => ("surplus", Tone::Bad),
        Data::Altered => ("altered", Tone::Bad),
        Data::Unverified => ("unverified", Tone::Open),
        Data::NotChecked => ("not checked", Tone::None),
    }
}

pub(crate) fn audited(record: &RunRecord) -> String {
    let audit = &record.audit;
    match (record.judgments.data.value, audit.status) {
        (Data::NotChecked, AuditStatus::Imported) => "not audited".to_owned(),
        (Data::NotChecked, AuditStatus::NothingWritten) => "nothing was written".to_owned(),
        (Data::NotChecked, AuditStatus::StoresNothing) => String::new(),
        (Data::NotChecked, _) => "no audit was requested".to_owned(),
        (Data::Unverified, status) if status != AuditStatus::Done => {
            "acknowledged rows were NOT checked".to_owned()
        }
        _ => {
            let of = audit.invariants.len();
            // Without buckets nothing else was compared, because the expected rows are unknown.
            let rows = (audit.buckets > 0 || of == 0).then(|| compared(audit));
            let held = audit.invariants.iter().filter(|of| of.holds).count();
            let invariants = (of > 0).then(|| format!("{held} of {of} invariants hold"));
            let counter = audit
                .server_counter
                .map(count)
                .map(|rows| format!("the server counted {rows} inserted rows"));
            let copies = (audit.copies > 0).then(|| copies(audit));
            let exhausted = audit.exhausted.as_ref();
            let exhausted = exhausted.map(|of| {
                let statements = count(of.statements);
                format!("statements without room, made smaller: {statements}")
            });
            list([rows, invariants, counter, copies, exhausted].into_iter().flatten(), " · ")
        }
    }
}

/// `8 of 12 copies compared`; all copies if there is no second number.
fn copies(audit: &AuditRecord) -> String {
    let compared = count(audit.copies);
    match audit.copies_missing {
        0 => format!("{compared} copies compared"),
        missing => format!("{compared} of {} copies compared", count(audit.copies + missing)),
    }
}

/// The method of comparing rows.
fn compared(audit: &AuditRecord) -> String {
    let (buckets, read_back) = (count(audit.buckets), count(audit.read_back));
    match audit.level {
        _ if audit.replaced.is_some() => replaced(audit),
        AuditLevel::Full => format!("all {read_back} rows read back"),
        AuditLevel::Sums => format!("sums over {buckets} key buckets, {read_back} rows read back"),
        AuditLevel::Off | AuditLevel::Count => format!("counts over {buckets} key buckets"),
    }
}

/// The scope of the comparison, if rows replace each other.
fn replaced(audit: &AuditRecord) -> String {
    let Some(replaced) = audit.replaced else {
        return String::new();
    };
    let keys = count(replaced.keys);
    let part = match replaced.one_in {
        1 => String::new(),
        n => format!(", one key in {}", count(n)),
    };
    let what = if replaced.marked { "the last value" } else { "the presence" };
    format!("{what} of {keys} keys{part}, {} rows read back", count(audit.read_back))
}

pub(crate) fn objectives(record: &RunRecord) -> String {
    let stated = record.plan.definition.objectives.iter();
    list(stated.map(objective_bound), " · ")
}

/// The objective as a bound: `p99 ≤ 100 ms`.
pub(crate) fn objective_bound(objective: &Objective) -> String {
    use highwater_model::display::{percent_asked as share, plain, quantile, span};
    match *objective {
        Objective::Latency { quantile_ppm, max, ref op } => {
            let op = op.as_ref().map(|op| format!("{op} ")).unwrap_or_default();
            format!("{op}{} ≤ {}", quantile(quantile_ppm), span(max.0))
        }
        Objective::RowLatency { quantile_ppm, max } => {
            format!("{} of rows ≤ {}", quantile(quantile_ppm), span(max.0))
        }
        Objective::Errors { max_ppm } => format!("errors ≤ {}", share(max_ppm)),
        Objective::Rejected { max_ppm } => format!("rejected ≤ {}", share(max_ppm)),
        Objective::Throughput { min } => format!("throughput ≥ {}/s", plain(min.as_f64())),
        Objective::Cpu { max_ppm } => format!("CPU ≤ {}", share(max_ppm)),
    }
}
