//! A latency histogram that also counts ops that never ended.
//!
//! It wraps an HdrHistogram (Gil Tene; 2 or 3 significant digits) and adds a count of ops *beyond* it: failed, dropped,
//! unsent, or timed out, with latency +∞. They count in every rank, so a percentile among them is reported as a lower
//! bound.
//!
//! Must not average percentiles, or report one without enough samples.

#[cfg(test)]
mod tests;

use std::io::Read;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::numbers::{ceil_to_u64, to_f64};
use super::units::Nanos;

/// The greatest finite latency: 24 hours.
const LONGEST: Nanos = Nanos::from_secs(24 * 3_600);

static EMPTY_FINE: LazyLock<Histogram<u64>> = LazyLock::new(|| allocate(FINE_DIGITS, 2));
static EMPTY_COARSE: LazyLock<Histogram<u64>> = LazyLock::new(|| allocate(COARSE_DIGITS, 2));

/// Latencies in nanoseconds, from 0 to 24 hours, and the number of ops beyond.
///
/// Memory is allocated with the first finite latency: 17 kB (coarse) to 300 kB (fine).
#[derive(Debug, Clone)]
pub struct LatencyHistogram {
    /// Significant decimal digits, 2 or 3.
    digits: u8,
    /// Absent until the first finite latency.
    finite: Option<Histogram<u64>>,
    /// The exact greatest finite latency.
    greatest: Nanos,
    /// The time that each op at +∞ was waited for, 0 if unknown; absent until the first.
    waits: Option<Histogram<u64>>,
}

/// The latency at a quantile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Percentile {
    /// Nanoseconds, rounded up to the histogram's resolution.
    pub ns: u64,
    /// The true percentile is this or more, because its rank falls among ops at +∞: the longest finite latency, or the
    /// time that the op of this rank among them was waited for, whichever is longer.
    pub at_least: bool,
}

/// Summary of a histogram; all latencies in nanoseconds.
///
/// A percentile is absent if there are too few samples for it: p50 and p90 from 10, p95 from 20, p99 from 100, p99.9
/// from 1,000, and p99.99 from 10,000 ops, including those at +∞.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LatencySummary {
    /// Number of ops, including those beyond.
    pub count: u64,
    /// Number of ops with a latency of +∞: failed, dropped, unsent, or timed out.
    pub beyond: u64,
    /// Minimum time that each of those was waited for; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<u64>,
    /// The time that each of those was waited for, 0 if unknown, encoded like the histograms of a result; absent if none
    /// is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
    /// Mean; absent when `beyond` is not 0, as it would be infinite.
    pub mean: Option<u64>,
    /// Median.
    pub p50: Option<u64>,
    /// 90th percentile.
    pub p90: Option<u64>,
    /// 95th percentile.
    pub p95: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// 99.9th percentile.
    pub p999: Option<u64>,
    /// 99.99th percentile.
    pub p9999: Option<u64>,
    /// Maximum latency.
    pub max: Option<u64>,
    /// Names of the values above that are lower bounds (`≥`), such as `p99` and `max`.
    pub at_least: Vec<String>,
}

impl LatencyHistogram {
    /// Empty, with 3 significant digits: for one op in one phase.
    pub const fn fine() -> Self {
        Self::with_digits(FINE_DIGITS)
    }

    /// Empty, with 2 significant digits: for one op in one interval.
    pub const fn coarse() -> Self {
        Self::with_digits(COARSE_DIGITS)
    }

    const fn with_digits(digits: u8) -> Self {
        Self { digits, finite: None, greatest: Nanos::ZERO, waits: None }
    }

