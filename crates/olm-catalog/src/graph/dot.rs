//! The upgrade graph in the language of Graphviz.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::node::{class, edges, nodes};
use crate::validate::Packages;
use kube_yaml::text::printable;

/// Returns the graph in the language of Graphviz. Edges lead from the older to the newer entry.
#[must_use]
pub fn dot(packages: &Packages<'_>) -> String {
    let mut out = String::from(
        "digraph catalog {\n  rankdir=LR;\n  node [shape=box, style=filled, fillcolor=white];\n",
    );
    let mut clusters = 0_usize;
    for (name, linked) in packages {
        clusters += 1;
        let _ = writeln!(out, "  subgraph cluster_{clusters} {{\n    label={};", dot_text(name));
        for (channel_name, channel) in &linked.channels {
            clusters += 1;
            let _ =
                writeln!(out, "    subgraph cluster_{clusters} {{\n      label={};", dot_text(channel_name));
            let nodes = nodes(linked, channel);
            let id = |entry: &str| dot_text(&format!("{name}/{channel_name}/{entry}"));
            for node in &nodes {
                let color = match class(node) {
                    Some("deprecated") => ", fillcolor=\"#f8d7da\"",
                    Some(_) => ", fillcolor=\"#d4edda\"",
                    None => "",
                };
                let entry = &node.entry.name;
                let _ = writeln!(out, "      {} [label={}{color}];", id(entry), dot_text(entry));
            }
            let known: HashSet<&str> = nodes.iter().map(|node| node.entry.name.as_str()).collect();
            edges(&nodes, |from, to, label| {
                if known.contains(from) && known.contains(to) {
                    let style = if label == "replaces" { "" } else { ", style=dashed" };
                    let _ =
                        writeln!(out, "      {} -> {} [label={}{style}];", id(from), id(to), dot_text(label));
                }
            });
            out.push_str("    }\n");
        }
        out.push_str("  }\n");
    }
    out.push_str("}\n");
    out
}

/// Returns a string of Graphviz's.
fn dot_text(text: &str) -> String {
    let escaped = printable(text).replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}
