//! Why an exchange with a server failed, for all drivers with their own wire.
//!
//! Must not know a protocol, or the meaning of a server's errors.

use std::io;

use highwater_model::user_error::UserError;

use crate::network::lost;

/// An error returned by a server, as needed before and after a load.
pub trait ServerMessage {
    /// Converts it to the reason why a target cannot be used; `place` names the target.
    fn into_target_error(self, place: &str) -> UserError;

    /// Number of characters of the statement before the reported position, if any.
    fn position(&self) -> Option<usize> {
        None
    }
}

/// Why an exchange with a server failed.
#[derive(Debug)]
pub enum Failure<E> {
    /// The connection was lost, or the response violated the protocol.
    Io(io::Error),
    /// The server returned an error.
    Server(E),
}

impl<E> From<io::Error> for Failure<E> {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl<E: ServerMessage> Failure<E> {
    /// Converts it to the reason why a target cannot be used; `place` names the target.
    pub fn into_target_error(self, place: &str) -> UserError {
        match self {
            Self::Io(error) => lost(place, &error),
            Self::Server(error) => error.into_target_error(place),
        }
    }

    /// Position of the server's error in a statement: number of characters before it.
    pub fn position(&self) -> Option<usize> {
        match self {
            Self::Io(_) => None,
            Self::Server(error) => error.position(),
        }
    }
}

/// Why a login failed: on the client's side or on the server's.
#[derive(Debug)]
pub enum LoginError<E> {
    /// No password, or none that may be sent.
    Client(UserError),
    /// The server's error, or the loss of the connection.
    Server(Failure<E>),
}

impl<E> From<io::Error> for LoginError<E> {
    fn from(error: io::Error) -> Self {
        Self::Server(Failure::Io(error))
    }
}

impl<E> From<UserError> for LoginError<E> {
    fn from(error: UserError) -> Self {
        Self::Client(error)
    }
}
