//! The HTML document of every page, and the frame of a served page, which is not stored: because of its content
//! security policy, style and script are separate files. Must not depend on the content of a page.

use maud::{DOCTYPE, Markup, html};

use highwater_model::display::harmless;

/// The bytes of a served page; `head` is added to its head.
pub(super) fn served(title: &str, head: &Markup, body: &Markup) -> String {
    let head = html! {
        title { (title) " · Highwater" }
        // Without it, browsers request a missing file, or report that the policy forbids the request.
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
