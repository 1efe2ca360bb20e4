//! The upgrade graph as text for the terminal.

use std::fmt::Write as _;

use super::node::{Node, nodes};
use crate::validate::Packages;
use kube_yaml::text::printable;

/// Returns the graph for the terminal: the newest entry of each channel first.
#[must_use]
pub fn text(packages: &Packages<'_>) -> String {
    let mut out = String::new();
    for (name, linked) in packages {
        let marks = if linked.deprecation("olm.package", "").is_some() { " (deprecated)" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}{marks}", printable(name));
        for (channel_name, channel) in &linked.channels {
            let mut marks = Vec::new();
            if linked.package.default_channel == *channel_name {
                marks.push("default");
            }
            if linked.deprecation("olm.channel", channel_name).is_some() {
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
