//! The frame of a page that is served, not kept: style and script are files beside it, as its policy wants.

use maud::{DOCTYPE, Markup, html};

use highwater_model::display::harmless;

/// The bytes of the page; `head` is what it has besides in its head.
pub(super) fn served(title: &str, head: &Markup, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Highwater" }
                // Without one, browsers ask for a file that is not there, or report that they may not.
                link rel="icon" href="data:,";
                link rel="stylesheet" href="/live.css";
                (head)
            }
            body { (body) }
        }
    };
    harmless(&page.into_string()) + "\n"
}
