//! A plot in a few lines of plain text: size on the x axis, throughput on the y axis.
//!
//! `o` is a measured size, `=` the expected value, `.` the 90% interval. No colors and no cursor movements, so that
//! files and pipes get the same text.

use highwater_model::display;
use highwater_model::numbers::{len_to_f64, round_to_usize};
use highwater_sizing::cluster::{NeedPlan, SizeAxis, SizePlanPoint};

const WIDTH: usize = 60;
const HEIGHT: usize = 14;

/// The lines of the plot with its legend; empty for a single size.
pub(super) fn plot(axis: SizeAxis, need: &NeedPlan) -> Vec<String> {
    let points = &need.curve;
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Vec::new();
    };
    if first.nodes >= last.nodes {
        return Vec::new();
    }
    let highest = points
        .iter()
        .flat_map(|point| [Some(highest(point)), point.measured_per_s])
        .flatten()
        .fold(0.0, f64::max);
    let mut grid = vec![vec![' '; WIDTH]; HEIGHT];
    let column = |nodes: f64| {
        let part = (nodes - first.nodes) / (last.nodes - first.nodes);
        cell(part, WIDTH)
    };
    let row = |per_s: f64| HEIGHT - 1 - cell(per_s / highest, HEIGHT);
    for point in points {
        let at = column(point.nodes);
        if let Some([low, high]) = point.predicted.interval {
            for filled in &mut grid[row(high)..=row(low)] {
                filled[at] = '.';
            }
        }
        grid[row(point.predicted.expected)][at] = '=';
    }
    for point in points {
        if let Some(per_s) = point.measured_per_s {
            grid[row(per_s)][column(point.nodes)] = 'o';
        }
    }
    frame(&grid, points, highest, axis)
}

fn highest(point: &SizePlanPoint) -> f64 {
    point.predicted.interval.map_or(point.predicted.expected, |[_, high]| high)
}

fn frame(
    grid: &[Vec<char>],
    points: &[SizePlanPoint],
    highest: f64,
    axis: SizeAxis,
) -> Vec<String> {
    // The label `0` is never wider than the highest one.
    let highest = display::about(highest);
    let width = highest.chars().count();
    let rows = grid.iter().enumerate().map(|(number, row)| {
        let label = match number {
            0 => highest.as_str(),
            last if last == HEIGHT - 1 => "0",
            _ => "",
        };
        let row: String = row.iter().collect();
        format!("{label:>width$} |{}", row.trim_end())
    });
    let mut lines: Vec<String> = rows.collect();
    let ends = [points.first(), points.last()];
    let ends = ends.map(|point| point.map_or(String::new(), |point| display::plain(point.nodes)));
    let gap = WIDTH.saturating_sub(ends[0].chars().count() + ends[1].chars().count());
    lines.push(format!("{:>width$} +{}", "", "-".repeat(WIDTH)));
    lines.push(format!("{:>width$}  {}{:gap$}{} {}", "", ends[0], "", ends[1], axis.noun()));
    lines.push(format!("{:>width$}  o measured, = expected, . 90% interval", ""));
    lines
}

/// The cell of a fraction from 0 to 1.
fn cell(part: f64, cells: usize) -> usize {
    round_to_usize(part * len_to_f64(cells - 1)).min(cells - 1)
}
