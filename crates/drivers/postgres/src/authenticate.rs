//! Authenticates the client, by the method that the server requests, if the login allows it.
//!
//! Secrets are only sent to a server that may have them. Passwords are hashed as the method requires; SCRAM is bound to
//! the TLS channel if there is one.

use bytes::BytesMut;
use highwater_driver::regular_file::PrivateFile;
use highwater_driver::target_url::Secret;
use highwater_model::user_error::UserError;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};
use postgres_protocol::message::frontend;
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::errors::{StartUpError, server_error};
use super::options::{Address, Binding, Method, Node};
use super::wire::Connection;

/// Codes in authentication messages.
const OK: u32 = 0;
const CLEAR_TEXT: u32 = 3;
const MD5: u32 = 5;
const GSS: u32 = 7;
const GSS_CONTINUE: u32 = 8;
const SSPI: u32 = 9;
const SASL: u32 = 10;
const SASL_CONTINUE: u32 = 11;
const SASL_FINAL: u32 = 12;

/// Responds to the server until it accepts this client.
pub(super) async fn authenticate(
    node: &Node,
    connection: &mut Connection,
) -> Result<(), StartUpError> {
    let mut scram: Option<ScramSha256> = None;
    let mut request = BytesMut::new();
    let mut has_responded = false;
    let end_point = connection.server_certificate().and_then(server_end_point);
    let encrypted = connection.is_encrypted();
    loop {
        let message = connection.next().await?;
        let body = match message.tag {
            b'R' => message.body,
            b'E' => return Err(server_error(message.body)),
            _ => continue,
        };
        let request_of = body.split_first_chunk::<4>();
        let (code, data) = request_of.unwrap_or((&[u8::MAX; 4], &[]));
        request.clear();
        let code = u32::from_be_bytes(*code);
        if let Some(method) = method(code, has_responded) {
            check(node, encrypted, method)?;
        }
        match (code, data.first_chunk::<4>(), &mut scram) {
            (OK, _, None) => return Ok(()),
            // A server that skips its proof does not know the password.
            (OK, _, Some(_)) => return Err(unproven(node)),
            (CLEAR_TEXT, _, None) => {
                frontend::password_message(password(node)?.reveal().as_bytes(), &mut request)?;
            }
            (MD5, Some(salt), None) => {
                let secret = password(node)?;
                let user = node.login.user.as_bytes();
                let hash = md5_hash(user, secret.reveal().as_bytes(), *salt);
                frontend::password_message(hash.as_bytes(), &mut request)?;
            }
            (SASL, _, None) => {
                let (mechanism, binding) = mechanism(node, data, end_point.as_deref())?;
                let secret = password(node)?;
                let state = ScramSha256::new(secret.reveal().as_bytes(), binding);
                frontend::sasl_initial_response(mechanism, state.message(), &mut request)?;
                scram = Some(state);
            }
            (SASL_CONTINUE, _, Some(state)) => {
                state.update(data)?;
                frontend::sasl_response(state.message(), &mut request)?;
            }
            (SASL_FINAL, _, Some(state)) => {
                state.finish(data).map_err(|_| unproven(node))?;
                scram = None;
                continue;
            }
            (CLEAR_TEXT | SASL..=SASL_FINAL, ..) | (MD5, Some(_), _) => {
                return Err(unsupported(node, "authentication messages out of order"));
            }
            _ => {
                let name = method(code, true)
                    .map_or(String::new(), |method| format!(" ({})", method.name()));
                return Err(unsupported(node, &format!("authentication method {code}{name}")));
            }
        }
        has_responded = true;
        connection.send(&request).await?;
    }
}

/// The method of a request that begins one; `has_responded` if another was already begun.
fn method(code: u32, has_responded: bool) -> Option<Method> {
    Some(match code {
        OK if !has_responded => Method::None,
        CLEAR_TEXT => Method::Password,
        MD5 => Method::Md5,
        GSS | GSS_CONTINUE => Method::Gss,
        SSPI => Method::Sspi,
        SASL => Method::ScramSha256,
        _ => return None,
    })
}

/// Fails if the login does not allow the method.
fn check(node: &Node, encrypted: bool, method: Method) -> Result<(), StartUpError> {
    let checked = node.login.required_auth.check(method, encrypted);
    checked.map_err(|refusal| refusal.into_error(&node.shown))?;
    if node.login.channel_binding == Binding::Require && method != Method::ScramSha256 {
        let cause = format!("authentication by `{}`", method.name());
        return Err(not_bound(node, &cause));
    }
    Ok(())
}

