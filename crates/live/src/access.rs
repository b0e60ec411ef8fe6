//! Access control: which requests may view the page, and which may send to it.
//!
//! On loopback, all local users have access, unless the page can start commands. Pages of other sites that are open in
//! a browser have no access, even with DNS rebinding. On other addresses, and for a page that starts commands, a token
//! is required. It is in the URL's fragment, which browsers do not send, and it is never logged or stored.

use std::io;
use std::net::SocketAddr;

use axum::http::header::{COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName};

/// Name of the cookie that holds the token.
const COOKIE_NAME: &str = "highwater";
/// Random bytes of a token.
const TOKEN_BYTES: usize = 24;

/// Requirements for a request.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    address: SocketAddr,
    /// Absent on loopback, unless it is required there, too.
    token: Option<Token>,
}

/// Printed only in the URL for the user.
#[derive(Clone, PartialEq, Eq)]
struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// Why a request is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It names another host, which was made to resolve to this address.
    Host,
    /// It comes from a page of another site.
    Origin,
    /// It has no token, or a wrong one.
    Token,
}

impl Access {
    /// Access to a page at this address; with `always_token`, a token is required on loopback, too.
    ///
    /// # Errors
    /// If the system provides no random bytes.
    pub(crate) fn to(address: SocketAddr, always_token: bool) -> io::Result<Self> {
        let token =
            if address.ip().is_loopback() && !always_token { None } else { Some(Token::random()?) };
        Ok(Self { address, token })
    }

    /// URL of the page, including the token; for the user only.
    pub(crate) fn url(&self) -> String {
        let address = self.address;
        match &self.token {
            None => format!("http://{address}/"),
            Some(Token(token)) => format!("http://{address}/#token={token}"),
        }
    }

    /// Whether a request may view the page.
    pub(crate) fn look(&self, headers: &HeaderMap) -> Result<(), Refused> {
        self.is_own_page(headers)?;
        match &self.token {
            None => Ok(()),
            Some(token) => match cookie(headers) {
                Some(given) if token.is(given) => Ok(()),
                _ => Err(Refused::Token),
            },
        }
    }

    /// Whether a request comes from this server's page, or from no page.
    pub(crate) fn is_own_page(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let host = text(headers, &HOST).ok_or(Refused::Host)?;
        if self.address.ip().is_loopback() && !self.is_ours(host) {
            return Err(Refused::Host);
        }
        match headers.get(ORIGIN) {
            None => Ok(()),
            Some(origin) if origin.as_bytes() == format!("http://{host}").as_bytes() => Ok(()),
            Some(_) => Err(Refused::Origin),
        }
    }

    /// The cookie header that authorizes a browser with this token.
    pub(crate) fn cookie(&self, given: &str) -> Option<String> {
        let token = self.token.as_ref().filter(|token| token.is(given))?;
        let Token(token) = token;
        Some(format!("{COOKIE_NAME}={token}; HttpOnly; SameSite=Strict; Path=/"))
    }

    fn is_ours(&self, host: &str) -> bool {
        let port = self.address.port();
        host == self.address.to_string() || host == format!("localhost:{port}")
    }
}

impl Token {
    fn random() -> io::Result<Self> {
        random_digits::<TOKEN_BYTES>().map(Self)
    }

    /// Constant-time for all tokens of the same length.
    fn is(&self, given: &str) -> bool {
        let differences =
            self.0.bytes().zip(given.bytes()).fold(0, |all, (ours, theirs)| all | (ours ^ theirs));
        self.0.len() == given.len() && differences == 0
    }
}

/// Random bytes, printed as two hexadecimal digits each.
///
/// # Errors
/// If the system provides none.
pub(crate) fn random_digits<const BYTES: usize>() -> io::Result<String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let mut pairs =
        text(headers, &COOKIE)?.split(';').filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE_NAME).map(|(_, value)| value)
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap()))
            .collect()
    }

    #[track_caller]
    fn check(access: &Access, given: &[(HeaderName, &str)], expected: Result<(), Refused>) {
        assert_eq!(access.look(&headers(given)), expected, "{given:?}");
    }

    #[test]
    fn on_loopback_only_our_own_names_and_pages_are_let_in() {
        let access = Access::to("127.0.0.1:4790".parse().unwrap(), false).unwrap();
        assert_eq!(access.url(), "http://127.0.0.1:4790/");
        check(&access, &[(HOST, "127.0.0.1:4790")], Ok(()));
        check(&access, &[(HOST, "localhost:4790")], Ok(()));
        let own = [(HOST, "localhost:4790"), (ORIGIN, "http://localhost:4790")];
        check(&access, &own, Ok(()));
        check(&access, &[], Err(Refused::Host));
        for host in [
            "evil.example",
            "evil.example:4790",
            "localhost",
            "127.0.0.1:80",
            "localhost:4790.evil.example",
        ] {
            check(&access, &[(HOST, host)], Err(Refused::Host));
        }
        for origin in
            ["http://evil.example", "null", "https://localhost:4790", "http://127.0.0.1:4790"]
        {
            let given = [(HOST, "localhost:4790"), (ORIGIN, origin)];
            check(&access, &given, Err(Refused::Origin));
        }
    }

    #[test]
    fn elsewhere_a_token_is_needed_and_its_cookie_lets_in() {
        let access = Access::to("192.0.2.1:4790".parse().unwrap(), false).unwrap();
        let url = access.url();
        let token = url.split_once("#token=").unwrap().1;
        assert_eq!(token.len(), 2 * TOKEN_BYTES);
        check(&access, &[(HOST, "db7:4790")], Err(Refused::Token));
        let wrong = format!("{COOKIE_NAME}={}", "0".repeat(token.len()));
        let short = format!("{COOKIE_NAME}={}", &token[1..]);
        for cookie in [wrong, short] {
            let given = [(HOST, "db7:4790"), (COOKIE, cookie.as_str())];
            check(&access, &given, Err(Refused::Token));
        }
        assert_eq!(access.cookie("0"), None);
        let set = access.cookie(token).unwrap();
        let given = format!("other=1; {}", set.split(';').next().unwrap());
        check(&access, &[(HOST, "db7:4790"), (COOKIE, &given)], Ok(()));
        let from_elsewhere =
            [(HOST, "db7:4790"), (COOKIE, given.as_str()), (ORIGIN, "http://evil.example")];
        check(&access, &from_elsewhere, Err(Refused::Origin));
        assert!(!format!("{access:?}").contains(token), "nothing prints it");
        let other = Access::to("192.0.2.1:4790".parse().unwrap(), false).unwrap();
        assert_ne!(other.url(), url, "each page has its own");
    }

    #[test]
    fn on_loopback_a_page_that_starts_commands_needs_a_token_and_our_own_names() {
        let access = Access::to("127.0.0.1:4790".parse().unwrap(), true).unwrap();
        let url = access.url();
        let set = access.cookie(url.split_once("#token=").unwrap().1).unwrap();
        let cookie = set.split(';').next().unwrap();
        check(&access, &[(HOST, "127.0.0.1:4790")], Err(Refused::Token));
        let given = [(HOST, "127.0.0.1:4790"), (COOKIE, cookie)];
        check(&access, &given, Ok(()));
        let renamed = [(HOST, "evil.example:4790"), (COOKIE, cookie)];
        check(&access, &renamed, Err(Refused::Host));
    }
}
