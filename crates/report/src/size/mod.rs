//! A size plan for people: the figures, the alternatives, the models, a plot, the inputs, and a summary.
//!
//! Pure text without colors; equal plans give equal bytes. Must not compute.

pub(crate) mod decided;
mod plot;

use super::json::pretty;
use super::layout::{Row, aligned, headed, labeled, list, or_absent};
use highwater_model::display::{self, percent_whole};
use highwater_sizing::cluster::{Alternative, Headroom, Input, ModelPlan, NeedPlan, SizePlan};
use highwater_sizing::scaling::{Curve, Prediction};

#[cfg(test)]
mod tests;

/// Maximum characters of a line of a paragraph.
const PARAGRAPH: usize = 88;

/// The plan as JSON, pretty-printed, with a newline at the end; its schema is [`size_schema`].
pub fn size_json(plan: &SizePlan) -> String {
    pretty(plan)
}

/// JSON Schema (draft 2020-12) of [`size_json`], pretty-printed, with a newline at the end.
pub fn size_schema() -> String {
    pretty(&schemars::schema_for!(SizePlan))
}

/// The whole report.
pub fn size_text(plan: &SizePlan) -> String {
    let alternatives = aligned(&alternative_rows(plan), 0);
    let mut blocks = vec![head(plan), figures(plan), alternatives];
    blocks.extend(plan.needs.iter().map(growth));
    blocks.push(aligned(&inputs(&plan.inputs, "", 80), 4));
    if !plan.notes.is_empty() {
        let notes = plan.notes.iter().flat_map(|note| wrapped(note, "  - ", "    "));
        blocks.push(std::iter::once("notes".to_owned()).chain(notes).collect());
    }
    let summary = wrapped(&plan.summary, "  ", "  ");
    blocks.push([vec!["summary".to_owned()], summary].concat());
    list(blocks.iter().map(|lines| lines.join("\n")), "\n\n") + "\n"
}

fn head(plan: &SizePlan) -> Vec<String> {
    let mut first = decided::needs(plan);
    if plan.assumed {
        first.push_str(" · rests on assumptions, marked below");
    }
    if plan.extrapolated {
        first.push_str(" · EXTRAPOLATED");
    }
    let mut lines = vec![first];
    for need in &plan.needs {
        let (word, detail) = (need.origin.word(), need.origin.detail());
        lines.push(format!("{word} {} · {detail}", need.measured));
        if need.growth != need.origin {
            let growth = &need.growth;
            lines.push(format!("growth {}: {}", growth.word(), growth.detail()));
        }
    }
    lines
}

pub(super) fn figures(plan: &SizePlan) -> Vec<String> {
    let nodes = &plan.nodes;
    let mut lines = vec![labeled(
        "nodes",
        &format!(
            "{}   {} expected (90% interval {} to {}) · enough with a probability of {}",
            nodes.planned,
            nodes.expected,
            nodes.low,
            nodes.most(),
            percent_whole(nodes.probability)
        ),
    )];
    for need in &plan.needs {
        let (unit, of) = (&need.unit, need.capacity);
        let capacity = with_interval([of.expected, of.low, of.high], display::about);
        let capacity = format!("{capacity} {unit} with {} nodes", nodes.planned);
        lines.push(labeled("capacity", &capacity));
    }
    let left = headroom(nodes.headroom_after_loss);
    let lost = match nodes.survive {
        0 => String::new(),
        lost => format!(" · with {lost} lost {left}"),
    };
    let free = headroom(nodes.headroom);
    lines.push(labeled("headroom", &format!("{free}{lost}")));
    if let Some(shards) = &plan.shards {
        let days = shards.partition_days.map_or(String::new(), |days| {
            let length = highwater_sizing::cluster::length(days);
            format!(" a partition · a partition for each {length}, {} kept", shards.partitions)
        });
        let bytes = shards
            .bytes
            .map_or(String::new(), |bytes| format!(" · up to {} each", display_bytes(bytes)));
        let each = display::plain(shards.per_node.ceil());
        let text = format!("{} primaries{days}{bytes} · {each} on each node", shards.primaries);
        lines.push(labeled("shards", &text));
        for rule in &shards.rules {
            lines.push(labeled("", &format!("rule: {rule}")));
        }
    }
    lines.extend(storage(plan));
    lines
}

fn storage(plan: &SizePlan) -> Vec<String> {
    let disk = plan.disk.as_ref().map(|disk| {
        let [each, all, day] =
            [disk.per_node_bytes, disk.stored_bytes, disk.per_day_bytes].map(display_bytes);
        format!("{each} on each node · {all} with all copies · {day} a day come in")
    });
    let network = plan.network.as_ref().map(|of| {
        let bits = |bytes: f64| format!("{} Gbit/s", display::significant(bytes * 8.0 / 1e9));
        let [each, between] = [of.per_node_bytes_per_s, of.between_bytes_per_s].map(bits);
        let [into, out] = [of.in_bytes_per_s, of.out_bytes_per_s].map(bits);
        format!("{each} on each node · {into} in · {out} out · {between} between nodes")
    });
    let price = plan.price_per_month.map(display::rate);
    let price = price.map(|price| format!("{price} a month of 730 hours"));
    [("disk", disk), ("network", network), ("price", price)]
        .into_iter()
        .filter_map(|(label, text)| Some(labeled(label, &text?)))
        .collect()
}

