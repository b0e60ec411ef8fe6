//! A client's response to each authentication method: pure functions of password and nonce.
//!
//! Must not do I/O; a password is only hashed or, if the connection is private, sent.

use ed25519_dalek::VerifyingKey;
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

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

#[cfg(test)]
mod tests {
    use ed25519_dalek::{Signature, Verifier};

    use super::*;

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
}
