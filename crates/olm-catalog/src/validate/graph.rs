//! The upgrade graph of one channel: exactly one head, from which `replaces` leads to every entry that is not skipped.
//!
//! Source: `alpha/model/model.go` of operator-registry (`Head`, `validateReplacesChain`).

use std::collections::{HashMap, HashSet};

use super::blob::{Channel, Entry, SourcePosition};
use super::repair;
use olm_model::report::{Finding, Safety};
use olm_model::version::Version;
use olm_rules::{Rule, catalog};

/// How many names a message lists.
const MAX_NAMES: usize = 10;

/// Returns the entries that no entry of the channel replaces or skips.
#[must_use]
pub fn heads(channel: &Channel) -> Vec<&Entry> {
    let entries = channel.entries.iter();
    let edges = entries.map(|entry| (entry.name.as_str(), entry.replaces.as_str(), entry.skips.as_slice()));
    head_positions(edges).into_iter().map(|position| &channel.entries[position]).collect()
}

/// Returns the positions of the entries that no entry of their channel replaces or skips. An entry is its name, `replaces` and
/// `skips`.
pub fn head_positions<'e>(
    entries: impl Iterator<Item = (&'e str, &'e str, &'e [String])> + Clone,
) -> Vec<usize> {
    let incoming: HashSet<&str> = entries
        .clone()
        .flat_map(|(_, replaces, skips)| skips.iter().map(String::as_str).chain([replaces]))
        .filter(|name| !name.is_empty())
        .collect();
    entries.enumerate().filter(|(_, (name, ..))| !incoming.contains(name)).map(|(at, _)| at).collect()
}

/// What OLM makes of the graph of a channel.
#[derive(Debug)]
pub enum Shape<'c> {
    /// There is no entry.
    Empty,
    /// Every entry is replaced or skipped by another one.
    NoHead,
    /// Several entries are neither replaced nor skipped.
    Heads(Vec<&'c Entry>),
    /// `replaces` leads from the head back to an entry.
    Cycle {
        /// The entry that closes the cycle.
        at: &'c Entry,
        /// The names from the entry that `at` leads back to, up to `at`.
        names: Vec<&'c str>,
    },
    /// Some entries are neither skipped nor reached from the head.
    Stranded {
        /// The head.
        head: &'c Entry,
        /// The entries.
        entries: Vec<&'c Entry>,
    },
    /// The head leads to every entry that is not skipped.
    Whole(&'c Entry),
}

/// Follows `replaces` from the head of a channel.
#[must_use]
pub fn shape(channel: &Channel) -> Shape<'_> {
    if channel.entries.is_empty() {
        return Shape::Empty;
    }
    let mut heads = heads(channel);
    let head = match heads[..] {
        [head] => head,
        [] => return Shape::NoHead,
        _ => return Shape::Heads(std::mem::take(&mut heads)),
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
            return Shape::Cycle { at: entry, names: order.split_off(from) };
        }
        order.push(next);
        current = entries.get(next).copied();
    }
    let stranded: Vec<&Entry> = channel
        .entries
        .iter()
        .filter(|entry| !chain.contains(entry.name.as_str()) && !skipped.contains(entry.name.as_str()))
        .collect();
    if stranded.is_empty() { Shape::Whole(head) } else { Shape::Stranded { head, entries: stranded } }
}

/// Returns whether [`check`] reported a finding.
pub(crate) fn is_checked(finding: &Finding) -> bool {
    [
        &catalog::CHANNEL_EMPTY,
        &catalog::CHANNEL_HEAD_MISSING,
        &catalog::CHANNEL_HEADS_SEVERAL,
        &catalog::CHANNEL_CYCLE,
        &catalog::CHANNEL_ENTRY_STRANDED,
    ]
    .iter()
    .any(|rule| rule.id == finding.rule)
}

