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
    /// What its user chooses; a later one may depend on those before.
    pub choices: &'static [Choice],
    /// Words of its queries and legends, and what each stands for: panels that several dashboards have differ by them.
    pub stands_for: &'static [(&'static str, &'static str)],
    /// Its panels, in order.
    pub panels: &'static [Panel],
    /// Series that its queries are tried on where nothing was recorded from what really exports them; see
    /// [`Self::samples`].
    pub samples: &'static [&'static str],
}

/// What a dashboard's user chooses.
#[derive(Debug)]
pub struct Choice {
    /// Its name, by which queries name what was chosen.
    pub name: &'static str,
    /// The query of its values.
    pub query: &'static str,
    /// What all of them are.
    pub all: All,
}

/// What is chosen where nothing is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum All {
    /// Any value, and none: also series without that label.
    Anything,
    /// The values that the query gave, so that what was chosen before narrows them.
    Listed,
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

    /// Legend and query of each line of a panel, as Grafana reads them.
    pub fn queries_of(&self, panel: &Panel) -> impl Iterator<Item = (String, String)> {
        let queries = panel.queries.lines().filter_map(|line| line.trim().split_once(": "));
        queries.map(|(legend, query)| (self.spelled(legend), self.spelled(query)))
    }

    /// Every query, as it is where everything is chosen.
    pub fn queries(&self) -> impl Iterator<Item = String> + '_ {
        self.panels
            .iter()
            .flat_map(|panel| self.queries_of(panel))
            .map(|(_, query)| self.with_all(&query))
    }

    /// A query, with what stands for all values of each choice, and for the width of a rate.
    pub fn with_all(&self, query: &str) -> String {
        let mut query = query.replace("$__rate_interval", "1m");
        for choice in self.choices {
            query = query.replace(&format!("${}", choice.name), ".*");
        }
        query
    }

    fn spelled(&self, text: &str) -> String {
        self.stands_for
            .iter()
            .fold(text.to_owned(), |text, (word, meant)| text.replace(word, meant))
    }

    /// Series that its queries are tried on beside what was recorded, a line each, in the notation of `promtool`: name
    /// with labels, and how it goes on.
    pub fn samples(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.samples
            .iter()
            .flat_map(|text| text.lines())
            .filter_map(|line| line.trim().rsplit_once(' '))
    }
}

impl Choice {
    /// One of which all values are anything.
    pub(super) const fn of(name: &'static str, query: &'static str) -> Self {
        let all = All::Anything;
        Self { name, query, all }
    }

    /// One that depends on those before it.
    pub(super) const fn listed(name: &'static str, query: &'static str) -> Self {
        let all = All::Listed;
        Self { name, query, all }
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
