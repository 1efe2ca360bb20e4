//! The upgrades that OLM makes from a bundle within a channel.
//!
//! Sources: `pkg/controller/registry/resolver/resolver.go` of operator-lifecycle-manager (OLM v0), and
//! `internal/operator-controller/catalogmetadata/filter/successors.go` of operator-controller (OLM v1).

use std::collections::{HashMap, HashSet};

use super::validate::{Channel, Entry, Linked, heads};
use crate::model::version::{Range, Version};

/// Which OLM upgrades.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Olm {
    /// Subscriptions: the successor nearest to the head of the channel; skipped entries are never installed.
    V0,
    /// Cluster extensions: the successor with the highest version.
    V1,
}

/// One upgrade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The bundle that is installed next.
    pub to: String,
    /// The edge that permits it.
    pub by: Edge,
}

/// What permits an upgrade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edge {
    /// The next bundle replaces the installed one.
    Replaces,
    /// The next bundle skips the installed one.
    Skips,
    /// The installed version is in the range that the next bundle skips.
    SkipRange(String),
}

impl std::fmt::Display for Edge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Replaces => f.write_str("replaces"),
            Self::Skips => f.write_str("skips"),
            Self::SkipRange(range) => write!(f, "skipRange {range}"),
        }
    }
}

/// The maximum number of comparisons of versions with ranges that following a channel may take.
pub const MAX_COMPARISONS: usize = 200_000_000;

/// A channel whose upgrades take too long to follow.
#[derive(Debug, thiserror::Error)]
#[error("channel `{channel}` has too many entries ({entries}) for its {ranges} skip ranges")]
pub struct TooLarge {
    channel: String,
    entries: usize,
    ranges: usize,
}

/// An upgrade that an edge permits, but that OLM does not make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    /// The upgrade.
    pub step: Step,
    /// Why it is not made.
    pub reason: Reason,
}

/// Why an upgrade is not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// OLM v0 never installs an entry that another one skips.
    Skipped,
    /// OLM v0 does not find the entry: `replaces` does not lead to it from the head.
    Unreached,
    /// OLM v0 prefers the entry nearest to the head.
    Farther,
    /// OLM v1 prefers the highest version.
    Lower,
}

/// The upgrade edges of one channel.
pub struct Upgrades<'b> {
    channel: &'b Channel,
    olm: Olm,
    /// The names of the entries, in the order in which they are preferred.
    names: Vec<&'b str>,
    /// The preferred entry that replaces a bundle, as an index of `names`.
    replaced_by: HashMap<&'b str, usize>,
    /// The preferred entry that skips a bundle.
    skipped_by: HashMap<&'b str, usize>,
    /// The ranges that entries skip.
    ranges: Vec<(usize, Range, &'b str)>,
}

impl<'b> Upgrades<'b> {
    /// Reads the edges of a channel.
    ///
    /// # Errors
    /// Following all entries would take more than [`MAX_COMPARISONS`].
    pub fn new(linked: &Linked<'b>, channel: &'b Channel, olm: Olm) -> Result<Self, TooLarge> {
        let mut entries = match olm {
            Olm::V0 => chain(channel),
            Olm::V1 => channel.entries.iter().collect(),
        };
        if olm == Olm::V1 {
            entries.sort_by_cached_key(|entry| std::cmp::Reverse(version(linked, &entry.name).cloned()));
        }
        let mut upgrades = Self {
            channel,
            olm,
            names: Vec::with_capacity(entries.len()),
            replaced_by: HashMap::new(),
            skipped_by: HashMap::new(),
            ranges: Vec::new(),
        };
        for (index, entry) in entries.into_iter().enumerate() {
            upgrades.names.push(&entry.name);
            if entry.replaces != entry.name && !entry.replaces.is_empty() {
                upgrades.replaced_by.entry(&entry.replaces).or_insert(index);
            }
            for skip in entry.skips.iter().filter(|skip| **skip != entry.name) {
                upgrades.skipped_by.entry(skip).or_insert(index);
            }
            if !entry.skip_range.is_empty()
                && let Ok(range) = Range::parse(&entry.skip_range)
            {
                upgrades.ranges.push((index, range, &entry.skip_range));
            }
        }
        let (entries, ranges) = (channel.entries.len(), upgrades.ranges.len());
        if entries.saturating_mul(ranges) > MAX_COMPARISONS {
            return Err(TooLarge { channel: channel.name.clone(), entries, ranges });
        }
        Ok(upgrades)
    }

    /// Returns the upgrade from the bundle `name` of `version`; nothing if there is none.
    #[must_use]
    pub fn next(&self, name: &str, version: Option<&Version>) -> Option<Step> {
        let replaced = self.replaced_by.get(name).map(|&index| (index, Edge::Replaces));
        let skipped = self.skipped_by.get(name).map(|&index| (index, Edge::Skips));
        let in_range = version.and_then(|version| {
            let mut ranges = self.ranges.iter();
            let found =
                ranges.find(|(index, range, _)| self.names[*index] != name && range.contains(version))?;
            Some((found.0, Edge::SkipRange(found.2.to_owned())))
        });
        let edges = replaced.into_iter().chain(skipped).chain(in_range);
        let (index, by) = edges.min_by_key(|(index, _)| *index)?;
        Some(Step { to: self.names[index].to_owned(), by })
    }

