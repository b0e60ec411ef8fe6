//! The sizes of a drawing, for wide screens and paper and for phones, and positions in it.

use super::Chart;

/// Approximate width of a letter in a drawing, in pixels.
pub(super) const LETTER: f64 = 6.6;

/// Sizes of one drawing, in its pixels.
pub(super) struct Frame {
    pub(super) name: &'static str,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) x_ticks: f64,
    pub(super) y_ticks: f64,
    /// Whether the horizontal axis is named.
    pub(super) names_x: bool,
    /// Height of the strip below the axis and its name; part of `height`.
    pub(super) strip: f64,
}

impl Frame {
    /// As wide as a page's column, so that text is not scaled, with `room` pixels to the right of the plot.
    pub(super) fn wide(room: f64) -> Self {
        Self {
            name: "wide",
            width: 1120.0,
            height: 300.0,
            left: 76.0,
            right: room.max(14.0),
            x_ticks: 10.0,
            y_ticks: 5.0,
            ..Self::narrow()
        }
    }

    pub(super) const fn narrow() -> Self {
        Self {
            name: "narrow",
            width: 358.0,
            height: 260.0,
            left: 64.0,
            right: 8.0,
            top: 32.0,
            bottom: 44.0,
            x_ticks: 4.0,
            y_ticks: 4.0,
            names_x: true,
            strip: 0.0,
        }
    }

    /// The same frame, higher by the strip below it.
    pub(super) fn above(self, strip: f64) -> Self {
        Self { height: self.height + strip, bottom: self.bottom + strip, strip, ..self }
    }

    /// The same frame with another height, with or without the name of the horizontal axis.
    pub(super) fn low(self, height: f64, names_x: bool) -> Self {
        let bottom = if names_x { self.bottom } else { 24.0 };
        Self {
            height: height + bottom - 24.0,
            top: 24.0,
            bottom,
            y_ticks: if height < 200.0 { 3.0 } else { self.y_ticks },
            names_x,
            ..self
        }
    }

    /// Whether this is the frame for phones.
    pub(super) fn is_narrow(&self) -> bool {
        self.name == "narrow"
    }

    pub(super) fn plot_width(&self) -> f64 {
        self.width - self.left - self.right
    }

    pub(super) fn plot_height(&self) -> f64 {
        self.height - self.top - self.bottom
    }
}

pub(super) fn x_of(chart: &Chart, frame: &Frame, x: f64) -> f64 {
    frame.left + chart.x.place(x) * frame.plot_width()
}

pub(super) fn y_of(chart: &Chart, frame: &Frame, y: f64) -> f64 {
    frame.top + (1.0 - chart.y.place(y)) * frame.plot_height()
}
