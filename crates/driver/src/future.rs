//! The futures of a contract whose sessions stay on one thread.

use std::future::Future;
use std::pin::Pin;

use highwater_model::user_error::UserError;

/// A future that stays on its executor's thread.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;
/// A target's response, or its error.
pub type Response<'a, T> = BoxFuture<'a, Result<T, UserError>>;
