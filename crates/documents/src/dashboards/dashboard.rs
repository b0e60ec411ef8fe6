//! What a dashboard is. Must not know any metric, nor Grafana's format.

/// A dashboard.
#[derive(Debug)]
pub struct Dashboard {
    /// Name of its file, without the ending, and its identity in Grafana.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Where its metrics come from.
    pub about: &'static str,
    /// Where its time begins, in Grafana's words.
    pub from: &'static str,
    /// What its user chooses: name, and the query of its values.
    pub choices: &'static [(&'static str, &'static str)],
    /// Its panels, in order.
    pub panels: &'static [Panel],
    /// Series that its queries are tried on where nothing was recorded from what really exports them; see
    /// [`Self::samples`].
    pub samples: &'static [&'static str],
}

/// A panel.
#[derive(Debug)]
pub struct Panel {
    /// Its title.
    pub title: &'static str,
    /// What it shows, and how to read it.
    pub about: &'static str,
    /// What its values are.
    pub unit: Unit,
    /// How it is drawn.
    pub shape: Shape,
    /// What is drawn, a line each: legend, colon, query.
    pub queries: &'static str,
}

/// What values of a panel are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Whole numbers of something.
    Count,
    /// Anything per second.
    PerSecond,
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Parts of one.
    Share,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
}

/// How a panel is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The last value as a figure.
    Figure,
    /// Lines over time.
    Lines,
}

impl Dashboard {
    /// Its file from the repository's root.
    pub fn path(&self) -> String {
        format!("grafana/dashboards/{}.json", self.name)
    }

    /// Every query, with what stands for all values of a choice, and for the width of a rate.
    pub fn queries(&self) -> impl Iterator<Item = String> + '_ {
        let queries = self.panels.iter().flat_map(Panel::queries);
        queries.map(|(_, query)| {
            let mut query = query.replace("$__rate_interval", "1m");
            for (choice, _) in self.choices {
                query = query.replace(&format!("${choice}"), ".*");
            }
            query
        })
    }

    /// Series that its queries are tried on beside what was recorded, a line each, in the notation of `promtool`: name
    /// with labels, and how it goes on.
    pub fn samples(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let lines = self.samples.iter().flat_map(|text| text.lines());
        lines.filter_map(|line| line.trim().rsplit_once(' '))
    }
}

impl Panel {
    /// Legend and query of each line.
    pub fn queries(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        let lines = self.queries.lines();
        lines.filter_map(|line| line.trim().split_once(": "))
    }
}

/// A panel: how it is drawn, what its values are, its title, what it shows, and its queries.
macro_rules! panel {
    ($shape:ident $unit:ident, $title:literal, $about:literal, $queries:literal) => {
        $crate::dashboards::dashboard::Panel {
            title: $title,
            about: $about,
            unit: $crate::dashboards::dashboard::Unit::$unit,
            shape: $crate::dashboards::dashboard::Shape::$shape,
            queries: $queries,
        }
    };
}
pub(super) use panel;
