//! Plans of combined faults and loads, generated from seeds: the verdict is what the faults imply, to the row, and a
//! fault of the target makes the measurement invalid only for the reason that it implies.
//!
//! Single faults are tested elsewhere: in `faults.rs`, and in the audit's own plans on real databases.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use highwater_driver::TargetUrl;
use highwater_driver_sim::SimTarget;
use highwater_model::judgment::{Data, Measurement, ReasonCode};
use highwater_model::plan::Arrivals;
use highwater_model::record::RunRecord;
use highwater_model::units::{Nanos, Seed};
use highwater_workload::random::Draws;

use crate::support::faulty::{Faults, refused, unknown};
use crate::support::hooked::Hooked;
use crate::support::verdict::Verdict;
use crate::support::{Job, closed, exit_code, measured, number, open};
use crate::witness::{Answer, Batch, Seen, Witness};

/// Plans of every test run, and of `cargo xtask long`.
const PLANS: u64 = 40;
const PLANS_IN_ALL: u64 = 200;

/// Measured seconds: more than the shortest phase that is judged.
const STEP_S: u64 = 5;

/// A possible fault of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Dropped,
    Duplicated,
    Altered,
    LostAnswers,
    CutBefore,
    FullQueue,
    Refusals,
    UnknownOutcomes,
    ClosedSessions,
    Outage,
    FewSessions,
}

const KINDS: [Kind; 11] = [
    Kind::Dropped,
    Kind::Duplicated,
    Kind::Altered,
    Kind::LostAnswers,
    Kind::CutBefore,
    Kind::FullQueue,
    Kind::Refusals,
    Kind::UnknownOutcomes,
    Kind::ClosedSessions,
    Kind::Outage,
    Kind::FewSessions,
];

/// A plan.
#[derive(Debug)]
struct Combined {
    kinds: BTreeSet<Kind>,
    parameters: String,
    faults: Faults,
    job: Job,
}

impl Combined {
    /// Plan number `plan`: every tenth has no fault, the others have one to four kinds.
    fn drawn(plan: u64) -> Self {
        let draws = Draws::new(Seed(plan), &["combined faults"]);
        let mut next = 0;
        let mut draw = |below: u64| {
            next += 1;
            draws.below(next, below)
        };
        let mut kinds = BTreeSet::new();
        if !plan.is_multiple_of(10) {
            for _ in 0..=draw(4) {
                kinds.insert(KINDS[usize::try_from(draw(11)).unwrap()]);
            }
        }
        // Both replace the model's responses, and a session can respond in only one way.
        if kinds.contains(&Kind::Refusals) {
            kinds.remove(&Kind::UnknownOutcomes);
        }
        let sessions = [1, 2, 5, 16, 64][usize::try_from(draw(5)).unwrap()];
        let batch = [1, 3, 10, 25][usize::try_from(draw(4)).unwrap()];
        // A rejection takes a round trip; without one, a closed load would do nothing else.
        let mut parameters = "cores=2&service=constant&request=15ms&rtt=20ms".to_owned();
        let is_open = draw(2) == 0;
        // Two cores do 133 ops/s; a full queue needs more than that.
        let rate = if kinds.contains(&Kind::FullQueue) { 200 } else { 20 + draw(80) };
        let pace = if is_open { open(rate * batch) } else { closed(sessions) };
        let mut job = Job::new("", &[("insert", pace)]);
        job.settings = vec![("batch", batch.to_string())];
        job.text = Some(include_str!("../databases/audit/meters.toml"));
        job.sessions = sessions;
        job.seed = plan;
        job.step = Nanos::from_secs(STEP_S);
        job.arrivals = (is_open && draw(2) == 0).then_some(Arrivals::Poisson);
        job.retries = u32::try_from(draw(2) * 3).unwrap();
        let is_full = kinds.contains(&Kind::FullQueue);
        parameters.push_str(if is_full { "&queue=4" } else { "&queue=inf" });
        let mut combined = Self { kinds, parameters, faults: Faults::default(), job };
        for kind in combined.kinds.clone() {
            combined.plant(kind, &mut draw);
        }
        combined
    }

