//! Shares of one plan meet at their target: they begin together, and the last step of one can wait for the others.
//!
//! The target's leases are the meeting place. Each share holds a lease on the plan itself, and takes another one for each
//! `Stage` that it has reached; a stage is of the meeting that the first share opened, which its token names, so that
//! what an earlier attempt left in the target is not taken for this one's. The common begin is a moment on the target's
//! clock: the target reports how long ago the first share took that lease, and each share translates this to its own
//! monotonic clock. No wall clock of a load generator is used. Must not start a load, and must not read what others
//! could have written as a command: only who has reached what.

use std::collections::BTreeSet;

use highwater_driver::table_registry::{HEARTBEAT_OVERDUE, Holder, WATCH};
use highwater_driver::{Admin, Lease, LeaseAction, Timeline};
use highwater_model::display::duration;
use highwater_model::event::{Event, Part};
use highwater_model::plan::Plan;
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};

use crate::holders::holder_of;
use crate::request::Observer;

/// Time between two reads of the leases.
const POLL: Nanos = Nanos::from_millis(500);
/// From the first share's announcement to the begin: all others must read it, and read the clock, before.
const AHEAD: Nanos = Nanos::from_secs(4);
/// Maximum time for reading the clock. A clock of whole seconds ticks twice in this time.
const CLOCK_LIMIT: Nanos = Nanos::from_millis(2_500);
/// The clock is known well enough if the error is below this, of a fine clock and of one of whole seconds.
const CLOCK_GOOD: [Nanos; 2] = [Nanos::from_millis(1), Nanos::from_millis(20)];
/// Maximum number of reads for [`CLOCK_GOOD`], unless the clock has whole seconds.
const CLOCK_READS: u32 = 8;
/// Maximum error with which shares run together.
const ERROR_MAX: Nanos = Nanos::from_millis(100);
/// Clocks of targets, the finest first: the steps in which they report the time, and how far a reported time lags at most.
/// The second is that of a folder, whose times are those of a clock that is updated once a step.
const CLOCKS: [(Nanos, Nanos); 3] = [
    (Nanos::from_millis(1), Nanos::from_millis(1)),
    (Nanos::from_millis(10), Nanos::from_millis(20)),
    (Nanos::SECOND, Nanos::SECOND),
];
/// Maximum number of shares to name.
const NAMED_MAX: usize = 8;

/// How far a share is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The first share has made the tables.
    Tables,
    /// It could begin.
    Ready,
    /// The first share has seen that all are ready.
    Begin,
    /// It sends nothing more.
    Drained,
    /// Its record is written.
    Stored,
    /// It has merged the runs of all, as far as that was possible.
    Concluded,
    /// Its user stopped it, and so all others.
    Stopped,
}

impl Stage {
    const fn name(self) -> &'static str {
        match self {
            Self::Tables => "tables",
            Self::Ready => "ready",
            Self::Begin => "begin",
            Self::Drained => "drained",
            Self::Stored => "stored",
            Self::Concluded => "concluded",
            Self::Stopped => "stopped",
        }
    }
}

/// How the name of the lease on a plan begins.
pub(crate) const ON_PLAN: &str = "plan ";

/// The lease on a plan, in place of a table's name: no table has a space in its name.
pub(crate) fn lease_on_plan(plan: &Plan) -> String {
    format!("{ON_PLAN}{}", plan.hash().chars().take(16).collect::<String>())
}

fn row(stage: Stage, id: &str) -> String {
    format!("{} {id}", stage.name())
}

/// Whether the user has stopped a share of the meeting of a plan, whose lease on the plan has this name.
pub(crate) fn is_stopped(leases: &[Lease], on_plan: &str) -> bool {
    let first = leases.iter().find(|lease| lease.table == on_plan && lease.share == 1);
    first.is_some_and(|first| {
        let stopped = row(Stage::Stopped, &first.token);
        leases.iter().any(|lease| lease.table == stopped && lease.plan == first.plan)
    })
}

/// When the load begins, on this share's own clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommonBegin {
    /// The moment.
    pub(crate) at: Nanos,
    /// How far it can be off from the other shares' moment, by what the target's clock shows.
    pub(crate) error: Nanos,
}

