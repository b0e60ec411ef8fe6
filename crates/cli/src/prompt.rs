//! Questions on a terminal: a password, and whether to go ahead. Must not store a password except in the URLs.

use std::io::{IsTerminal, stderr, stdin};

use crate::terminal;
use highwater_driver::{Secret, TargetUrl};
use highwater_model::user_error::{UserError, UserErrorKind};

/// Whether there is a terminal to ask on.
pub fn is_interactive() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}

/// Whether the user answers a question with yes; anything else, and the end of the input, is no.
pub fn is_confirmed(question: &str) -> bool {
    terminal::note(&format!("{question} [y/N] "));
    let mut answer = String::new();
    let read = stdin().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// If a connection was rejected without a password, prompts for one, for all URLs of the target that have none. False
/// if the cause was another one, if there is no terminal, or if nothing was typed.
pub fn for_password(error: &UserError, urls: &mut [TargetUrl]) -> bool {
    let lacks_password = |url: &TargetUrl| url.password.is_none();
    let Some(first) = urls.iter().find(|url| lacks_password(url)) else {
        return false;
    };
    if error.kind != UserErrorKind::Refused || !is_interactive() {
        return false;
    }
    let typed = rpassword::prompt_password(format!("Password for {first}: "));
    let Some(password) = typed.ok().filter(|typed| !typed.is_empty()) else {
        return false;
    };
    for url in urls.iter_mut().filter(|url| lacks_password(url)) {
        url.password = Some(Secret::new(password.clone()));
    }
    true
}
