//! Generators of columns, and their list: what each can do. To add one, write it and its line in the list. `attribute`,
//! `timeline`, and `walk` are here, `object` and `reference` in `object`.

mod object;

use std::collections::BTreeMap;

use serde::Serialize;

use highwater_model::numbers::truncate_to_i64;
use highwater_model::op::{ColumnData, ColumnType, Value};
use highwater_model::units::Seed;

use super::plain::{PLAIN, Plain};
use super::{Spec, Specs, read_generator, reads};
use crate::generators::plain::Texts;
use crate::generators::{NUMBERS, TEXT, TIMESTAMP, specs};
use crate::input::{Entry, Section, named};
use crate::parameter::ParameterKind;
use crate::random::{Draws, mix, sum_of_parts, unit_of};
use crate::rows::{
    Attributes, Entity, Layout, Segment, Segments, Ticks, codes, floats, integers, timestamps,
};

pub(crate) use object::{OF_FIELDS, Object, Reference, field_of, read_place, scope_of};

/// Expands the list of generators to the code that reads each of them and generates its values.
macro_rules! generators {
    ($($(#[$tag:meta])* $name:ident,)*) => {
        /// A generator with its options; it is serialized for fingerprints.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub(crate) enum ColumnGenerator {
            Plain(Plain),
            $($(#[$tag])* $name($name),)*
        }

        /// The properties of generators that are only for columns.
        pub(crate) static OF_COLUMNS: Specs = &[$(<$name as Generate>::SPECS),*];

        impl ColumnGenerator {
            reads! { OF_COLUMNS: $($name,)* }

            /// The generator that makes the column's values.
            pub(crate) fn made(&self, column: &MadeFor<'_>) -> Box<dyn Fill> {
                match self {
                    Self::Plain(plain) => Box::new(PlainColumn::new(plain, column)),
                    $(Self::$name(it) => Box::new(it.made(column)),)*
                }
            }
        }
    };
}

generators! {
    Timeline,
    Walk,
    Attribute,
    Reference,
    #[serde(untagged)]
    Object,
}

/// A generator of columns.
pub(crate) trait Generate: Sized {
    const SPECS: &'static [Spec];

    /// Reads its options.
    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self>;

    /// Generates the values of a column.
    fn made(&self, column: &MadeFor<'_>) -> impl Fill + 'static;
}

/// Generates the values of a column, for rows in segments.
///
/// Allocates per value only for text that differs from row to row; refilled data reuse their
/// memory.
pub(crate) trait Fill: std::fmt::Debug + Send + Sync {
    /// Fills `data` with the values of the rows of all segments.
    fn fill(&self, segments: Segments, data: &mut ColumnData);

    /// Values that include the extremes of its range; none if the values follow from the row.
    fn extremes(&self) -> Vec<Value> {
        Vec::new()
    }
}

/// The column for which values are generated.
pub(crate) struct MadeFor<'c> {
    pub(crate) table: &'c str,
    pub(crate) column: &'c str,
    pub(crate) kind: ColumnType,
    pub(crate) entity: Option<&'c Attributes>,
    pub(crate) seed: Seed,
    /// Another column, by the positions of table and column.
    pub(crate) other: &'c dyn Fn(usize, usize) -> Option<(Layout, Box<dyn Fill>)>,
}

impl MadeFor<'_> {
    /// The column's separate random numbers.
    pub(crate) fn draws(&self) -> Draws {
        Draws::new(self.seed, &["column", self.table, self.column])
    }
}

/// A column whose values need only the row's index.
#[derive(Debug)]
struct PlainColumn {
    plain: Plain,
    kind: ColumnType,
    draws: Draws,
    /// The texts, for a column of repeated text.
    texts: Option<Texts>,
}

impl PlainColumn {
    fn new(plain: &Plain, column: &MadeFor<'_>) -> Self {
        let (draws, kind) = (column.draws(), column.kind);
        let is_text = matches!(kind, ColumnType::Text | ColumnType::Object);
        Self {
            plain: plain.clone(),
            kind,
            draws,
            texts: if is_text { plain.texts(&draws) } else { None },
        }
    }
}

impl Fill for PlainColumn {
    fn fill(&self, segments: Segments, data: &mut ColumnData) {
        match &self.texts {
            Some(texts) => self.plain.fill_codes(texts, &self.draws, segments, data),
            None => self.plain.fill(self.kind, &self.draws, segments, data),
        }
    }

    fn extremes(&self) -> Vec<Value> {
        self.plain.extremes(self.kind)
    }
}

named!(TableScope<'_>, ColumnScope);

/// The definitions that precede a column or a parameter.
pub(crate) struct Scope<'s> {
    /// The type of the column or of the parameter itself.
    pub(crate) kind: ColumnType,
    /// Number of values that it represents.
    pub(crate) count: u64,
    /// The entities of the rows of the column's table.
    pub(crate) entity: Option<&'s Entity>,
    pub(crate) entities: &'s [Entity],
    /// For a column, the last one is its own table.
    pub(crate) tables: &'s [TableScope<'s>],
    /// Earlier parameters.
    pub(crate) parameters: &'s [ColumnScope],
}

/// The parts of a table to which others can refer.
pub(crate) struct TableScope<'s> {
    pub(crate) name: &'s str,
    /// The times of its rows, if one of its columns has them.
    pub(crate) ticks: Option<Ticks>,
    pub(crate) columns: Vec<ColumnScope>,
}

