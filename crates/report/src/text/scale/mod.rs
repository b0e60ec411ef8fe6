//! The summary of a growth: the rate of the largest size, the growth, the predictions, and every size.
//!
//! Must show only what the record contains.

#[cfg(test)]
mod tests;

use highwater_analysis::growth::{Drift, counted, node_spread, reached};
use highwater_model::display::{
    about, duration, foreign, percent, percent_signed, percent_whole, rate, rate_signed,
};
use highwater_model::numbers::round_to_usize;
use highwater_model::record::{MeasuredRun, RunRecord};
use highwater_model::scale::{
    ClusterStart, LeftOut, PredictedRate, ScaleEach, ScaleRecord, ScaleTrial, SizeVerdict,
    WarmUpRun,
};
use highwater_sizing::growth::{GrowthReport, GrowthSize, report};

use super::search::codes;
use super::{head, judged};
use crate::by_op;
use crate::layout::{Remark, Row, aligned, headed, joined, labeled, list, or_absent, remark_lines};
use crate::limit;
use crate::size;
pub(crate) use crate::size::decided::nodes;

/// Maximum characters of the targets.
const WORDS: usize = 320;

/// Blocks between the head and the judgments.
pub(super) fn blocks(record: &MeasuredRun<'_>, scale: &ScaleRecord) -> Vec<Vec<String>> {
    let grown = report(scale);
    let mut models = aligned(&size::models(&grown.models), 1);
    if grown.models.is_empty() {
        models.clear();
    }
    models.extend(
        grown
            .identifiability
            .iter()
            .flat_map(|of_usl| of_usl.sentences.iter().map(|sentence| labeled("", sentence))),
    );
    vec![
        vec![title(record, scale), question(record, scale)],
        answer_lines(scale, &grown),
        aligned(&growth_table(scale, &grown), 0),
        by_op_lines(scale, &grown),
        aligned(&table(scale), 1),
        models,
    ]
}

fn title(record: &MeasuredRun<'_>, scale: &ScaleRecord) -> String {
    let (targets, traits) = (foreign(&scale.targets.join(" "), WORDS), head::traits(record));
    format!("{} → {targets}   {traits}", record.workload.name)
}

/// The measured figure and the sizes.
pub(crate) fn question(run: &RunRecord, scale: &ScaleRecord) -> String {
    let sizes = list(scale.sizes.iter().map(|s| s.nodes.to_string()), ", ");
    let each = match scale.each {
        ScaleEach::Find => "find the mark",
        ScaleEach::Run => "run",
        ScaleEach::Tune => "find the best configuration",
    };
    let start = match scale.start {
        ClusterStart::Fresh => "a new cluster for each size",
        ClusterStart::Grow => "one cluster, to which nodes are added",
    };
    joined([
        format!("grow {} over {sizes} nodes", scale.stream),
        format!("{each} at each size"),
        judged::objectives(run),
        scale.variant.as_ref().map_or_else(String::new, |variant| {
            let others = variant.all.len().saturating_sub(1);
            format!("variant {}, in turns with {others} more", variant.name)
        }),
        start.to_owned(),
        format!("seed {}", run.plan.seed),
    ])
}

/// The answer, its limit, the prediction of the next size, and remarks on the measurement.
pub(crate) fn answer(scale: &ScaleRecord, grown: &GrowthReport<'_>) -> Vec<Remark> {
    let mut remarks = vec![Remark::new("growth", largest(scale, grown))];
    let of_largest = grown.sizes.last();
    if let Some(limit) = of_largest.and_then(|size| size.trial.figures.limit.as_ref()) {
        let (label, text) = limit::line(limit);
        remarks.push(Remark::new(label, text));
    }
    if let Some(until) = scale.until_per_s {
        remarks.push(Remark::new("requested", requested(scale, until)));
    }
    if let Some((larger, predicted)) = grown.next {
        let unit = scale.unit.name();
        let text = format!(
            "{} would make {} {unit}/s ({})",
            nodes(larger),
            about(predicted.expected),
            interval90(&predicted)
        );
        remarks.push(Remark::new("next size", text));
    }
    let (made, held) = grown.predictions;
    if made > 0 {
        let text = format!(
            "{held} of {made} sizes were within the 90% interval that was predicted before they were measured"
        );
        remarks.push(Remark::new("predictions", text));
    }
    let again = again_line(scale, grown.drift.as_ref());
    remarks.push(Remark::new("first again", again));
    remarks.extend(nodes_alone(scale).map(|text| Remark::new("nodes alone", text)));
    remarks.extend(made_ready(scale).map(|text| Remark::new("made ready", text)));
    remarks
}

