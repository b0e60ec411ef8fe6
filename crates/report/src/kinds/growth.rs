//! A growth: the rate of the largest size and its fraction of linear growth, the predictions, and every size.
//!
//! Must show only what the record contains.

#[cfg(test)]
mod tests;

use highwater_analysis::growth::{Drift, counted, node_spread, reached};
use highwater_model::display::{
    about, count, duration, foreign, percent, percent_signed, percent_whole, plain, rate,
    rate_signed,
};
use highwater_model::judgment::{Measurement, ReasonCode};
use highwater_model::numbers::{round_to_usize, to_f64};
use highwater_model::plan::{Objective, Pace};
use highwater_model::record::{MeasuredRun, RunRecord};
use highwater_model::scale::{
    ClusterStart, LeftOut, PredictedRate, ScaleEach, ScalePurpose, ScaleRecord, ScaleTrial,
    SizeFigures, SizeVerdict, WarmUpRun,
};
use highwater_sizing::cluster::uneven;
use highwater_sizing::growth::{GrowthReport, GrowthSize, report as growth_of};

use super::search::codes;
use super::{P99, size};
use crate::answer::HistoryAnswer;
use crate::answer::{
    Answer, KeyFigure, interval90 as interval_of, limit_line, nodes, plural, rated, short_target,
    target_name,
};
use crate::blocks::{Block, Report, Section, Table};
use crate::chart::Chart;
use crate::figures::{by_op_caption, by_op_rows};
use crate::judgments::{exceeded, objectives};
use crate::layout::{Remark, Row, headed, joined, latency, list, or_absent};
use crate::{limit, plots};

/// Maximum characters of the targets.
const WORDS: usize = 320;
/// Columns of the table of growth that a terminal shows: nodes, rate, fraction of linear, rate per node, price if
/// there is one.
const BRIEF: [usize; 5] = [0, 1, 5, 6, 9];
/// Maximum number of key figures.
const KEYS_MAX: usize = 6;
/// What the words of the table of growth mean.
const TERMS: &str = "Gain: over the size before. Between marks, it lies between the confirmed rate less the rate that \
                     failed before, and the rate that failed less the confirmed one before. Of linear: throughput divided by that of the first size times as many nodes. The 0.8 rule assumes \
                     that a further node adds 0.8 of what each node before had; off is how far that is from the \
                     measurement.";

/// The throughput of the largest size.
pub(super) fn value(scale: &ScaleRecord) -> Option<HistoryAnswer> {
    let figures = &scale.trials.iter().max_by_key(|trial| trial.size.nodes)?.figures;
    let (value, interval) = (figures.per_s, scale.bounds(figures));
    Some(HistoryAnswer { value, interval, unit: Some(scale.unit) })
}

/// The p99 of the largest size that counts.
pub(super) fn p99(scale: &ScaleRecord) -> Option<P99> {
    let figures = &counted(scale).max_by_key(|trial| trial.size.nodes)?.figures;
    P99::new(figures.p99_ns, figures.p99_at_least)
}

/// The report of a growth.
pub(super) fn report(run: &MeasuredRun<'_>, scale: &ScaleRecord) -> Report {
    let grown = growth_of(scale);
    let mut charts = plots::scale(scale, &grown);
    let hero = charts.drain(..charts.len().min(1)).collect();
    let load = question(run, scale);
    let objectives = &run.plan.definition.objectives;
    let (answer, facts) = (answer(run, scale, &grown), facts(scale, &grown, objectives));
    let largest = Remark::new("growth", answer.in_words());
    let shown = std::iter::once(largest).chain(facts.iter().cloned()).collect();
    let rows = growth_table(scale, &grown);
    let brief = rows.iter().map(|row| Row::new(BRIEF.iter().filter_map(|at| row.cells.get(*at))));
    let brief = Table::new("Growth", brief.collect(), 0);
    Report {
        answer,
        opening: vec![title(run, scale), load.clone()],
        brief: Some(brief),
        article: Some(article(scale, &grown)),
        facts: facts.into_iter().chain([Remark::new("load", load)]).collect(),
        hero: vec![Block::Charts(hero)],
        sections: [growth(scale, &grown, shown, rows, charts), sizes(scale)]
            .into_iter()
            .chain(models(&grown))
            .collect(),
        ..Report::default()
    }
}