/// This share's part in the meeting of a plan's shares.
pub(crate) struct Meeting {
    /// This share's lease on the plan.
    mine: Lease,
    /// The token of the first share, once it has opened the meeting.
    opened: Option<String>,
    /// How long a share that has not come is waited for.
    wait: Nanos,
    /// The shares that were there at some time.
    came: BTreeSet<u32>,
    since: Nanos,
    /// The shares that were last reported as awaited.
    awaited: Vec<u32>,
}

impl Meeting {
    /// The meeting of a share that holds this lease on its plan.
    pub(crate) fn new(mine: Lease, wait: Nanos, timeline: &dyn Timeline) -> Self {
        let opened = (mine.share == 1).then(|| mine.token.clone());
        Self {
            mine,
            opened,
            wait,
            came: BTreeSet::new(),
            since: timeline.now(),
            awaited: Vec::new(),
        }
    }

    /// Identifies the meeting: equal in the records of all its shares.
    pub(crate) fn id(&self) -> &str {
        self.opened.as_deref().unwrap_or_default()
    }

    /// Announces that this share has reached a stage.
    pub(crate) async fn announce(
        &self,
        admin: &mut dyn Admin,
        stage: Stage,
    ) -> Result<(), UserError> {
        let lease = Lease { table: self.row(stage), ..self.mine.clone() };
        admin.leases(LeaseAction::Take(&[lease])).await.map(drop)
    }

    fn row(&self, stage: Stage) -> String {
        row(stage, self.id())
    }

    /// Waits until the first share has made the tables.
    pub(crate) async fn wait_for_tables(
        &mut self,
        admin: &mut dyn Admin,
        timeline: &dyn Timeline,
        observer: &dyn Observer,
    ) -> Result<(), UserError> {
        loop {
            let leases = admin.leases(LeaseAction::Look).await?;
            let first = self.of_shares(&leases).find(|lease| lease.share == 1);
            self.opened = first.map(|lease| lease.token.clone());
            let has_begun = self.reached(&leases, Stage::Begin).contains(&1);
            // A meeting that has begun is one that this share has missed, or that of a killed attempt.
            if self.opened.is_some()
                && !has_begun
                && self.reached(&leases, Stage::Tables).contains(&1)
            {
                return Ok(());
            }
            if has_begun && self.is_over(timeline) {
                return Err(began_without(self.mine.share));
            }
            self.check_coming(&leases, timeline)?;
            self.pause(&leases, Stage::Tables, timeline, observer).await;
        }
    }

    /// Waits until all shares are ready, and returns when they begin.
    pub(crate) async fn begin(
        &mut self,
        admin: &mut dyn Admin,
        timeline: &dyn Timeline,
        observer: &dyn Observer,
    ) -> Result<CommonBegin, UserError> {
        self.announce(admin, Stage::Ready).await?;
        loop {
            let leases = admin.leases(LeaseAction::Look).await?;
            if self.row_of_first(&leases, Stage::Begin).is_some() {
                let begin = self.read_clock(admin, timeline).await;
                if begin.is_err() {
                    // The others have begun, and their load would be in vain.
                    self.announce(admin, Stage::Stopped).await?;
                }
                return begin;
            }
            self.check_coming(&leases, timeline)?;
            let ready = self.reached(&leases, Stage::Ready);
            if self.mine.share == 1 && (1..=self.mine.shares).all(|share| ready.contains(&share)) {
                self.announce(admin, Stage::Begin).await?;
            } else {
                self.pause(&leases, Stage::Ready, timeline, observer).await;
            }
        }
    }

    /// Waits until every other share has reached a stage, or has ended before it.
    pub(crate) async fn wait_for_others(
        &mut self,
        admin: &mut dyn Admin,
        stage: Stage,
        timeline: &dyn Timeline,
        observer: &dyn Observer,
    ) -> Result<(), UserError> {
        loop {
            let leases = admin.leases(LeaseAction::Look).await?;
            let reached = self.reached(&leases, stage);
            let mut alive = self.of_shares(&leases).filter(|lease| lease.share != self.mine.share);
            if alive.all(|lease| reached.contains(&lease.share)) {
                return Ok(());
            }
            self.pause(&leases, stage, timeline, observer).await;
        }
    }