/// The SCRAM mechanism, of those that the server offers, and its channel binding.
fn mechanism(
    node: &Node,
    listed: &[u8],
    end_point: Option<&[u8]>,
) -> Result<(&'static str, ChannelBinding), StartUpError> {
    let is_listed = |name: &str| listed.split(|byte| *byte == 0).any(|one| one == name.as_bytes());
    let binding = node.login.channel_binding;
    let offered = is_listed(SCRAM_SHA_256_PLUS);
    match end_point.filter(|_| binding != Binding::Disable) {
        Some(end_point) if offered => {
            let bound = ChannelBinding::tls_server_end_point(end_point.to_vec());
            Ok((SCRAM_SHA_256_PLUS, bound))
        }
        _ if binding == Binding::Require => {
            let cause = match (end_point, offered) {
                (None, _) => {
                    "a connection without TLS, or with a certificate that has no single hash"
                }
                (Some(_), _) => "a server that offers none",
            };
            Err(not_bound(node, cause))
        }
        _ if !is_listed(SCRAM_SHA_256) => {
            Err(unsupported(node, "a SASL mechanism other than SCRAM-SHA-256"))
        }
        // With this flag, a server detects that its offer was removed in transit.
        Some(_) => Ok((SCRAM_SHA_256, ChannelBinding::unrequested())),
        None => Ok((SCRAM_SHA_256, ChannelBinding::unsupported())),
    }
}

fn not_bound(node: &Node, cause: &str) -> StartUpError {
    let message = format!("{}: `channel_binding=require` is not possible with {cause}", node.shown);
    StartUpError::Client(UserError::refused(message).with_hint(
        "channel binding needs TLS and authentication by SCRAM-SHA-256; `?channel_binding=prefer` does without",
    ))
}

fn unproven(node: &Node) -> StartUpError {
    let place = &node.shown;
    StartUpError::Client(UserError::refused(format!(
        "{place}: the server did not prove that it knows the password"
    )))
}

fn unsupported(node: &Node, what: &str) -> StartUpError {
    let error = UserError::refused(format!("{}: the server requires {what}", node.shown))
        .with_hint("password (clear text, MD5, SCRAM-SHA-256) and trust are spoken");
    StartUpError::Client(error)
}

/// Encoded object identifiers of signatures, each with its hash: that of the signature, but SHA-256 for MD5 and SHA-1.
const SIGNATURES: &[(&[u8], Hash)] = &[
    // RSA with MD5, SHA-1, SHA-256, SHA-384, SHA-512: 1.2.840.113549.1.1.x
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x04", Hash::Sha256),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x05", Hash::Sha256),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b", Hash::Sha256),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0c", Hash::Sha384),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0d", Hash::Sha512),
    // ECDSA with SHA-1, SHA-256, SHA-384, SHA-512: 1.2.840.10045.4.x
    (b"\x2a\x86\x48\xce\x3d\x04\x01", Hash::Sha256),
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x02", Hash::Sha256),
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x03", Hash::Sha384),
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x04", Hash::Sha512),
];

/// The first byte of a sequence, and of an object identifier.
const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 0x06;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

/// The hash of a certificate; `None` if its signature has no single hash, as with Ed25519.
pub(super) fn server_end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    Some(match hash(certificate)? {
        Hash::Sha256 => Sha256::digest(certificate).to_vec(),
        Hash::Sha384 => Sha384::digest(certificate).to_vec(),
        Hash::Sha512 => Sha512::digest(certificate).to_vec(),
    })
}

/// The signature's hash: Certificate ::= { tbsCertificate, signatureAlgorithm { algorithm, … }, … }.
fn hash(certificate: &[u8]) -> Option<Hash> {
    let (whole, _) = element(SEQUENCE, certificate)?;
    let (_signed, rest) = element(SEQUENCE, whole)?;
    let (algorithm, _) = element(SEQUENCE, rest)?;
    let (identifier, _) = element(OBJECT_IDENTIFIER, algorithm)?;
    let mut known = SIGNATURES.iter();
    known.find(|(encoded, _)| *encoded == identifier).map(|(_, hash)| *hash)
}