fn growth(
    scale: &ScaleRecord,
    grown: &GrowthReport<'_>,
    facts: Vec<Remark>,
    rows: Vec<Row>,
    charts: Vec<Chart>,
) -> Section {
    let linear = grown.sizes.last().map_or_else(String::new, |last| {
        format!(", {} of linear", percent(last.compared.of_linear))
    });
    let by_op = by_op_table(grown);
    let caption = by_op_caption(&format!("{}/s", scale.unit.name()));
    let each_op = (!by_op.is_empty()).then(|| {
        let caption = Some(Remark::new("each op", caption));
        Block::Table(Table { caption, ..Table::new("Each op at each size", by_op, 0) })
    });
    let first = [
        Block::Remarks(facts),
        Block::table("Sizes beside each other", rows, 0),
        Block::Term(TERMS.to_owned()),
    ];
    let blocks = first.into_iter().chain(each_op);
    Section {
        id: "growth",
        title: "Growth",
        lead: format!("{}{linear}", name(scale)),
        blocks: blocks.chain([Block::Charts(charts)]).collect(),
    }
}

/// Every measured size, and its own page.
fn sizes(scale: &ScaleRecord) -> Section {
    let link = |run: &str, name: String| [format!("{run}/report.html"), name];
    let alone = scale.alone.trials.iter();
    let alone =
        alone.map(|trial| link(&trial.run, format!("node {}, alone", trial.node.unwrap_or(0))));
    let each = scale.trials.iter().flat_map(|trial| {
        let name = size_name(trial);
        let before = trial.before_quota.as_ref();
        let before =
            before.map(|before| link(&before.run, format!("{name}, warm-up before quotas")));
        std::iter::once(link(&trial.run, name)).chain(before)
    });
    Section {
        id: "sizes",
        title: "Measured sizes",
        lead: plural(scale.trials.len(), "measurement"),
        blocks: vec![
            Block::Table(table(scale)),
            Block::Term("Each size has a record and a page of its own:".to_owned()),
            Block::Links(alone.chain(each).collect()),
        ],
    }
}

/// Absent if no model was fitted.
fn models(grown: &GrowthReport<'_>) -> Option<Section> {
    let sentences = grown.identifiability.iter().flat_map(|of| &of.sentences).cloned();
    let table = Block::table("Scaling models", size::models(&grown.models), 1);
    let names = grown.models.iter().map(|model| model.model.name());
    (!grown.models.is_empty()).then(|| Section {
        id: "models",
        title: "Scaling models",
        lead: list(names, ", "),
        blocks: std::iter::once(table).chain(sentences.map(Block::Paragraph)).collect(),
    })
}

fn answer(run: &MeasuredRun<'_>, scale: &ScaleRecord, grown: &GrowthReport<'_>) -> Answer {
    let unit = format!("{}/s", scale.unit.name());
    let question = format!("How do {unit} of {} grow with its nodes?", target_name(run));
    let Some(largest) = grown.sizes.last() else {
        return Answer::nothing(question, "no size counts");
    };
    let figures = &largest.trial.figures;
    let first = grown.sizes.first().filter(|_| grown.sizes.len() > 1);
    let basis = first.map_or_else(String::new, |first| {
        format!(
            "{} of linear from {}",
            percent(largest.compared.of_linear),
            nodes(first.trial.size.nodes)
        )
    });
    let is_bound = sustains_its_plan(run, scale, figures);
    let bound = is_bound.then_some("the offered rate, not the maximum (--each find)");
    let basis = list(bound.map(str::to_owned).into_iter().chain(Some(basis)), "; ");
    Answer {
        question,
        lead: if is_bound { "at least".to_owned() } else { String::new() },
        figure: rate(figures.per_s),
        unit: unit.clone(),
        condition: format!("with {}", nodes(largest.trial.size.nodes)),
        interval: known(scale, figures, &unit),
        basis,
        limit: figures.limit.as_ref().map(limit_line),
        keys: keys(scale, grown, &unit),
        ..Answer::default()
    }
}

