//! A client's response to each authentication method: pure functions of password and nonce.
//!
//! Must not do I/O; a password is only hashed or, if the connection is private, sent.

use ed25519_dalek::VerifyingKey;
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use highwater_driver::regular_file::PrivateFile;
use highwater_driver::target_url::Secret;
use highwater_model::user_error::UserError;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use super::options::{Address, Node};

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
    pub(super) fn of(name: &[u8]) -> Option<Self> {
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
    use super::*;
    use ed25519_dalek::{Signature, Verifier};

    /// Vectors of `mysql_common` (MIT or Apache-2.0), `src/scramble.rs`.
    #[test]
    fn passwords_are_scrambled_as_other_clients_do_it() {
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
