//! Reports in each output: terminal, text, pages, Markdown, CSV.
//!
//! Must not have a sentence of its own about a kind of record.

mod csv;
mod html;
mod junit;
mod markdown;
mod terminal;
mod text;

use highwater_sizing::cluster::SizePlan;

use crate::compare_report::{CompareReport, GrowthsReport};
use crate::figures::{self, FiguresReport, warnings_text};
use crate::kinds::{comparison, growth_comparison, size};
use crate::layout::list;
use html::page_of;
use markdown::markdown_of;
use text::text_of;

pub use csv::{csv, growth_csv, results_csv, telemetry_csv};
pub use html::{
    HistoryFilter, LiveRights, deletion_page, history_page, html, html_with_links, live_page,
    live_parts, live_style, served_page,
};
pub use junit::junit;
pub use markdown::markdown;
pub use terminal::{Summary, summary, without_color};
pub use text::{text, text_at};

/// The comparison as text, without colors.
pub fn compare_text(report: &CompareReport<'_>) -> String {
    text_of(&comparison::reports(report))
}

/// The comparison as Markdown; text from targets is escaped.
pub fn compare_markdown(report: &CompareReport<'_>) -> String {
    markdown_of(&comparison::reports(report))
}

/// The summary of a comparison.
pub fn compare_summary(report: &CompareReport<'_>) -> Summary {
    Summary::of_reports(&comparison::reports(report))
}

/// The page of a comparison; works offline.
pub fn compare_html(report: &CompareReport<'_>) -> String {
    page_of("Compare", comparison::page(report))
}

/// The comparison of growths as text, without colors.
pub fn growths_text(report: &GrowthsReport<'_>) -> String {
    text_of(&growth_comparison::reports(report))
}

/// The comparison of growths as Markdown; text from targets is escaped.
pub fn growths_markdown(report: &GrowthsReport<'_>) -> String {
    markdown_of(&growth_comparison::reports(report))
}

/// The summary of a comparison of growths.
pub fn growths_summary(report: &GrowthsReport<'_>) -> Summary {
    Summary::of_reports(&growth_comparison::reports(report))
}

/// The page of a comparison of growths; works offline.
pub fn growths_html(report: &GrowthsReport<'_>) -> String {
    page_of("Compare", growth_comparison::page(report))
}

/// The whole report of a size plan as text.
pub fn size_text(plan: &SizePlan) -> String {
    text_of(&[size::report(plan)])
}

/// The summary of a size plan.
pub fn size_summary(plan: &SizePlan) -> Summary {
    Summary::of_reports(&[size::report(plan)])
}

/// The page of a size plan; works offline.
pub fn size_html(plan: &SizePlan) -> String {
    page_of("Size", size::report(plan))
}

/// All tables, then the warnings, if there are any.
pub fn figures_text(report: &FiguresReport) -> String {
    let warnings = Some(&report.warnings).filter(|warnings| !warnings.is_empty());
    let warnings = warnings.map(|warnings| warnings_text(warnings));
    let tables = report.tables.iter().map(|table| text_of(&[figures::report(table)]));
    list(tables.chain(warnings), "\n")
}
