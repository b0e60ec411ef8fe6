//! The three judgments in words: value, remark, and one sentence of evidence each; objectives as bounds. Must not judge.

use highwater_analysis::judge::MeasuredStream;
use highwater_model::display::{count, duration, foreign, percent_whole};
use highwater_model::judgment::{Data, Judgments, Measurement, ObjectiveValue, Reason, ReasonCode};
use highwater_model::plan::{AuditLevel, Objective};
use highwater_model::record::{
    AuditRecord, AuditStatus, MeasuredRun, Question, RecordRef, RunRecord,
};
use highwater_model::search::{SearchAxis, SearchRecord};

use crate::answer::{JudgmentLine, Tone, plural};
use crate::layout::{first_upper, joined, list};

/// Maximum characters of a reason.
const REASON: usize = 240;

/// A judgment in words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JudgmentWords<'a> {
    /// `Measurement`.
    pub(crate) name: &'static str,
    /// `valid`.
    pub(crate) value: &'static str,
    pub(crate) tone: Tone,
    pub(crate) reasons: &'a [Reason],
}

/// All three, in the order of every output.
pub(crate) fn three(judged: &Judgments) -> [JudgmentWords<'_>; 3] {
    let measured = match judged.measurement.value {
        _ if judged.is_running() => ("running", Tone::Open),
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
    .map(|(name, (value, tone), reasons)| JudgmentWords { name, value, tone, reasons })
}

/// The judgments of a record, each with the remark after its value, which may be empty.
pub(crate) fn remarked(record: RecordRef<'_>) -> impl Iterator<Item = (JudgmentWords<'_>, String)> {
    let run = record.measured_run();
    let audited = match (record.experiment(), audited(&run)) {
        (Some(_), of_last) if !of_last.is_empty() => format!("of its last run: {of_last}"),
        (_, audited) => audited,
    };
    let remarks = [String::new(), audited, objectives(&run)];
    three(record.judgments()).into_iter().zip(remarks)
}

pub(crate) const fn data(value: Data) -> (&'static str, Tone) {
    match value {
        Data::Clean => ("clean", Tone::Good),
        Data::Lost => ("lost", Tone::Bad),
        Data::LostAllowed => ("lost, as allowed", Tone::Open),
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
            // A counter that was reset is too low, and contradicts nothing.
            let contradicts =
                || record.judgments.data.codes().contains(&ReasonCode::CounterDiffers);
            let counter = audit
                .server_counter
                .filter(|counted| *counted >= audit.acknowledged || contradicts())
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
        AuditLevel::Sums => {
            format!("checksums of {buckets} key buckets compared, {read_back} rows read back")
        }
        AuditLevel::Off | AuditLevel::Count => format!("counts of {buckets} key buckets compared"),
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
pub fn objective_bound(objective: &Objective) -> String {
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
        Objective::Recovery { max } => format!("full rate within {}", span(max.0)),
        Objective::During { min_ppm } => format!("rate ≥ {} during a fault", share(min_ppm)),
        Objective::Lost { max } => format!("rows lost ≤ {}", count(max)),
    }
}

/// The objective that a rate missed: `rejected > 0%`, and `p99 ≤ 100 ms not met`, whose figure may be below its bound
/// without showing that with confidence.
pub(crate) fn exceeded(code: ReasonCode, objectives: &[Objective]) -> String {
    let is_judged = |objective: &&Objective| {
        code == match objective {
            Objective::Latency { .. } | Objective::RowLatency { .. } => {
                ReasonCode::ObjectiveLatency
            }
            Objective::Errors { .. } => ReasonCode::ObjectiveErrors,
            Objective::Rejected { .. } => ReasonCode::ObjectiveRejected,
            Objective::Throughput { .. } => ReasonCode::RateNotSustained,
            Objective::Cpu { .. } => ReasonCode::ObjectiveCpu,
            Objective::Recovery { .. } => ReasonCode::ObjectiveRecovery,
            Objective::During { .. } => ReasonCode::ObjectiveDuring,
            Objective::Lost { .. } => ReasonCode::ObjectiveLost,
        }
    };
    let missed = objectives.iter().filter(is_judged).map(|objective| {
        let bound = objective_bound(objective);
        if matches!(code, ReasonCode::ObjectiveLatency | ReasonCode::ObjectiveRecovery) {
            return format!("{bound} not met");
        }
        bound.replace('≤', ">").replace('≥', "<")
    });
    match list(missed, " or ") {
        none if none.is_empty() => code.name().replace('_', " "),
        missed => missed,
    }
}

/// The judgments of a record.
pub(crate) fn lines(record: RecordRef<'_>, measured: &[MeasuredStream<'_>]) -> Vec<JudgmentLine> {
    let (judged, run) = (record.judgments(), &record.measured_run());
    let trials = record.experiment().map(|of| trials(&of.question).0);
    let measurement = match &trials {
        Some(trials) => format!("{trials}, each with a record of its own."),
        None => generator(run, measured),
    };
    let data = match (&trials, judged.data.value) {
        (Some(trials), Data::Clean) => format!("{trials}: acknowledged rows were found as sent."),
        _ => data_evidence(run),
    };
    let objective = match record.experiment().map(|of| &of.question) {
        Some(Question::Search(search)) => objectives_of_search(run, search).replace(" · ", ", "),
        _ => objectives(run).replace(" · ", ", "),
    };
    let objective = match judged.objective.value {
        ObjectiveValue::NoneSet => "Set one with --p99 DURATION.".to_owned(),
        _ => format!("{objective}."),
    };
    let mut all = three(judged);
    let mut measurement = measurement;
    if judged.measurement.value == Measurement::Valid {
        // Notes do not affect a valid measurement; only the note about a shared host is stated with it.
        let mut notes = std::mem::take(&mut all[0].reasons).iter();
        let shared = notes.find(|note| note.code == ReasonCode::SharedHost);
        measurement.extend(shared.map(|note| format!(" {}", first_upper(&sentence(note)))));
    }
    all.into_iter()
        .zip([measurement, data, objective])
        .map(|(of, evidence)| line(of, evidence))
        .collect()
}

/// Number of trials of an experiment, in words, and their total time in nanoseconds.
pub(crate) fn trials(question: &Question) -> (String, u64) {
    match question {
        Question::Search(of) => counted("probe", of.probes.iter().map(|probe| probe.took_ns)),
        Question::Tune(of) => counted("probe", of.trials.iter().map(|trial| trial.took_ns)),
        Question::Group(of) => counted("run", of.trials.iter().map(|trial| trial.took_ns)),
        // The first size is measured again at the end.
        Question::Scale(of) => counted("measurement", of.trials.iter().map(|trial| trial.took_ns)),
    }
}

fn counted(what: &str, took_ns: impl ExactSizeIterator<Item = u64>) -> (String, u64) {
    (plural(took_ns.len(), what), took_ns.sum())
}

/// The judgments of several runs together: the worst of each.
pub(crate) fn together<'a>(all_runs: impl Iterator<Item = &'a Judgments>) -> Vec<JudgmentLine> {
    let all_runs: Vec<[JudgmentWords<'_>; 3]> = all_runs.map(three).collect();
    let worst = |at: usize| {
        let all = || all_runs.iter().map(move |judged| judged[at]);
        let worst = all().max_by_key(|of| of.tone)?;
        let same = all().filter(|of| of.value == worst.value).count();
        let (same, runs) = (count(same as u64), plural(all_runs.len(), "run"));
        Some(line(JudgmentWords { reasons: &[], ..worst }, format!("{same} of {runs}.")))
    };
    (0..3).filter_map(worst).collect()
}

/// What a comparison must not leave out of these records: that a target is simulated, and judgments that are not good,
/// such as `simulated · Objective missed`. Empty if there is nothing.
pub(crate) fn flaws<'a>(records: impl Iterator<Item = RecordRef<'a>> + Clone) -> String {
    let is_simulated = records.clone().any(|record| record.measured_run().run.target.simulated);
    let simulated = is_simulated.then(|| "simulated".to_owned());
    let judged = together(records.map(RecordRef::judgments));
    let judged = judged.into_iter().filter(|of| matches!(of.tone, Tone::Bad | Tone::Open));
    let judged = judged.map(|of| format!("{} {}", of.name.to_lowercase(), of.value));
    list(simulated.into_iter().chain(judged), " · ")
}

