//! What a search may still spend: probes and time.
//!
//! Time is what probes took, not what a clock says.

use highwater_model::search::{ProbePurpose, ProbeRecord};

use super::history::ProbeHistory;

impl ProbeHistory<'_> {
    /// Whether so many probes and confirmations can still be made where so many units per second
    /// are expected.
    pub(super) fn allows(&self, probes: u32, confirmations: u32, units_per_s: Option<f64>) -> bool {
        let made = u32::try_from(self.probes.len()).unwrap_or(u32::MAX);
        let in_number = made
            .saturating_add(probes)
            .saturating_add(confirmations)
            .le(&self.policy().probes_max);
        let Some(budget) = self.policy().budget_ns else {
            return in_number;
        };
        let cost = |purpose, times: u32| {
            let measured = self.policy().measured_ns(purpose, units_per_s);
            let one = self.takes(purpose, measured);
            one.saturating_mul(times.into())
        };
        let planned = [
            cost(ProbePurpose::Search, probes),
            cost(ProbePurpose::Confirm, confirmations),
        ];
        let spent = self.probes.iter().map(took).chain(planned);
        in_number && spent.fold(0, u64::saturating_add) <= budget
    }

    /// What a probe takes that measures so long: besides, what the last one of its purpose took, else what was
    /// estimated.
    fn takes(&self, purpose: ProbePurpose, measured_ns: u64) -> u64 {
        let mut of_purpose = self.probes.iter().rev();
        let last = of_purpose.find(|probe| probe.purpose == purpose && probe.measured_ns > 0);
        last.map_or_else(
            || self.policy().probe_takes_ns(measured_ns),
            |probe| measured_ns.saturating_add(took(probe).saturating_sub(probe.measured_ns)),
        )
    }
}

fn took(probe: &ProbeRecord) -> u64 {
    probe.took_ns.saturating_add(probe.settled_ns)
}
