//! Where everything is in a drawing of a package: a row for each bundle, the newest first, and a lane for each channel.
//!
//! Rows are the same for all channels, so that a bundle is at one height wherever it is an entry. The drawing stays readable
//! because what is skipped is drawn as a rail beside the lane instead of one arrow each, and rails that do not fit are counted.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::catalog::upgrade::{Edge, Olm, Upgrades};
use crate::catalog::validate::{Channel, Entry, Linked, Shape, heads, shape};
use crate::model::version::{Range, Version};

/// The maximum number of entries of all channels of a package that is drawn.
pub const MAX_NODES: usize = 50_000;

/// The maximum number of rails side by side in a lane.
const MAX_TRACKS: usize = 5;

/// Why a package cannot be drawn.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum DrawError {
    /// There are too many entries.
    #[error("package `{package}` has {entries} channel entries, but at most {MAX_NODES} can be drawn")]
    TooLarge {
        /// The package.
        package: String,
        /// How many entries its channels have.
        entries: usize,
    },
    /// The bundle whose upgrades are to be highlighted is not drawn.
    #[error("bundle `{bundle}` is not in package `{package}`")]
    UnknownBundle {
        /// The package.
        package: String,
        /// The name or the version that was given.
        bundle: String,
    },
}

/// A package, laid out.
pub(super) struct Layout<'b> {
    pub(super) package: &'b str,
    /// The message for users, if the package is deprecated.
    pub(super) deprecation: Option<&'b str>,
    /// The newest first.
    pub(super) rows: Vec<Row<'b>>,
    /// The default channel first, then those with the highest versions.
    pub(super) lanes: Vec<Lane<'b>>,
}

/// A bundle.
pub(super) struct Row<'b> {
    pub(super) name: &'b str,
    /// Empty where the catalog does not have the bundle.
    pub(super) version: String,
    pub(super) image: &'b str,
    pub(super) deprecation: Option<&'b str>,
    /// Whether the catalog has the bundle, and not only an entry of a channel.
    pub(super) is_known: bool,
    /// Whether the bundle is an entry of a channel.
    pub(super) is_listed: bool,
}

/// A channel.
pub(super) struct Lane<'b> {
    pub(super) name: &'b str,
    pub(super) is_default: bool,
    pub(super) deprecation: Option<&'b str>,
    /// What is wrong with the graph.
    pub(super) problem: Option<String>,
    /// By row.
    pub(super) nodes: Vec<Node<'b>>,
    pub(super) links: Vec<Link>,
    pub(super) rails: Vec<Rail>,
    /// How many rails are side by side.
    pub(super) tracks: usize,
    /// How many rails do not fit.
    pub(super) hidden: usize,
}

/// An entry of a channel.
pub(super) struct Node<'b> {
    pub(super) row: usize,
    pub(super) entry: &'b Entry,
    pub(super) state: State,
    /// The next bundle with OLM v0 and v1: its row, and what permits the upgrade.
    pub(super) next: [Option<(usize, Edge)>; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Head,
    Entry,
    /// Another entry skips it: OLM v0 does not install it any more.
    Skipped,
    /// Nothing leads from it to the head.
    Stranded,
}

/// A `replaces` edge, by rows.
pub(super) struct Link {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Whether it passes other entries of the channel.
    pub(super) is_bent: bool,
}

impl Link {
    /// Whether it leads to a lower version.
    pub(super) fn is_downgrade(&self) -> bool {
        self.from < self.to
    }
}

/// What an entry skips.
pub(super) struct Rail {
    pub(super) node: usize,
    /// The rows that are skipped, from the top.
    pub(super) ticks: Vec<usize>,
    /// The range; nothing for `skips`.
    pub(super) range: Option<String>,
    pub(super) track: usize,
}

impl Rail {
    /// The first and the last row.
    pub(super) fn span(&self) -> (usize, usize) {
        let first = self.ticks.first().copied().unwrap_or(self.node);
        let last = self.ticks.last().copied().unwrap_or(self.node);
        (first.min(self.node), last.max(self.node))
    }
}

