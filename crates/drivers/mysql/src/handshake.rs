//! The first packets of a connection: the server's greeting, and the client's reply.
//!
//! Must not do I/O, or handle a password.

use super::auth::Method;
use super::packet::{self, Reader, put_lenenc_bytes};

/// Capability flags of the protocol.
mod capability {
    /// UPDATE and upserts count matched rows, changed or not.
    pub(super) const FOUND_ROWS: u32 = 1 << 1;
    pub(super) const LONG_FLAG: u32 = 1 << 2;
    pub(super) const CONNECT_WITH_DB: u32 = 1 << 3;
    pub(super) const LOCAL_FILES: u32 = 1 << 7;
    pub(super) const PROTOCOL_41: u32 = 1 << 9;
    pub(super) const SSL: u32 = 1 << 11;
    pub(super) const TRANSACTIONS: u32 = 1 << 13;
    pub(super) const SECURE_CONNECTION: u32 = 1 << 15;
    pub(super) const MULTI_RESULTS: u32 = 1 << 17;
    pub(super) const PS_MULTI_RESULTS: u32 = 1 << 18;
    pub(super) const PLUGIN_AUTH: u32 = 1 << 19;
    pub(super) const CONNECT_ATTRS: u32 = 1 << 20;
    pub(super) const LENENC_AUTH: u32 = 1 << 21;
}

/// `utf8mb4_general_ci`, which servers of all products support.
const CHARSET: u8 = 45;
/// Maximum size of the client's packets; the server has its own limit.
const PACKET_MAX: u32 = 1 << 30;

/// The server's greeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Greeting {
    /// The server's id of the connection.
    pub(super) connection: u32,
    capabilities: u32,
    /// The nonce of `method`.
    pub(super) nonce: Vec<u8>,
    /// The server's default; `None` if it is not supported here.
    pub(super) method: Option<Method>,
}

impl Greeting {
    /// Parses a greeting; `None` unless it is of protocol 10 with the 4.1 extensions.
    pub(super) fn read(payload: &[u8]) -> Option<Self> {
        let mut reader = Reader(payload);
        if reader.number(1)? != 10 {
            return None;
        }
        reader.zero_ended();
        let connection = u32::try_from(reader.number(4)?).ok()?;
        let mut nonce = reader.bytes(8)?.to_vec();
        reader.number(1)?;
        let low = reader.number(2)?;
        // Character set and status.
        reader.bytes(3)?;
        let high = reader.number(2)?;
        let length = usize::try_from(reader.number(1)?).ok()?;
        reader.bytes(10)?;
        // At least 13 bytes, the last of which is zero.
        nonce.extend_from_slice(reader.bytes(length.saturating_sub(8).max(13))?);
        nonce.truncate(20);
        let capabilities = u32::try_from(low | high << 16).ok()?;
        let needed = capability::PROTOCOL_41 | capability::SECURE_CONNECTION;
        (capabilities & needed == needed).then(|| Self {
            connection,
            capabilities,
            nonce,
            method: match reader.zero_ended() {
                b"" => Some(Method::Native),
                name => Method::of(name),
            },
        })
    }

    /// Whether the server supports TLS. Otherwise it would answer a TLS request with garbage.
    pub(super) fn has_tls(&self) -> bool {
        self.capabilities & capability::SSL != 0
    }

    /// The used subset of the server's capabilities.
    fn used(&self, encrypted: bool) -> u32 {
        let ours = capability::FOUND_ROWS
            | capability::LONG_FLAG
            | capability::CONNECT_WITH_DB
            | capability::LOCAL_FILES
            | capability::PROTOCOL_41
            | capability::TRANSACTIONS
            | capability::SECURE_CONNECTION
            | capability::MULTI_RESULTS
            | capability::PS_MULTI_RESULTS
            | capability::PLUGIN_AUTH
            | capability::CONNECT_ATTRS
            | capability::LENENC_AUTH
            | if encrypted { capability::SSL } else { 0 };
        // A server without local files rejects LOAD DATA itself.
        ours & (self.capabilities | capability::LOCAL_FILES)
    }