/// A size that acknowledges less than this fraction of the offered rate is at its maximum.
const SUSTAINED: f64 = 0.95;

/// Whether the throughput of a size is the rate that was offered to it, so that it may sustain more.
fn sustains_its_plan(run: &MeasuredRun<'_>, scale: &ScaleRecord, figures: &SizeFigures) -> bool {
    let mut streams = run.run.plan.definition.streams.iter();
    let paces = streams.find(|stream| stream.name == scale.stream).map(|stream| &stream.paces[..]);
    match (scale.each, paces) {
        (ScaleEach::Run, Some([Pace::Open { rate }])) => figures.per_s >= SUSTAINED * rate.as_f64(),
        _ => false,
    }
}

/// The uncertainty of a size's figure. A confirmed value is shown with the value that failed, never with the interval
/// of the estimate.
fn known(scale: &ScaleRecord, figures: &SizeFigures, unit: &str) -> String {
    match (scale.each, scale.bounds(figures)) {
        (ScaleEach::Find, Some([_, failed])) => {
            format!("confirmed, first failed at {} {unit}", rate(failed))
        }
        (ScaleEach::Find, None) => "confirmed".to_owned(),
        (_, Some(bounds)) => format!("95% CI {} {unit}", between(bounds)),
        (_, None) => "interval not known".to_owned(),
    }
}

fn keys(scale: &ScaleRecord, grown: &GrowthReport<'_>, unit: &str) -> Vec<KeyFigure> {
    let mut keys = Vec::new();
    if let [first, .., last] = &grown.sizes[..] {
        let [least, most] = [first, last].map(|size| nodes(size.trial.size.nodes));
        let (of_first, of_last) = (first.compared, last.compared);
        let reached = rated(first.trial.figures.per_s, unit);
        let linear = percent(of_last.of_linear);
        let with_first = format!("{} with {least}", rate(of_first.per_node));
        keys.push(KeyFigure::new("first size", reached, least));
        keys.push(KeyFigure::new("of linear", linear, format!("at {most}")));
        keys.extend(of_last.gain.map(|gain| {
            let sign = if gain < 0.0 { "" } else { "+" };
            let change = of_last.change.map(percent_signed);
            let known = last.gain_bounds.map(between);
            let note = list(change.into_iter().chain(known), ", ");
            KeyFigure::new("last step", sign.to_owned() + &rated(gain, unit), note)
        }));
        let each = rated(of_last.per_node, unit);
        keys.push(KeyFigure::new("per node", each, with_first));
        keys.extend(last.price_per_million.map(|of| {
            let (name, at) = (price_name(scale), format!("at {most}"));
            KeyFigure::new(name, price(of), at)
        }));
    }
    keys.extend(grown.next.map(|(larger, predicted)| {
        KeyFigure::new(
            format!("{} predicted", nodes(larger)),
            format!("{} {unit}", about(predicted.expected)),
            interval_of(predicted.low90, predicted.high90, about),
        )
    }));
    let (made, held) = grown.predictions;
    if made > 0 && keys.len() < KEYS_MAX {
        let of = format!("{held} of {made}");
        keys.push(KeyFigure::new("predictions", of, "held their 90% interval"));
    }
    keys
}