/// The spread of nodes that were measured alone, or why they were not.
fn nodes_alone(scale: &ScaleRecord) -> Option<String> {
    let Some(spread) = node_spread(scale) else {
        return nodes_left_out(scale);
    };
    let unequal = if spread.is_unequal() { "UNEQUAL: " } else { "" };
    let inexact = match spread.inexact {
        0 => String::new(),
        left_out => format!("; {left_out} left out, whose rates have no interval"),
    };
    let unit = scale.unit.name();
    let [slowest, fastest] = [spread.slowest.per_s, spread.fastest.per_s].map(rate);
    let [apart, allowed] = [spread.apart, spread.allowed].map(percent);
    Some(format!(
        "{unequal}{slowest} to {fastest} {unit}/s, {apart} apart; equal nodes are by up to {allowed}{inexact}"
    ))
}

/// Why no nodes were measured alone; absent if no cluster is started, or if they are still to be measured.
pub fn nodes_left_out(scale: &ScaleRecord) -> Option<String> {
    let why = match scale.alone.left_out {
        Some(LeftOut::Declined) => "--no-measure-nodes",
        Some(LeftOut::TooMany) => "there are many, which --measure-nodes measures all the same",
        Some(LeftOut::NotSeparate) => {
            "the cluster file does not say that a node starts without the others (`alone = true`)"
        }
        Some(LeftOut::OwnCommands) => "own commands start clusters, and no single node",
        None if scale.alone.nodes == 0 || scale.trials.is_empty() => return None,
        None if scale.alone.trials.is_empty() => "the budget has no room for it",
        None => "fewer than two of them show a rate, and how exact it is",
    };
    Some(format!("not measured: {why}"))
}

/// The time for preparing the sizes, which is in no budget; absent if it is zero.
fn made_ready(scale: &ScaleRecord) -> Option<String> {
    let sum = |of: fn(&ScaleTrial) -> u64| scale.trials.iter().map(of).fold(0, u64::saturating_add);
    let (ready, all) = (sum(|trial| trial.ready_ns), sum(|trial| trial.took_ns));
    let besides = if scale.budget_ns.is_some() { ", beside the budget" } else { "" };
    let [took, of] = [ready, all].map(duration);
    let text =
        format!("{took} of {of} were clusters that start and tables that are filled{besides}");
    (ready > 0).then_some(text)
}

/// The answer as lines.
pub(crate) fn answer_lines(scale: &ScaleRecord, grown: &GrowthReport<'_>) -> Vec<String> {
    remark_lines(&answer(scale, grown))
}

fn largest(scale: &ScaleRecord, grown: &GrowthReport<'_>) -> String {
    let Some(largest) = grown.sizes.last() else {
        return "NONE: no size was measured".to_owned();
    };
    let figures = &largest.trial.figures;
    let verb = match scale.each {
        ScaleEach::Find => "sustain",
        ScaleEach::Run => "acknowledge",
        ScaleEach::Tune => "make",
    };
    let linear = match &grown.sizes[..] {
        [first, _, ..] => format!(
            ", {} of linear from {}",
            percent(largest.compared.of_linear),
            nodes(first.trial.size.nodes)
        ),
        _ => String::new(),
    };
    let unit = scale.unit.name();
    let with =
        interval(scale, largest.trial).map_or_else(String::new, |known| format!(" ({known})"));
    format!(
        "{} {verb} {} {unit}/s{with}{linear}",
        nodes(largest.trial.size.nodes),
        rate(figures.per_s)
    )
}