    /// Counts one op with this latency. More than 24 hours counts as +∞.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        self.record_n(latency, 1);
    }

    /// Counts `n` ops with this latency. More than 24 hours counts as +∞.
    #[inline]
    pub fn record_n(&mut self, latency: Nanos, n: u64) {
        if n == 0 {
            return;
        }
        if latency > LONGEST {
            self.record_beyond(n, latency);
            return;
        }
        self.greatest = self.greatest.max(latency);
        let digits = self.digits;
        let finite = self.finite.get_or_insert_with(|| allocate(digits, latency.0));
        // A resizable histogram takes any value; if it did not, counting as +∞ would make the error visible.
        if finite.record_n(latency.0, n).is_err() {
            self.record_beyond(n, latency);
        }
    }

    /// Counts `n` ops with latency +∞: failed, dropped, unsent, or timed out. Each was waited for at least `waited`;
    /// zero if unknown.
    #[inline]
    pub fn record_beyond(&mut self, n: u64, waited: Nanos) {
        if n > 0 {
            let waited = waited.min(LONGEST).0;
            let waits = self.waits.get_or_insert_with(|| allocate(COARSE_DIGITS, waited));
            // It resizes itself, as that of the finite latencies does; saturation would keep its first size.
            if waits.record_n(waited, n).is_err() {
                waits.saturating_record_n(0, n);
            }
        }
    }

    /// Counts the ops at +∞ of another histogram, each of them `times` times.
    pub fn add_beyond(&mut self, other: &Self, times: u64) {
        for (waited, n) in other.waits.iter().flat_map(lower_bins) {
            self.record_beyond(n.saturating_mul(times), Nanos(waited));
        }
    }

    /// Adds all counts of another histogram; its resolution may differ.
    pub fn merge(&mut self, other: &Self) {
        self.add_beyond(other, 1);
        self.greatest = self.greatest.max(other.greatest);
        let Some(theirs) = other.finite.as_ref().filter(|theirs| !theirs.is_empty()) else {
            return;
        };
        let digits = self.digits;
        let ours = self.finite.get_or_insert_with(|| allocate(digits, theirs.max()));
        if ours.add(theirs).is_err() {
            self.record_beyond(theirs.len(), Nanos::ZERO);
        }
    }

    /// The greatest finite latency.
    pub fn greatest(&self) -> Nanos {
        self.greatest
    }

    /// The same counts with a more exact greatest finite latency.
    #[must_use]
    pub fn with_greatest(mut self, greatest: Nanos) -> Self {
        self.greatest = self.greatest.min(greatest);
        self
    }

    /// Number of ops, including those at +∞.
    pub fn count(&self) -> u64 {
        self.finite_count().saturating_add(self.beyond())
    }

    /// Number of ops at +∞.
    pub fn beyond(&self) -> u64 {
        self.waits.as_ref().map_or(0, Histogram::len)
    }

    /// Minimum time that each op at +∞ was waited for.
    pub fn waited(&self) -> Nanos {
        Nanos(self.waits.iter().flat_map(lower_bins).map(|(waited, _)| waited).next().unwrap_or(0))
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Clears all counts and keeps the memory.
    pub fn clear(&mut self) {
        self.greatest = Nanos::ZERO;
        for counts in [&mut self.finite, &mut self.waits].into_iter().flatten() {
            counts.reset();
        }
    }

    /// The latency that the fraction `quantile` in [0, 1] of the ops does not exceed.
    ///
    /// It is the latency of rank ⌈quantile × count⌉. `None` without enough samples: fewer than 10, or than 1 / (1 −
    /// quantile); the maximum (1.0) needs only one.
    pub fn percentile(&self, quantile: f64) -> Option<Percentile> {
        self.percentiles(&[quantile]).into_iter().next().flatten()
    }

    /// The number of ops that took at most each of these bounds in nanoseconds, at the histogram's resolution, followed
    /// by the count of all ops.
    pub fn up_to(&self, bounds_ns: &[u64]) -> Vec<u64> {
        let within = bounds_ns.iter().map(|bound| self.inner().count_between(0, *bound));
        within.chain([self.count()]).collect()
    }

    /// Sum of all finite latencies, in nanoseconds, at the histogram's resolution.
    pub fn sum_ns(&self) -> u64 {
        let values = self.inner().iter_recorded();
        values.fold(0, |sum, value| {
            let of_value = value.value_iterated_to().saturating_mul(value.count_at_value());
            sum.saturating_add(of_value)
        })
    }

    /// The figures for a report.
    pub fn summary(&self) -> LatencySummary {
        const NAMES: [&str; 7] = ["p50", "p90", "p95", "p99", "p999", "p9999", "max"];
        let found = self.percentiles(&[0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1.0]);
        let at_least = NAMES
            .iter()
            .zip(&found)
            .filter(|(_, percentile)| percentile.is_some_and(|p| p.at_least))
            .map(|(name, _)| (*name).to_owned())
            .collect();
        let mut values = found.into_iter().map(|percentile| percentile.map(|p| p.ns));
        let mut next = || values.next().flatten();
        LatencySummary {
            count: self.count(),
            beyond: self.beyond(),
            waited: Some(self.waited().0).filter(|waited| *waited > 0),
            waits: self.encode_waits(),
            mean: self.mean(),
            p50: next(),
            p90: next(),
            p95: next(),
            p99: next(),
            p999: next(),
            p9999: next(),
            max: next(),
            at_least,
        }
    }

    /// Base64 of the compressed HdrHistogram payload, version 2, readable by other HdrHistogram tools. It does not
    /// contain the ops at +∞.
    ///
    /// Empty, and not decodable, if a count exceeds `i64::MAX`.
    pub fn encode(&self) -> String {
        encode(self.inner())
    }

    /// The times that ops at +∞ were waited for, like [`Self::encode`]; absent if none is known.
    pub fn encode_waits(&self) -> Option<String> {
        let waits = self.waits.as_ref().filter(|waits| waits.max() > 0)?;
        // Equal counts give an equal text, whatever memory is allocated.
        let mut plain = allocate(COARSE_DIGITS, waits.max());
        plain.add(waits).is_ok().then(|| encode(&plain))
    }

    /// Adds ops at +∞ with the text of [`Self::encode_waits`], or, without it, with this minimum of their waiting times.
    ///
    /// # Errors
    /// If the text is not such a payload, or of another number of ops.
    pub fn decode_waits(
        &mut self,
        text: Option<&str>,
        beyond: u64,
        least: Nanos,
    ) -> Result<(), HistogramError> {
        let Some(text) = text else {
            self.record_beyond(beyond, least);
            return Ok(());
        };
        let (_, waits) = decode_own(text)?;
        if waits.len() != beyond {
            let found = format!("{} times that were waited for, of {beyond} ops", waits.len());
            return Err(HistogramError::Payload(found));
        }
        for (waited, n) in lower_bins(&waits) {
            self.record_beyond(n, Nanos(waited));
        }
        Ok(())
    }

    /// Decodes the text of [`Self::encode`], and adds the ops at +∞ and the exact maximum from its summary. An empty
    /// text means no finite latency.
    ///
    /// # Errors
    /// If the text is not such a payload, or exceeds a megabyte when inflated.
    pub fn of_summary(text: &str, summary: &LatencySummary) -> Result<Self, HistogramError> {
        let mut histogram = if text.is_empty() && summary.count == summary.beyond {
            Self::fine()
        } else {
            Self::decode(text)?
        };
        let least = Nanos(summary.waited.unwrap_or(0));
        histogram.decode_waits(summary.waits.as_deref(), summary.beyond, least)?;
        let is_exact = summary.beyond == 0;
        if let Some(max) = summary.max.filter(|max| is_exact && *max < histogram.greatest.0) {
            histogram.greatest = Nanos(max);
        }
        Ok(histogram)
    }

    /// Decodes the text of [`Self::encode`].
    ///
    /// # Errors
    /// If the text is not such a payload, or exceeds a megabyte when inflated.
    pub fn decode(text: &str) -> Result<Self, HistogramError> {
        let (digits, mut finite) = decode_own(text)?;
        finite.auto(true);
        Ok(Self {
            digits,
            greatest: Nanos(finite.max()),
            finite: (!finite.is_empty()).then_some(finite),
            waits: None,
        })
    }

    /// The finite latencies, for a writer of HdrHistogram logs.
    pub fn inner(&self) -> &Histogram<u64> {
        match &self.finite {
            Some(finite) => finite,
            None if self.digits == FINE_DIGITS => &EMPTY_FINE,
            None => &EMPTY_COARSE,
        }
    }

    fn finite_count(&self) -> u64 {
        self.finite.as_ref().map_or(0, Histogram::len)
    }

    /// Mean of the finite latencies, rounded; in integers, so the order of bins does not matter.
    fn mean(&self) -> Option<u64> {
        let finite = self.inner();
        let count = u128::from(finite.len());
        if self.beyond() > 0 || count == 0 {
            return None;
        }
        let total: u128 = bins(finite)
            .map(|(value, n)| u128::from(finite.median_equivalent(value)) * u128::from(n))
            .sum();
        u64::try_from((total + count / 2) / count).ok()
    }

    /// For ascending quantiles, in one pass.
    fn percentiles(&self, quantiles: &[f64]) -> Vec<Option<Percentile>> {
        let (count, finite_count) = (self.count(), self.finite_count());
        let mut bins = self.inner().iter_recorded();
        let mut waits = self.waits.iter().flat_map(lower_bins);
        let (mut seen, mut value) = (0_u64, 0_u64);
        // A bin's upper edge may exceed all its values.
        let most = if self.beyond() == 0 { self.greatest.0 } else { u64::MAX };
        let mut find = |quantile: f64| {
            let rank = rank(quantile, count)?;
            while seen < rank.min(finite_count) {
                let Some(bin) = bins.next() else { break };
                seen = seen.saturating_add(bin.count_since_last_iteration());
                value = bin.value_iterated_to().min(most);
            }
            while seen < rank {
                let Some((waited, n)) = waits.next() else { break };
                seen = seen.saturating_add(n);
                value = value.max(waited);
            }
            Some(Percentile { ns: value, at_least: rank > finite_count })
        };
        quantiles.iter().map(|quantile| find(*quantile)).collect()
    }
}

