//! Authenticates the client, by the method that the server requests, if the login allows it.
//!
//! Secrets are only sent to a server that may have them.

use bytes::BytesMut;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};
use postgres_protocol::message::frontend;

use super::channel_binding::server_end_point;
use super::errors::{StartUpError, server_error};
use super::options::{Binding, Method, Node};
use super::password::password;
use super::wire::Connection;
use highwater_driver::contract::TargetError;

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
    StartUpError::Client(TargetError::refused(message).with_hint(
        "channel binding needs TLS and authentication by SCRAM-SHA-256; `?channel_binding=prefer` does without",
    ))
}

fn unproven(node: &Node) -> StartUpError {
    let place = &node.shown;
    StartUpError::Client(TargetError::refused(format!(
        "{place}: the server did not prove that it knows the password"
    )))
}

fn unsupported(node: &Node, what: &str) -> StartUpError {
    let error = TargetError::refused(format!("{}: the server requires {what}", node.shown))
        .with_hint("password (clear text, MD5, SCRAM-SHA-256) and trust are spoken");
    StartUpError::Client(error)
}
