//! The list of stored runs in a real browser, on a phone in dark mode and on a wide screen: it must be accessible.

use serde_json::json;

use crate::chromium::{self, Browser};
use crate::pages::{self, Pages};
use crate::watching::accessible;

#[test]
fn the_list_of_stored_runs_is_accessible() {
    let (Some(program), Some(axe)) = (chromium::program(), pages::axe()) else {
        return;
    };
    let pages = Pages::new();
    for label in ["version=<b id=stolen>1", "version=2"] {
        pages.call(&["run", "cpu", "sim:", "-d", "20s", "-q", "--label", label]);
    }
    let (mut serve, url) = pages.watched(&["serve", "--listen", "0", "--allow-delete"]);
    for (size, dark) in [((390, 844), true), ((1280, 900), false)] {
        let mut browser = Browser::start(&program, size, dark);
        browser.visit(&url);
        browser.wait("document.body.textContent.includes('version=2')");
        let wide = browser.evaluate("document.documentElement.scrollWidth <= innerWidth");
        assert_eq!(wide, json!(true), "{size:?}: sideways scrolling");
        accessible(&mut browser, &axe);
        let stolen = browser.evaluate("document.querySelector('#stolen')");
        assert_eq!(stolen, json!(null));
        assert_eq!(browser.complaints, Vec::<String>::new());
    }
    serve.kill().unwrap();
    serve.wait().unwrap();
}