/// `90% interval 1,004 to 1,020`, the interval of a size's figure.
fn interval(scale: &ScaleRecord, trial: &ScaleTrial) -> Option<String> {
    let [low, high] = trial.figures.interval?;
    let level = match scale.each {
        ScaleEach::Find => "90% interval of the estimate",
        ScaleEach::Run | ScaleEach::Tune => "95% interval",
    };
    Some(format!("{level} {} to {}", rate(low), rate(high)))
}

fn interval90(predicted: &PredictedRate) -> String {
    let (low, high) = (about(predicted.low90), about(predicted.high90));
    format!("90% interval {low} to {high}")
}

fn requested(scale: &ScaleRecord, until: f64) -> String {
    let unit = scale.unit.name();
    let until = rate(until);
    if let Some(trial) = reached(scale) {
        return format!("{until} {unit}/s: reached with {}", nodes(trial.size.nodes));
    }
    let most = counted(scale).max_by(|a, b| a.figures.per_s.total_cmp(&b.figures.per_s));
    let most = most.map_or_else(String::new, |trial| {
        let reached = rate(trial.figures.per_s);
        format!(", at most {reached} with {}", nodes(trial.size.nodes))
    });
    format!("{until} {unit}/s: NOT REACHED{most}")
}

/// Whether the repeat of the first size gave the same figure.
fn again_line(scale: &ScaleRecord, drift: Option<&Drift>) -> String {
    let Some(drift) = drift else {
        return "NOT MEASURED: whether the machine drifted is not known".to_owned();
    };
    let verdict = if drift.is_drifted() {
        "DRIFTED"
    } else if drift.is_unchanged() {
        "unchanged"
    } else {
        "NOT DECIDED"
    };
    format!(
        "{verdict}: {} made {}, then {} {}/s, {}; measurements of one machine differ by up to {}",
        nodes(drift.nodes),
        rate(drift.first),
        rate(drift.again),
        scale.unit.name(),
        percent_signed(drift.change),
        percent(drift.allowed)
    )
}

/// The head and a row for each size that counts, ascending; empty if there is none.
pub(crate) fn growth_table(scale: &ScaleRecord, grown: &GrowthReport<'_>) -> Vec<Row> {
    if grown.sizes.is_empty() {
        return Vec::new();
    }
    let unit = scale.unit.name();
    let price = match scale.price_per_node_hour {
        Some(_) => format!(" | price of 1M {unit}"),
        None => String::new(),
    };
    let head = format!(
        "nodes | increase | {unit}/s | gain | change | of linear | per node | 0.8 rule | off{price}"
    );
    headed(&head, grown.sizes.iter().map(growth_row))
}

fn growth_row(size: &GrowthSize<'_>) -> Row {
    let per_s = size.trial.figures.per_s;
    let compared = size.compared;
    let rule = compared.rule_of_thumb;
    let mut cells = vec![
        size.trial.size.nodes.to_string(),
        or_absent(compared.increase, |part| format!("+{}", percent_whole(part))),
        rate(per_s),
        or_absent(compared.gain, rate_signed),
        or_absent(compared.change, percent_signed),
        percent(compared.of_linear),
        rate(compared.per_node),
        or_absent(rule, rate),
        or_absent(rule.map(|rule| rule / per_s - 1.0), percent_signed),
    ];
    cells.extend(size.price_per_million.map(price));
    Row::new(cells)
}

/// The head and a row for each size that counts, with the throughput per op; empty if the stream has one op.
pub(crate) fn by_op_table(grown: &GrowthReport<'_>) -> Vec<Row> {
    let sizes = grown.sizes.iter().map(|size| size.trial.size.nodes.to_string());
    by_op::rows("nodes", sizes, &grown.by_op)
}

/// Caption of that table.
pub(crate) fn by_op_sentence(scale: &ScaleRecord) -> String {
    by_op::sentence(&format!("{}/s", scale.unit.name()))
}

/// The caption and the table.
fn by_op_lines(scale: &ScaleRecord, grown: &GrowthReport<'_>) -> Vec<String> {
    let rows = by_op_table(grown);
    if rows.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![labeled("each op", &by_op_sentence(scale))];
    lines.extend(aligned(&rows, 0));
    lines
}

