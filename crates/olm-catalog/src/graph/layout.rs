//! Where everything is in a drawing of a package: a row for each bundle, the newest first, and a lane for each channel.
//!
//! Rows are the same for all channels, so that a bundle is at one height wherever it is an entry. The drawing stays readable
//! because what is skipped is drawn as a rail beside the lane instead of one arrow each, and rails that do not fit are counted.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range as Rows;

use crate::upgrade::{Edge, Olm, Unfilled, Upgrades};
use crate::validate::{Channel, Entry, PackageGraph, Shape, heads, shape};
use olm_model::version::{Range, Version};

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
pub(crate) struct Layout<'b> {
    pub(crate) package: &'b str,
    /// The message for users, if the package is deprecated.
    pub(crate) deprecation: Option<&'b str>,
    /// The newest first.
    pub(crate) rows: Vec<Row<'b>>,
    /// The default channel first, then those with the highest versions.
    pub(crate) lanes: Vec<Lane<'b>>,
}

/// A bundle.
pub(crate) struct Row<'b> {
    pub(crate) name: &'b str,
    /// Empty where the catalog does not have the bundle.
    pub(crate) version: String,
    pub(crate) image: &'b str,
    pub(crate) deprecation: Option<&'b str>,
    /// Whether the catalog has the bundle, and not only an entry of a channel.
    pub(crate) is_known: bool,
    /// Whether the bundle is an entry of a channel.
    pub(crate) is_listed: bool,
}

/// A channel.
pub(crate) struct Lane<'b> {
    pub(crate) name: &'b str,
    pub(crate) is_default: bool,
    pub(crate) deprecation: Option<&'b str>,
    /// What is wrong with the graph.
    pub(crate) problem: Option<String>,
    /// By row.
    pub(crate) nodes: Vec<Node<'b>>,
    pub(crate) links: Vec<Link>,
    pub(crate) rails: Vec<Rail>,
    /// How many rails are side by side.
    pub(crate) tracks: usize,
    /// How many rails do not fit.
    pub(crate) hidden: usize,
}

/// An entry of a channel.
pub(crate) struct Node<'b> {
    pub(crate) row: usize,
    pub(crate) entry: &'b Entry,
    pub(crate) state: State,
    /// The next bundle with OLM v0 and v1: its row, and what permits the upgrade.
    pub(crate) next: [Option<(usize, Edge)>; 2],
    /// The next bundle with OLM v0 and v1, if its row is not drawn: its name, and what permits the upgrade.
    pub(crate) outside: [Option<(&'b str, Edge)>; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Head,
    Entry,
    /// Another entry skips it: OLM v0 does not install it any more.
    Skipped,
    /// Nothing leads from it to the head.
    Stranded,
}

/// A `replaces` edge, by rows.
pub(crate) struct Link {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Whether it passes other entries of the channel.
    pub(crate) is_bent: bool,
}

impl Link {
    /// Whether it leads to a lower version.
    pub(crate) fn is_downgrade(&self) -> bool {
        self.from < self.to
    }
}

/// What an entry skips.
pub(crate) struct Rail {
    pub(crate) node: usize,
    /// The rows that are skipped, from the top.
    pub(crate) ticks: Vec<usize>,
    /// The range; `None` for `skips`.
    pub(crate) range: Option<String>,
    pub(crate) track: usize,
    /// How many entries are skipped, also those that are not drawn.
    pub(crate) skipped: usize,
    /// The positions of the versions that a range skips. They become ticks if the rail is drawn.
    spans: Vec<std::ops::Range<usize>>,
}

impl Rail {
    fn new(node: usize, ticks: Vec<usize>, range: Option<String>) -> Self {
        Self { node, ticks, range, track: 0, skipped: 0, spans: Vec::new() }
    }

    /// Returns the first and the last row.
    pub(crate) fn span(&self) -> (usize, usize) {
        let first = self.ticks.first().copied().unwrap_or(self.node);
        let last = self.ticks.last().copied().unwrap_or(self.node);
        (first.min(self.node), last.max(self.node))
    }

    /// Returns the first and the last row of a rail whose ticks are not known yet; `rows` are those of the versions.
    fn outline(&self, rows: &[usize]) -> (usize, usize) {
        let (first, last) = self.span();
        // Rows are the newest first, versions the oldest.
        let newest = self.spans.last().and_then(|span| rows.get(span.end - 1));
        let oldest = self.spans.first().and_then(|span| rows.get(span.start));
        (first.min(newest.copied().unwrap_or(first)), last.max(oldest.copied().unwrap_or(last)))
    }
}

impl<'b> Layout<'b> {
    /// Returns the part of the layout that begins with the row `from` and has at most `max_nodes` entries of channels, but at least
    /// one row; and its rows. What entries and channels are does not change: only what is drawn.
    pub(crate) fn part(self, from: usize, max_nodes: usize) -> (Self, Rows<usize>) {
        let Self { package, deprecation, rows: all, lanes } = self;
        let mut counts = vec![0; all.len()];
        for node in lanes.iter().flat_map(|lane| &lane.nodes) {
            counts[node.row] += 1;
        }
        let from = from.min(all.len().saturating_sub(1));
        let mut sum = 0;
        let is_drawn = |&row: &usize| {
            sum += counts[row];
            row == from || sum <= max_nodes
        };
        let drawn = from..from + (from..all.len()).take_while(is_drawn).count();
        if drawn.len() == all.len() {
            return (Self { package, deprecation, rows: all, lanes }, drawn);
        }
        let place = |row: usize| drawn.contains(&row).then(|| row - from);
        let node = |node: Node<'b>| {
            let Node { row, entry, state, next, .. } = node;
            let row = place(row)?;
            let outside = next.each_ref().map(|step| {
                let (to, by) = step.as_ref().filter(|(to, _)| place(*to).is_none())?;
                Some((all[*to].name, by.clone()))
            });
            let next = next.map(|step| step.and_then(|(to, by)| Some((place(to)?, by))));
            Some(Node { row, entry, state, next, outside })
        };
        let link = |link: Link| {
            let Link { from, to, is_bent } = link;
            Some(Link { from: place(from)?, to: place(to)?, is_bent })
        };
        let rail = |rail: Rail| {
            let node = place(rail.node)?;
            let ticks: Vec<usize> = rail.ticks.iter().filter_map(|tick| place(*tick)).collect();
            (!ticks.is_empty()).then_some(Rail { node, ticks, ..rail })
        };
        let lane = |lane: Lane<'b>| {
            let nodes: Vec<Node<'b>> = lane.nodes.into_iter().filter_map(node).collect();
            let links = lane.links.into_iter().filter_map(link).collect();
            let rails = lane.rails.into_iter().filter_map(rail).collect();
            (!nodes.is_empty()).then_some(Lane { nodes, links, rails, ..lane })
        };
        let lanes = lanes.into_iter().filter_map(lane).collect();
        let rows = all.into_iter().skip(from).take(drawn.len()).collect();
        (Self { package, deprecation, rows, lanes }, drawn)
    }
}

