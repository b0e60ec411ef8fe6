//! Browser actions for tests of served pages, independent of the browser.

use serde_json::{Value, json};

use crate::chromium::Browser;

/// A browser with one page.
pub(crate) trait Page {
    /// Opens a page that is served on this machine.
    fn visit(&mut self, url: &str);

    /// The value of an expression in the page; waits for promises.
    fn evaluate(&mut self, expression: &str) -> Value;

    /// The same, but an error if another page replaces the current one meanwhile.
    fn evaluate_unless_left(&mut self, expression: &str) -> Result<Value, Value>;

    /// Errors of the page.
    fn complaints(&self) -> &[String];

    /// Waits until an expression in the page is true.
    fn wait(&mut self, condition: &str) {
        let ready = format!(
            "new Promise(done => {{ const poll = () => {condition} ? done(true) : \
             setTimeout(poll, 20); poll(); }})"
        );
        assert_eq!(self.evaluate(&ready), json!(true));
    }
}

impl Page for Browser {
    fn visit(&mut self, url: &str) {
        Browser::visit(self, url);
    }

    fn evaluate(&mut self, expression: &str) -> Value {
        Browser::evaluate(self, expression)
    }

    fn evaluate_unless_left(&mut self, expression: &str) -> Result<Value, Value> {
        Browser::evaluate_unless_left(self, expression)
    }

    fn complaints(&self) -> &[String] {
        &self.complaints
    }
}