/// The workload, the target, its sizes, and the settings of the target that do not depend on its size.
fn title(record: &MeasuredRun<'_>, scale: &ScaleRecord) -> String {
    let targets = foreign(&scale.targets.join(" "), WORDS);
    let target = &record.target;
    let is_setting = |of: &&String| of.contains('=');
    let settings = target.traits.iter().filter(is_setting).map(|of| foreign(of, WORDS));
    let traits = [foreign(&target.version, WORDS), sizes_in_words(scale)];
    format!("{} → {targets}   {}", record.workload.name, joined(traits.into_iter().chain(settings)))
}

/// The URLs of all sizes, as given, the database, and the sizes: the target of a run would be that of the last size.
pub(crate) fn of_targets(run: &MeasuredRun<'_>, scale: &ScaleRecord) -> String {
    let targets = foreign(&scale.targets.join(" "), WORDS);
    joined([targets, short_target(&run.target.version), sizes_in_words(scale)])
}

/// `1 to 5 nodes`.
pub(crate) fn sizes_in_words(scale: &ScaleRecord) -> String {
    match scale.sizes.as_slice() {
        [] => String::new(),
        [only] => nodes(only.nodes),
        [first, .., last] => format!("{} to {}", first.nodes, nodes(last.nodes)),
    }
}

/// `of insert over 1, 2, 3 nodes`: which growth it is.
pub(crate) fn name(scale: &ScaleRecord) -> String {
    let sizes = list(scale.sizes.iter().map(|size| size.nodes.to_string()), ", ");
    format!("of {} over {sizes} nodes", scale.stream)
}

/// The measured figure and the sizes.
fn question(run: &RunRecord, scale: &ScaleRecord) -> String {
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
        format!("growth {}", name(scale)),
        format!("{each} at each size"),
        objectives(run),
        scale.variant.as_ref().map_or_else(String::new, |variant| {
            let others = variant.all.len().saturating_sub(1);
            format!("variant {}, in turns with {others} more", variant.name)
        }),
        start.to_owned(),
        batches(run, scale),
        format!("seed {}", run.plan.seed),
    ])
}

/// `batches of 1,000 rows`; empty if an op of the measured stream counts as one.
fn batches(run: &RunRecord, scale: &ScaleRecord) -> String {
    let streams = &run.plan.definition.streams;
    let stream = streams.iter().find(|stream| stream.name == scale.stream);
    match stream.map(|stream| stream.units_per_op) {
        Some(rows) if rows > 1 => format!("batches of {} rows", count(rows)),
        _ => String::new(),
    }
}

/// Additional lines: its limit, the prediction of the next size, and remarks on the measurement.
fn facts(scale: &ScaleRecord, grown: &GrowthReport<'_>, objectives: &[Objective]) -> Vec<Remark> {
    let limit = grown.sizes.last().and_then(|size| size.trial.figures.limit.as_ref());
    let mut remarks: Vec<Remark> = limit.map(limit::remark).into_iter().collect();
    if let Some(until) = scale.until_per_s {
        remarks.push(Remark::new("requested", requested(scale, until)));
    }
    remarks.extend(ended_by(objectives, grown).map(|text| Remark::new("ended by", text)));
    remarks.extend(uneven_shards(grown).map(|text| Remark::new("shards", text)));
    if let Some((larger, predicted)) = grown.next {
        let unit = scale.unit.name();
        let text = format!(
            "{} would reach about {} {unit}/s ({})",
            nodes(larger),
            about(predicted.expected),
            interval90(&predicted)
        );
        remarks.push(Remark::new("next size", text));
    }
    let (made, held) = grown.predictions;
    if made > 0 {
        let text = format!(
            "{held} of {made} sizes fell within the 90% interval predicted before they were measured"
        );
        remarks.push(Remark::new("predictions", text));
    }
    let again = again_line(scale, grown.drift.as_ref());
    remarks.push(Remark::new("repeat", again));
    remarks.extend(nodes_alone(scale).map(|text| Remark::new("nodes alone", text)));
    remarks.extend(made_ready(scale).map(|text| Remark::new("setup", text)));
    remarks
}