/// The head and a row for each alternative.
pub(super) fn alternative_rows(plan: &SizePlan) -> Vec<Row> {
    let disk = plan.disk.as_ref().map_or("", |_| " | disk a node");
    let price = plan.price_per_month.map_or("", |_| " | a month");
    let free = if plan.nodes.survive > 0 { "after loss" } else { "headroom" };
    let head = format!("nodes | copies | {free} | 90% interval | probability{disk}{price}");
    let row = |alternative: &Alternative| {
        let headroom = alternative.headroom;
        let of = [headroom.expected, headroom.low, headroom.high];
        let [expected, low, high] = of.map(percent_whole);
        let mut cells = vec![
            alternative.nodes.to_string(),
            format!("1 + {}", alternative.replicas),
            expected,
            format!("{low} to {high}"),
            decided::probability(alternative.probability),
        ];
        cells.extend(alternative.disk_per_node_bytes.map(display_bytes));
        cells.extend(alternative.price_per_month.map(display::rate));
        let planned = alternative.planned.then(|| "planned".to_owned());
        let remarks = planned.into_iter().chain(alternative.remark.clone());
        Row::new(cells).remark(list(remarks, ", "))
    };
    headed(&head, plan.alternatives.iter().map(row))
}

fn growth(need: &NeedPlan) -> Vec<String> {
    let mut lines = vec![format!("how {} grow", need.unit)];
    if need.models.is_empty() {
        lines.extend(wrapped(&assumed_growth(need), "", ""));
    } else {
        lines.extend(aligned(&models(&need.models), 1));
    }
    if let Some(identifiability) = &need.identifiability {
        for sentence in &identifiability.sentences {
            lines.extend(wrapped(sentence, "", ""));
        }
    }
    lines.push(String::new());
    lines.extend(plot::plot(need));
    lines
}

/// States that no growth was measured, and which one is assumed.
pub(super) fn assumed_growth(need: &NeedPlan) -> String {
    let growth = need.growth.detail();
    format!("Growth is assumed: {growth}. No model is fitted.")
}

/// The head and a row for each model; the first column holds words.
pub(super) fn models(models: &[ModelPlan]) -> Vec<Row> {
    let head = "model | weight | left out | prediction | 90% interval";
    headed(head, models.iter().map(model))
}

fn model(model: &ModelPlan) -> Row {
    let interval = |prediction: Prediction| {
        let [low, high] = [prediction.low, prediction.high].map(display::about);
        format!("{low} to {high}")
    };
    let cells = [
        model.model.name().to_owned(),
        // A model that is only shown has no weight.
        or_absent(Some(model.weight).filter(|w| *w > 0.0), percent_whole),
        or_absent(model.left_out_error, display::percent),
        or_absent(model.prediction, |p| display::about(p.expected)),
        or_absent(model.prediction, interval),
    ];
    let remark = model.fit.as_ref().map_or(String::new(), |fit| curve(&fit.curve));
    Row::new(cells).remark(remark)
}

/// The formula with its parameters.
fn curve(curve: &Curve) -> String {
    let figure = display::significant;
    match *curve {
        Curve::Linear { per_node } => format!("{}·n", display::about(per_node)),
        Curve::Affine { fixed, per_node } => {
            format!("{} + {}·n", display::about(fixed), display::about(per_node))
        }
        Curve::Amdahl { first, contention } => {
            format!("γ {}, σ {}", display::about(first), figure(contention))
        }
        Curve::Usl { first, contention, crosstalk } => {
            let kappa = if crosstalk > 0.0 { format!("{crosstalk:.2e}") } else { "0".to_owned() };
            let peak = curve.peak().map_or(String::new(), |peak| {
                let at = figure(peak.size);
                format!(", peak {} at {at}", display::about(peak.per_s))
            });
            let (first, contention) = (display::about(first), figure(contention));
            format!("γ {first}, σ {contention}, κ {kappa}{peak}")
        }
        Curve::Power { first, exponent } => {
            format!("{}·n^{}", display::about(first), figure(exponent))
        }
    }
}

/// The head, with `origin` above the sources, and a row for each input; all columns hold words.
pub(super) fn inputs(inputs: &[Input], origin: &str, words: usize) -> Vec<Row> {
    let head = format!("input | value | {origin} | changed by");
    let rows = inputs.iter().map(|input| {
        let cells = [&input.name, &input.value, input.origin.word(), &input.flag];
        Row::new(cells).remark(display::foreign(input.origin.detail(), words))
    });
    headed(&head, rows)
}

fn headroom(of: Headroom) -> String {
    with_interval([of.expected, of.low, of.high], percent_whole)
}

/// `98,300 (90% interval 97,100 to 99,200)`: the median and its interval.
fn with_interval(of: [f64; 3], show: impl Fn(f64) -> String) -> String {
    let [middle, low, high] = of.map(show);
    format!("{middle} (90% interval {low} to {high})")
}

/// `1.20 TB`: decimal units, as disks are sold.
pub(crate) fn display_bytes(bytes: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB")];
    let unit = UNITS.iter().find(|(unit, _)| bytes >= 0.999_5 * unit);
    match unit {
        Some((unit, name)) => format!("{} {name}", display::significant(bytes / unit)),
        None => format!("{} B", display::rate(bytes)),
    }
}

/// A paragraph in lines; never breaks a word.
fn wrapped(text: &str, first: &str, others: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = first.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        let length = line.chars().count() + 1 + word.chars().count();
        if !empty && length > PARAGRAPH {
            lines.push(std::mem::replace(&mut line, others.to_owned()));
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    lines.push(line);
    lines
}
