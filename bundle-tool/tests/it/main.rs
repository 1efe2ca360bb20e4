//! The integration tests, in one program: each additional one would link the whole tool again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod bad_input;
mod catalog;
mod catalog_add;
mod catalog_graph;
mod cluster;
mod diff;
mod directions;
mod generate;
mod generate_manifests;
mod generate_processes;
mod generate_scale;
mod help;
mod layouts;
mod patch;
mod project;
mod push;
mod registry;
mod round_trip;
mod rule_docs;
mod rules;
mod rules_limits;
mod scaffold;
mod scorecard;
mod serve;
mod validate;