/// The sizes at which the copies of the shards could not be spread evenly, and what that leaves of linear growth.
fn uneven_shards(grown: &GrowthReport<'_>) -> Option<String> {
    let lost = grown.sizes.iter().filter_map(|size| {
        let figures = &size.trial.figures;
        let copies = figures.shards? * (figures.replicas.unwrap_or(0) + 1);
        let (most, part) = uneven(to_f64(copies), size.trial.size.nodes)?;
        let at = nodes(size.trial.size.nodes);
        Some(format!(
            "{copies} copies on {at}: {} on the busiest, so about {} of linear",
            plain(most),
            percent_whole(part)
        ))
    });
    let lost: Vec<String> = lost.collect();
    (!lost.is_empty()).then(|| format!("UNEVEN: {}", lost.join("; ")))
}

/// `rejected > 0% at 5 of 5 sizes`: the objective that the first failed rate of the searches missed; absent
/// if none failed.
fn ended_by(objectives: &[Objective], grown: &GrowthReport<'_>) -> Option<String> {
    let failed: Vec<&[ReasonCode]> = grown
        .sizes
        .iter()
        .map(|size| size.trial.figures.failed_by.as_slice())
        .filter(|codes| !codes.is_empty())
        .collect();
    let mut codes: Vec<ReasonCode> = Vec::new();
    for code in failed.iter().copied().flatten() {
        if !codes.contains(code) {
            codes.push(*code);
        }
    }
    let times = |code: &ReasonCode| failed.iter().filter(|of| of.contains(code)).count();
    codes.sort_by_key(|code| std::cmp::Reverse(times(code)));
    let words = codes.iter().map(|code| {
        let (times, sizes) = (times(code), plural(grown.sizes.len(), "size"));
        format!("{} at {times} of {sizes}", exceeded(*code, objectives))
    });
    Some(list(words, ", ")).filter(|words| !words.is_empty())
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
        "{unequal}{slowest} to {fastest} {unit}/s, {apart} apart; equal nodes differ by up to {allowed}{inexact}"
    ))
}

/// Why no nodes were measured alone; absent if no cluster is started, or if they are still to be measured.
pub fn nodes_left_out(scale: &ScaleRecord) -> Option<String> {
    let why = match scale.alone.left_out {
        Some(LeftOut::Declined) => "--no-measure-nodes",
        Some(LeftOut::TooMany) => "there are many; --measure-nodes measures each of them",
        Some(LeftOut::NotSeparate) => {
            "the cluster file does not say that a node starts without the others (`alone = true`)"
        }
        Some(LeftOut::OwnCommands) => "the file's commands start whole clusters, not single nodes",
        None if scale.alone.nodes == 0 || scale.trials.is_empty() => return None,
        None if scale.alone.trials.is_empty() => "the budget has no room for it",
        None => "fewer than two nodes have a rate with an interval",
    };
    Some(format!("not measured: {why}"))
}

/// The time for preparing the sizes, which is in no budget; absent if it is zero.
fn made_ready(scale: &ScaleRecord) -> Option<String> {
    let sum = |of: fn(&ScaleTrial) -> u64| scale.trials.iter().map(of).fold(0, u64::saturating_add);
    let (ready, all) = (sum(|trial| trial.ready_ns), sum(|trial| trial.took_ns));
    let besides = if scale.budget_ns.is_some() { ", not counted in the budget" } else { "" };
    let [took, of] = [ready, all].map(duration);
    let text = format!("{took} of {of} went into starting clusters and filling tables{besides}");
    (ready > 0).then_some(text)
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
        return "NOT MADE: whether the machine drifted is not known".to_owned();
    };
    let verdict = if drift.is_drifted() {
        "DRIFTED"
    } else if drift.is_unchanged() {
        "unchanged"
    } else {
        "NOT DECIDED"
    };
    format!(
        "{verdict}: {} reached {} at first and {} {}/s at the end, {}; repeats on one machine differ by up to {}",
        nodes(drift.nodes),
        rate(drift.first),
        rate(drift.again),
        scale.unit.name(),
        percent_signed(drift.change),
        percent(drift.allowed)
    )
}