/// A column, a field of an object, or a parameter.
pub(crate) struct ColumnScope {
    /// Of a parameter: its value depends on an answer.
    pub(crate) late: bool,
    pub(crate) name: String,
    pub(crate) kind: ColumnType,
    /// Whether it is a reference itself.
    pub(crate) refers: bool,
    pub(crate) fields: Vec<ColumnScope>,
}

/// `attribute`: an attribute of the row's entity.
///
/// Position of one of the entity's attributes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Attribute(usize);

impl Generate for Attribute {
    const SPECS: &'static [Spec] = specs!(
        "attribute", "an attribute of the row's entity", TEXT, ["attribute": Text;];
    );

    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        let entry = of.required("attribute", "\"…\"")?;
        attribute_position(entry, &of.place, scope.entity).map(Self)
    }

    fn made(&self, column: &MadeFor<'_>) -> impl Fill + 'static {
        let coded = column.entity.map(|entity| coded(entity, self.0));
        let (values, of_entity) = coded.unwrap_or_else(|| (Vec::new().into(), Vec::new()));
        Codes { values, of_entity }
    }
}

/// The position of an attribute of the table's entity.
pub(crate) fn attribute_position(
    entry: Entry<'_>,
    place: &str,
    entity: Option<&Entity>,
) -> Option<usize> {
    let Some(entity) = entity else {
        let message = format!("{place} needs the table to have an `entity`");
        return entry.error(message, "add entity = \"…\" to the table");
    };
    entry.position("attribute", &entity.attributes)
}

/// The different values of an attribute, and each entity's position among them.
fn coded(entity: &Attributes, attribute: usize) -> (Texts, Vec<u32>) {
    let values = entity.distinct(attribute);
    let positions: BTreeMap<&str, u32> = values.iter().map(|value| &**value).zip(0..).collect();
    let code = |number| {
        let value = entity.value(attribute, number);
        positions.get(value.as_str()).copied().unwrap_or(0)
    };
    let codes = (0..entity.count()).map(code).collect();
    (values, codes)
}

#[derive(Debug)]
struct Codes {
    values: Texts,
    /// One for each entity.
    of_entity: Vec<u32>,
}

impl Fill for Codes {
    fn fill(&self, segments: Segments, data: &mut ColumnData) {
        codes(data, &self.values, segments, ColumnData::TextDictionary, |segment, codes| {
            let first = usize::try_from(segment.entity).unwrap_or(0);
            let entities = self.of_entity.get(first..first + segment.rows);
            codes.extend_from_slice(entities.unwrap_or_default());
        });
    }
}

/// `timeline`: start + tick × interval, perhaps with jitter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Timeline(pub(crate) Ticks);

impl Generate for Timeline {
    const SPECS: &'static [Spec] = specs!(
        "timeline", "start + tick × interval", TIMESTAMP,
        ["start": Timestamp, "interval": Duration; "jitter": Durations];
    );

    fn read(of: &Section<'_>, _: &Scope<'_>) -> Option<Self> {
        of.good(Self(Ticks {
            start: of.timestamp("start"),
            interval: of.positive("interval", None),
            jitter: read_jitter(of),
        }))
    }

    fn made(&self, column: &MadeFor<'_>) -> impl Fill + 'static {
        Times(self.0, column.draws())
    }
}