    fn plant(&mut self, kind: Kind, draw: &mut impl FnMut(u64) -> u64) {
        let thousandths = 1 + draw(5);
        let parameter = match kind {
            Kind::Dropped => format!("&drop=0.00{thousandths}"),
            Kind::Duplicated => format!("&duplicate=0.00{thousandths}"),
            Kind::Altered => format!("&alter=0.00{thousandths}"),
            Kind::LostAnswers => format!("&lose_ack=0.0{thousandths}"),
            Kind::CutBefore => format!("&fail=0.0{thousandths}"),
            Kind::Outage => {
                self.job.timeout = Nanos::from_millis(500 + draw(2_000));
                let (begin, length) = (1_000 + draw(2_000), 200 + draw(1_500));
                format!("&stall={begin}ms+{length}ms")
            }
            Kind::Refusals | Kind::UnknownOutcomes => {
                self.faults.exhausted = 1;
                self.faults.round = 5 + draw(20);
                let is_refusal = kind == Kind::Refusals;
                self.faults.fails_with = Some(if is_refusal { refused } else { unknown });
                return;
            }
            Kind::ClosedSessions => {
                self.faults.closes_after = Some(Nanos::from_millis(300 + draw(2_000)));
                return;
            }
            Kind::FewSessions => {
                self.faults.sessions_max = Some(u64::from(self.job.sessions).div_ceil(2));
                return;
            }
            // The model's queue, which every plan specifies.
            Kind::FullQueue => return,
        };
        self.parameters.push_str(&parameter);
    }
}

/// The verdict implied by the observations.
fn implied_by(seen: &Seen) -> Verdict {
    let sum = |of: &dyn Fn(&Batch) -> u64| -> u64 { seen.batches.values().map(of).sum() };
    let rows = |answer: Answer| {
        sum(&|batch| {
            if batch.answer == answer { batch.rows } else { 0 }
        })
    };
    // The rows of an applied batch that the model stored.
    let stored = |batch: &Batch| {
        if batch.applied { batch.rows - batch.dropped } else { 0 }
    };
    let resolved = |like: &dyn Fn(&Batch) -> bool| {
        sum(&|batch| u64::from(batch.answer == Answer::Unknown && like(batch)))
    };
    let acknowledged = rows(Answer::Applied);
    let missing = sum(&|batch| match batch.answer {
        Answer::Applied => batch.rows - stored(batch),
        Answer::Refused | Answer::Unknown => 0,
    });
    let duplicated = sum(&|batch| batch.duplicated);
    let altered = sum(&|batch| batch.altered);
    let inserted = sum(&|batch| stored(batch) + batch.duplicated);
    let unknown_found = sum(&|batch| match batch.answer {
        Answer::Unknown => stored(batch),
        Answer::Applied | Answer::Refused => 0,
    });
    let reasons = [
        (missing > 0, ReasonCode::RowsLost),
        (altered > 0, ReasonCode::RowsAltered),
        (duplicated > 0, ReasonCode::RowsSurplus),
        // The model's insert counter.
        (inserted < acknowledged, ReasonCode::CounterDiffers),
        (unknown_found > 0, ReasonCode::ResentUnknown),
    ];
    Verdict {
        sent: sum(&|batch| batch.rows),
        acknowledged,
        refused: rows(Answer::Refused),
        unknown: rows(Answer::Unknown),
        found: inserted,
        missing,
        duplicated,
        surplus: duplicated,
        refused_found: 0,
        altered,
        resolved_applied: resolved(&|batch| stored(batch) == batch.rows),
        resolved_partly: resolved(&|batch| (1..batch.rows).contains(&stored(batch))),
        resolved_not_applied: resolved(&|batch| stored(batch) == 0),
        data: match (missing, altered, duplicated) {
            (0, 0, 0) => Data::Clean,
            (0, 0, _) => Data::Duplicated,
            (0, ..) => Data::Altered,
            _ => Data::Lost,
        },
        reasons: reasons.into_iter().filter_map(|(is_so, code)| is_so.then_some(code)).collect(),
    }
}

