//! The upgrade graph of one channel: exactly one head, from which `replaces` leads to every entry that is not skipped.
//!
//! Source: `alpha/model/model.go` of operator-registry (`Head`, `validateReplacesChain`).

use std::collections::{HashMap, HashSet};

use super::blob::{Channel, Entry};
use super::problem::{Place, Problem, Rule};
use super::rules;

/// How many names a message lists.
const MAX_NAMES: usize = 10;

/// Returns the entries that no entry of the channel replaces or skips.
#[must_use]
pub fn heads(channel: &Channel) -> Vec<&Entry> {
    let incoming: HashSet<&str> = channel
        .entries
        .iter()
        .flat_map(|entry| entry.skips.iter().chain([&entry.replaces]))
        .filter(|name| !name.is_empty())
        .map(String::as_str)
        .collect();
    channel.entries.iter().filter(|entry| !incoming.contains(entry.name.as_str())).collect()
}

/// Reports what is wrong with the graph of a channel.
pub(super) fn check(channel: &Channel, problems: &mut Vec<Problem>) {
    let mut report = |rule: &'static Rule, place: Place, message: String| {
        problems.push(Problem::new(rule, place, "entries", &message));
    };
    let of_entry =
        |entry: &Entry| Place { file: channel.place.file.clone(), line: entry.line, column: entry.column };
    let name = &channel.name;
    if channel.entries.is_empty() {
        report(&rules::CHANNEL_EMPTY, channel.place.clone(), format!("channel `{name}` has no entries"));
        return;
    }
    let head = match heads(channel)[..] {
        [head] => head,
        [] => {
            let message =
                format!("channel `{name}` has no head: every entry is replaced or skipped by another");
            report(&rules::CHANNEL_HEAD_MISSING, channel.place.clone(), message);
            return;
        }
        ref several => {
            let message = format!("channel `{name}` has several heads: {}", listed(several));
            report(&rules::CHANNEL_HEADS_SEVERAL, channel.place.clone(), message);
            return;
        }
    };
    // Of two entries with one name, which is a problem of its own, the last counts.
    let entries: HashMap<&str, &Entry> =
        channel.entries.iter().map(|entry| (entry.name.as_str(), entry)).collect();
    let skipped: HashSet<&str> =
        channel.entries.iter().flat_map(|entry| &entry.skips).map(String::as_str).collect();
    let mut chain = HashSet::from([head.name.as_str()]);
    let mut order = vec![head.name.as_str()];
    let mut current = Some(head);
    while let Some(entry) = current {
        let next = entry.replaces.as_str();
        if skipped.contains(next) {
            break;
        }
        if !chain.insert(next) {
            let from = order.iter().position(|name| *name == next).unwrap_or_default();
            let mut cycle: Vec<&str> = order[from..].iter().copied().take(MAX_NAMES).collect();
            if order.len() - from > MAX_NAMES {
                cycle.push("…");
            }
            cycle.push(next);
            let message =
                format!("cycle in the `replaces` chain of channel `{name}`: `{}`", cycle.join("` → `"));
            report(&rules::CHANNEL_CYCLE, of_entry(entry), message);
            return;
        }
        order.push(next);
        current = entries.get(next).copied();
    }
    let stranded: Vec<&Entry> = channel
        .entries
        .iter()
        .filter(|entry| !chain.contains(entry.name.as_str()) && !skipped.contains(entry.name.as_str()))
        .collect();
    if let Some(first) = stranded.first() {
        let message = format!(
            "entries of channel `{name}` cannot be reached from its head `{}`: {}",
            head.name,
            listed(&stranded)
        );
        report(&rules::CHANNEL_ENTRY_STRANDED, of_entry(first), message);
    }
}

fn listed(entries: &[&Entry]) -> String {
    let mut names: Vec<String> = entries.iter().map(|entry| format!("`{}`", entry.name)).collect();
    names.sort();
    let more = names.len().saturating_sub(MAX_NAMES);
    names.truncate(MAX_NAMES);
    let listed = names.join(", ");
    if more > 0 { format!("{listed} and {more} more") } else { listed }
}