/// An amount of money with three digits, even if it is small.
fn price(amount: f64) -> String {
    let small = (2.0 - amount.log10().floor()).clamp(0.0, 9.0);
    let decimals = round_to_usize(small);
    format!("{amount:.decimals$}")
}

/// The head and a row for each measured size, in order; the first column holds words.
pub(crate) fn table(scale: &ScaleRecord) -> Vec<Row> {
    let head = format!(
        "size | nodes | sessions | shards | {}/s | predicted | off | p99 | busiest node | load generator | took",
        scale.unit.name()
    );
    headed(&head, scale.trials.iter().map(row))
}

fn row(trial: &ScaleTrial) -> Row {
    let figures = &trial.figures;
    let measured = Some(figures.per_s).filter(|per_s| *per_s > 0.0);
    let predicted = trial.predicted.map(|predicted| predicted.expected);
    let off = predicted.zip(measured);
    Row::new([
        format!("{:>2} {}", trial.number, trial.purpose.name()),
        trial.size.nodes.to_string(),
        figures.sessions.to_string(),
        or_absent(figures.shards, |shards| shards.to_string()),
        or_absent(measured, rate),
        or_absent(predicted, about),
        or_absent(off, |(predicted, measured)| percent_signed(predicted / measured - 1.0)),
        or_absent(figures.p99_ns, duration),
        or_absent(figures.target_cpu, percent_whole),
        percent_whole(figures.client_cpu),
        duration(trial.took_ns),
    ])
    .remark(remark(trial))
}

/// Settings of the size, its faults, and whether it was predicted.
fn remark(trial: &ScaleTrial) -> String {
    let figures = &trial.figures;
    let settings = trial.size.settings.iter().map(|(name, value)| format!("{name} {value}"));
    let outside = trial
        .predicted
        .filter(|predicted| figures.verdict.counts() && !predicted.holds(figures.per_s))
        .map(|predicted| format!("OUTSIDE the {}", interval90(&predicted)));
    let best = figures.best.iter();
    let best = best.map(|(axis, value)| format!("best {axis} {value}"));
    let not_warm = "NOT WARM: throughput was not steady";
    let words = [list(settings, ", "), list(best, ", "), fault(trial)];
    let others = [
        figures.limit.as_ref().map(limit::named),
        trial.before_quota.as_ref().map(before_quota),
        figures.not_warm.then(|| not_warm.to_owned()),
        outside,
    ];
    joined(words.into_iter().chain(others.into_iter().flatten()))
}

/// `24.4 s of warm-up before quotas`.
fn before_quota(run: &WarmUpRun) -> String {
    let steady = match run.steady {
        Some(false) => ", NOT STEADY by then",
        Some(true) | None => "",
    };
    format!("{} of warm-up before quotas{steady}", duration(run.took_ns))
}

fn fault(trial: &ScaleTrial) -> String {
    let figures = &trial.figures;
    let what = match figures.verdict {
        SizeVerdict::Counts => return String::new(),
        SizeVerdict::Missed => "did not meet its objective",
        SizeVerdict::NotMeasured => "NO FIGURE",
        SizeVerdict::ClientCeiling => "LOAD GENERATOR",
        SizeVerdict::TargetLost => "TARGET LOST",
        SizeVerdict::WrongData => "WRONG DATA",
        SizeVerdict::Interrupted => "interrupted",
    };
    let codes = codes(&figures.reasons);
    format!("{what} {codes}").trim_end().to_owned()
}

/// The result of a size in a few words: `98,300 rows/s · predicted 97,100, -1.2%`.
pub fn scale_trial_line(trial: &ScaleTrial, unit: &str) -> String {
    let per_s = trial.figures.per_s;
    let predicted = trial.predicted.filter(|_| per_s > 0.0).map(|predicted| {
        let off = percent_signed(predicted.expected / per_s - 1.0);
        format!("predicted {}, {off}", about(predicted.expected))
    });
    let reached = format!("{} {unit}/s", rate(per_s));
    joined([reached, predicted.unwrap_or_default(), fault(trial)])
}