/// Equal if the counts are equal, whatever memory is allocated.
impl PartialEq for LatencyHistogram {
    fn eq(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.inner(), other.inner());
        self.digits == other.digits
            && self.beyond() == other.beyond()
            && ours.len() == theirs.len()
            && bins(ours).eq(bins(theirs))
    }
}

fn encode(histogram: &Histogram<u64>) -> String {
    let mut payload = Vec::new();
    match V2DeflateSerializer::new().serialize(histogram, &mut payload) {
        Ok(_) => STANDARD.encode(payload),
        Err(_) => String::new(),
    }
}

fn bins(histogram: &Histogram<u64>) -> impl Iterator<Item = (u64, u64)> + '_ {
    let bins = histogram.iter_recorded();
    bins.map(|bin| (bin.value_iterated_to(), bin.count_at_value()))
}

/// The lower edges of the bins: a time that was waited for at least is never rounded up.
fn lower_bins(histogram: &Histogram<u64>) -> impl Iterator<Item = (u64, u64)> + '_ {
    let bins = histogram.iter_recorded();
    bins.map(|bin| (histogram.lowest_equivalent(bin.value_iterated_to()), bin.count_at_value()))
}

/// ⌈quantile × count⌉, at least 1, or `None` without enough samples.
fn rank(quantile: f64, count: u64) -> Option<u64> {
    if count == 0 || !(0.0..=1.0).contains(&quantile) {
        return None;
    }
    if quantile >= 1.0 {
        return Some(count);
    }
    let (n, tail) = (to_f64(count), 1.0 - quantile);
    // 0.07 × 100 is 7.000000000000001: both comparisons allow for this rounding error.
    if count < 10 || n * tail < 1.0 - 1e-9 {
        return None;
    }
    let rank = ceil_to_u64(quantile * n * (1.0 - 4.0 * f64::EPSILON));
    Some(rank.clamp(1, count))
}

