//! The upgrade graph as a Mermaid flowchart.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::node::{class, edges, nodes};
use crate::validate::Packages;
use kube_yaml::text::printable;

/// Returns the graph as a Mermaid flowchart. Edges lead from the older to the newer entry.
#[must_use]
pub fn mermaid(packages: &Packages<'_>) -> String {
    let mut out = String::from("graph LR\n");
    let mut ids = 0_usize;
    let mut id = || {
        ids += 1;
        format!("n{ids}")
    };
    for (name, linked) in packages {
        let _ = writeln!(out, "  subgraph {} [\"{}\"]", id(), mermaid_text(name));
        for (channel_name, channel) in &linked.channels {
            let _ = writeln!(out, "    subgraph {} [\"{}\"]", id(), mermaid_text(channel_name));
            let nodes = nodes(linked, channel);
            let known: BTreeMap<&str, String> =
                nodes.iter().map(|node| (node.entry.name.as_str(), id())).collect();
            for node in &nodes {
                let class = class(node).map_or_else(String::new, |class| format!(":::{class}"));
                let _ = writeln!(
                    out,
                    "      {}[\"{}\"]{class}",
                    known[node.entry.name.as_str()],
                    mermaid_text(&node.entry.name)
                );
            }
            edges(&nodes, |from, to, label| {
                let (Some(from), Some(to)) = (known.get(from), known.get(to)) else { return };
                let arrow = if label == "replaces" { "-->" } else { "-.->" };
                let _ = writeln!(out, "      {from} {arrow}|{}| {to}", mermaid_text(label));
            });
            out.push_str("    end\n");
        }
        out.push_str("  end\n");
    }
    out.push_str(
        "  classDef head fill:#d4edda,stroke:#28a745\n  classDef deprecated fill:#f8d7da,stroke:#dc3545\n",
    );
    out
}

/// Returns a label of Mermaid's, in which quotes and brackets are entities.
fn mermaid_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in printable(text).chars() {
        match char {
            '"' | '<' | '>' | '&' | '#' | '|' | ';' => {
                let _ = write!(out, "#{};", u32::from(char));
            }
            _ => out.push(char),
        }
    }
    out
}
