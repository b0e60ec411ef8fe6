//! The frame of a page: head, way through it, parts, style and script.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use highwater_model::display;

/// All of the style; it names no file and no address.
const STYLE: &str = include_str!("style.css");
/// All of the script.
const SCRIPT: &str = include_str!("script.js");

/// What a page says.
pub(crate) struct Page {
    /// In the window's title.
    pub(crate) title: String,
    /// Above everything else.
    pub(crate) head: Markup,
    /// In order.
    pub(crate) parts: Vec<Part>,
}

/// A part of a page with a heading.
pub(crate) struct Part {
    /// Unique on its page.
    pub(crate) id: &'static str,
    /// The heading.
    pub(crate) title: &'static str,
    /// What stands below.
    pub(crate) body: Markup,
}

/// The bytes of the page.
pub(crate) fn page(page: &Page) -> String {
    let text = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                // Nothing may be asked for, whatever stands in the record.
                meta http-equiv="Content-Security-Policy"
                    content="default-src 'none'; style-src 'unsafe-inline'; \
                             script-src 'unsafe-inline'; img-src data: blob:";
                title { (page.title) " · Highwater" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a class="skip" href="#content" { "To the content" }
                header { (page.head) }
                nav aria-label="Parts of this report" {
                    @for part in &page.parts {
                        a href=(format!("#{}", part.id)) { (part.title) }
                    }
                }
                main id="content" {
                    @for part in &page.parts {
                        section id=(part.id) aria-labelledby=(format!("{}-heading", part.id)) {
                            h2 id=(format!("{}-heading", part.id)) { (part.title) }
                            (part.body)
                        }
                    }
                }
                footer {
                    p {
                        "Made by Highwater from the record beside it. Equal records give equal pages; \
                         this one loads nothing from elsewhere."
                    }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string();
    display::harmless(&text) + "\n"
}
