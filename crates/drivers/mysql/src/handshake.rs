//! The first packets of a connection: the server's greeting, the client's reply, and its response to each
//! authentication method: pure functions of password and nonce. Must not do I/O.

use ed25519_dalek::VerifyingKey;
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use highwater_driver::regular_file::PrivateFile;
use highwater_driver::target_url::Secret;
use highwater_model::user_error::UserError;

use super::options::{Address, Node};
use super::wire;
use super::wire::{Reader, put_lenenc_bytes};

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
                name => Method::from_name(name),
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
        let at = wire::start(out, sequence);
        out.extend_from_slice(&self.used(encrypted).to_le_bytes());
        out.extend_from_slice(&PACKET_MAX.to_le_bytes());
        out.push(CHARSET);
        out.extend_from_slice(&[0; 23]);
        at
    }

    /// Requests TLS; the reply follows encrypted.
    pub(super) fn request_tls(&self, out: &mut Vec<u8>) {
        let at = self.start_reply(out, 1, true);
        wire::finish(out, at);
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
        wire::finish(out, at);
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

/// A supported method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// SHA-1 twice; the default of MariaDB's accounts.
    Native,
    /// SHA-256; the default of MySQL's accounts. The server may request the password itself.
    CachingSha2,
    /// A signature; MariaDB only.
    Ed25519,
    /// The plain password: for a private connection only.
    Clear,
}

impl Method {
    /// Parses the server's name of the method.
    pub(super) fn from_name(name: &[u8]) -> Option<Self> {
        let mut all = [Self::Native, Self::CachingSha2, Self::Ed25519, Self::Clear].into_iter();
        all.find(|method| method.name().as_bytes() == name)
    }

    /// The server's name of the method.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
            Self::Ed25519 => "client_ed25519",
            Self::Clear => "mysql_clear_password",
        }
    }

    /// The response to a nonce. An empty password has an empty response, except with Ed25519.
    pub(super) fn answer(self, password: &str, nonce: &[u8]) -> Vec<u8> {
        match self {
            Self::Ed25519 => ed25519(password, nonce),
            Self::Clear => clear(password),
            _ if password.is_empty() => Vec::new(),
            Self::Native => scramble::<Sha1>(password, |twice| [nonce, twice].concat()),
            Self::CachingSha2 => scramble::<Sha256>(password, |twice| [twice, nonce].concat()),
        }
    }
}

/// The password with a terminating zero.
pub(super) fn clear(password: &str) -> Vec<u8> {
    [password.as_bytes(), &[0]].concat()
}

/// H(password) XOR H(nonce, H(H(password))), or with the nonce last: `mixed` returns the input of the last hash.
fn scramble<H: Digest>(password: &str, mixed: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let once = H::digest(password.as_bytes());
    let twice = H::digest(&once);
    let mixed = H::digest(mixed(twice.as_slice()));
    once.iter().zip(mixed.iter()).map(|(a, b)| a ^ b).collect()
}

/// A signature of the nonce, with the key derived from the whole password by SHA-512.
fn ed25519(password: &str, nonce: &[u8]) -> Vec<u8> {
    let hash: [u8; 64] = Sha512::digest(password.as_bytes()).into();
    let key = ExpandedSecretKey::from_bytes(&hash);
    let public = VerifyingKey::from(&key);
    raw_sign::<Sha512>(&key, nonce, &public).to_bytes().to_vec()
}

/// The file with the password.
const OPTION_FILE: PrivateFile =
    PrivateFile { name: "option file", hint: "MYSQL_PWD, or a password in the URL, needs no file" };

/// The password for a server: the given one, or else that of the file; `None` if there is none, which also means an
/// empty password.
pub(super) fn password(node: &Node) -> Result<Option<Secret>, UserError> {
    if let Some(password) = &node.login.password {
        return Ok(Some(password.clone()));
    }
    let Some(path) = &node.login.option_file else {
        return Ok(None);
    };
    let text = OPTION_FILE.read(path)?.unwrap_or_default();
    let host = match &node.address {
        Address::Tcp(host, _) => host,
        Address::Socket(_) => "localhost",
    };
    Ok(find(&text, &node.login.user, host).map(Secret::of_this_run))
}

/// The last password of the section, if the section applies to any user and host, or to these.
fn find(text: &str, user: &str, host: &str) -> Option<String> {
    let mut in_section = false;
    let (mut password, mut is_for_us) = (None, true);
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let name = section.strip_suffix(']').unwrap_or(section);
            in_section = ["client", "client-mariadb", "client-server"].contains(&name);
            continue;
        }
        let Some((name, value)) = line.split_once('=').filter(|_| in_section) else {
            continue;
        };
        let value = unquoted(value.trim());
        match name.trim() {
            "password" => password = Some(value),
            "user" => is_for_us &= value == user,
            "host" => is_for_us &= value == host,
            _ => {}
        }
    }
    password.filter(|_| is_for_us)
}

fn unquoted(value: &str) -> String {
    let quoted =
        ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    quoted.unwrap_or(value).to_owned()
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::{Signature, Verifier};

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
    fn a_reply_requests_only_capabilities_of_the_server() {
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

    /// Vectors of `mysql_common` (MIT or Apache-2.0), `src/scramble.rs`.
    #[test]
    fn passwords_are_scrambled_as_by_other_clients() {
        let nonce = [
            0x4e, 0x52, 0x33, 0x48, 0x50, 0x3a, 0x71, 0x49, 0x59, 0x61, 0x5f, 0x39, 0x3d, 0x64,
            0x62, 0x3f, 0x53, 0x64, 0x7b, 0x60,
        ];
        for (method, answer) in [
            (Method::Native, "09cff8855e9e705340ff2270d8fb9fadba906b70"),
            (
                Method::CachingSha2,
                "4f97bbfd202401c42a69deaae53bda077ed7578563c1a80eb816c82119b68d2e",
            ),
        ] {
            let bytes = method.answer("G!ider27", &nonce);
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, answer, "{method:?}");
        }
    }

    #[test]
    fn no_password_is_an_empty_answer() {
        assert!(Method::Native.answer("", &[1; 20]).is_empty());
        assert!(Method::CachingSha2.answer("", &[1; 20]).is_empty());
        assert_eq!(Method::Clear.answer("", &[]), [0]);
    }

    #[test]
    fn an_ed25519_answer_is_a_signature_of_the_nonce() {
        let nonce = [7; 32];
        let answer = Method::Ed25519.answer("foobar", &nonce);
        let hash: [u8; 64] = Sha512::digest(b"foobar").into();
        let public = VerifyingKey::from(&ExpandedSecretKey::from_bytes(&hash));
        let signature = Signature::from_slice(&answer).unwrap();
        assert!(public.verify(&nonce, &signature).is_ok());
        assert!(public.verify(&[8; 32], &signature).is_err());
    }

    #[test]
    fn the_client_section_counts_for_the_user_and_host_that_it_names() {
        for (text, password) in [
            ("[client]\npassword=one", Some("one")),
            ("# c\n[mysqld]\npassword=no\n[client]\n password = \"a b\"\n", Some("a b")),
            ("[client]\nuser=ann\npassword='x'\nhost=h", Some("x")),
            ("[client]\nuser=bob\npassword=x", None),
            ("[client]\nhost=other\npassword=x", None),
            ("[client]\npassword=x\n[client-mariadb]\npassword=y", Some("y")),
            ("password=x", None),
            ("[client]\npassword", None),
            ("", None),
        ] {
            assert_eq!(find(text, "ann", "h").as_deref(), password, "{text}");
        }
    }
}
