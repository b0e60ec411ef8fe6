//! Predictions of sizes that are not measured yet, and comparisons of sizes: figures of an article, and clusters of
//! known growth.

use highwater_analysis::fixture::growth::{add, grown, growth, of_verdict};
use highwater_model::record::Question;
use highwater_model::scale::SizeVerdict;

use super::*;
use crate::series::{names, of_record};

/// Rows per second that an article published for 1 to 5 nodes.
const ARTICLE: [(u32, f64); 5] =
    [(1, 293_147.0), (2, 493_723.0), (3, 676_781.0), (4, 856_460.0), (5, 1_043_659.0)];

/// The prediction for a size from these.
fn predicted_from(sizes: &[(u32, f64)], nodes: u32) -> Option<PredictedRate> {
    let mut scale = grown(sizes);
    scale.trials.pop();
    predicted(&scale, nodes)
}

#[test]
fn each_size_is_predicted_from_those_before_it() {
    // One size grows as published clusters do, nodes^0.80.
    let second = predicted_from(&ARTICLE[..1], 2).unwrap();
    assert!((second.expected / (293_147.0 * 2_f64.powf(0.8)) - 1.0).abs() < 1e-9);
    assert!(second.holds(ARTICLE[1].1), "{second:?}");
    // From two on the models do; `docs/guide/size.md` has the same figures.
    for (known, nodes, [low, expected, high]) in [
        (2, 3, [516e3, 648e3, 795e3]),
        (3, 4, [716e3, 835e3, 967e3]),
        (4, 5, [895e3, 1.01e6, 1.14e6]),
    ] {
        let found = predicted_from(&ARTICLE[..known], nodes).unwrap();
        let near = |value: f64, of: f64| assert!((value / of - 1.0).abs() < 0.006, "{found:?}");
        near(found.low90, low);
        near(found.expected, expected);
        near(found.high90, high);
        assert!(found.holds(ARTICLE[known].1), "{found:?}");
    }
    // There is no prediction for more than twice the largest size, and none without any size.
    assert!(predicted_from(&ARTICLE[..2], 4).is_some());
    assert_eq!(predicted_from(&ARTICLE[..2], 5), None);
    assert_eq!(predicted_from(&[], 1), None);
}

/// Between two marks it is bounded as the marks are; between two runs the errors are independent.
#[test]
fn a_gain_is_as_uncertain_as_the_two_sizes() {
    let bounds_of = |each, figures: [(f64, [f64; 2]); 2]| {
        let mut scale = grown(&figures.map(|(per_s, _)| (1, per_s)));
        scale.each = each;
        for (at, (trial, (per_s, [low, high]))) in scale.trials.iter_mut().zip(figures).enumerate()
        {
            trial.size.nodes = u32::try_from(at + 1).unwrap();
            trial.figures.per_s = per_s;
            trial.figures.interval = Some([low, high]).filter(|_| each != ScaleEach::Find);
            trial.figures.failed = Some(high).filter(|_| each == ScaleEach::Find);
        }
        let known = report(&scale).sizes.iter().map(|size| size.gain_bounds).collect::<Vec<_>>();
        scale.trials[0].figures.interval = None;
        scale.trials[0].figures.failed = None;
        assert_eq!(report(&scale).sizes[1].gain_bounds, None, "a size without bounds");
        known
    };
    let marks = bounds_of(ScaleEach::Find, [(100.0, [100.0, 110.0]), (190.0, [190.0, 205.0])]);
    assert_eq!(marks, [None, Some([80.0, 105.0])]);
    let runs = bounds_of(ScaleEach::Run, [(100.0, [97.0, 103.0]), (190.0, [186.0, 194.0])]);
    assert_eq!(runs, [None, Some([85.0, 95.0])]);
}

#[test]
fn one_size_with_all_rows_on_each_node_grows_like_such_clusters() {
    let mut scale = grown(&[(1, 1_000.0)]);
    let divided = predicted(&scale, 2).unwrap();
    scale.rows_everywhere = true;
    let everywhere = predicted(&scale, 2).unwrap();
    let expected = 1_000.0 * 2_f64.powf(0.45);
    assert!((everywhere.expected / expected - 1.0).abs() < 1e-9);
    assert!(everywhere.holds(1_000.0) && !divided.holds(1_000.0));
    // A plan made from the record has it, too.
    let mut record = super::fixture::grown();
    let Question::Scale(scale) = &mut record.question else {
        panic!("a growth");
    };
    scale.rows_everywhere = true;
    let points = of_record(&record);
    let mut words = points.iter().map(|point| point.word(names::PLACEMENT));
    assert!(!points.is_empty() && words.all(|word| word == Some("everywhere")));
}

