//! A dashboard as Grafana reads it. Must not know any metric.

use serde_json::{Value, json};

use super::dashboard::{All, Dashboard, Panel, Shape, Unit};

/// Version of the shape that is written; Grafana brings older ones up to date.
const SCHEMA: u32 = 39;
/// Columns of a dashboard, by Grafana's grid.
const COLUMNS: u32 = 24;
const LINES_WIDTH: u32 = 12;
const LINES_HEIGHT: u32 = 8;
const FIGURE_WIDTH: u32 = 6;
const FIGURE_HEIGHT: u32 = 4;

/// The file of a dashboard.
pub fn json(dashboard: &Dashboard) -> String {
    let mut place = Place::default();
    let panels = dashboard.panels.iter();
    let panels: Vec<Value> = (1..)
        .zip(panels)
        .map(|(id, panel)| self::panel(dashboard, id, panel, &mut place))
        .collect();
    let made = json!({
        "uid": dashboard.name,
        "title": dashboard.title,
        "description": dashboard.about,
        "tags": ["highwater"],
        "schemaVersion": SCHEMA,
        "editable": false,
        "refresh": "5s",
        "time": {"from": dashboard.from, "to": "now"},
        "timezone": "utc",
        "templating": {"list": choices(dashboard)},
        "panels": panels,
    });
    // A value of our own is always written.
    serde_json::to_string_pretty(&made).unwrap_or_default() + "\n"
}

fn choices(dashboard: &Dashboard) -> Vec<Value> {
    let source = json!({
        "name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"
    });
    let chosen = dashboard.choices.iter().map(|choice| {
        let mut made = json!({
            "name": choice.name, "type": "query", "datasource": datasource(),
            "query": {"query": choice.query, "refId": choice.name},
            "includeAll": true, "multi": true, "refresh": 2, "sort": 1,
            "current": {"text": "All", "value": "$__all"},
        });
        if choice.all == All::Anything {
            made["allValue"] = json!(".*");
        }
        made
    });
    [source].into_iter().chain(chosen).collect()
}

fn datasource() -> Value {
    json!({"type": "prometheus", "uid": "${datasource}"})
}

/// Where the next panel goes: from left to right, rows of one height.
#[derive(Default)]
struct Place {
    x: u32,
    y: u32,
    height: u32,
}

impl Place {
    fn take(&mut self, width: u32, height: u32) -> Value {
        if self.x + width > COLUMNS || (self.x > 0 && self.height != height) {
            (self.x, self.y) = (0, self.y + self.height);
        }
        let taken = json!({"x": self.x, "y": self.y, "w": width, "h": height});
        (self.x, self.height) = (self.x + width, height);
        taken
    }
}

fn panel(dashboard: &Dashboard, id: u32, panel: &Panel, place: &mut Place) -> Value {
    let (kind, at) = match panel.shape {
        Shape::Figure => ("stat", place.take(FIGURE_WIDTH, FIGURE_HEIGHT)),
        Shape::Lines => ("timeseries", place.take(LINES_WIDTH, LINES_HEIGHT)),
    };
    let names = ('A'..='Z').zip(dashboard.queries_of(panel));
    let targets: Vec<Value> = names
        .map(|(name, (legend, query))| {
            json!({
                "refId": name, "datasource": datasource(), "expr": query, "legendFormat": legend
            })
        })
        .collect();
    json!({
        "id": id,
        "type": kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": datasource(),
        "gridPos": at,
        "targets": targets,
        "fieldConfig": {"defaults": {"unit": unit(panel.unit), "min": 0}, "overrides": []},
        "options": options(panel.shape),
    })
}

fn options(shape: Shape) -> Value {
    match shape {
        Shape::Figure => json!({"reduceOptions": {"calcs": ["lastNotNull"], "values": false}}),
        Shape::Lines => json!({
            "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }),
    }
}

/// The name that Grafana has for it.
const fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "short",
        Unit::PerSecond => "suffix:/s",
        Unit::Seconds => "s",
        Unit::Milliseconds => "ms",
        Unit::Share => "percentunit",
        Unit::Bytes => "bytes",
        Unit::BytesPerSecond => "Bps",
    }
}
