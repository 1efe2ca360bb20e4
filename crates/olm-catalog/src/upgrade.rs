//! The upgrades that OLM makes from a bundle within a channel.
//!
//! Sources: `pkg/controller/registry/resolver/resolver.go` of operator-lifecycle-manager (OLM v0), and
//! `internal/operator-controller/resolve/catalog.go` with `catalogmetadata/{filter/successors,compare/compare}.go` of
//! operator-controller (OLM v1).

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::validate::{Channel, Entry, PackageGraph, heads};
use olm_model::version::{Range, Version};
use semver::BuildMetadata;

/// Which OLM upgrades.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Olm {
    /// Subscriptions: the successor nearest to the head of the channel; skipped entries are never installed.
    V0,
    /// Cluster extensions: the successor with the highest version, or the installed version if that is higher. Deprecated bundles
    /// come last.
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

/// The maximum number of upgrades that [`permitted`] compares versions with ranges for.
pub const MAX_COMPARISONS: usize = 200_000_000;

/// A channel that permits too many upgrades to list.
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
    /// OLM v1 prefers bundles that are not deprecated.
    Deprecated,
    /// OLM v1 keeps the installed bundle, whose version is not lower.
    InstalledPreferred,
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
    ranges: SkipRanges<'b>,
    /// With OLM v1, which keeps the installed version as a candidate: the entries by name and by version.
    candidates: HashMap<&'b str, usize>,
    by_version: HashMap<Version, usize>,
    /// The names of the deprecated entries.
    deprecated: HashSet<&'b str>,
}

