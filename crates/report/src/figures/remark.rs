//! A sentence below a table. It must not know what the sentence is about.

use highwater_model::display::foreign;

use crate::layout::labeled;

/// Longest text of a file that is shown in a line.
const LONGEST: usize = 100;

/// What a file says, in a sentence.
pub(super) fn said(text: &str) -> String {
    foreign(text, LONGEST)
}

/// A sentence with its label.
pub(crate) struct Remark {
    /// Empty if the sentence continues the one before.
    pub(crate) label: &'static str,
    pub(crate) sentence: String,
}

impl Remark {
    pub(crate) fn new(label: &'static str, sentence: impl Into<String>) -> Self {
        let sentence = sentence.into();
        Self { label, sentence }
    }
}

/// A line for each.
pub(crate) fn lines(remarks: &[Remark]) -> Vec<String> {
    let remarks = remarks.iter();
    remarks
        .map(|remark| labeled(remark.label, &remark.sentence))
        .collect()
}