/// `jitter = ["-5ms", "14ms"]`: how far a row may be from its tick.
fn read_jitter(of: &Section<'_>) -> Option<(i64, i64)> {
    let entry = of.optional("jitter")?;
    let ends = entry.list()?.into_iter().map(|end| end.number(ParameterKind::Duration));
    match ends.collect::<Option<Vec<i64>>>()?[..] {
        [before, after] if before <= after => Some((before, after)),
        _ => {
            let message = format!("`jitter` of {} is not two durations in order", of.place);
            entry.error(message, "write jitter = [\"-5ms\", \"14ms\"]")
        }
    }
}

#[derive(Debug)]
struct Times(Ticks, Draws);

impl Fill for Times {
    fn fill(&self, segments: Segments, data: &mut ColumnData) {
        let Self(ticks, draws) = self;
        timestamps(data, segments, |segment, values| {
            if ticks.jitter.is_none() {
                values.resize(values.len() + segment.rows, ticks.at(segment.tick));
            } else {
                let rows = segment.row_indexes();
                values.extend(rows.map(|row| ticks.near(segment.tick, draws, row)));
            }
        });
    }
}

/// `walk`: a random walk whose value at any tick costs O(1): no history is kept.
///
/// The original (TSBS) walk is sequential: x₀ is uniform on [0, 100], then x ← clamp(x + N(0, 1),
/// 0, 100) per tick, truncated for output. Row i needs all rows before it. This walk consists of
/// independent parts, each a function of (key, counter):
///
/// - every `epoch` ticks an *anchor*, uniform on [0, 1), independent of all others;
/// - between anchors a and b, at the fraction s of the distance, v = (1 − s)·a + s·b is mapped by
///   the exact distribution function of that sum (see [`Bridge`]), so that the value stays uniform
///   at every s;
/// - noise per tick: the sum of four 16-bit uniform numbers (Irwin–Hall), scaled to `noise`;
/// - the sum is clamped to [min, max] and, for integer columns, rounded down.
///
/// Deviations from the original, tested in `tests/walk.rs`: the value forgets its past after two
/// epochs (512 ticks by default; the original's reflection needs some 2,000 ticks); ticks two apart
/// differ by no more than ticks one apart, except for the bridge; the bounds are reached in about
/// 0.6% of the ticks (the original stays at them for about 1%). Unchanged are the uniform
/// distribution of the value at any time, the range, the step from tick to tick (standard deviation
/// near 1), and the independence of fields and of entities.
///
/// The parameters of a walk.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Walk {
    min: f64,
    /// Above `min`.
    max: f64,
    /// Ticks between anchors, at least 1.
    epoch: u64,
    /// Standard deviation of the noise, at least 0.
    noise: f64,
}

impl Generate for Walk {
    const SPECS: &'static [Spec] = specs!(
        "walk", "up and down between min and max, for each entity", NUMBERS,
        ["min": Float, "max": Float; "epoch": Integer, "noise": Float];
    );

    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        let (min, max) = (of.float("min", None), of.float("max", None));
        let epoch = of.integer("epoch", 2..=1_000_000, Some(256)).unsigned_abs();
        let noise = of.float("noise", Some(0.7));
        // Their difference must be finite, too.
        of.check_order(min < max && (max - min).is_finite());
        let whole = min.fract() == 0.0 && min.abs() <= 2e9 && max.abs() <= 2e9;
        let fits = scope.kind == ColumnType::Float || whole;
        let good = fits && noise >= 0.0 && noise <= max - min;
        let message = format!("the numbers of {} do not make a walk", of.place);
        let hint = "`noise` is from 0 to max − min; integers need a whole `min`, within 2e9";
        of.check(good, message, hint);
        of.good(Self { min, max, epoch, noise })
    }

    fn made(&self, column: &MadeFor<'_>) -> impl Fill + 'static {
        Walks {
            shape: self.clone(),
            is_float: column.kind == ColumnType::Float,
            anchors: column.draws(),
            noise: Draws::new(column.seed, &["column", column.table, column.column, "noise"]),
        }
    }
}