impl<'b> Upgrades<'b> {
    /// Reads the edges of a channel, in about linear time in their number.
    #[must_use]
    pub fn new(linked: &PackageGraph<'b>, channel: &'b Channel, olm: Olm) -> Self {
        let mut entries = match olm {
            Olm::V0 => chain(channel),
            Olm::V1 => channel.entries.iter().collect(),
        };
        let is_deprecated = |name: &str| linked.deprecation("olm.bundle", name).is_some();
        if olm == Olm::V1 {
            entries.sort_by_cached_key(|entry| {
                (is_deprecated(&entry.name), Reverse(version_with_release(linked, &entry.name)))
            });
        }
        let mut upgrades = Self {
            channel,
            olm,
            names: Vec::with_capacity(entries.len()),
            replaced_by: HashMap::new(),
            skipped_by: HashMap::new(),
            ranges: SkipRanges::default(),
            candidates: HashMap::new(),
            by_version: HashMap::new(),
            deprecated: entries
                .iter()
                .map(|entry| entry.name.as_str())
                .filter(|name| olm == Olm::V1 && is_deprecated(name))
                .collect(),
        };
        let mut ranges = Vec::new();
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
                ranges.push((index, range, entry.skip_range.as_str()));
            }
            if olm == Olm::V1 {
                upgrades.candidates.entry(&entry.name).or_insert(index);
                if let Some(version) = version_with_release(linked, &entry.name) {
                    upgrades.by_version.entry(version).or_insert(index);
                }
            }
        }
        upgrades.ranges = SkipRanges::new(ranges);
        upgrades
    }

    /// Returns the upgrade from the bundle `name` of `version`; `None` if there is none.
    #[must_use]
    pub fn next(&self, name: &str, version: Option<&Version>) -> Option<Step> {
        let (index, by) = self.successor(name, version)?;
        if self.installed(name, version).is_some_and(|installed| installed <= index) {
            return None;
        }
        Some(Step { to: self.names[index].to_owned(), by })
    }

    /// Returns whether an edge permits an upgrade, but OLM prefers the installed version.
    #[must_use]
    pub fn is_kept(&self, name: &str, version: Option<&Version>) -> bool {
        self.successor(name, version).is_some() && self.next(name, version).is_none()
    }

    /// Returns the preferred entry among those that an edge permits.
    fn successor(&self, name: &str, version: Option<&Version>) -> Option<(usize, Edge)> {
        let replaced = self.replaced_by.get(name).map(|&index| (index, Edge::Replaces));
        let skipped = self.skipped_by.get(name).map(|&index| (index, Edge::Skips));
        let in_range = version.and_then(|version| {
            let (index, range) = self.ranges.preferred(version, |index| self.names[index] != name)?;
            Some((index, Edge::SkipRange(range.to_owned())))
        });
        let edges = replaced.into_iter().chain(skipped).chain(in_range);
        edges.min_by_key(|(index, _)| *index)
    }

    /// Returns the entry that OLM v1 takes the installed bundle for, which stays a candidate.
    fn installed(&self, name: &str, version: Option<&Version>) -> Option<usize> {
        self.candidates.get(name).or_else(|| self.by_version.get(version?)).copied()
    }

    /// Returns the upgrades from the bundle `name` of `version` that are permitted, but not made, at most `limit`.
    #[must_use]
    pub fn others(&self, name: &str, version: Option<&Version>, limit: usize) -> Vec<Other> {
        let made = self.next(name, version).map(|step| step.to);
        let kept = self.installed(name, version).filter(|_| made.is_none()).map(|index| self.names[index]);
        let is_deprecated = |name: Option<&str>| name.is_some_and(|name| self.deprecated.contains(name));
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
                Olm::V1 if is_deprecated(Some(&entry.name)) && !is_deprecated(made.as_deref().or(kept)) => {
                    Reason::Deprecated
                }
                Olm::V1 if kept.is_some() => Reason::InstalledPreferred,
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
    pub fn path(&self, linked: &PackageGraph<'_>, name: &str, installed: Option<&Version>) -> Vec<Step> {
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
        linked: &PackageGraph<'_>,
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
    linked: &PackageGraph<'b>,
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

/// Returns the version of a bundle as OLM v1 compares it: its release is in the place of the build metadata.
fn version_with_release(linked: &PackageGraph<'_>, name: &str) -> Option<Version> {
    let bundle = linked.bundles.get(name)?;
    let mut version = bundle.version.clone()?;
    if let Ok(release) = BuildMetadata::new(&bundle.release)
        && !release.is_empty()
    {
        version.build = release;
    }
    Some(version)
}

/// The ranges of versions that entries skip, with the preferred ones of every version.
///
/// The versions that ranges compare with divide all versions into cells: those that are equal to one of them, and those between two of
/// them. A range contains a cell as a whole.
#[derive(Default)]
struct SkipRanges<'b> {
    /// The versions that ranges compare with, sorted by precedence.
    bounds: Vec<Version>,
    /// The entries and their ranges, in the order in which entries are preferred.
    ranges: Vec<(usize, &'b str)>,
    /// The two preferred ranges of each cell, as indices of `ranges`: an entry's own range does not count for it.
    preferred: Vec<[Option<usize>; 2]>,
    /// How many cells were looked at.
    #[cfg(test)]
    visits: usize,
}

impl<'b> SkipRanges<'b> {
    fn new(ranges: Vec<(usize, Range, &'b str)>) -> Self {
        let mut bounds: Vec<Version> =
            ranges.iter().flat_map(|(_, range, _)| range.bounds()).cloned().collect();
        bounds.sort_unstable_by(Version::cmp_precedence);
        bounds.dedup_by(|a, b| a.cmp_precedence(b).is_eq());
        let count = 2 * bounds.len() + 1;
        let mut all = Self { bounds, preferred: vec![[None; 2]; count], ..Self::default() };
        let mut open = Unfilled::new(count);
        for (index, range, text) in ranges {
            let position = all.ranges.len();
            let spans = range.spans(count, |bound| {
                let cell = all.cell(bound);
                cell..cell + 1
            });
            for span in spans {
                let mut cell = open.find(span.start);
                while cell < span.end {
                    #[cfg(test)]
                    {
                        all.visits += 1;
                    }
                    match &mut all.preferred[cell] {
                        [first @ None, _] => *first = Some(position),
                        [_, second] => {
                            *second = Some(position);
                            open.fill(cell);
                        }
                    }
                    cell = open.find(cell + 1);
                }
            }
            all.ranges.push((index, text));
        }
        all
    }

    /// Returns the cell of a version.
    fn cell(&self, version: &Version) -> usize {
        match self.bounds.binary_search_by(|bound| bound.cmp_precedence(version)) {
            Ok(bound) => 2 * bound + 1,
            Err(bound) => 2 * bound,
        }
    }

    /// Returns the preferred entry that `is_other` accepts whose range contains a version.
    fn preferred(&self, version: &Version, is_other: impl Fn(usize) -> bool) -> Option<(usize, &'b str)> {
        let cell = self.preferred.get(self.cell(version))?;
        cell.iter().flatten().map(|position| self.ranges[*position]).find(|(index, _)| is_other(*index))
    }
}

/// The positions that are not filled yet: each points at itself or a later one.
pub(crate) struct Unfilled(Vec<usize>);

impl Unfilled {
    pub(crate) fn new(count: usize) -> Self {
        Self((0..=count).collect())
    }

    /// Returns the first unfilled position from one on; the number of positions if there is none.
    pub(crate) fn find(&mut self, from: usize) -> usize {
        let mut root = from.min(self.0.len() - 1);
        while self.0[root] != root {
            root = self.0[root];
        }
        let mut at = from.min(self.0.len() - 1);
        while self.0[at] != root {
            at = std::mem::replace(&mut self.0[at], root);
        }
        root
    }

    pub(crate) fn fill(&mut self, position: usize) {
        self.0[position] = position + 1;
    }
}

fn version<'b>(linked: &PackageGraph<'b>, name: &str) -> Option<&'b Version> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use olm_model::version::strict;

    fn ranges(texts: &[String]) -> SkipRanges<'_> {
        let parsed = texts.iter().enumerate();
        SkipRanges::new(
            parsed.map(|(index, text)| (index, Range::parse(text).unwrap(), text.as_str())).collect(),
        )
    }

    #[test]
    fn preferred_range_is_the_first_that_contains_the_version() {
        let texts = [">=2.0.0 <3.0.0", "<2.5.0 !=1.0.0", "1.0.0 || 2.1.0", ">=0.0.1"].map(str::to_owned);
        let all = ranges(&texts);
        for version in ["0.0.0", "0.5.0", "1.0.0", "1.0.1", "2.0.0-rc.1", "2.0.0", "2.1.0", "2.5.0", "3.0.0"]
        {
            let version = strict(version).unwrap();
            for own in 0..texts.len() {
                let found = all.preferred(&version, |index| index != own).map(|(index, _)| index);
                let contains =
                    |index: &usize| *index != own && Range::parse(&texts[*index]).unwrap().contains(&version);
                assert_eq!(found, (0..texts.len()).find(contains), "{version} without {own}");
            }
        }
    }

    #[test]
    fn overlapping_ranges_take_linear_work() {
        let visits = |count: usize| {
            let texts: Vec<String> = (0..count).map(|minor| format!(">=0.1.0 <1.{minor}.0")).collect();
            ranges(&texts).visits
        };
        assert!(visits(2000) <= 2 * visits(1000) + 10, "{} {}", visits(1000), visits(2000));
    }
}
