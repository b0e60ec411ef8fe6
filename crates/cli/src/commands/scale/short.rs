//! Short runs in addition to those of the sizes: a node alone, and the warm-up of a cluster. Must not run anything.

use highwater_model::plan::StopRule;
use highwater_model::scale::ScaleEach;
use highwater_model::units::Nanos;
use highwater_runner::planner::PaceInput;

use super::intent::ScaleIntent;
use crate::failure::Failure;
use crate::intent::RunIntent;

/// Maximum measured time of a node alone; it is enough for a rate, and every node takes this time.
const ALONE: Nanos = Nanos::from_secs(15);

/// The run of a node alone: a short one as at the smallest size, with the settings of one node.
pub(super) fn run_alone(settings: &ScaleIntent) -> Result<RunIntent, Failure> {
    let mut one = settings.clone();
    one.record.sizes[0].nodes = 1;
    let mut run = one.common_at(0)?;
    if settings.record.each != ScaleEach::Run {
        // Probes have their own length.
        run.plan.step = ALONE;
    }
    shorten(&mut run, ALONE);
    // The maximum of a node requires closed load.
    for stream in &mut run.plan.streams {
        if let [PaceInput::Open(_)] = stream.paces[..] {
            stream.paces = vec![PaceInput::Closed(None)];
        }
    }
    if settings.record.each == ScaleEach::Find {
        let searched = one.find_at(0)?.searched;
        run.plan.streams[searched].paces = vec![PaceInput::Closed(None)];
    }
    Ok(run)
}

/// Reduces a run to a measurement of the rate, for at most this time.
pub(super) fn shorten(run: &mut RunIntent, longest: Nanos) {
    run.plan.step = run.plan.step.min(longest);
    run.plan.stop = StopRule::default();
    run.plan.objectives.clear();
    for stream in &mut run.plan.streams {
        stream.paces.truncate(1);
    }
}
