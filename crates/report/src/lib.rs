//! Reports: pure functions from a record to text, JSON, CSV and HTML, and from a size plan to text, JSON and HTML.
//!
//! Equal records give equal bytes. Must not read a clock, a file, or a locale, or change a figure: all judgments come
//! from the record or from `highwater-analysis`.

mod answer;
mod by_op;
mod compare;
mod compare_report;
mod comparison;
mod csv;
mod events;
mod figures;
mod findings;
mod growths;
mod history;
mod html;
mod json;
mod layout;
mod limit;
mod live;
mod markdown;
mod markdown_words;
mod progress;
mod size;
mod standing;
mod summary;
#[cfg(test)]
mod tests;
mod text;
mod watched;

pub use compare::{
    compare_html, compare_markdown, compare_text, growths_html, growths_markdown, growths_text,
};
pub use compare_report::{CompareReport, Group, GrowthsReport, NamedGrowth};
pub use csv::{csv, results_csv, telemetry_csv};
pub use events::{
    audit_line, audit_stage, begun, control_schema, estimate, event_line, event_schema,
    intervention, part_line, refusal, settings_line, trial_begun, warmed_up, warning,
};
pub use figures::{FIGURES_SCHEMA, FiguresReport, figures_json, figures_text, warnings_text};
pub use history::{HistoryAnswer, HistoryKind, HistoryProgress, HistoryRow};
pub use html::{
    HistoryFilter, LiveRights, deletion_page, history_page, html, live_page, live_parts,
    live_style, served_page, size_html,
};
pub use json::{ParseError, json, parse, schema, write_json};
pub use live::Live;
pub use markdown::markdown;
pub use progress::{Filling, SILENCE, interval_header, interval_line, is_silent};
pub use size::{size_json, size_schema, size_text};
pub use standing::{ObjectiveFigures, objective_figures};
pub use summary::{
    Ink, Summary, compare_summary, growths_summary, size_summary, summary, without_color,
};
pub use text::{
    group_trial_line, nodes_left_out, probe_line, scale_trial_line, text, text_at, trial_line,
};
pub use watched::{
    RunWatched, Seconds, Slot, SlotStream, Stage, StreamTotals, TimesTotal, Totals, Watched,
};