/// The head and a row for each size that counts, ascending; empty if there is none.
fn growth_table(scale: &ScaleRecord, grown: &GrowthReport<'_>) -> Vec<Row> {
    if grown.sizes.is_empty() {
        return Vec::new();
    }
    let unit = scale.unit.name();
    let price = scale.price_per_node_hour.map_or("", |_| " | price of 1M");
    let head = format!(
        "nodes | {unit}/s | gain | {} | change | of linear | per node | 0.8 rule | off{price}",
        of_gain(scale)
    );
    headed(&head, grown.sizes.iter().map(growth_row))
}

/// The kind of a gain's bounds.
const fn of_gain(scale: &ScaleRecord) -> &'static str {
    match scale.each {
        ScaleEach::Find => "gain between",
        ScaleEach::Run | ScaleEach::Tune => "gain 95% CI",
    }
}

/// `166,000 to 207,000`.
fn between([low, high]: [f64; 2]) -> String {
    format!("{} to {}", rate(low), rate(high))
}

fn growth_row(size: &GrowthSize<'_>) -> Row {
    let per_s = size.trial.figures.per_s;
    let compared = size.compared;
    let rule = compared.rule_of_thumb;
    let mut cells = vec![
        size.trial.size.nodes.to_string(),
        rate(per_s),
        or_absent(compared.gain, rate_signed),
        or_absent(size.gain_bounds, between),
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
fn by_op_table(grown: &GrowthReport<'_>) -> Vec<Row> {
    let sizes = grown.sizes.iter().map(|size| size.trial.size.nodes.to_string());
    by_op_rows("nodes", sizes, &grown.by_op)
}

fn price_name(scale: &ScaleRecord) -> String {
    format!("price of 1M {}", scale.unit.name())
}

/// An amount of money with three digits, even if it is small.
pub(crate) fn price(amount: f64) -> String {
    let small = (2.0 - amount.log10().floor()).clamp(0.0, 9.0);
    let decimals = round_to_usize(small);
    format!("{amount:.decimals$}")
}

/// Each measured size, in order; further facts are below the table. Fits 120 columns.
fn table(scale: &ScaleRecord) -> Table {
    let unit = scale.unit.name();
    let head = format!("size | sessions | {unit}/s | predicted | p99 | node CPU | client");
    let rows = headed(&head, scale.trials.iter().map(row));
    let notes = scale.trials.iter();
    let notes = notes.map(|trial| Remark::new(size_name(trial), more(trial)));
    Table { notes: notes.collect(), ..Table::new("Measured sizes", rows, 1) }
}

/// `3 nodes`, `1 node again`.
pub(crate) fn size_name(trial: &ScaleTrial) -> String {
    let again = if trial.purpose == ScalePurpose::Again { " again" } else { "" };
    format!("{}{again}", nodes(trial.size.nodes))
}

fn row(trial: &ScaleTrial) -> Row {
    let figures = &trial.figures;
    Row::new([
        size_name(trial),
        figures.sessions.to_string(),
        or_absent(measured(trial), rate),
        or_absent(trial.predicted, |predicted| about(predicted.expected)),
        or_absent(figures.p99_ns, |ns| latency(ns, figures.p99_at_least)),
        or_absent(figures.target_cpu, percent_whole),
        percent_whole(figures.client_cpu),
    ])
    .remark(figures.limit.as_ref().map_or_else(String::new, limit::short))
}

fn measured(trial: &ScaleTrial) -> Option<f64> {
    Some(trial.figures.per_s).filter(|per_s| *per_s > 0.0)
}

/// `1.22% too low`: a prediction as a multiple of what was measured.
fn off(ratio: f64) -> String {
    let side = if ratio < 1.0 { "low" } else { "high" };
    format!("{} too {side}", percent((ratio - 1.0).abs()))
}

/// Settings of the size, its faults, whether it was predicted, and its time.
fn more(trial: &ScaleTrial) -> String {
    let figures = &trial.figures;
    let settings = trial.size.settings.iter().map(|(name, value)| format!("{name} {value}"));
    let best = figures.best.iter();
    let best = best.map(|(axis, value)| format!("best {axis} {value}"));
    let is_set = trial.size.settings.iter().any(|(name, _)| name == "shards");
    let shards = figures.shards.filter(|_| !is_set).map(|shards| format!("shards {shards}"));
    let not_warm = "NOT WARM: throughput was not steady";
    let predicted = trial.predicted.filter(|_| figures.verdict.counts());
    let off = predicted.zip(measured(trial)).map(|(predicted, measured)| {
        let off = format!("predicted {}", off(predicted.expected / measured));
        if predicted.holds(figures.per_s) {
            return off;
        }
        format!("{off}, OUTSIDE the {}", interval90(&predicted))
    });
    let words = [list(settings, ", "), list(best, ", "), fault(trial)];
    let judged = figures.judgments.as_ref().map(|judged| judged.measurement.value);
    let is_open = !figures.best.is_empty() && judged == Some(Measurement::Inconclusive);
    let others = [
        is_open.then(|| "not distinguished from the runner-up".to_owned()),
        shards,
        trial.before_quota.as_ref().map(before_quota),
        figures.not_warm.then(|| not_warm.to_owned()),
        off,
        Some(format!("took {}", duration(trial.took_ns))),
    ];
    joined(words.into_iter().chain(others.into_iter().flatten()))
}

/// The growth in the form of published benchmarks: throughput of each size with its uncertainty, the values of linear
/// growth and of the prediction made before, and its limit.
fn article(scale: &ScaleRecord, grown: &GrowthReport<'_>) -> Table {
    let unit = scale.unit.name();
    let level = match scale.each {
        ScaleEach::Find => "first failed | ",
        ScaleEach::Run => "95% CI | ",
        ScaleEach::Tune => "",
    };
    let price_of = scale.price_per_node_hour.map(|_| format!(" | {}", price_name(scale)));
    let head = format!(
        "nodes | {unit}/s | {level}linear | predicted{} | limit",
        price_of.unwrap_or_default()
    );
    let rows = grown.sizes.iter().map(|size| {
        let figures = &size.trial.figures;
        let bounds = scale.bounds(figures);
        let known = match scale.each {
            ScaleEach::Find => Some(or_absent(bounds, |[_, failed]| rate(failed))),
            ScaleEach::Run => Some(or_absent(bounds, between)),
            ScaleEach::Tune => None,
        };
        let mut cells = vec![size.trial.size.nodes.to_string(), rate(figures.per_s)];
        cells.extend(known);
        cells.push(rate(figures.per_s / size.compared.of_linear));
        cells.push(or_absent(size.trial.predicted, |of| about(of.expected)));
        cells.extend(size.price_per_million.map(price));
        cells.push(or_absent(figures.limit.as_ref(), limit::short));
        Row::new(cells)
    });
    Table::new("Growth", headed(&head, rows), 0)
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
    if codes == what {
        return codes;
    }
    format!("{what} {codes}").trim_end().to_owned()
}

/// The result of a size in a few words: `98,300 rows/s · predicted 97,100, 1.22% too low`.
pub fn scale_trial_line(trial: &ScaleTrial, unit: &str) -> String {
    let per_s = trial.figures.per_s;
    let predicted = trial.predicted.filter(|_| per_s > 0.0).map(|predicted| {
        format!("predicted {}, {}", about(predicted.expected), off(predicted.expected / per_s))
    });
    let reached = measured(trial).map(|per_s| format!("{} {unit}/s", rate(per_s)));
    joined([reached.unwrap_or_default(), predicted.unwrap_or_default(), fault(trial)])
}
