//! Which parts of a catalog to keep so that every upgrade path between them stays whole.
//!
//! What lies between two bundles that are kept is kept, too: no upgrade is made up that the catalog does not have. The
//! edges of a kept entry stay as they are, so that clusters with a version that is gone are still upgraded.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::upgrade::MAX_COMPARISONS;
use super::validate::{Channel, Entry, PackageGraph, Packages, Shape, UnknownChannel, shape};
use olm_model::report::suggest;
use olm_model::version::Range;

/// What to keep: `PACKAGE[/CHANNEL][@RANGE]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keep {
    /// The package.
    pub package: String,
    /// The channel; all of them if there is none.
    pub channel: Option<String>,
    /// The versions; all of them if there is none.
    pub versions: Option<Range>,
}

impl std::str::FromStr for Keep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, versions) = match text.split_once('@') {
            Some((name, range)) => {
                let range =
                    Range::parse(range).map_err(|error| format!("invalid range `{range}`: {error}"))?;
                (name, Some(range))
            }
            None => (text, None),
        };
        let (package, channel) = match name.split_once('/') {
            Some((package, channel)) => (package, Some(channel.to_owned())),
            None => (name, None),
        };
        if package.is_empty() || channel.as_deref() == Some("") {
            return Err(
                "expected PACKAGE, PACKAGE/CHANNEL, PACKAGE@RANGE or PACKAGE/CHANNEL@RANGE".to_owned()
            );
        }
        Ok(Self { package: package.to_owned(), channel, versions })
    }
}

/// Why a catalog cannot be pruned like this.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PruneError {
    /// The catalog does not have the package.
    #[error("package `{package}` is not in the catalog{known}")]
    Package {
        /// The package.
        package: String,
        /// The packages of the catalog, for the end of the message.
        known: String,
    },
    /// The package does not have the channel.
    #[error(transparent)]
    Channel(#[from] UnknownChannel),
    /// No version is in the range.
    #[error("no bundle of package `{0}` is in the range")]
    Nothing(String),
    /// The default channel would be gone, and several channels are left.
    #[error(
        "the default channel `{default}` of package `{package}` is not kept: choose one of {known} with --default-channel {package}=CHANNEL"
    )]
    DefaultChannel {
        /// The package.
        package: String,
        /// The default channel so far, or the requested one.
        default: String,
        /// The channels that are kept.
        known: String,
    },
    /// The graph of a channel would be invalid.
    #[error("channel `{channel}` of package `{package}` would be invalid: {reason}")]
    Graph {
        /// The package.
        package: String,
        /// The channel.
        channel: String,
        /// Why, and what to keep instead.
        reason: String,
    },
    /// Following all upgrades of a channel would take too long.
    #[error("channel `{0}` has too many entries for its skip ranges")]
    TooLarge(String),
}

/// What is kept of a package.
#[derive(Debug)]
pub struct Kept<'b> {
    /// The entries of each channel that is kept.
    pub channels: BTreeMap<&'b str, BTreeSet<&'b str>>,
    /// The default channel.
    pub default_channel: &'b str,
    /// The entries that are kept only because they lie between others: channel and bundle.
    pub between: Vec<(&'b str, &'b str)>,
}

impl Kept<'_> {
    /// Returns whether an entry of a kept channel is the bundle.
    #[must_use]
    pub fn has_bundle(&self, name: &str) -> bool {
        self.channels.values().any(|entries| entries.contains(name))
    }
}

/// Returns what is kept of each package that is named. `defaults` are default channels by package.
///
/// # Errors
/// Something that is named does not exist, or what is left would not be valid.
pub fn prune<'b>(
    packages: &Packages<'b>,
    keep: &[Keep],
    defaults: &BTreeMap<String, String>,
) -> Result<BTreeMap<&'b str, Kept<'b>>, PruneError> {
    let unknown = |package: &str| {
        let known = suggest::or_known(package, "its packages are", packages.keys().copied());
        PruneError::Package { package: package.to_owned(), known }
    };
    for package in defaults.keys() {
        if !keep.iter().any(|keep| keep.package == *package) {
            return Err(unknown(package));
        }
    }
    let mut all = BTreeMap::new();
    for wanted in keep {
        let Some((&name, linked)) = packages.get_key_value(wanted.package.as_str()) else {
            return Err(unknown(&wanted.package));
        };
        if let Some(channel) = &wanted.channel {
            linked.channel(channel)?;
        }
        if all.contains_key(name) {
            continue;
        }
        let of_package: Vec<&Keep> = keep.iter().filter(|keep| keep.package == name).collect();
        all.insert(name, package(linked, &of_package, defaults.get(name).map(String::as_str))?);
    }
    Ok(all)
}

