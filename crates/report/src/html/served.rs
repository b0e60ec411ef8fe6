//! The document that every page is; and the frame of one that is served, not kept: style and script are files beside
//! it, as its policy wants. Must not know what a page shows.

use maud::{DOCTYPE, Markup, html};

use highwater_model::display::harmless;

/// The bytes of the page; `head` is what it has besides in its head.
pub(super) fn served(title: &str, head: &Markup, body: &Markup) -> String {
    let head = html! {
        title { (title) " · Highwater" }
        // Without one, browsers ask for a file that is not there, or report that they may not.
        link rel="icon" href="data:,";
        link rel="stylesheet" href="/live.css";
        (head)
    };
    document(&head, body)
}

/// The bytes of any page.
pub(super) fn document(head: &Markup, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                (head)
            }
            body { (body) }
        }
    };
    harmless(&page.into_string()) + "\n"
}