/// An empty histogram up to `high` that resizes itself.
#[expect(clippy::expect_used, reason = "the arguments are in range by construction")]
fn allocate(digits: u8, high: u64) -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, high.max(2), digits)
        .expect("1 <= high / 2 and at most 3 digits");
    histogram.auto(true);
    histogram
}

/// Significant decimal digits of totals, and of seconds.
const FINE_DIGITS: u8 = 3;
const COARSE_DIGITS: u8 = 2;
/// Maximum length of the text for [`decode_own`], in bytes.
const MAX_TEXT: usize = 2 << 20;
/// Maximum size of the inflated payload; 3 digits over 24 hours need at most 9 × 38,912 + 40 bytes.
const MAX_PAYLOAD: u64 = 1 << 20;
/// The same limits for histograms of other tools, which may have five digits.
const MAX_FOREIGN_TEXT: usize = 4 << 20;
const MAX_FOREIGN_PAYLOAD: u64 = 16 << 20;
/// Magic number before a DEFLATE-compressed payload of version 2.
const COMPRESSED_COOKIE: u32 = 0x1c84_9314;
/// Magic number before a payload of version 2.
const PLAIN_COOKIE: u32 = 0x1c84_9313;
/// Cookie, payload length, index offset, digits, lowest, highest, conversion ratio.
const HEADER_BYTES: usize = 40;

