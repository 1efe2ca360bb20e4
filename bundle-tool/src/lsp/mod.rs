//! A language server: diagnostics, quick fixes and documentation for the files that are open in an editor.
//!
//! Speaks the Language Server Protocol 3.17 over two streams. [`serve`] reads messages on one thread, validates on another
//! one and keeps the state on the caller's, so that a newer change supersedes an older validation. How a bundle or a catalog
//! is validated is given by the caller.
//!
//! Source: <https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/>.

mod action;
mod hover;
mod item;
mod message;
mod position;
mod project;
mod protocol;
mod server;
mod session;
mod transport;
mod uri;

pub use item::{Failure, Item, Validated};
pub use server::{End, Validate, serve};
pub use transport::{MAX_MESSAGE, TransportError};
