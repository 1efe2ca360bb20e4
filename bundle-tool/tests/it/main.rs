//! The integration tests, in one program: each additional one would link the whole tool again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod api_server;
mod bad_input;
mod catalog;
mod catalog_add;
mod catalog_change;
mod catalog_graph;
mod catalog_template;
mod cluster;
mod completions;
mod copy;
mod diff;
mod directions;
mod fix;
mod generate;
mod generate_manifests;
mod generate_processes;
mod generate_scale;
mod help;
mod inspect;
mod layouts;
mod login;
mod lsp;
mod migrate;
mod mirror;
mod patch;
mod project;
mod push;
mod registry;
mod render_manifests;
mod round_trip;
mod rule_docs;
mod rules;
mod rules_limits;
mod scaffold;
mod schema;
mod scorecard;
mod serve;
mod serve_http;
mod sign;
mod support;
mod validate;
mod validate_choice;
mod validate_formats;
mod validate_references;