/// A walk for each entity of a table.
#[derive(Debug)]
struct Walks {
    shape: Walk,
    is_float: bool,
    /// Number n·2³² + e is the n-th anchor of entity e.
    anchors: Draws,
    /// Number i is the noise of row i.
    noise: Draws,
}

/// The distribution function of (1 − s)·a + s·b for independent a, b uniform on [0, 1].
///
/// With p = min(s, 1 − s) and q = max(s, 1 − s) its density is a trapezoid: F(v) is v²/(2pq) for v
/// < p, (v − p/2)/q for p ≤ v ≤ 1 − p, and 1 − F(1 − v) above the middle. Both lower pieces are (v²
/// − max(v − p, 0)²)/(2pq), which avoids a branch that a processor would mispredict.
#[derive(Debug, Clone, Copy)]
struct Bridge {
    near: f64,
    far: f64,
    p: f64,
    inverse_2pq: f64,
}

/// Replaces p = 0 at an anchor: far below any 1/epoch, and far above a double's resolution.
const LEAST_P: f64 = 1e-8;

impl Bridge {
    #[expect(clippy::cast_precision_loss, reason = "an epoch has far fewer than 2^53 ticks")]
    fn at(tick_of_epoch: u64, epoch: u64) -> Self {
        let s = tick_of_epoch as f64 / epoch as f64;
        let (p, q) = (s.min(1.0 - s).max(LEAST_P), s.max(1.0 - s));
        Self { near: 1.0 - s, far: s, p, inverse_2pq: 1.0 / (2.0 * p * q) }
    }

    #[inline]
    fn value(&self, near: f64, far: f64) -> f64 {
        let from_middle = self.near * near + self.far * far - 0.5;
        let v = 0.5 - from_middle.abs();
        let beyond = if v > self.p { v - self.p } else { 0.0 };
        let share = (v * v - beyond * beyond) * self.inverse_2pq;
        0.5 + (0.5 - share).copysign(from_middle)
    }
}

impl Fill for Walks {
    fn extremes(&self) -> Vec<Value> {
        let value = |end: f64| {
            if self.is_float { Value::Float(end) } else { Value::Integer(truncate_to_i64(end)) }
        };
        [self.shape.min, self.shape.max].map(value).to_vec()
    }

    fn fill(&self, segments: Segments, data: &mut ColumnData) {
        if self.is_float {
            let min = self.shape.min;
            floats(data, segments, |segment, values| {
                self.append(segment, values, |value| min + value);
            });
        } else {
            let min = truncate_to_i64(self.shape.min);
            integers(data, segments, |segment, values| {
                self.append(segment, values, |value| min + truncate_to_i64(value));
            });
        }
    }
}

impl Walks {
    /// Appends a value for every row of `segment`: `convert` applied to the walk's value minus its
    /// minimum.
    #[inline]
    fn append<T: Copy + Default>(
        &self,
        segment: Segment,
        values: &mut Vec<T>,
        convert: impl Fn(f64) -> T,
    ) {
        let epoch = segment.tick / self.shape.epoch;
        let bridge = Bridge::at(segment.tick % self.shape.epoch, self.shape.epoch);
        let width = self.shape.max - self.shape.min;
        // The sum of four uniform 16-bit numbers has a standard deviation of 65,536 / √3.
        let noise_scale = self.shape.noise * SQRT_3 / 65_536.0;
        let mut near = self.anchors.weyl((epoch << 32) | segment.entity);
        let mut far = self.anchors.weyl((epoch.wrapping_add(1) << 32) | segment.entity);
        let mut noise = self.noise.weyl(segment.row);
        let done = values.len();
        values.resize(done + segment.rows, T::default());
        for value in values.iter_mut().skip(done) {
            let base = bridge.value(unit_of(mix(near)), unit_of(mix(far))) * width;
            let parts = f64::from(sum_of_parts(mix(noise))) - MEAN_OF_PARTS;
            *value = convert((base + parts * noise_scale).clamp(0.0, width));
            near = near.wrapping_add(self.anchors.stride());
            far = far.wrapping_add(self.anchors.stride());
            noise = noise.wrapping_add(self.noise.stride());
        }
    }
}

/// √3 to a double's precision.
const SQRT_3: f64 = 1.732_050_807_568_877_2;

/// The mean of the sum of four 16-bit uniform numbers.
const MEAN_OF_PARTS: f64 = 131_070.0;