    /// The common start of both replies.
    fn start_reply(&self, out: &mut Vec<u8>, sequence: u8, encrypted: bool) -> usize {
        let at = packet::start(out, sequence);
        out.extend_from_slice(&self.used(encrypted).to_le_bytes());
        out.extend_from_slice(&PACKET_MAX.to_le_bytes());
        out.push(CHARSET);
        out.extend_from_slice(&[0; 23]);
        at
    }

    /// Requests TLS; the reply follows encrypted.
    pub(super) fn request_tls(&self, out: &mut Vec<u8>) {
        let at = self.start_reply(out, 1, true);
        packet::finish(out, at);
    }

    /// The reply: user, first response to the nonce, database, and the name of this program.
    pub(super) fn reply(&self, out: &mut Vec<u8>, encrypted: bool, login: &Reply<'_>) {
        let at = self.start_reply(out, if encrypted { 2 } else { 1 }, encrypted);
        let used = self.used(encrypted);
        put_zero_ended(out, login.user);
        if used & capability::LENENC_AUTH == 0 {
            // No response is longer than a byte can express.
            out.push(u8::try_from(login.answer.len()).unwrap_or(0));
            out.extend_from_slice(login.answer);
        } else {
            put_lenenc_bytes(out, login.answer);
        }
        if used & capability::CONNECT_WITH_DB != 0 {
            put_zero_ended(out, login.database);
        }
        if used & capability::PLUGIN_AUTH != 0 {
            put_zero_ended(out, login.method.name());
        }
        if used & capability::CONNECT_ATTRS != 0 {
            let mut attributes = Vec::new();
            put_lenenc_bytes(&mut attributes, b"program_name");
            put_lenenc_bytes(&mut attributes, login.application_name.as_bytes());
            put_lenenc_bytes(out, &attributes);
        }
        packet::finish(out, at);
    }
}

/// The content of a reply.
pub(super) struct Reply<'a> {
    pub(super) user: &'a str,
    pub(super) answer: &'a [u8],
    pub(super) database: &'a str,
    pub(super) method: Method,
    pub(super) application_name: &'a str,
}

fn put_zero_ended(out: &mut Vec<u8>, text: &str) {
    // A zero byte would end the text early; the protocol cannot represent one.
    out.extend(text.bytes().filter(|byte| *byte != 0));
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting(capabilities: u32, method: &[u8]) -> Vec<u8> {
        let [a, b, c, d] = capabilities.to_le_bytes();
        [
            &b"\x0a5.5.5-10.11.19-MariaDB\0"[..],
            &[9, 1, 0, 0],
            b"abcdefgh\0",
            &[a, b, 45, 2, 0, c, d, 21],
            &[0; 10],
            b"ijklmnopqrst\0",
            method,
            b"\0",
        ]
        .concat()
    }

    #[test]
    fn a_greeting_has_nonce_method_and_whether_there_is_tls() {
        let read = Greeting::read(&greeting(0x81ff_f7fe, b"mysql_native_password")).unwrap();
        assert_eq!((read.connection, read.nonce.as_slice()), (265, &b"abcdefghijklmnopqrst"[..]));
        assert_eq!(read.method, Some(Method::Native));
        assert!(!read.has_tls());
        let with_tls = Greeting::read(&greeting(0x81ff_fffe, b"parsec")).unwrap();
        assert!(with_tls.has_tls());
        assert_eq!(with_tls.method, None);
        assert_eq!(Greeting::read(b"HTTP/1.1 400 Bad Request\r\n"), None);
        // Without the extensions of version 4.1.
        assert_eq!(Greeting::read(&greeting(1, b"")), None);
    }

    #[test]
    fn a_reply_asks_for_no_more_than_the_server_can_do() {
        let read = Greeting::read(&greeting(0x8200 | 1 << 19, b"")).unwrap();
        let mut out = Vec::new();
        let reply = Reply {
            user: "ann",
            answer: &[1, 2],
            database: "bench",
            method: Method::Native,
            application_name: "highwater",
        };
        read.reply(&mut out, false, &reply);
        let body = b"ann\0\x02\x01\x02mysql_native_password\0";
        assert!(out.ends_with(body), "{out:?}");
        assert_eq!(out[3], 1);
    }
}
