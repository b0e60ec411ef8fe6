//! Reports: pure functions from a record to text, JSON, CSV and HTML, and from a size plan to text, JSON and HTML.
//!
//! Equal records give equal bytes. Must not read a clock, a file, or a locale, or change a figure: all judgments come
//! from the record or from `highwater-analysis`.

mod answer;
mod blocks;
mod chart;
mod events;
mod figures;
mod judgments;
mod kinds;
mod layout;
mod limit;
mod live;
mod plots;
mod progress;
mod render;
#[cfg(test)]
mod tests;
mod watched;

pub use answer::{HistoryAnswer, HistoryKind, short_target};
pub use blocks::Ink;
pub use events::{
    audit_line, begun, control_schema, estimate, event_line, event_schema, intervention, part_line,
    refusal, settings_line, trial_begun, unconnected, warmed_up, warning,
};
pub use figures::{FIGURES_SCHEMA, FiguresReport, figures_json, warnings_text};
pub use judgments::objective_bound;
pub use kinds::comparison::{CompareReport, Group, GrowthsReport, NamedGrowth};
pub use kinds::group::group_trial_line;
pub use kinds::growth::{nodes_left_out, scale_trial_line};
pub use kinds::search::probe_line;
pub use kinds::size::{size_json, size_schema};
pub use kinds::tuning::trial_line;
pub use kinds::{HistoryProgress, HistoryRow};
pub use live::Live;
pub use progress::{
    Filling, Interval, LOWER_BOUND, ObjectiveFigures, RECENT, SILENCE, interval_header,
    interval_line, intervals_begin, is_lower_bound, is_recent, is_silent, objective_figures,
    trial_progress,
};
pub use render::{
    HistoryFilter, LiveRights, Summary, compare_html, compare_html_with_links, compare_markdown,
    compare_summary, compare_text, csv, deletion_page, error_page, figures_text, growths_html,
    growths_html_with_links, growths_markdown, growths_summary, growths_text, history_page, html,
    html_with_links, junit, live_page, live_parts, live_style, markdown, names_apart, results_csv,
    schema, served_page, size_html, size_summary, size_text, summary, telemetry_csv, text, text_at,
    without_color,
};
pub use watched::{
    Seconds, Slot, SlotStream, Stage, StreamTotals, TimesTotal, Totals, Trying, WatchedPage,
    WatchedRun,
};