#[test]
fn sizes_with_other_replicas_predict_only_where_there_are_none_with_the_same() {
    // One replica each, which one node cannot hold.
    let mut scale = grown(&[(1, 1_000.0), (2, 1_000.0), (3, 1_500.0)]);
    for trial in &mut scale.trials {
        trial.figures.replicas = Some(1);
    }
    let near =
        |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-9, "{value}");
    let second = predicted(&scale, 2).unwrap();
    near(second.expected, 0.6 * 1_000.0 * 2_f64.powf(0.8));
    // A replica that costs as much as the first copy, and one that costs half of it.
    assert!(second.holds(1_000.0) && second.holds(1_333.0), "{second:?}");
    assert!(!second.holds(2_000.0), "{second:?}");
    let third = predicted(&scale, 3).unwrap();
    near(third.expected, 1_000.0 * 1.5_f64.powf(0.8));
    assert!(third.holds(1_500.0), "{third:?}");
    // The models are of those with replicas: they grow linearly.
    let report = report(&scale);
    let (next, predicted) = report.next.unwrap();
    assert_eq!(next, 4);
    let off = (predicted.expected / 2_000.0 - 1.0).abs();
    assert!(off < 0.05, "{predicted:?}");
    let rules: Vec<_> = report.sizes.iter().map(|size| size.compared.rule_of_thumb).collect();
    assert_eq!(rules, [None, Some(1_080.0), Some(1_400.0)]);
    // Fewer replicas leave more.
    let mut fewer = grown(&[(2, 1_000.0), (3, 1_500.0)]);
    fewer.trials[0].figures.replicas = Some(1);
    fewer.sizes[1].settings.insert("replicas".to_owned(), "0".to_owned());
    let third = super::predicted(&fewer, 3).unwrap();
    near(third.expected, 1_000.0 * 1.5_f64.powf(0.8) / 0.6);
    assert!(third.low90 < third.expected && third.expected < third.high90);
}

/// A growth that is resumed with a size in between.
#[test]
fn a_size_is_not_predicted_from_larger_ones() {
    let from_smaller = predicted_from(&ARTICLE[..2], 3);
    let with_larger = [ARTICLE[0], ARTICLE[1], ARTICLE[3]];
    assert_eq!(predicted_from(&with_larger, 3), from_smaller);
}

#[test]
fn a_size_that_does_not_count_predicts_nothing() {
    let mut scale = growth(&[1, 2, 3]);
    let lost = of_verdict(SizeVerdict::NotMeasured, 0.0, None);
    add(&mut scale, 1, ScalePurpose::First, lost);
    assert_eq!(predicted(&scale, 2), None);
    assert!(report(&scale).sizes.is_empty());
}

#[test]
fn sizes_are_set_beside_each_other_as_in_the_article() {
    let mut scale = grown(&ARTICLE);
    scale.price_per_node_hour = Some(3.6);
    let report = report(&scale);
    let figures = |of: fn(&GrowthSize<'_>) -> Option<f64>| -> Vec<f64> {
        report.sizes.iter().filter_map(of).collect()
    };
    let near = |found: Vec<f64>, expected: &[f64]| {
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 0.000_6, "{found} {expected}");
        }
    };
    near(figures(|size| size.compared.change), &[0.6842, 0.3708, 0.2655, 0.2186]);
    near(figures(|size| Some(size.compared.of_linear)), &[1.0, 0.8421, 0.7696, 0.7304, 0.7120]);
    // The error of the rule, from one size to the next.
    let off = figures(|size| Some(size.compared.rule_of_thumb? / size.trial.figures.per_s - 1.0));
    near(off, &[0.0688, 0.0213, 0.0009, -0.0152]);
    // 3.6 an hour are a thousandth a second.
    let price = figures(|size| size.price_per_million);
    let per_million = |(nodes, per_s): &(u32, f64)| f64::from(*nodes) * 1e-3 / per_s * 1e6;
    let expected: Vec<f64> = ARTICLE.iter().map(per_million).collect();
    near(price, &expected);
    let (next, predicted) = report.next.unwrap();
    assert_eq!(next, 6);
    let expected = predicted.expected;
    assert!((1.05e6..1.35e6).contains(&expected), "{predicted:?}");
    assert_eq!(report.predictions, (0, 0), "none was made before");
    assert!(report.drift.is_some_and(|drift| !drift.is_drifted()));
    assert!(!report.models.is_empty() && report.identifiability.is_some());
}

