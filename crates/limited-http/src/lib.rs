//! Serves HTTP with [hyper](https://docs.rs/hyper), with limits on what clients may occupy and for how long.
//!
//! hyper's connections and `axum::serve` wait as long as a client wants: for a request that never ends, for a client that
//! reads nothing of a response, or for one that sent one byte of HTTP/2's preface. [`Server`] accepts connections and
//! drives them with hyper within [`Limits`], from the first byte on. No limit concerns the length of a transfer: a slow
//! client succeeds as long as it makes progress.
//!
//! | module | contents |
//! | --- | --- |
//! | `server` | the accept loop, the limits on connections, and the shutdown |
//! | `connection` | one connection, driven by hyper until it ends or a limit is exceeded |
//! | `activity` | what a connection does at the moment, and since when; which limit that exceeds |
//! | `body` | the bodies of requests and responses, which report progress to `activity` |
//! | `stream` | the stream below, which reports bytes to `activity` |
//!
//! The feature `http2` adds [`Server::http2`].

mod activity;
mod body;
mod connection;
mod error;
mod limits;
mod server;
mod stream;
#[cfg(test)]
mod tests;

pub use body::{RequestBody, RequestBodyError, ResponseBody};
pub use error::{ConnectionError, Timeout};
pub use limits::Limits;
pub use server::{OpenConnections, Server};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