/// Reports what is wrong with the graph of a channel. `version` is that of a bundle.
pub(crate) fn check<'v>(
    channel: &Channel,
    version: impl Fn(&str) -> Option<&'v Version>,
    findings: &mut Vec<Finding>,
) {
    let mut report = |rule: &Rule, place: &SourcePosition, message: String, proposal: Option<String>| {
        let finding = place.finding(rule, "entries", message);
        findings.push(repair::with(finding, proposal, None));
    };
    let name = &channel.name;
    match shape(channel) {
        Shape::Whole(_) => {}
        Shape::Empty => {
            let message = format!("channel `{name}` has no entries");
            report(&catalog::CHANNEL_EMPTY, &channel.place, message, None);
        }
        Shape::NoHead => {
            let message =
                format!("channel `{name}` has no head: every entry is replaced or skipped by another");
            // The edge that leads to the highest version cannot be meant.
            let newest = channel.entries.iter().max_by_key(|entry| version(&entry.name));
            let over = newest.and_then(|newest| {
                channel
                    .entries
                    .iter()
                    .find(|entry| entry.replaces == newest.name || entry.skips.contains(&newest.name))
            });
            let proposal = newest.zip(over).map(|(newest, over)| {
                format!("make `{}` neither replace nor skip `{}`, the newest entry", over.name, newest.name)
            });
            report(&catalog::CHANNEL_HEAD_MISSING, &channel.place, message, proposal);
        }
        Shape::Heads(several) => {
            let message = format!("channel `{name}` has several heads: {}", listed(&several));
            let newest = several.iter().max_by_key(|entry| (version(&entry.name), &entry.name));
            let proposal = newest.map(|newest| {
                let others: Vec<&Entry> =
                    several.iter().copied().filter(|entry| entry.name != newest.name).collect();
                match others[..] {
                    [other] if newest.replaces.is_empty() => {
                        format!("make `{}` replace or skip `{}`", newest.name, other.name)
                    }
                    _ => format!("make `{}` skip {}", newest.name, listed(&others)),
                }
            });
            report(&catalog::CHANNEL_HEADS_SEVERAL, &channel.place, message, proposal);
        }
        Shape::Cycle { at, names } => {
            let mut cycle: Vec<&str> = names.iter().copied().take(MAX_NAMES).collect();
            if names.len() > MAX_NAMES {
                cycle.push("…");
            }
            cycle.extend(names.first());
            let message =
                format!("cycle in the `replaces` chain of channel `{name}`: `{}`", cycle.join("` → `"));
            let what = format!("`replaces: {}` from the entry `{}`", at.replaces, at.name);
            let index = channel.entries.iter().position(|entry| std::ptr::eq(entry, at));
            // Without any other edge of the cycle, entries could not be reached.
            let fix = index
                .map(|index| repair::remove(Safety::Unsafe, &format!("entries[{index}].replaces"), &what));
            let finding = channel.place_of(at).finding(&catalog::CHANNEL_CYCLE, "entries", message);
            findings.push(repair::with(finding, None, fix));
        }
        Shape::Stranded { head, entries } => {
            let message = format!(
                "entries of channel `{name}` cannot be reached from its head `{}`: {}",
                head.name,
                listed(&entries)
            );
            let proposal = format!(
                "make `{}` skip {}, or make the entries in between replace them",
                head.name,
                listed(&entries)
            );
            if let Some(first) = entries.first() {
                report(&catalog::CHANNEL_ENTRY_STRANDED, &channel.place_of(first), message, Some(proposal));
            }
        }
    }
}

/// Returns the finding about an upgrade from the bundle `from` to an entry, which breaks a CRD as `what` says.
#[must_use]
pub fn upgrade_breaks(channel: &Channel, from: &str, to: &Entry, what: &str) -> Finding {
    let message = format!("the upgrade from `{from}` to `{}` breaks {what}", to.name);
    channel.place_of(to).finding(&catalog::CHANNEL_UPGRADE_BREAKS_CRD, "entries", message)
}

fn listed(entries: &[&Entry]) -> String {
    let mut names: Vec<String> = entries.iter().map(|entry| format!("`{}`", entry.name)).collect();
    names.sort();
    let more = names.len().saturating_sub(MAX_NAMES);
    names.truncate(MAX_NAMES);
    let listed = names.join(", ");
    if more > 0 { format!("{listed} and {more} more") } else { listed }
}
