//! What the drawings of a channel have in common: its entries in the order in which they are shown, and their edges.

use std::collections::{BTreeMap, HashSet};

use crate::validate::{Channel, Entry, PackageGraph, heads};

/// What is shown of an entry of a channel.
pub(crate) struct Node<'b> {
    pub(crate) entry: &'b Entry,
    pub(crate) version: Option<String>,
    pub(crate) is_head: bool,
    pub(crate) is_deprecated: bool,
}

/// Returns the entries of a channel: the heads first, then what they lead to along `replaces`, then the rest by version.
pub(crate) fn nodes<'b>(linked: &PackageGraph<'b>, channel: &'b Channel) -> Vec<Node<'b>> {
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
        is_deprecated: linked.deprecation("olm.bundle", &entry.name).is_some(),
    };
    order.into_iter().map(node).collect()
}

pub(crate) fn class(node: &Node<'_>) -> Option<&'static str> {
    match (node.is_deprecated, node.is_head) {
        (true, _) => Some("deprecated"),
        (false, true) => Some("head"),
        (false, false) => None,
    }
}

/// Calls `each` with the older and the newer entry of every edge, and what makes it.
pub(crate) fn edges(nodes: &[Node<'_>], mut each: impl FnMut(&str, &str, &str)) {
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
