//! Every rule against its fixtures, and the limits of validation.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod limits;
mod rules;
