//! The futures of a contract whose sessions stay on one thread.

use std::future::Future;
use std::pin::Pin;

/// A future that stays on its executor's thread.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;
