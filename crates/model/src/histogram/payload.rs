//! The text of a histogram: base64 of the compressed HdrHistogram encoding, version 2.
//!
//! Checks every size by which the decoder allocates memory. Must not count anything.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use thiserror::Error;

/// Significant decimal digits of totals, and of seconds.
pub(super) const FINE_DIGITS: u8 = 3;
pub(super) const COARSE_DIGITS: u8 = 2;
/// Maximum length of the text for [`decode_own`], in bytes.
pub(super) const MAX_TEXT: usize = 2 << 20;
/// Maximum size of the inflated payload; 3 digits over 24 hours need at most 9 × 38,912 + 40 bytes.
const MAX_PAYLOAD: u64 = 1 << 20;
/// The same limits for histograms of other tools, which may have five digits.
const MAX_FOREIGN_TEXT: usize = 4 << 20;
const MAX_FOREIGN_PAYLOAD: u64 = 16 << 20;
/// Magic number before a DEFLATE-compressed payload of version 2.
pub(super) const COMPRESSED_COOKIE: u32 = 0x1c84_9314;
/// Magic number before a payload of version 2.
pub(super) const PLAIN_COOKIE: u32 = 0x1c84_9313;
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
pub(super) fn decode_own(text: &str) -> Result<(u8, Histogram<u64>), HistogramError> {
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
