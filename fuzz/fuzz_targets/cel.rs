//! CEL: expressions of match conditions, of OLM's constraints and of a CRD's schema.

#![no_main]

use kubernetes_cel::{
    Rule, Schema, check_constraint, check_match_condition, check_schema, check_schema_with_lists,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = check_match_condition(text);
    let _ = check_constraint(text);
    let leaf = |kind| Schema { kind, ..Schema::default() };
    let list = Schema { kind: "array", items: Some(Box::new(leaf("string"))), ..Schema::default() };
    let schema = Schema {
        kind: "object",
        properties: vec![("a", leaf("string")), ("b", leaf("integer")), ("c", list)],
        rules: vec![Rule { rule: text, message_expression: text, ..Rule::default() }],
        ..Schema::default()
    };
    let _ = check_schema(&schema);
    let _ = check_schema_with_lists(&schema);
});
