//! What a search may still spend: probes and time.
//!
//! Time is what probes took, not what a clock says.

use crate::model::search::{ProbePurpose, ProbeRecord, SearchPolicy};

/// What is left.
#[derive(Debug)]
pub(super) struct Budget<'a> {
    policy: &'a SearchPolicy,
    probes: &'a [ProbeRecord],
}

impl<'a> Budget<'a> {
    pub(super) fn new(policy: &'a SearchPolicy, probes: &'a [ProbeRecord]) -> Self {
        Self { policy, probes }
    }

    /// Whether so many probes and confirmations can still be made.
    pub(super) fn allows(&self, probes: u32, confirmations: u32) -> bool {
        let made = u32::try_from(self.probes.len()).unwrap_or(u32::MAX);
        let in_number = made
            .saturating_add(probes)
            .saturating_add(confirmations)
            .le(&self.policy.probes_max);
        let Some(budget) = self.policy.budget_ns else {
            return in_number;
        };
        let cost = |purpose, estimated, times: u32| {
            self.cost(purpose, estimated).saturating_mul(times.into())
        };
        let search = cost(ProbePurpose::Search, self.policy.probe_cost_ns, probes);
        let confirm = cost(
            ProbePurpose::Confirm,
            self.policy.confirmation_cost_ns,
            confirmations,
        );
        let spent = self.probes.iter().map(took);
        let spent = spent.fold(0, u64::saturating_add);
        in_number && spent.saturating_add(search).saturating_add(confirm) <= budget
    }

    /// What the last probe of a purpose took, else what was estimated.
    fn cost(&self, purpose: ProbePurpose, estimated_ns: u64) -> u64 {
        let mut of_purpose = self.probes.iter().rev();
        let last = of_purpose.find(|probe| probe.purpose == purpose);
        last.map_or(estimated_ns, took)
    }
}

fn took(probe: &ProbeRecord) -> u64 {
    probe.took_ns.saturating_add(probe.settled_ns)
}