fn package<'b>(
    linked: &PackageGraph<'b>,
    keep: &[&Keep],
    default: Option<&str>,
) -> Result<Kept<'b>, PruneError> {
    let package = &linked.package.name;
    let mut kept = Kept { channels: BTreeMap::new(), default_channel: "", between: Vec::new() };
    for (&name, &channel) in &linked.channels {
        let of_channel: Vec<&&Keep> = keep
            .iter()
            .filter(|keep| keep.channel.as_deref().is_none_or(|channel| channel == name))
            .collect();
        let is_wanted = |entry: &&Entry| {
            let version = linked.bundles.get(entry.name.as_str()).and_then(|bundle| bundle.version.as_ref());
            of_channel.iter().any(|keep| match (&keep.versions, version) {
                (None, _) => true,
                (Some(range), Some(version)) => range.contains(version),
                (Some(_), None) => false,
            })
        };
        let wanted: BTreeSet<&'b str> =
            channel.entries.iter().filter(is_wanted).map(|entry| entry.name.as_str()).collect();
        if wanted.is_empty() {
            continue;
        }
        let entries = if wanted.len() == channel.entries.len() {
            wanted.clone()
        } else {
            Edges::new(linked, channel)?.between(&wanted)
        };
        kept.between.extend(entries.difference(&wanted).map(|entry| (name, *entry)));
        if let Some(reason) = broken(channel, &entries) {
            let (package, channel) = (package.clone(), name.to_owned());
            return Err(PruneError::Graph { package, channel, reason });
        }
        kept.channels.insert(name, entries);
    }
    if kept.channels.is_empty() {
        return Err(PruneError::Nothing(package.clone()));
    }
    let names = || kept.channels.keys().copied();
    let old = linked.package.default_channel.as_str();
    if let Some(default) = default {
        linked.channel(default)?;
    }
    let chosen = match default {
        Some(default) => names().find(|name| *name == default),
        None => names().find(|name| *name == old).or_else(|| names().next().filter(|_| names().count() == 1)),
    };
    kept.default_channel = match (chosen, default) {
        (Some(chosen), _) => chosen,
        (None, default) => {
            let (package, default) = (package.clone(), default.unwrap_or(old).to_owned());
            return Err(PruneError::DefaultChannel { package, default, known: listed(names()) });
        }
    };
    Ok(kept)
}

/// Why the kept entries of a channel are not a valid graph, where those of the whole channel are.
fn broken(channel: &Channel, kept: &BTreeSet<&str>) -> Option<String> {
    if !matches!(shape(channel), Shape::Whole(_)) {
        // It was broken before.
        return None;
    }
    let left = channel.with_entries(|entry| kept.contains(entry.name.as_str()));
    match shape(&left) {
        Shape::Whole(_) => None,
        Shape::Heads(heads) => {
            let names: HashSet<&str> = heads.iter().map(|head| head.name.as_str()).collect();
            let over =
                channel.entries.iter().filter(|entry| !kept.contains(entry.name.as_str())).filter(|entry| {
                    names.contains(entry.replaces.as_str())
                        || entry.skips.iter().any(|skip| names.contains(skip.as_str()))
                });
            Some(format!(
                "it would have several heads ({}), but OLM accepts only one: also keep {}, which replaces or skips them",
                listed(names.iter().copied().collect::<BTreeSet<_>>()),
                listed(over.map(|entry| entry.name.as_str()))
            ))
        }
        Shape::Stranded { entries, .. } => Some(format!(
            "no upgrade would lead from {} to its head",
            listed(entries.iter().map(|entry| entry.name.as_str()))
        )),
        Shape::NoHead | Shape::Cycle { .. } => Some("its upgrades would form a cycle".to_owned()),
        Shape::Empty => Some("no entries would be left".to_owned()),
    }
}

/// The upgrades of a channel, by the places of its entries.
struct Edges<'b> {
    names: Vec<&'b str>,
    /// What each entry is upgraded to, and from what.
    after: Vec<Vec<usize>>,
    before: Vec<Vec<usize>>,
}

impl<'b> Edges<'b> {
    fn new(linked: &PackageGraph<'b>, channel: &'b Channel) -> Result<Self, PruneError> {
        let names: Vec<&'b str> = channel.entries.iter().map(|entry| entry.name.as_str()).collect();
        let index: HashMap<&str, usize> =
            names.iter().enumerate().map(|(index, name)| (*name, index)).collect();
        let mut edges =
            Self { after: vec![Vec::new(); names.len()], before: vec![Vec::new(); names.len()], names };
        let mut comparisons = 0;
        for (to, entry) in channel.entries.iter().enumerate() {
            for old in entry.skips.iter().chain([&entry.replaces]) {
                if let Some(&from) = index.get(old.as_str()) {
                    edges.add(from, to);
                }
            }
            let Ok(range) = Range::parse(&entry.skip_range) else { continue };
            comparisons += channel.entries.len();
            // Each upgrade is kept in memory, too.
            if comparisons > MAX_COMPARISONS / 8 {
                return Err(PruneError::TooLarge(channel.name.clone()));
            }
            for (from, old) in channel.entries.iter().enumerate().filter(|(from, _)| *from != to) {
                let bundle = linked.bundles.get(old.name.as_str());
                if bundle.and_then(|bundle| bundle.version.as_ref()).is_some_and(|it| range.contains(it)) {
                    edges.add(from, to);
                }
            }
        }
        Ok(edges)
    }

    fn add(&mut self, from: usize, to: usize) {
        self.after[from].push(to);
        self.before[to].push(from);
    }

    /// Returns the wanted entries, and every entry on a path from one of them to another.
    fn between(&self, wanted: &BTreeSet<&str>) -> BTreeSet<&'b str> {
        let start: Vec<usize> =
            (0..self.names.len()).filter(|index| wanted.contains(self.names[*index])).collect();
        let (up, down) = (reached(&start, &self.after), reached(&start, &self.before));
        self.names
            .iter()
            .zip(up.iter().zip(&down))
            .filter(|(_, (up, down))| **up && **down)
            .map(|(name, _)| *name)
            .collect()
    }
}

/// Which places are reached from the first ones, these included.
fn reached(start: &[usize], edges: &[Vec<usize>]) -> Vec<bool> {
    let mut seen = vec![false; edges.len()];
    let mut pending = start.to_vec();
    while let Some(place) = pending.pop() {
        if !std::mem::replace(&mut seen[place], true) {
            pending.extend(edges[place].iter().copied().filter(|next| !seen[*next]));
        }
    }
    seen
}

fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    const MAX_NAMES: usize = 10;
    let names: Vec<&str> = names.into_iter().collect();
    let shown: Vec<String> = names.iter().take(MAX_NAMES).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(MAX_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
