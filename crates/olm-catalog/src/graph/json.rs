//! The upgrade graph as a JSON document.

use serde_json::{Value as Json, json};

use super::node::{Node, nodes};
use crate::validate::Packages;
use kube_yaml::text::{present, write_json};

/// Returns the graph for programs: the newest entry of each channel first.
///
/// # Errors
/// The document cannot be serialized.
pub fn json(packages: &Packages<'_>) -> std::io::Result<String> {
    let packages: Vec<Json> = packages
        .iter()
        .map(|(name, linked)| {
            let channels = linked.channels.iter().map(|(name, channel)| {
                json!({
                    "name": name,
                    "deprecation": linked.deprecation("olm.channel", name),
                    "entries": nodes(linked, channel).iter().map(entry).collect::<Vec<_>>(),
                })
            });
            json!({
                "name": name,
                "defaultChannel": present(&linked.package.default_channel),
                "deprecation": linked.deprecation("olm.package", ""),
                "channels": channels.collect::<Vec<_>>(),
            })
        })
        .collect();
    let mut out = Vec::new();
    write_json(&json!({ "version": 1, "packages": packages }), &mut out)?;
    String::from_utf8(out).map_err(std::io::Error::other)
}

fn entry(node: &Node<'_>) -> Json {
    json!({
        "name": node.entry.name,
        "version": node.version,
        "isHead": node.is_head,
        "isDeprecated": node.is_deprecated,
        "replaces": present(&node.entry.replaces),
        "skips": node.entry.skips,
        "skipRange": present(&node.entry.skip_range),
    })
}