    /// Waits until the others' runs are stored or have ended, and returns whether this share is the lowest one that is
    /// there; returns false once another one has concluded.
    pub(crate) async fn wait_to_conclude(
        &mut self,
        admin: &mut dyn Admin,
        timeline: &dyn Timeline,
        observer: &dyn Observer,
        is_concluded: &dyn Fn() -> bool,
    ) -> Result<bool, UserError> {
        loop {
            if is_concluded() {
                return Ok(false);
            }
            let leases = admin.leases(LeaseAction::Look).await?;
            if !self.reached(&leases, Stage::Concluded).is_empty() {
                return Ok(false);
            }
            let stored = self.reached(&leases, Stage::Stored);
            let mut others = self.of_shares(&leases).filter(|other| other.share != self.mine.share);
            if others.all(|other| other.share > self.mine.share && stored.contains(&other.share)) {
                return Ok(true);
            }
            self.pause(&leases, Stage::Stored, timeline, observer).await;
        }
    }

    /// Announces that this share has concluded, and waits until no other one is there.
    pub(crate) async fn conclude(
        &self,
        admin: &mut dyn Admin,
        timeline: &dyn Timeline,
    ) -> Result<(), UserError> {
        self.announce(admin, Stage::Concluded).await?;
        loop {
            let leases = admin.leases(LeaseAction::Look).await?;
            if self.of_shares(&leases).all(|lease| lease.share == self.mine.share) {
                return Ok(());
            }
            timeline.sleep_until(timeline.now().saturating_add(POLL)).await;
        }
    }

    /// The leases on the plan of shares that are there.
    fn of_shares<'l>(&self, leases: &'l [Lease]) -> impl Iterator<Item = &'l Lease> + use<'l> {
        let (table, plan, shares) =
            (self.mine.table.clone(), self.mine.plan.clone(), self.mine.shares);
        leases.iter().filter(move |lease| {
            let is_of_plan = lease.table == table && lease.plan == plan && lease.shares == shares;
            is_of_plan && is_there(lease)
        })
    }

    /// The shares that have reached a stage of this meeting.
    fn reached(&self, leases: &[Lease], stage: Stage) -> BTreeSet<u32> {
        let row = self.row(stage);
        leases.iter().filter(|lease| lease.table == row).map(|lease| lease.share).collect()
    }

    fn row_of_first<'l>(&self, leases: &'l [Lease], stage: Stage) -> Option<&'l Lease> {
        let row = self.row(stage);
        leases.iter().find(|lease| lease.table == row && lease.token == self.id())
    }

    fn is_over(&self, timeline: &dyn Timeline) -> bool {
        timeline.now() >= self.since.saturating_add(self.wait)
    }

    /// Fails if a share has ended, or does not come.
    fn check_coming(&mut self, leases: &[Lease], timeline: &dyn Timeline) -> Result<(), UserError> {
        let there: BTreeSet<u32> = self.of_shares(leases).map(|lease| lease.share).collect();
        let ended: Vec<u32> = self.came.difference(&there).copied().collect();
        self.came.extend(there);
        let absent: Vec<u32> =
            (1..=self.mine.shares).filter(|share| !self.came.contains(share)).collect();
        if !ended.is_empty() {
            // It may have missed one that does not come.
            let mut error = missing(&ended, self.mine.shares, "ended before the load began");
            if !absent.is_empty() {
                error.message = format!("{}; not there: {}", error.message, named(&absent));
            }
            return Err(error);
        }
        if absent.is_empty() || !self.is_over(timeline) {
            return Ok(());
        }
        let why = format!("did not come within {}", duration(self.wait.0));
        Err(missing(&absent, self.mine.shares, &why).with_hint(
            "every share needs the same command, target, and -o folder; --wait-for-shares sets how long they are waited for",
        ))
    }

    async fn pause(
        &mut self,
        leases: &[Lease],
        stage: Stage,
        timeline: &dyn Timeline,
        observer: &dyn Observer,
    ) {
        let reached = self.reached(leases, stage);
        let awaited: Vec<u32> = match stage {
            Stage::Tables => vec![1],
            _ => (1..=self.mine.shares).filter(|share| !reached.contains(share)).collect(),
        };
        if awaited != self.awaited {
            self.awaited.clone_from(&awaited);
            observer.event(&Event::Part(Part::Shares { awaited, of: self.mine.shares }));
        }
        timeline.sleep_until(timeline.now().saturating_add(POLL)).await;
    }

    /// Translates the moment of the begin to this share's clock.
    async fn read_clock(
        &self,
        admin: &mut dyn Admin,
        timeline: &dyn Timeline,
    ) -> Result<CommonBegin, UserError> {
        let mut clock = ClockReads::default();
        let deadline = timeline.now().saturating_add(CLOCK_LIMIT);
        loop {
            let sent = timeline.now();
            let leases = admin.leases(LeaseAction::Look).await?;
            let received = timeline.now();
            let begin = self.row_of_first(&leases, Stage::Begin);
            let begin = begin
                .ok_or_else(|| missing(&[1], self.mine.shares, "ended before the load began"))?;
            clock.add(sent, received, begin.held);
            if clock.is_good() || received >= deadline {
                return clock.begin();
            }
        }
    }
}

