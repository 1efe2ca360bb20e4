//! Generation as a whole: bundles taken apart and generated again, and time in proportion to the input.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod round_trip;
mod scale;
mod warnings;
