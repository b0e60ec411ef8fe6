//! Prompts for a password on a terminal. Must not store it except in the URLs.

use std::io::{IsTerminal, stderr, stdin};

use highwater_driver::{Secret, TargetUrl};
use highwater_model::user_error::{UserError, UserErrorKind};

/// If a connection was rejected without a password, prompts for one, for all URLs of the target that have none. False
/// if the cause was another one, if there is no terminal, or if nothing was typed.
pub fn for_password(error: &UserError, urls: &mut [TargetUrl]) -> bool {
    let lacks_password = |url: &TargetUrl| url.password.is_none();
    let Some(first) = urls.iter().find(|url| lacks_password(url)) else {
        return false;
    };
    let interactive = stdin().is_terminal() && stderr().is_terminal();
    if error.kind != UserErrorKind::Refused || !interactive {
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