/// Lays a package out.
pub(super) fn layout<'b>(linked: &Linked<'b>) -> Result<Layout<'b>, DrawError> {
    let package = linked.package.name.as_str();
    let entries: usize = linked.channels.values().map(|channel| channel.entries.len()).sum();
    if entries.max(linked.bundles.len()) > MAX_NODES {
        return Err(DrawError::TooLarge { package: package.to_owned(), entries });
    }
    let rows = rows(linked);
    let index: HashMap<&str, usize> =
        rows.iter().enumerate().map(|(row, bundle)| (bundle.name, row)).collect();
    let mut lanes: Vec<Lane<'b>> =
        linked.channels.values().map(|channel| lane(linked, channel, &index)).collect();
    lanes.sort_by_key(|lane| (!lane.is_default, lane.nodes.first().map_or(usize::MAX, |node| node.row)));
    Ok(Layout { package, deprecation: linked.deprecation("olm.package", ""), rows, lanes })
}

fn rows<'b>(linked: &Linked<'b>) -> Vec<Row<'b>> {
    let listed: BTreeSet<&'b str> = linked
        .channels
        .values()
        .flat_map(|channel| channel.entries.iter().map(|entry| entry.name.as_str()))
        .collect();
    let names: BTreeSet<&'b str> = listed.iter().copied().chain(linked.bundles.keys().copied()).collect();
    let mut names: Vec<(Option<&Version>, &'b str)> = names
        .into_iter()
        .map(|name| (linked.bundles.get(name).and_then(|bundle| bundle.version.as_ref()), name))
        .collect();
    names.sort_by(|a, b| b.cmp(a));
    let row = |name: &'b str| {
        let bundle = linked.bundles.get(name);
        Row {
            name,
            version: bundle.and_then(|bundle| bundle.version_and_release()).unwrap_or_default(),
            image: bundle.map_or("", |bundle| bundle.image.as_str()),
            deprecation: linked.deprecation("olm.bundle", name),
            is_known: bundle.is_some(),
            is_listed: listed.contains(name),
        }
    };
    names.into_iter().map(|(_, name)| row(name)).collect()
}

fn lane<'b>(linked: &Linked<'b>, channel: &'b Channel, index: &HashMap<&str, usize>) -> Lane<'b> {
    // Of two entries with one name the last counts, as for OLM.
    let entries: HashMap<usize, &'b Entry> =
        channel.entries.iter().filter_map(|entry| Some((*index.get(entry.name.as_str())?, entry))).collect();
    let mut order: Vec<usize> = entries.keys().copied().collect();
    order.sort_unstable();
    let place: HashMap<usize, usize> = order.iter().enumerate().map(|(place, &row)| (row, place)).collect();
    let row_of = |name: &str| index.get(name).copied().filter(|row| place.contains_key(row));
    let states = States::new(channel);
    let upgrades = [Olm::V0, Olm::V1].map(|olm| Upgrades::new(linked, channel, olm).ok());
    let version = |name: &str| linked.bundles.get(name).and_then(|bundle| bundle.version.as_ref());
    let (mut nodes, mut links, mut rails) = (Vec::new(), Vec::new(), Vec::new());
    for &row in &order {
        let Some(&entry) = entries.get(&row) else { continue };
        let next = upgrades.each_ref().map(|upgrades| {
            let step = upgrades.as_ref()?.next(&entry.name, version(&entry.name))?;
            Some((row_of(&step.to)?, step.by))
        });
        nodes.push(Node { row, entry, state: states.of(&entry.name), next });
        if let Some(from) = row_of(&entry.replaces).filter(|from| *from != row) {
            let is_bent = place[&from].abs_diff(place[&row]) > 1 || from < row;
            links.push(Link { from, to: row, is_bent });
        }
        let mut ticks: Vec<usize> =
            entry.skips.iter().filter_map(|name| row_of(name)).filter(|other| *other != row).collect();
        ticks.sort_unstable();
        ticks.dedup();
        rails.push(Rail { node: row, ticks, range: None, track: 0 });
        // Without upgrades there are too many ranges to look at each.
        if let (Some(_), Ok(range)) = (&upgrades[0], Range::parse(&entry.skip_range)) {
            let is_in = |row: &&usize| {
                entries
                    .get(row)
                    .and_then(|entry| version(&entry.name))
                    .is_some_and(|version| range.contains(version))
            };
            let ticks = order.iter().filter(|other| **other != row).filter(is_in).copied().collect();
            rails.push(Rail { node: row, ticks, range: Some(entry.skip_range.clone()), track: 0 });
        }
    }
    let (rails, tracks, hidden) = pack(effective(rails));
    Lane {
        name: &channel.name,
        is_default: linked.package.default_channel == channel.name,
        deprecation: linked.deprecation("olm.channel", &channel.name),
        problem: states.problem,
        nodes,
        links,
        rails,
        tracks,
        hidden,
    }
}

