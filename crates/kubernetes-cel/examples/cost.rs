//! Shows why the API server rejects a rule that is too expensive, and how a limit in the schema changes that.
//!
//! `cargo run -p kubernetes-cel --example cost`

use kubernetes_cel::{EXPRESSION_LIMIT, Report, Rule, Schema, Server, check_schema};

/// Checks a rule that compares each of a list's strings with every other one.
fn check(max_items: Option<i64>) -> Report {
    let host = Schema { kind: "string", max_length: Some(253), ..Schema::default() };
    let unique = "self.all(x, self.exists_one(y, x == y))";
    let hosts = Schema {
        kind: "array",
        items: Some(Box::new(host)),
        max_items,
        rules: vec![Rule { rule: unique, message: "hosts must be unique", ..Rule::default() }],
        ..Schema::default()
    };
    check_schema(
        &Schema { kind: "object", properties: vec![("hosts", hosts)], ..Schema::default() },
        &Server::new(37),
    )
}

fn main() {
    for max_items in [None, Some(100)] {
        let report = check(max_items);
        let cost = report.costs.first().map_or(0, |cost| cost.cost);
        println!("maxItems {max_items:?}: the rule costs {cost}, the limit is {EXPRESSION_LIMIT}");
        for problem in &report.problems {
            println!("  rejected: {}", problem.message);
        }
    }
}
