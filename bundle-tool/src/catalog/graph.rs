//! The upgrade graph of packages as text, Mermaid and DOT.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use super::validate::{Channel, Entry, Linked, Packages, heads};
use crate::model::text::printable;

/// What is shown of an entry of a channel.
struct Node<'b> {
    entry: &'b Entry,
    version: Option<String>,
    is_head: bool,
    is_deprecated: bool,
}

/// Returns the entries of a channel: the heads first, then what they lead to along `replaces`, then the rest by version.
fn nodes<'b>(linked: &Linked<'b>, channel: &'b Channel) -> Vec<Node<'b>> {
    let is_deprecated = |name: &str| {
        linked.deprecations.is_some_and(|deprecations| {
            deprecations.entries.iter().any(|entry| entry.schema == "olm.bundle" && entry.name == name)
        })
    };
    let entries: BTreeMap<&str, &Entry> =
        channel.entries.iter().map(|entry| (entry.name.as_str(), entry)).collect();
    let version = |name: &str| linked.bundles.get(name).and_then(|bundle| bundle.version.as_ref());
    let mut first = heads(channel);
    first.sort_by(|a, b| (version(&b.name), &b.name).cmp(&(version(&a.name), &a.name)));
    let head_names: HashSet<&str> = first.iter().map(|entry| entry.name.as_str()).collect();
    let mut rest: Vec<&Entry> = channel.entries.iter().collect();
    rest.sort_by(|a, b| (version(&b.name), &b.name).cmp(&(version(&a.name), &a.name)));
    let mut seen = HashSet::new();
    let mut order = Vec::new();
    for start in first.into_iter().chain(rest) {
        let mut current = Some(start);
        while let Some(entry) = current.filter(|entry| seen.insert(entry.name.as_str())) {
            order.push(entry);
            current = entries.get(entry.replaces.as_str()).copied();
        }
    }
    let node = |entry: &'b Entry| Node {
        entry,
        version: linked.bundles.get(entry.name.as_str()).and_then(|bundle| bundle.version_and_release()),
        is_head: head_names.contains(entry.name.as_str()),
        is_deprecated: is_deprecated(&entry.name),
    };
    order.into_iter().map(node).collect()
}

/// Returns whether the package or one of its channels is deprecated.
fn is_deprecated(linked: &Linked<'_>, schema: &str, name: &str) -> bool {
    let deprecations = linked.deprecations.into_iter().flat_map(|deprecations| &deprecations.entries);
    deprecations.into_iter().any(|entry| entry.schema == schema && entry.name == name)
}

/// Returns the graph for the terminal: the newest entry of each channel first.
#[must_use]
pub fn text(packages: &Packages<'_>) -> String {
    let mut out = String::new();
    for (name, linked) in packages {
        let marks = if is_deprecated(linked, "olm.package", "") { " (deprecated)" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}{marks}", printable(name));
        for (channel_name, channel) in &linked.channels {
            let mut marks = Vec::new();
            if linked.package.default_channel == *channel_name {
                marks.push("default");
            }
            if is_deprecated(linked, "olm.channel", channel_name) {
                marks.push("deprecated");
            }
            let marks = if marks.is_empty() { String::new() } else { format!(" ({})", marks.join(", ")) };
            let _ = writeln!(out, "  {}{marks}", printable(channel_name));
            for node in nodes(linked, channel) {
                line(&node, &mut out);
            }
        }
    }
    out
}

fn line(node: &Node<'_>, out: &mut String) {
    let symbol = if node.is_head { "●" } else { "○" };
    let _ = write!(out, "    {symbol} {}", printable(&node.entry.name));
    if let Some(version) =
        node.version.as_ref().filter(|version| !node.entry.name.ends_with(version.as_str()))
    {
        let _ = write!(out, " ({version})");
    }
    if node.is_head {
        out.push_str(" head");
    }
    if node.is_deprecated {
        out.push_str(" deprecated");
    }
    let entry = node.entry;
    if !entry.replaces.is_empty() {
        let _ = write!(out, ", replaces {}", printable(&entry.replaces));
    }
    if !entry.skips.is_empty() {
        let _ = write!(out, ", skips {}", printable(&entry.skips.join(" ")));
    }
    if !entry.skip_range.is_empty() {
        let _ = write!(out, ", skipRange {}", printable(&entry.skip_range));
    }
    out.push('\n');
}

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

fn class(node: &Node<'_>) -> Option<&'static str> {
    match (node.is_deprecated, node.is_head) {
        (true, _) => Some("deprecated"),
        (false, true) => Some("head"),
        (false, false) => None,
    }
}

/// Calls `each` with the older and the newer entry of every edge, and what makes it.
fn edges(nodes: &[Node<'_>], mut each: impl FnMut(&str, &str, &str)) {
    for node in nodes {
        let entry = node.entry;
        if !entry.replaces.is_empty() {
            each(&entry.replaces, &entry.name, "replaces");
        }
        for skipped in &entry.skips {
            each(skipped, &entry.name, "skips");
        }
    }
}

/// Returns a label of Mermaid's, in which quotes and brackets are entities.
fn mermaid_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '"' | '<' | '>' | '&' | '#' | '|' | ';' => {
                let _ = write!(out, "#{};", u32::from(char));
            }
            char if char.is_control() => out.push(' '),
            _ => out.push(char),
        }
    }
    out
}

/// Returns a string of Graphviz's.
fn dot_text(text: &str) -> String {
    let escaped =
        text.replace('\\', "\\\\").replace('"', "\\\"").replace(|char: char| char.is_control(), " ");
    format!("\"{escaped}\"")
}
