//! CEL: expressions of match conditions, of OLM's constraints and of a CRD's schema, for the oldest and the newest version of
//! Kubernetes that is reproduced.

#![no_main]

use kubernetes_cel::{Rule, Schema, Server, check_constraint, check_match_condition, check_schema};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = check_constraint(text);
    let leaf = |kind| Schema { kind, ..Schema::default() };
    let list = Schema { kind: "array", items: Some(Box::new(leaf("string"))), ..Schema::default() };
    let schema = Schema {
        kind: "object",
        properties: vec![("a", leaf("string")), ("b", leaf("integer")), ("c", list)],
        rules: vec![Rule { rule: text, message_expression: text, ..Rule::default() }],
        ..Schema::default()
    };
    for server in [Server::new(30), Server::new(Server::NEWEST)] {
        let _ = check_match_condition(text, &server);
        let _ = check_schema(&schema, &server);
    }
});