/// The content of a DER element of this kind, and what follows it.
fn element(kind: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first()?;
    let (length, rest) = match usize::from(*length) {
        short @ 0..=0x7f => (short, rest),
        // The length of the length; no certificate has 4 GiB.
        long @ 0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(long - 0x80)?;
            let number =
                digits.iter().fold(0_usize, |number, digit| number << 8 | usize::from(*digit));
            (number, rest)
        }
        _ => return None,
    };
    (*first == kind).then(|| rest.split_at_checked(length))?
}

/// The file with the passwords.
const PASSWORD_FILE: PrivateFile = PrivateFile {
    name: "password file",
    hint: "PGPASSFILE names another file; PGPASSWORD needs none",
};

/// The password for a server: the given one, or else the first match in the password file.
pub(super) fn password(node: &Node) -> Result<Secret, UserError> {
    if let Some(password) = &node.login.password {
        return Ok(password.clone());
    }
    let file = node.login.passfile.as_ref();
    let text = file.map(|path| PASSWORD_FILE.read(path)).transpose()?;
    let found = text.flatten().and_then(|text| find(&text, &pgpass_fields(node)));
    found.map(Secret::of_this_run).ok_or_else(|| {
        UserError::refused(format!(
            "{}: the server requires the password of user `{}`, and none is given",
            node.shown, node.login.user
        ))
        .with_hint(
            "put it in the URL (after the user and a colon), in PGPASSWORD, or in ~/.pgpass (mode 0600)",
        )
    })
}

/// Host, port, database, and user as in a line.
fn pgpass_fields(node: &Node) -> [String; 4] {
    let (host, port) = match &node.address {
        Address::Tcp(host, port) => (host.clone(), port),
        Address::Socket(_, port) => ("localhost".to_owned(), port),
    };
    // Without a database name, a server uses the user's name.
    let user = &node.login.user;
    [host, port.to_string(), node.login.database.as_ref().unwrap_or(user).clone(), user.clone()]
}

/// The password of the first line whose four fields match.
fn find(text: &str, pgpass_fields: &[String; 4]) -> Option<String> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut rest = line;
        for want in pgpass_fields {
            let (field, after) = field(rest)?;
            // A wildcard is an unescaped asterisk; an escaped one is a name.
            if field != "*" && unescape(field) != *want {
                return None;
            }
            rest = after;
        }
        Some(unescape(rest))
    })
}

/// The first field as written, and the text after its colon.
fn field(line: &str) -> Option<(&str, &str)> {
    let mut escaped = false;
    let end = line.find(|letter: char| {
        let ends = letter == ':' && !escaped;
        escaped = letter == '\\' && !escaped;
        ends
    })?;
    Some((line.get(..end)?, line.get(end + 1..)?))
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        plain.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{
        CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519,
    };

    #[test]
    fn the_hash_is_that_of_the_signature() {
        for (kind, bytes) in [
            (&PKCS_ECDSA_P256_SHA256, Some(32)),
            (&PKCS_ECDSA_P384_SHA384, Some(48)),
            (&PKCS_ED25519, None),
        ] {
            let key = KeyPair::generate_for(kind).unwrap();
            let names = vec!["localhost".to_owned()];
            let signed = CertificateParams::new(names).unwrap().self_signed(&key);
            let found = server_end_point(signed.unwrap().der());
            assert_eq!(found.map(|found| found.len()), bytes);
        }
        assert_eq!(server_end_point(b"\x30\x85"), None);
        assert_eq!(server_end_point(b""), None);
    }

    fn pgpass_fields() -> [String; 4] {
        ["db.example", "5432", "bench", "ann"].map(str::to_owned)
    }

    #[test]
    fn the_first_matching_line_counts() {
        for (text, password) in [
            ("db.example:5432:bench:ann:one", Some("one")),
            ("other:5432:bench:ann:no\n*:*:*:ann:two\n*:*:*:*:three", Some("two")),
            ("# db.example:5432:bench:ann:no\n*:*:*:*:x", Some("x")),
            ("*:*:*:*:with\\:colon\\\\", Some("with:colon\\")),
            ("*:*:*:*:a:b", Some("a:b")),
            ("\\*:*:*:*:no", None),
            ("*:5433:*:*:no", None),
            ("*:*:*:no", None),
            ("", None),
        ] {
            assert_eq!(find(text, &pgpass_fields()).as_deref(), password, "{text}");
        }
    }
}
