//! Stated bytes of a batch, or of all rows, against rows × bytes per row.

use super::traffic::bytes_text;
use super::warning::{PlausibilityWarning, Rule, Weight};
use crate::series::{Point, names, number_text};

/// Range of the stated bytes over rows × row size: column names and headers add to a row, and `kB` and `KiB` are
/// confused.
const BOUNDS: std::ops::RangeInclusive<f64> = 0.8..=2.0;

/// The stated size, and the column with its rows.
const SIZES: [(&str, &str, &str); 2] = [
    (names::BATCH_BYTES, names::BATCH_ROWS, "a batch"),
    (names::DATA_BYTES, names::ROWS, "all rows"),
];

pub(super) fn size_of_data(point: &Point) -> Vec<PlausibilityWarning> {
    let warnings = SIZES.iter().filter_map(|(stated, rows, what)| {
        let (stated, rows) = (point.number(stated)?, point.number(rows)?);
        // Only a stated row size: that of a built-in workload shows nothing about the source's rows.
        let bytes = point.number(names::BYTES_PER_ROW)?;
        let computed = rows * bytes;
        if computed <= 0.0 || BOUNDS.contains(&(stated / computed)) {
            return None;
        }
        let [stated, computed] = [stated, computed].map(bytes_text);
        let [rows, bytes] = [rows, bytes].map(number_text);
        let message = format!(
            "{what} is said to have {stated}, but {rows} rows of {bytes} bytes are {computed}"
        );
        let check = "which of the three figures is right, and does everything that was computed \
                     from it (traffic, disk) still hold?";
        Some(Rule::SizeOfData.warning(Weight::Contradiction, &[point], message, check))
    });
    warnings.collect()
}