/// Whether the holder of a lease is running, as far as this machine and the heartbeat show.
fn is_there(lease: &Lease) -> bool {
    match holder_of(lease) {
        Holder::Alive => true,
        Holder::Gone => false,
        Holder::Silent => lease.silent < HEARTBEAT_OVERDUE.saturating_add(WATCH),
    }
}

fn missing(shares: &[u32], of: u32, why: &str) -> UserError {
    let message = format!("{} of {of} {why}", named(shares));
    UserError::new(UserErrorKind::MissingShare, message)
        .with_hint("no load was sent; start all shares again")
}

/// Such as `shares 3, 7`.
fn named(shares: &[u32]) -> String {
    let named: Vec<String> = shares.iter().take(NAMED_MAX).map(u32::to_string).collect();
    let more = if shares.len() > NAMED_MAX { ", …" } else { "" };
    let noun = if shares.len() == 1 { "share" } else { "shares" };
    format!("{noun} {}{more}", named.join(", "))
}

fn began_without(share: u32) -> UserError {
    UserError::new(
        UserErrorKind::MissingShare,
        format!("the other shares began without share {share}"),
    )
    .with_hint("a share cannot join later, or run twice; start all shares again")
}

/// What reads of the target's clock tell about the begin.
#[derive(Debug, Default)]
struct ClockReads(Vec<(Nanos, Nanos, Nanos)>);

impl ClockReads {
    /// A read, sent and received at these times of the own clock, which found that the begin was announced so long ago.
    fn add(&mut self, sent: Nanos, received: Nanos, held: Nanos) {
        self.0.push((sent, received, held));
    }

    /// How far a time of the target's clock lags: all ages are multiples of its steps.
    fn resolution(&self) -> Nanos {
        let is_in_steps = |step: Nanos| self.0.iter().all(|(_, _, held)| held.0 % step.0 == 0);
        let coarsest = CLOCKS.iter().rev().find(|(step, _)| is_in_steps(*step));
        coarsest.unwrap_or(&CLOCKS[0]).1
    }

    /// The earliest and the latest moment of the announcement that agree with all reads, on the own clock; the target
    /// answered between `sent` and `received`.
    fn bounds(&self) -> (Nanos, Nanos) {
        let resolution = self.resolution();
        let at_least = |(sent, _, held): &(Nanos, Nanos, Nanos)| {
            sent.saturating_sub(held.saturating_add(resolution))
        };
        let at_most = |(_, received, held): &(Nanos, Nanos, Nanos)| received.saturating_sub(*held);
        let least = self.0.iter().map(at_least).max().unwrap_or_default();
        let most = self.0.iter().map(at_most).min().unwrap_or_default();
        (least, most)
    }

    fn is_good(&self) -> bool {
        let (least, most) = self.bounds();
        let reads = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        let is_fine = self.resolution() < Nanos::SECOND;
        let good = if is_fine { CLOCK_GOOD[0] } else { CLOCK_GOOD[1] };
        most.saturating_sub(least).0 / 2 <= good.0 || (is_fine && reads >= CLOCK_READS)
    }