/// Uses the first reason as the evidence, if there is one, and counts the others.
fn line(of: JudgmentWords<'_>, evidence: String) -> JudgmentLine {
    let sentence = match of.reasons {
        [] => evidence,
        [only] => sentence(only),
        [first, others @ ..] => {
            format!("{} And {}.", sentence(first), plural(others.len(), "more reason"))
        }
    };
    JudgmentLine { name: of.name, value: of.value.to_owned(), tone: of.tone, sentence }
}

fn sentence(reason: &Reason) -> String {
    let sentence = foreign(&reason.sentence(), REASON);
    if sentence.ends_with(['.', '…', '?', '!']) { sentence } else { format!("{sentence}.") }
}

/// The evidence about the load generator.
fn generator(run: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>]) -> String {
    if let Some(origin) = run.origin {
        return format!(
            "Measured by {}, not by Highwater.",
            foreign(&origin.tool_and_version(), REASON)
        );
    }
    let busiest = run.clients.iter().map(|client| client.cpu_fraction);
    let Some(busiest) = busiest.reduce(f64::max) else {
        return String::new();
    };
    let lag = measured
        .iter()
        .flat_map(|stream| &stream.results)
        .filter_map(|result| result.client_lag_ns.p99)
        .max();
    let lag = lag.map_or_else(String::new, |lag| format!("; client lag p99 {}", duration(lag)));
    format!("Load generator {} busy{lag}.", percent_whole(busiest))
}

fn data_evidence(run: &MeasuredRun<'_>) -> String {
    let audit = &run.audit;
    match run.judgments.data.value {
        Data::Clean if audit.acknowledged > 0 && audit.replaced.is_none() => {
            format!("All {} acknowledged rows were found as sent.", count(audit.acknowledged))
        }
        _ => match first_upper(&audited(run)) {
            text if text.is_empty() => text,
            text => text + ".",
        },
    }
}

/// ` within p99 ≤ 50 ms`; empty without an objective.
pub(crate) fn within(run: &MeasuredRun<'_>) -> String {
    match objectives(run).replace(" · ", ", ").as_str() {
        "" => String::new(),
        stated => format!(" within {stated}"),
    }
}

/// The objective in words, including the objective of every search.
pub(crate) fn objectives_of_search(record: &RunRecord, search: &SearchRecord) -> String {
    let no_errors = search.objective.no_errors.then_some("no errors");
    let at_a_rate = search.axis == SearchAxis::Rate;
    let acknowledged = at_a_rate.then_some("99% of the rate acknowledged");
    let words = [no_errors, acknowledged].map(Option::unwrap_or_default);
    joined([objectives(record).as_str(), words[0], words[1]])
}
