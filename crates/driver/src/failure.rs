//! Why an exchange with a server failed, for every driver with a wire of its own.
//!
//! Must not know a protocol, or what the errors of a server mean.

use std::io;

use crate::error::TargetError;
use crate::network::lost;

/// An error that a server returned, as far as it matters before and after a load.
pub trait ServerMessage {
    /// As the reason why a target cannot be used; `place` names it.
    fn into_target_error(self, place: &str) -> TargetError;

    /// Characters of a statement before the place that it is about, if it names one.
    fn position(&self) -> Option<usize> {
        None
    }
}

/// Why an exchange with a server failed.
#[derive(Debug)]
pub enum Failure<E> {
    /// The connection is lost, or the answer was not what the protocol allows.
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
    /// As the reason why a target cannot be used; `place` names it.
    pub fn into_target_error(self, place: &str) -> TargetError {
        match self {
            Self::Io(error) => lost(place, &error),
            Self::Server(error) => error.into_target_error(place),
        }
    }

    /// Where in a statement the server found a mistake: characters before it.
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
    Client(TargetError),
    /// What the server said, or the end of the connection.
    Server(Failure<E>),
}

impl<E> From<io::Error> for LoginError<E> {
    fn from(error: io::Error) -> Self {
        Self::Server(Failure::Io(error))
    }
}

impl<E> From<TargetError> for LoginError<E> {
    fn from(error: TargetError) -> Self {
        Self::Client(error)
    }
}