/// The gain of each query since the first size; the article's totals hide which of them grew less.
#[test]
fn each_query_is_set_beside_its_own_first_size() {
    let record = super::fixture::queried();
    let scale = record.scale().unwrap();
    let found = report(scale).by_op;
    let gains = |op: &str| -> Vec<Option<f64>> {
        found
            .iter()
            .map(|size| size[op].gain)
            .map(|gain| gain.map(|gain| (gain * 1e4).round() / 1e4))
            .collect()
    };
    assert_eq!(gains("q1"), [None, Some(0.8957), Some(2.179), Some(4.6387)]);
    assert_eq!(gains("q2"), [None, Some(0.8704), Some(2.2943), Some(4.7655)]);
    assert_eq!(gains("q3"), [None, Some(0.8576), Some(2.2209), Some(4.5882)]);
    assert_eq!(Some(found[3]["q2"].per_s), Some(17.5259));
    // Points of the record have them as parts, as those of a file do.
    let points = of_record(&record);
    assert!(points.iter().all(|point| point.parts.len() == 3), "{points:?}");
    // One op is the whole; one that made nothing at first has gained nothing that could be stated.
    let one = super::fixture::grown();
    let of_one = report(one.scale().unwrap()).by_op;
    assert!(of_one.iter().all(BTreeMap::is_empty), "{of_one:?}");
    let mut stopped = scale.clone();
    stopped.trials[0].figures.per_s_by_op.insert("q1".to_owned(), 0.0);
    let found = report(&stopped).by_op;
    assert_eq!(found[1]["q1"].gain, None);
}

/// Numbers of a seed (SplitMix64; Steele, Lea & Flood 2014).
struct Dice(u64);

impl Dice {
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }
}

/// Throughput at a size, as a multiple of one node's: the growth of a seed.
fn shape(dice: &mut Dice, seed: u64) -> impl Fn(u32) -> f64 + use<> {
    let contention = dice.between(0.02, 0.3);
    let peak = dice.between(2.0, 12.0);
    let crosstalk = (1.0 - contention) / (peak * peak);
    let exponent = dice.between(0.6, 1.0);
    move |nodes: u32| {
        let n = f64::from(nodes);
        let rule = |before: u32| 1.0 + 0.8 / f64::from(before);
        match seed % 6 {
            0 => n,
            1 => (1..nodes).map(rule).product(),
            2 => n / (1.0 + contention * (n - 1.0)),
            3 => n / (1.0 + contention * (n - 1.0) + crosstalk * n * (n - 1.0)),
            4 => n.powf(exponent),
            _ => n.min(peak),
        }
    }
}

/// Six kinds of growth with a hundred clusters each; marks are as precise as those of a search. The intervals are
/// those calibrated on published series, so they hold more often here than the stated nine of ten; the misses are
/// limits that appear without warning.
#[test]
fn predictions_of_next_sizes_hold_on_clusters_of_known_growth() {
    let sweeps: [&[u32]; 4] = [&[1, 2, 3, 4, 5], &[3, 6, 12, 24], &[2, 3, 4, 6, 8], &[1, 2, 4, 8]];
    let (mut made, mut held) = (0_u32, 0_u32);
    for seed in 0..600 {
        let mut dice = Dice(seed);
        let of = shape(&mut dice, seed);
        let nodes = sweeps[usize::try_from(seed / 6 % 4).unwrap()];
        let mut scale = growth(nodes);
        for (position, nodes) in nodes.iter().enumerate() {
            let per_s = 1_000.0 * of(*nodes) * (1.0 + dice.between(-0.03, 0.01));
            if let Some(predicted) = predicted(&scale, *nodes) {
                made += 1;
                held += u32::from(predicted.holds(per_s));
            }
            let purpose = if position == 0 { ScalePurpose::First } else { ScalePurpose::Grow };
            let figures = of_verdict(SizeVerdict::Counts, per_s, None);
            add(&mut scale, *nodes, purpose, figures);
        }
    }
    let share = f64::from(held) / f64::from(made);
    assert!(share >= 0.85, "{held} of {made}");
}