    /// Returns the upgrades from the bundle `name` of `version` that are permitted, but not made, at most `limit`.
    #[must_use]
    pub fn others(&self, name: &str, version: Option<&Version>, limit: usize) -> Vec<Other> {
        let made = self.next(name, version).map(|step| step.to);
        let preferred: HashSet<&str> = self.names.iter().copied().collect();
        let skipped: HashSet<&str> =
            self.channel.entries.iter().flat_map(|entry| &entry.skips).map(String::as_str).collect();
        let entries = self
            .channel
            .entries
            .iter()
            .filter(|entry| entry.name != name && Some(&entry.name) != made.as_ref());
        let permitted = entries.filter_map(|entry| {
            let by = if entry.replaces == name {
                Edge::Replaces
            } else if entry.skips.iter().any(|skip| skip == name) {
                Edge::Skips
            } else {
                let range = Range::parse(&entry.skip_range).ok()?;
                version.filter(|version| range.contains(version))?;
                Edge::SkipRange(entry.skip_range.clone())
            };
            let reason = match self.olm {
                Olm::V1 => Reason::Lower,
                Olm::V0 if preferred.contains(entry.name.as_str()) => Reason::Farther,
                Olm::V0 if skipped.contains(entry.name.as_str()) => Reason::Skipped,
                Olm::V0 => Reason::Unreached,
            };
            Some(Other { step: Step { to: entry.name.clone(), by }, reason })
        });
        permitted.take(limit).collect()
    }

    /// Returns all upgrades from a bundle until none is left. It ends where a bundle would be installed again.
    #[must_use]
    pub fn path(&self, linked: &Linked<'_>, name: &str, installed: Option<&Version>) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        let mut seen = HashSet::from([name.to_owned()]);
        let mut next = self.next(name, installed);
        while let Some(step) = next.filter(|step| seen.insert(step.to.clone())) {
            next = self.next(&step.to, version(linked, &step.to));
            steps.push(step);
        }
        steps
    }

    /// Returns for each bundle the one that its upgrades end at, which is the bundle itself where there is none.
    #[must_use]
    pub fn ends(
        &self,
        linked: &Linked<'_>,
        bundles: impl IntoIterator<Item = (String, Option<Version>)>,
    ) -> HashMap<String, String> {
        let mut ends: HashMap<String, String> = HashMap::new();
        for (name, installed) in bundles {
            let mut walked = Vec::new();
            let mut seen = HashSet::new();
            let mut current = (name, installed);
            let end = loop {
                if let Some(end) = ends.get(&current.0) {
                    break end.clone();
                }
                if !seen.insert(current.0.clone()) {
                    break current.0;
                }
                walked.push(current.0.clone());
                match self.next(&current.0, current.1.as_ref()) {
                    Some(step) => {
                        let version = version(linked, &step.to).cloned();
                        current = (step.to, version);
                    }
                    None => break current.0,
                }
            };
            ends.extend(walked.into_iter().map(|name| (name, end.clone())));
        }
        ends
    }
}

/// An upgrade that an edge of a channel permits.
#[derive(Debug, Clone)]
pub struct Permitted<'b> {
    /// The bundle that is upgraded.
    pub from: &'b str,
    /// The entry that it is upgraded to.
    pub to: &'b Entry,
    /// The edge.
    pub by: Edge,
}

/// Returns all upgrades that the edges of a channel permit between bundles that are `known`, whether OLM makes them or
/// prefers others: a pinned version takes any of them.
///
/// # Errors
/// Comparing the versions with the ranges would take more than [`MAX_COMPARISONS`].
pub fn permitted<'b>(
    linked: &Linked<'b>,
    channel: &'b Channel,
    known: impl Fn(&str) -> bool,
) -> Result<Vec<Permitted<'b>>, TooLarge> {
    let bundles: Vec<(&'b str, &Version)> = linked
        .bundles
        .iter()
        .filter(|(name, _)| known(name))
        .filter_map(|(name, bundle)| Some((*name, bundle.version.as_ref()?)))
        .collect();
    let entries: Vec<&Entry> = channel.entries.iter().filter(|entry| known(&entry.name)).collect();
    let ranges = entries.iter().filter(|entry| !entry.skip_range.is_empty()).count();
    if bundles.len().saturating_mul(ranges) > MAX_COMPARISONS {
        return Err(TooLarge { channel: channel.name.clone(), entries: bundles.len(), ranges });
    }
    let mut found = Vec::new();
    for to in entries {
        let mut seen = HashSet::from([to.name.as_str()]);
        let mut add = |from: &'b str, by: Edge| {
            if known(from) && seen.insert(from) {
                found.push(Permitted { from, to, by });
            }
        };
        if !to.replaces.is_empty() {
            add(&to.replaces, Edge::Replaces);
        }
        to.skips.iter().for_each(|skip| add(skip, Edge::Skips));
        if let (false, Ok(range)) = (to.skip_range.is_empty(), Range::parse(&to.skip_range)) {
            for (from, _) in bundles.iter().filter(|(_, version)| range.contains(version)) {
                add(from, Edge::SkipRange(to.skip_range.clone()));
            }
        }
    }
    Ok(found)
}

fn version<'b>(linked: &Linked<'b>, name: &str) -> Option<&'b Version> {
    linked.bundles.get(name).and_then(|bundle| bundle.version.as_ref())
}

/// Returns the entries from the head along `replaces`, without skipped ones.
fn chain(channel: &Channel) -> Vec<&Entry> {
    let entries: HashMap<&str, &Entry> =
        channel.entries.iter().map(|entry| (entry.name.as_str(), entry)).collect();
    let skipped: HashSet<&str> =
        channel.entries.iter().flat_map(|entry| &entry.skips).map(String::as_str).collect();
    let mut seen = HashSet::new();
    let mut chain = Vec::new();
    for head in heads(channel) {
        let mut current = Some(head);
        while let Some(entry) = current.filter(|entry| seen.insert(entry.name.as_str())) {
            if !skipped.contains(entry.name.as_str()) {
                chain.push(entry);
            }
            current = entries.get(entry.replaces.as_str()).copied();
        }
    }
    chain
}