/// Lays a package out.
pub(crate) fn layout<'b>(linked: &PackageGraph<'b>) -> Result<Layout<'b>, DrawError> {
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

fn rows<'b>(linked: &PackageGraph<'b>) -> Vec<Row<'b>> {
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

fn lane<'b>(linked: &PackageGraph<'b>, channel: &'b Channel, index: &HashMap<&str, usize>) -> Lane<'b> {
    // Of two entries with one name the last counts, as for OLM.
    let entries: HashMap<usize, &'b Entry> =
        channel.entries.iter().filter_map(|entry| Some((*index.get(entry.name.as_str())?, entry))).collect();
    let mut order: Vec<usize> = entries.keys().copied().collect();
    order.sort_unstable();
    let place: HashMap<usize, usize> = order.iter().enumerate().map(|(place, &row)| (row, place)).collect();
    let row_of = |name: &str| index.get(name).copied().filter(|row| place.contains_key(row));
    let states = States::new(channel);
    let upgrades = [Olm::V0, Olm::V1].map(|olm| Upgrades::new(linked, channel, olm));
    let version = |name: &str| linked.bundles.get(name).and_then(|bundle| bundle.version.as_ref());
    // The rows with a version, sorted by it: rows are the newest first.
    let versions: Vec<(usize, &Version)> =
        order.iter().rev().filter_map(|row| Some((*row, version(&entries.get(row)?.name)?))).collect();
    let (mut nodes, mut links, mut rails) = (Vec::new(), Vec::new(), Vec::new());
    for &row in &order {
        let Some(&entry) = entries.get(&row) else { continue };
        let next = upgrades.each_ref().map(|upgrades| {
            let step = upgrades.next(&entry.name, version(&entry.name))?;
            Some((row_of(&step.to)?, step.by))
        });
        nodes.push(Node { row, entry, state: states.state(&entry.name), next, outside: [None, None] });
        if let Some(from) = row_of(&entry.replaces).filter(|from| *from != row) {
            let is_bent = place[&from].abs_diff(place[&row]) > 1 || from < row;
            links.push(Link { from, to: row, is_bent });
        }
        let mut ticks: Vec<usize> =
            entry.skips.iter().filter_map(|name| row_of(name)).filter(|other| *other != row).collect();
        ticks.sort_unstable();
        ticks.dedup();
        rails.push(Rail::new(row, ticks, None));
        if let Ok(range) = Range::parse(&entry.skip_range) {
            let equal = |bound: &Version| {
                versions.partition_point(|(_, version)| version.cmp_precedence(bound).is_lt())
                    ..versions.partition_point(|(_, version)| version.cmp_precedence(bound).is_le())
            };
            let spans = range.spans(versions.len(), equal);
            rails.push(Rail { spans, ..Rail::new(row, Vec::new(), Some(entry.skip_range.clone())) });
        }
    }
    let rows: Vec<usize> = versions.into_iter().map(|(row, _)| row).collect();
    let (rails, tracks, hidden) = pack(effective(rails, &rows), &rows);
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

/// Keeps the rails that skip an entry that no newer entry skips: OLM prefers the newest. `rows` are those of the versions.
fn effective(mut rails: Vec<Rail>, rows: &[usize]) -> Chosen {
    // An entry is not on its own rail.
    rails.retain(|rail| {
        let is_own =
            |span: &std::ops::Range<usize>| span.len() == 1 && rows.get(span.start) == Some(&rail.node);
        !rail.ticks.is_empty() || rail.spans.iter().any(|span| !is_own(span))
    });
    let all = rails.len();
    let mut covered: HashSet<usize> = HashSet::new();
    let mut uncovered = Unfilled::new(rows.len());
    rails.retain(|rail| {
        let before = covered.len();
        covered.extend(&rail.ticks);
        let mut is_effective = covered.len() > before;
        for span in &rail.spans {
            let mut at = uncovered.find(span.start);
            while at < span.end {
                if rows.get(at) != Some(&rail.node) {
                    is_effective = true;
                    uncovered.fill(at);
                }
                at = uncovered.find(at + 1);
            }
        }
        is_effective
    });
    let hidden = all - rails.len();
    (rails, hidden)
}

/// Puts rails side by side so that none overlap, those of the newest entries first. At most [`MAX_TRACKS`] of them pass a row, which
/// also limits the number of ticks to [`MAX_TRACKS`] for each row.
fn pack((mut rails, hidden): Chosen, rows: &[usize]) -> (Vec<Rail>, usize, usize) {
    let all = rails.len() + hidden;
    rails.sort_by_key(|rail| rail.outline(rows));
    let mut ends: Vec<usize> = Vec::new();
    rails.retain_mut(|rail| {
        let (first, last) = rail.outline(rows);
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
        for span in std::mem::take(&mut rail.spans) {
            rail.ticks.extend(rows[span].iter().filter(|row| **row != rail.node));
        }
        rail.ticks.sort_unstable();
        rail.skipped = rail.ticks.len();
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

    fn state(&self, name: &str) -> State {
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
        Rail::new(node, (node + 1..=last).collect(), None)
    }

    #[test]
    fn rails_do_not_overlap_and_those_that_do_not_fit_are_counted() {
        let (rails, tracks, hidden) = pack((vec![rail(0, 3), rail(1, 2), rail(4, 5), rail(3, 9)], 0), &[]);
        let found: Vec<_> = rails.iter().map(|rail| (rail.span(), rail.track)).collect();
        assert_eq!(found, [((0, 3), 0), ((1, 2), 1), ((3, 9), 1), ((4, 5), 0)]);
        assert_eq!((tracks, hidden), (2, 0));
        let (rails, hidden) = effective(vec![rail(0, 3), rail(1, 3), rail(2, 5)], &[]);
        assert_eq!((rails.len(), hidden), (2, 1));
        let (rails, tracks, hidden) = pack(((0..9).map(|node| rail(node, 20)).collect(), 1), &[]);
        assert_eq!((rails.len(), tracks, hidden), (MAX_TRACKS, MAX_TRACKS, 5));
    }

    #[test]
    fn overlapping_ranges_have_few_ticks() {
        let ticks = |count: usize| {
            // Each row skips the 100 below it.
            let rows: Vec<usize> = (0..count).rev().collect();
            let rail = |node: usize| {
                let behind = count - 1 - node;
                let spans = Vec::from_iter((behind > 0).then(|| behind.saturating_sub(100)..behind));
                Rail { spans, ..Rail::new(node, Vec::new(), Some(String::new())) }
            };
            let (rails, ..) = pack(effective((0..count).map(rail).collect(), &rows), &rows);
            assert!(rails.iter().all(|rail| rail.ticks.iter().all(|tick| *tick > rail.node)));
            rails.iter().map(|rail| rail.ticks.len()).sum::<usize>()
        };
        assert!(ticks(1000) <= MAX_TRACKS * 1000 && ticks(2000) <= MAX_TRACKS * 2000);
    }
}
