//! Planned actions on the target's cluster, and what each did to the load, in words. Must not judge.

use highwater_analysis::availability::{Dip, FaultEffect, fault_effects};
use highwater_model::display::{count, duration, foreign, percent_whole};
use highwater_model::numbers::round_to_u64;
use highwater_model::record::MeasuredRun;

use super::WORDS;
use crate::layout::list;

/// A sentence for each action: `node 2 killed at 20.0 s: down to 38% of the offered rate, …`.
pub(crate) fn faults(run: &MeasuredRun<'_>) -> Vec<String> {
    fault_effects(run).iter().map(|effect| foreign(&sentence(effect), WORDS)).collect()
}

/// The action with the longest dip, and how long that was; absent if the load never fell behind.
pub(super) fn worst(run: &MeasuredRun<'_>) -> Option<String> {
    let effects = fault_effects(run);
    let dips = effects.iter().filter_map(|effect| Some((effect, effect.dip?)));
    let (effect, dip) =
        dips.max_by_key(|(_, dip)| dip.recovered_ns.or(dip.rate_again_ns).unwrap_or(u64::MAX))?;
    Some(foreign(&format!("{}: {}", effect.action.done(), ended(&dip)), WORDS))
}

fn sentence(effect: &FaultEffect<'_>) -> String {
    let at = duration(effect.time_ns);
    if let Some(why) = effect.failed {
        return format!("{} at {at} FAILED: {why}", effect.action);
    }
    let what = format!("{} at {at}", effect.action.done());
    match &effect.dip {
        None if effect.is_in_dip => format!("{what}, while the load was behind"),
        None => format!("{what}: the load did not fall behind"),
        Some(dip) => {
            let parts = [
                match dip.noticed_ns {
                    0 => "behind at once".to_owned(),
                    noticed => format!("behind after {}", duration(noticed)),
                },
                format!("down to {} of the offered rate", percent_whole(dip.lowest.max(0.0))),
                format!("at most {} ops behind", count(round_to_u64(dip.missing_ops))),
                ended(dip),
            ];
            format!("{what}: {}", list(parts, ", "))
        }
    }
}

/// `full rate after 7.40 s, caught up after 9.10 s`.
fn ended(dip: &Dip) -> String {
    let Some(again) = dip.rate_again_ns else {
        return "full rate not reached again before the end".to_owned();
    };
    let rate = format!("full rate after {}", duration(again));
    match dip.recovered_ns {
        None => format!("{rate}, what waited not worked off"),
        Some(recovered) if recovered == again => rate,
        Some(recovered) => format!("{rate}, caught up after {}", duration(recovered)),
    }
}
