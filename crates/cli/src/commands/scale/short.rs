//! Short runs beside those of the sizes: of a node alone, and of a cluster that gets warm. Must not run anything.

use highwater_model::plan::StopRule;
use highwater_model::scale::ScaleEach;
use highwater_model::units::Nanos;
use highwater_runner::planner::PaceInput;

use super::intent::ScaleIntent;
use crate::failure::Failure;
use crate::intent::RunIntent;

/// What is measured of a node alone, at most: enough for a rate, as each of them takes that long.
const ALONE: Nanos = Nanos::from_secs(15);

/// The run of a node alone: a short one as at the smallest size, with settings as for one node.
pub(super) fn run_alone(settings: &ScaleIntent) -> Result<RunIntent, Failure> {
    let mut one = settings.clone();
    one.record.sizes[0].nodes = 1;
    let mut run = one.common_at(0)?;
    if settings.record.each != ScaleEach::Run {
        // Probes have lengths of their own.
        run.plan.step = ALONE;
    }
    shorten(&mut run, ALONE);
    // What a node can do is seen where nothing holds the load back.
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

/// Makes a run one that only shows a rate, within this time at most.
pub(super) fn shorten(run: &mut RunIntent, longest: Nanos) {
    run.plan.step = run.plan.step.min(longest);
    run.plan.stop = StopRule::default();
    run.plan.objectives.clear();
    for stream in &mut run.plan.streams {
        stream.paces.truncate(1);
    }
}