/// Rails, and how many are not drawn.
type Chosen = (Vec<Rail>, usize);

/// Keeps the rails that something is on which no newer entry skips already: OLM prefers the newest.
fn effective(mut rails: Vec<Rail>) -> Chosen {
    rails.retain(|rail| !rail.ticks.is_empty());
    let all = rails.len();
    let mut covered: HashSet<(bool, usize)> = HashSet::new();
    rails.retain(|rail| {
        let before = covered.len();
        covered.extend(rail.ticks.iter().map(|tick| (rail.range.is_some(), *tick)));
        covered.len() > before
    });
    let hidden = all - rails.len();
    (rails, hidden)
}

/// Puts rails side by side so that none overlap, those of the newest entries first.
fn pack((mut rails, hidden): Chosen) -> (Vec<Rail>, usize, usize) {
    let all = rails.len() + hidden;
    rails.sort_by_key(Rail::span);
    let mut ends: Vec<usize> = Vec::new();
    rails.retain_mut(|rail| {
        let (first, last) = rail.span();
        let free = ends.iter().position(|end| *end < first);
        let track = match free {
            Some(track) => track,
            None if ends.len() < MAX_TRACKS => {
                ends.push(0);
                ends.len() - 1
            }
            None => return false,
        };
        ends[track] = last;
        rail.track = track;
        true
    });
    let hidden = all - rails.len();
    (rails, ends.len(), hidden)
}

/// What each entry of a channel is.
struct States<'b> {
    heads: HashSet<&'b str>,
    skipped: HashSet<&'b str>,
    stranded: HashSet<&'b str>,
    problem: Option<String>,
}

impl<'b> States<'b> {
    fn new(channel: &'b Channel) -> Self {
        let names = |entries: &[&'b Entry]| entries.iter().map(|entry| entry.name.as_str()).collect();
        let mut states = Self {
            heads: names(&heads(channel)),
            skipped: channel.entries.iter().flat_map(|entry| &entry.skips).map(String::as_str).collect(),
            stranded: HashSet::new(),
            problem: None,
        };
        states.problem = match shape(channel) {
            Shape::Whole(_) => None,
            Shape::Empty => Some("no entries".to_owned()),
            Shape::NoHead => Some("no head".to_owned()),
            Shape::Heads(heads) => Some(format!("{} heads", heads.len())),
            Shape::Cycle { .. } => Some("cycle".to_owned()),
            Shape::Stranded { entries, .. } => {
                states.stranded = names(&entries);
                Some(format!("{} stranded", entries.len()))
            }
        };
        states
    }

    fn of(&self, name: &str) -> State {
        if self.heads.contains(name) {
            State::Head
        } else if self.stranded.contains(name) {
            State::Stranded
        } else if self.skipped.contains(name) {
            State::Skipped
        } else {
            State::Entry
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rail(node: usize, last: usize) -> Rail {
        Rail { node, ticks: (node + 1..=last).collect(), range: None, track: 0 }
    }

    #[test]
    fn rails_do_not_overlap_and_those_that_do_not_fit_are_counted() {
        let (rails, tracks, hidden) = pack((vec![rail(0, 3), rail(1, 2), rail(4, 5), rail(3, 9)], 0));
        let found: Vec<_> = rails.iter().map(|rail| (rail.span(), rail.track)).collect();
        assert_eq!(found, [((0, 3), 0), ((1, 2), 1), ((3, 9), 1), ((4, 5), 0)]);
        assert_eq!((tracks, hidden), (2, 0));
        let (rails, hidden) = effective(vec![rail(0, 3), rail(1, 3), rail(2, 5)]);
        assert_eq!((rails.len(), hidden), (2, 1));
        let (rails, tracks, hidden) = pack(((0..9).map(|node| rail(node, 20)).collect(), 1));
        assert_eq!((rails.len(), tracks, hidden), (MAX_TRACKS, MAX_TRACKS, 5));
    }
}