/// Why a text is not a histogram.
#[derive(Debug, Error)]
pub enum HistogramError {
    /// It is longer than any histogram of Highwater.
    #[error("histogram text or payload is too long")]
    TooLong,
    /// It is not base64.
    #[error("histogram text is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// It is not a compressed HdrHistogram, version 2.
    #[error("histogram payload is not a compressed HdrHistogram V2: {0}")]
    Payload(String),
    /// Its digits are not 2 or 3, or its lowest value is not 1.
    #[error("histogram has {digits} digits from {lowest} on; expected 2 or 3 from 1 on")]
    Resolution {
        /// Significant digits found.
        digits: u32,
        /// Lowest discernible value found.
        lowest: u64,
    },
}

/// Significant digits and counts of a Highwater histogram.
fn decode_own(text: &str) -> Result<(u8, Histogram<u64>), HistogramError> {
    let plain = inflate(text, MAX_TEXT, MAX_PAYLOAD)?;
    let (digits, lowest) = check_lengths(&plain)?;
    match u8::try_from(digits) {
        Ok(digits @ (COARSE_DIGITS | FINE_DIGITS)) if lowest == 1 => {
            Ok((digits, deserialize(&plain)?))
        }
        _ => Err(HistogramError::Resolution { digits, lowest }),
    }
}

/// The uncompressed payload of a text, with its header; neither exceeds its maximum in bytes.
fn inflate(text: &str, most_text: usize, most: u64) -> Result<Vec<u8>, HistogramError> {
    if text.len() > most_text {
        return Err(HistogramError::TooLong);
    }
    let compressed = STANDARD.decode(text)?;
    if be_u32(&compressed, 0) != Some(COMPRESSED_COOKIE) {
        let found = "wrong magic number".to_owned();
        return Err(HistogramError::Payload(found));
    }
    let body = compressed.get(8..).unwrap_or_default();
    let mut plain = Vec::new();
    ZlibDecoder::new(body)
        .take(most + 1)
        .read_to_end(&mut plain)
        .map_err(|error| HistogramError::Payload(error.to_string()))?;
    match u64::try_from(plain.len()) {
        Ok(length) if length <= most => Ok(plain),
        _ => Err(HistogramError::TooLong),
    }
}

/// Significant digits and lowest value of a payload with a plausible header: checks every size by which the decoder
/// allocates memory.
fn check_lengths(plain: &[u8]) -> Result<(u32, u64), HistogramError> {
    let payload = |what: &str| HistogramError::Payload(what.to_owned());
    let header = (
        be_u32(plain, 0),
        be_u32(plain, 4),
        be_u32(plain, 12),
        be_u64(plain, 16),
        be_u64(plain, 24),
    );
    let (Some(cookie), Some(length), Some(digits), Some(lowest), Some(highest)) = header else {
        return Err(payload("header cut short"));
    };
    if cookie != PLAIN_COOKIE {
        return Err(payload("wrong inner magic number"));
    }
    if usize::try_from(length).ok() != plain.len().checked_sub(HEADER_BYTES) {
        return Err(payload("length differs from header"));
    }
    if highest > u64::MAX >> 2 {
        return Err(payload("highest value out of range"));
    }
    Ok((digits, lowest))
}

/// Another tool's histogram: base64 of the compressed encoding, of any resolution.
///
/// # Errors
/// If the text is not a histogram, or exceeds 16 MiB when inflated.
pub fn decode_foreign(text: &str) -> Result<Histogram<u64>, HistogramError> {
    let plain = inflate(text, MAX_FOREIGN_TEXT, MAX_FOREIGN_PAYLOAD)?;
    check_lengths(&plain)?;
    deserialize(&plain)
}

fn deserialize(plain: &[u8]) -> Result<Histogram<u64>, HistogramError> {
    let histogram: Histogram<u64> = Deserializer::new()
        .deserialize(&mut &*plain)
        .map_err(|error| HistogramError::Payload(error.to_string()))?;
    // Their sum saturates, which would make every later rank wrong.
    if i64::try_from(histogram.len()).is_err() {
        return Err(HistogramError::Payload("counts overflow".to_owned()));
    }
    Ok(histogram)
}

fn be_u32(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..at + 4)?;
    field.try_into().ok().map(u32::from_be_bytes)
}

fn be_u64(bytes: &[u8], at: usize) -> Option<u64> {
    let field = bytes.get(at..at + 8)?;
    field.try_into().ok().map(u64::from_be_bytes)
}