/// Whether a drift was found; every other reason is implied by the plan.
fn drifts(plan: &Combined, record: &RunRecord, seen: &Seen, context: &str) -> bool {
    let judgment = &record.judgments.measurement;
    let is_closed = record.streams[0].working.is_some();
    let few = is_closed && seen.worked.len() < usize::try_from(plan.job.sessions).unwrap();
    let said = |code| judgment.reasons.iter().any(|reason| reason.code == code);
    assert_eq!(said(ReasonCode::SessionsMissing), few, "{context}");
    assert!(!few || plan.kinds.contains(&Kind::FewSessions), "{context}");
    let unknown = seen.batches.values().filter(|batch| batch.answer == Answer::Unknown);
    let unknown: u64 = unknown.map(|batch| batch.rows).sum();
    let result = measured(record, "insert");
    let offered = result.offered * result.rows.sent / result.sent.max(1);
    let much_unknown = unknown * 20 > offered;
    assert_eq!(said(ReasonCode::OutcomeUnknown), much_unknown, "{context}");
    let drifts = said(ReasonCode::NotSteady);
    let others = judgment.reasons.iter().filter(|reason| {
        let known = [
            ReasonCode::SessionsMissing,
            ReasonCode::NotSteady,
            ReasonCode::OutcomeUnknown,
            ReasonCode::SteadinessNotShown,
            // Some open plans offer more than their cores do.
            ReasonCode::BacklogGrew,
        ];
        !known.contains(&reason.code)
    });
    assert_eq!(others.count(), 0, "{context}");
    let is_invalid = judgment.value == Measurement::Invalid;
    assert_eq!(is_invalid, few, "{context}");
    assert!(!drifts || judgment.value != Measurement::Valid, "{context}");
    drifts
}

/// The result of a plan.
struct Done {
    data: Data,
    /// A drift was found that no outage caused.
    drifted_by_chance: bool,
}

fn carry_out(seed: u64) -> Done {
    let mut plan = Combined::drawn(seed);
    let url = format!("sim:?nodes=1&shards=1&replicas=0&row=0&{}", plan.parameters);
    let model = SimTarget::open(&TargetUrl::parse(&url).unwrap(), Seed(seed)).unwrap();
    let model = Arc::new(model);
    let seen = Arc::new(Mutex::new(Seen::default()));
    let faulty = Hooked {
        inner: Arc::<SimTarget>::clone(&model),
        hooks: Arc::new(std::mem::take(&mut plan.faults)),
    };
    let hooks = Witness { model, seen: Arc::clone(&seen) };
    let inner = Arc::new(faulty);
    let witness = Arc::new(Hooked { inner, hooks });
    let root = tempfile::tempdir().unwrap();
    let end = plan.job.run_on(witness, root.path());
    let (record, seen) = (&end.record, seen.lock().unwrap());
    let context = format!(
        "plan {seed}: {:?} {} {:?}\n{:?}\n{:#?}",
        plan.kinds, plan.parameters, plan.job.streams, record.judgments, record.audit
    );
    let implied = implied_by(&seen);
    let said = Verdict::said_by(record, &context);
    assert_eq!(said, implied, "{context}");
    let drifts = drifts(&plan, record, &seen, &context);
    let wrong_data = implied.data != Data::Clean;
    assert_eq!(exit_code(&end) == 4, wrong_data, "{context}");
    Done { data: implied.data, drifted_by_chance: drifts && !plan.kinds.contains(&Kind::Outage) }
}

/// Runs them; every kind of data judgment must occur, or the plans prove nothing.
fn carry_out_all(plans: u64) {
    let done: Vec<Done> = (0..plans).map(carry_out).collect();
    for data in [Data::Clean, Data::Lost, Data::Altered, Data::Duplicated] {
        assert!(done.iter().any(|done| done.data == data), "{data:?}");
    }
    // The interval of a drift is above the truth in one series of forty, and below it in as many. So this many of n may
    // be outside a bound at random, plus three standard deviations, √(n · 0.05 · 0.95) each.
    let by_chance = done.iter().filter(|done| done.drifted_by_chance).count();
    let drifts = number(by_chance as u64);
    let allowed = 0.05 * number(plans) + 3.0 * (number(plans) * 0.05 * 0.95).sqrt();
    assert!(drifts <= allowed, "{drifts} drifts, {allowed} allowed");
}

#[test]
fn combined_faults_are_counted_to_the_row_without_false_findings() {
    carry_out_all(PLANS);
}

#[test]
#[ignore = "two hundred runs take longer than a test of every day"]
fn long_two_hundred_plans_of_combined_faults_are_counted_to_the_row() {
    carry_out_all(PLANS_IN_ALL);
}