    /// The begin; servers whose clocks differ leave no common moment, and their difference is the error.
    fn begin(&self) -> Result<CommonBegin, UserError> {
        let (least, most) = self.bounds();
        let (low, high) = (least.min(most), least.max(most));
        let error = Nanos((high.0 - low.0).div_ceil(2));
        if error > ERROR_MAX {
            let message = format!(
                "the shares cannot begin together: the target's clock is known to {} only",
                duration(error.0)
            );
            return Err(UserError::new(UserErrorKind::MissingShare, message).with_hint(
                "name one server, which all shares ask, as the first URL; or give --start-at, and the machines the \
                 same time",
            ));
        }
        Ok(CommonBegin { at: low.saturating_add(error).saturating_add(AHEAD), error })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000_000;

    /// Reads of a target's clock, which cuts off to `resolution`. The begin was announced at `announced`, in
    /// nanoseconds of the target's clock, which is `ahead` of the own one; reads are (sent after the announcement, way
    /// there, way back).
    fn reads(announced: u64, ahead: u64, resolution: u64, reads: &[(u64, u64, u64)]) -> ClockReads {
        let cut = |time: u64| time - time % resolution;
        let mut clock = ClockReads::default();
        for (after, there, back) in reads {
            let sent = announced - ahead + after;
            let found = cut(announced + after + there) - cut(announced);
            clock.add(Nanos(sent), Nanos(sent + there + back), Nanos(found));
        }
        clock
    }

    proptest! {
        #[test]
        fn the_begin_is_within_its_error_of_the_announced_moment_on_the_target_s_clock(
            announced in 100_000 * MS..200_000 * MS,
            ahead in 0..50_000 * MS,
            is_coarse in any::<bool>(),
            ways in prop::collection::vec((10 * MS..200 * MS, 0..20 * MS, 0..20 * MS), 1..30),
        ) {
            let resolution = if is_coarse { 1_000 * MS } else { MS };
            let mut after = 0;
            let ways: Vec<(u64, u64, u64)> = ways
                .into_iter()
                .map(|(pause, there, back)| {
                    after += pause;
                    (after, there, back)
                })
                .collect();
            let clock = reads(announced, ahead, resolution, &ways);
            let (least, most) = clock.bounds();
            // All shares cut the announcement off alike.
            let moment = announced - announced % resolution - ahead;
            prop_assert!(least.0 <= moment && moment <= most.0, "{least:?} {moment} {most:?}");
            if let Ok(begin) = clock.begin() {
                let off = begin.at.0.abs_diff(moment + AHEAD.0);
                prop_assert!(off <= begin.error.0 + 1, "{off} {begin:?}");
            }
        }
    }

    #[test]
    fn a_clock_of_whole_seconds_is_known_once_it_has_ticked() {
        let every_20_ms =
            |reads: u64| (1..=reads).map(|n| (n * 20 * MS, MS, MS)).collect::<Vec<_>>();
        let announced = 100_250 * MS;
        let before = reads(announced, 0, 1_000 * MS, &every_20_ms(20));
        assert!(before.begin().is_err() && !before.is_good());
        let after = reads(announced, 0, 1_000 * MS, &every_20_ms(40));
        let begin = after.begin().unwrap();
        assert!(begin.error.0 <= 12 * MS, "{begin:?}");
        assert!(begin.at.0.abs_diff(100_000 * MS + AHEAD.0) <= begin.error.0, "{begin:?}");
    }

    #[test]
    fn a_round_trip_of_two_milliseconds_is_good_enough_at_once() {
        let clock = reads(100_000 * MS, 0, MS, &[(5 * MS + 1, MS / 2, MS / 2)]);
        assert!(clock.is_good());
        assert!(clock.begin().unwrap().error.0 <= MS);
    }

    #[test]
    fn servers_whose_clocks_differ_have_the_difference_as_their_error_up_to_a_tenth_of_a_second() {
        for (differ, is_refused) in [(50 * MS, false), (300 * MS, true)] {
            let mut clock = reads(100_000 * MS, 0, MS, &[(5 * MS + 1, MS, MS)]);
            clock.add(Nanos(100_010 * MS), Nanos(100_012 * MS), Nanos(11 * MS + differ));
            match clock.begin() {
                Ok(begin) => {
                    assert!(!is_refused && begin.error.0 >= differ / 2 - 2 * MS, "{begin:?}");
                }
                Err(error) => {
                    assert!(is_refused && error.message.contains("begin together"));
                }
            }
        }
    }

    #[test]
    fn missing_shares_are_named_up_to_a_few() {
        let message = |shares: &[u32]| missing(shares, 64, "did not come").message;
        assert_eq!(message(&[3]), "share 3 of 64 did not come");
        assert_eq!(message(&[3, 7]), "shares 3, 7 of 64 did not come");
        assert!(
            message(&(1..=20).collect::<Vec<_>>())
                .starts_with("shares 1, 2, 3, 4, 5, 6, 7, 8, … of 64")
        );
    }
}
