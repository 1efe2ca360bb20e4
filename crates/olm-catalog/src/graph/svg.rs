//! The upgrade graph of a package as an SVG drawing.
//!
//! Time goes up: each row is a bundle, each column a channel. The drawing needs no script, no font and no file beside it,
//! and follows the reader's light or dark scheme. Every name in it is escaped.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Range;

use super::layout::{DrawError, Lane, Layout, Node, Rail, State, layout};
use crate::upgrade::Olm;
use crate::validate::PackageGraph;
use kube_yaml::text::{printable, shortened, xml_escaped};

/// The rules of the light scheme, and everything that does not depend on it.
pub(crate) const STYLE: &str = include_str!("light.css");

/// The rules that the dark scheme changes.
pub(crate) const DARK_STYLE: &str = include_str!("dark.css");

const ROW: usize = 26;
const MARGIN: usize = 16;
/// Between the centers of two rails.
const TRACK: usize = 8;
/// Beside the center of a lane: room for bent edges and for the ring of a head.
const LANE_SIDE: usize = 22;
/// The maximum number of characters of a label.
const MAX_LABEL: usize = 56;
/// The maximum number of characters of the name of a channel.
const MAX_CHANNEL: usize = 48;
const LEGEND_WIDTH: usize = 720;
const TITLE: usize = 34;

/// What is drawn beside the package itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Drawing<'d> {
    /// The bundle whose upgrades are highlighted in each channel that has it.
    pub from: Option<Installed<'d>>,
}

/// An installed bundle.
#[derive(Debug, Clone, Copy)]
pub struct Installed<'d> {
    /// Its name or version.
    pub bundle: &'d str,
    /// Which OLM upgrades it.
    pub olm: Olm,
}

/// Draws a package; the graph may be invalid.
///
/// # Errors
/// The package is too large, or the bundle to highlight is not in it.
pub fn svg(linked: &PackageGraph<'_>, drawing: &Drawing<'_>) -> Result<String, DrawError> {
    let layout = layout(linked)?;
    let path = match &drawing.from {
        None => None,
        Some(from) => {
            let row =
                layout.rows.iter().position(|row| row.name == from.bundle || row.version == from.bundle);
            let Some(row) = row else {
                return Err(DrawError::UnknownBundle {
                    package: layout.package.to_owned(),
                    bundle: from.bundle.to_owned(),
                });
            };
            Some((row, from.olm))
        }
    };
    let mut out = Canvas::new(&layout).draw(path);
    let style = format!("<style>{STYLE}@media (prefers-color-scheme:dark){{{DARK_STYLE}}}</style>");
    if let Some(end) = out.find('>') {
        out.insert_str(end + 1, &style);
    }
    Ok(out)
}

/// Draws a package for a page that has the style already.
pub(crate) fn without_style(linked: &PackageGraph<'_>) -> Result<String, DrawError> {
    Ok(Canvas::new(&layout(linked)?).draw(None))
}

/// What a part of a drawing may contain.
#[derive(Debug, Clone, Copy)]
pub struct PartLimits {
    /// The maximum number of entries of channels, unless one bundle has more.
    pub entries: usize,
    /// The maximum size of the drawing, in bytes.
    pub bytes: usize,
}

/// Draws the bundles of a package from a row on, as many as fit into the limits, for a page that has the style already. Returns their
/// rows, and how many there are, too.
pub(crate) fn part_without_style(
    linked: &PackageGraph<'_>,
    from: usize,
    limits: PartLimits,
) -> Result<(String, Range<usize>, usize), DrawError> {
    let layout = layout(linked)?;
    let total = layout.rows.len();
    let mut entries;
    let (mut part, mut rows) = layout.part(from, limits.entries);
    loop {
        let drawing = Canvas::new(&part).draw(None);
        if drawing.len() <= limits.bytes {
            return Ok((drawing, rows, total));
        }
        if part.rows.len() < 2 {
            let name = part.rows.first().map_or(linked.package.name.as_str(), |row| row.name);
            let bundle = shortened(name, MAX_LABEL).into_owned();
            return Err(DrawError::TooLong { bundle, max: limits.bytes });
        }
        let drawn: usize = part.lanes.iter().map(|lane| lane.nodes.len()).sum();
        entries = drawn / 2;
        let shorter;
        (part, shorter) = part.part(0, entries);
        rows.end = rows.start + shorter.len();
    }
}

struct Canvas<'l> {
    layout: &'l Layout<'l>,
    /// The center of each lane.
    centers: Vec<usize>,
    /// Whether the names of the channels stand upright on their lanes.
    is_slanted: bool,
    labels: usize,
    head: usize,
    width: usize,
    height: usize,
    out: String,
}

impl<'l> Canvas<'l> {
    fn new(layout: &'l Layout<'l>) -> Self {
        let label =
            layout.rows.iter().map(|row| text_width(&label(row.name)) + text_width(&row.version) + 30);
        let badge = if layout.rows.iter().any(|row| badge(row).is_some()) { 84 } else { 0 };
        let labels = MARGIN + label.max().unwrap_or(0).max(text_width(layout.package) + 16) + badge;
        let names = layout.lanes.iter().map(|lane| text_width(&channel_label(lane)));
        let widest = names.max().unwrap_or(0);
        let is_slanted = layout.lanes.len() > 6 || widest > 150;
        let mut at = labels;
        let mut centers = Vec::new();
        for lane in &layout.lanes {
            centers.push(at + LANE_SIDE);
            let rails = LANE_SIDE * 2 + lane.tracks * TRACK;
            at += if is_slanted { rails } else { rails.max(text_width(&channel_label(lane)) + 24) };
        }
        // At 45 degrees, the height and the width of a text are its length by the square root of two.
        let overhang = if is_slanted { widest * 5 / 7 } else { 0 };
        let head = TITLE + if is_slanted { overhang + 24 } else { 40 };
        let legend = ROW * 3 + MARGIN;
        Self {
            layout,
            is_slanted,
            labels,
            head,
            width: (at + MARGIN + overhang).max(LEGEND_WIDTH),
            height: head + layout.rows.len() * ROW + legend,
            centers,
            out: String::new(),
        }
    }

    fn y(&self, row: usize) -> usize {
        self.head + row * ROW + ROW / 2
    }

    fn draw(mut self, path: Option<(usize, Olm)>) -> String {
        let Layout { package, deprecation, .. } = self.layout;
        // Writing to a string cannot fail.
        let _ = write!(
            self.out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"upgrade-graph\" role=\"group\" \
             viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" data-head=\"{2}\" data-labels=\"{3}\" \
             aria-label=\"Upgrade graph of {4}\"><title>Upgrade graph of {4}</title>\
             <rect class=\"canvas\" width=\"{0}\" height=\"{1}\"/>",
            self.width,
            self.height,
            self.head,
            self.labels,
            escaped(package)
        );
        self.rows();
        self.lanes(path);
        self.labels();
        self.channels(*deprecation);
        self.legend();
        self.out.push_str("</svg>\n");
        self.out
    }

    fn rows(&mut self) {
        self.out.push_str("<g class=\"rows\">");
        for row in (0..self.layout.rows.len()).step_by(2) {
            let (y, width) = (self.head + row * ROW, self.width);
            let _ = write!(self.out, "<rect class=\"stripe\" y=\"{y}\" width=\"{width}\" height=\"{ROW}\"/>");
        }
        self.out.push_str("</g>");
    }

    fn lanes(&mut self, path: Option<(usize, Olm)>) {
        for index in 0..self.layout.lanes.len() {
            let (lane, x) = (&self.layout.lanes[index], self.centers[index]);
            let _ = write!(self.out, "<g class=\"lane\" data-channel=\"{}\">", escaped(lane.name));
            if let (Some(first), Some(last)) = (lane.nodes.first(), lane.nodes.last()) {
                let (top, bottom) = (self.y(first.row), self.y(last.row));
                let _ = write!(self.out, "<path class=\"track\" d=\"M{x} {top}V{bottom}\"/>");
            }
            for rail in &lane.rails {
                self.rail(rail, x);
            }
            for link in &lane.links {
                let (from, to) = (self.y(link.from), self.y(link.to));
                let class = if link.is_downgrade() { "replaces downgrade" } else { "replaces" };
                let d = edge(x, from, to, link.is_bent);
                let _ = write!(self.out, "<path class=\"{class}\" d=\"{d}\"/>");
            }
            if let Some((row, olm)) = path {
                self.path(lane, x, row, olm);
            }
            for node in &lane.nodes {
                self.node(lane, node, x);
            }
            self.out.push_str("</g>");
        }
    }

    /// A rail to the right of the lane, with a tick at each row that is skipped.
    fn rail(&mut self, rail: &Rail, x: usize) {
        let at = x + LANE_SIDE - 8 + rail.track * TRACK;
        let (first, last) = rail.span();
        let (top, bottom, node) = (self.y(first), self.y(last), self.y(rail.node));
        let class = if rail.range.is_some() { "range" } else { "skips" };
        let _ = write!(self.out, "<g class=\"{class}\"><path d=\"M{x} {node}H{at}M{at} {top}V{bottom}");
        for &tick in &rail.ticks {
            let _ = write!(self.out, "M{at} {0}H{1}", self.y(tick), x + 7);
        }
        let name = self.layout.rows[rail.node].name;
        let what = match &rail.range {
            Some(range) => format!("{name} skips the range {range}"),
            None => format!("{name} skips {} entries", rail.skipped),
        };
        let _ = write!(self.out, "\"/><title>{}</title></g>", escaped(&what));
    }

    /// The upgrades from the bundle in `row`, if the lane has it.
    fn path(&mut self, lane: &Lane<'_>, x: usize, row: usize, olm: Olm) {
        let mut current = lane.nodes.iter().find(|node| node.row == row);
        let mut seen = HashSet::new();
        let mut d = String::new();
        while let Some(node) = current.filter(|node| seen.insert(node.row)) {
            let next = match olm {
                Olm::V0 => &node.next[0],
                Olm::V1 => &node.next[1],
            };
            current = next.as_ref().and_then(|(row, _)| {
                let found = lane.nodes.binary_search_by_key(row, |node| node.row).ok()?;
                lane.nodes.get(found)
            });
            if let Some(next) = current {
                let (from, to) = (self.y(node.row), self.y(next.row));
                d.push_str(&edge(x, from, to, node.row.abs_diff(next.row) > 1));
            }
        }
        if !d.is_empty() {
            let _ = write!(self.out, "<path class=\"path\" d=\"{d}\"/>");
        }
    }

    fn node(&mut self, lane: &Lane<'_>, node: &Node<'_>, x: usize) {
        let row = &self.layout.rows[node.row];
        let (class, state) = match node.state {
            State::Head => ("head", "head"),
            State::Entry => ("entry", "entry"),
            State::Skipped => ("skipped", "skipped"),
            State::Stranded => ("stranded", "stranded: no upgrade path to the head"),
        };
        let deprecated = if row.deprecation.is_some() { " deprecated" } else { "" };
        let suffix = if row.deprecation.is_some() { ", deprecated" } else { "" };
        let _ = write!(
            self.out,
            "<g class=\"node {class}{deprecated}\" transform=\"translate({x} {})\" data-row=\"{}\" \
             data-state=\"{state}\"",
            self.y(node.row),
            node.row
        );
        for (name, next) in ["v0", "v1"].into_iter().zip(&node.next) {
            if let Some((to, by)) = next {
                let _ = write!(self.out, " data-{name}=\"{to} {}\"", escaped(&by.to_string()));
            }
        }
        for (name, outside) in ["v0", "v1"].into_iter().zip(&node.outside) {
            if let Some((to, by)) = outside {
                let _ =
                    write!(self.out, " data-{name}-outside=\"{} {}\"", escaped(to), escaped(&by.to_string()));
            }
        }
        for (name, value) in [("replaces", &node.entry.replaces), ("range", &node.entry.skip_range)] {
            if !value.is_empty() {
                let _ = write!(self.out, " data-{name}=\"{}\"", escaped(value));
            }
        }
        if !node.entry.skips.is_empty() {
            let _ = write!(self.out, " data-skips=\"{}\"", node.entry.skips.len());
        }
        let shape = match (node.state, row.deprecation) {
            (State::Stranded, _) => "<path class=\"mark\" d=\"M-6-6H6V6H-6Z\"/>",
            (_, Some(_)) => "<path class=\"mark\" d=\"M0-7 7 0 0 7-7 0Z\"/>",
            (State::Skipped, None) => "<circle class=\"mark\" r=\"4\"/>",
            (_, None) => "<circle class=\"mark\" r=\"5\"/>",
        };
        let ring = if node.state == State::Head { "<circle class=\"ring\" r=\"10\"/>" } else { "" };
        let _ = write!(
            self.out,
            " aria-label=\"{0} in channel {1}, {state}{suffix}\"><circle class=\"hit\" r=\"12\"/>{ring}{shape}\
             <title>{0} in {1}: {state}{suffix}</title></g>",
            escaped(row.name),
            escaped(lane.name)
        );
    }

    /// The names of the bundles, on the left.
    fn labels(&mut self) {
        let _ = write!(
            self.out,
            "<g class=\"labels\"><rect class=\"pane\" x=\"0\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            self.head,
            self.labels - 6,
            self.layout.rows.len() * ROW
        );
        let version_width =
            self.layout.rows.iter().map(|row| text_width(&row.version)).max().unwrap_or(0).max(20) + 14;
        for (index, row) in self.layout.rows.iter().enumerate() {
            let y = self.head + index * ROW;
            if index % 2 == 0 {
                let width = self.labels - 6;
                let _ =
                    write!(self.out, "<rect class=\"stripe\" y=\"{y}\" width=\"{width}\" height=\"{ROW}\"/>");
            }
            let _ = write!(
                self.out,
                "<g class=\"row\" data-row=\"{index}\" data-name=\"{}\" data-version=\"{}\"",
                escaped(row.name),
                escaped(&row.version)
            );
            for (name, value) in [("image", row.image), ("deprecation", row.deprecation.unwrap_or_default())]
            {
                if !value.is_empty() {
                    let _ = write!(self.out, " data-{name}=\"{}\"", escaped(value));
                }
            }
            let y = y + ROW / 2 + 4;
            let _ = write!(
                self.out,
                "><title>{}</title><text class=\"version\" x=\"{MARGIN}\" y=\"{y}\">{}</text>\
                 <text class=\"name\" x=\"{}\" y=\"{y}\">{}</text>",
                escaped(row.name),
                escaped(&row.version),
                MARGIN + version_width,
                escaped(&label(row.name))
            );
            if let Some((class, badge)) = badge(row) {
                let x = self.labels - 16;
                let _ = write!(self.out, "<text class=\"badge {class}\" x=\"{x}\" y=\"{y}\">{badge}</text>");
            }
            self.out.push_str("</g>");
        }
        self.out.push_str("</g>");
    }

    /// The title and the names of the channels, on top.
    fn channels(&mut self, deprecation: Option<&str>) {
        let _ = write!(
            self.out,
            "<g class=\"channels\"><rect class=\"pane\" width=\"{}\" height=\"{}\"/>\
             <text class=\"package\" x=\"{MARGIN}\" y=\"26\">{}</text>",
            self.width,
            self.head,
            escaped(&shortened(self.layout.package, MAX_LABEL))
        );
        if let Some(message) = deprecation {
            let x = MARGIN + text_width(self.layout.package) * 3 / 2 + 24;
            let _ = write!(
                self.out,
                "<text class=\"note deprecated\" x=\"{x}\" y=\"26\">deprecated: {}</text>",
                escaped(&shortened(message, 2 * MAX_LABEL))
            );
        }
        for (lane, &x) in self.layout.lanes.iter().zip(&self.centers) {
            let mut class = String::from("channel");
            if lane.deprecation.is_some() {
                class.push_str(" deprecated");
            }
            if lane.problem.is_some() {
                class.push_str(" broken");
            }
            let place = if self.is_slanted {
                format!("transform=\"translate({} {}) rotate(-45)\"", x, self.head - 10)
            } else {
                format!("transform=\"translate({} {})\"", x - 8, self.head - 12)
            };
            let mut title = lane.name.to_owned();
            if let Some(message) = lane.deprecation {
                let _ = write!(title, ", deprecated: {message}");
            }
            if lane.hidden > 0 {
                let _ = write!(title, "; {} more skips are not drawn", lane.hidden);
            }
            let _ = write!(
                self.out,
                "<text class=\"{class}\" {place}>{}<title>{}</title></text>",
                escaped(&channel_label(lane)),
                escaped(&title)
            );
        }
        self.out.push_str("</g>");
    }

    /// What the signs mean: those that are drawn.
    fn legend(&mut self) {
        let lanes = &self.layout.lanes;
        let nodes = || lanes.iter().flat_map(|lane| &lane.nodes);
        let is_state = |state: State| nodes().any(|node| node.state == state);
        let dot = "<circle class=\"mark\" r=\"5\"/>";
        let line = |class: &str, d: &str| format!("<path class=\"{class}\" d=\"{d}\"/>");
        let mut items: Vec<(&str, String, &str)> = vec![
            ("node head", format!("<circle class=\"ring\" r=\"10\"/>{dot}"), "head of the channel"),
            ("node entry", dot.to_owned(), "entry"),
        ];
        if is_state(State::Skipped) {
            items.push(("node skipped", "<circle class=\"mark\" r=\"4\"/>".to_owned(), "skipped"));
        }
        if self.layout.rows.iter().any(|row| row.deprecation.is_some()) {
            let mark = line("mark", "M0-7 7 0 0 7-7 0Z");
            items.push(("node entry deprecated", mark, "deprecated"));
        }
        if is_state(State::Stranded) {
            items.push(("node stranded", line("mark", "M-6-6H6V6H-6Z"), "stranded"));
        }
        if lanes.iter().any(|lane| !lane.links.is_empty()) {
            items.push(("", line("replaces", "M0 9V-9"), "replaces (upgrades go up)"));
        }
        if lanes.iter().flat_map(|lane| &lane.links).any(super::layout::Link::is_downgrade) {
            items.push(("", line("replaces downgrade", "M0 9V-9"), "to a lower version"));
        }
        let rails = || lanes.iter().flat_map(|lane| &lane.rails);
        if rails().any(|rail| rail.range.is_none()) {
            items.push(("skips", line("", "M4-9V9M4 9H-4M4-9H-4"), "skips"));
        }
        if rails().any(|rail| rail.range.is_some()) {
            items.push(("range", line("", "M4-9V9M4 9H-4M4-9H-4"), "skipRange"));
        }
        let (mut x, mut y) = (MARGIN + 10, self.height - ROW * 2 - MARGIN / 2);
        let _ = write!(
            self.out,
            "<g class=\"legend\"><rect class=\"pane\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            y - ROW,
            self.width,
            self.height - (y - ROW)
        );
        for (class, shape, text) in items {
            let width = text_width(text) + 48;
            if x + width > self.width {
                (x, y) = (MARGIN + 10, y + ROW);
            }
            let _ = write!(
                self.out,
                "<g class=\"{class}\" transform=\"translate({x} {y})\">{shape}</g>\
                 <text class=\"name\" x=\"{}\" y=\"{}\">{text}</text>",
                x + 16,
                y + 4
            );
            x += width;
        }
        self.out.push_str("</g>");
    }
}

/// A line from the older to the newer row; bent to the left where it passes other entries.
fn edge(x: usize, from: usize, to: usize, is_bent: bool) -> String {
    if !is_bent {
        return format!("M{x} {from}V{to}");
    }
    let bend = x.saturating_sub((6 + from.abs_diff(to) / ROW).min(LANE_SIDE - 2));
    let middle = usize::midpoint(from, to);
    format!("M{x} {from}Q{bend} {from} {bend} {middle}T{x} {to}")
}

fn label(name: &str) -> String {
    shortened(name, MAX_LABEL).into_owned()
}

fn badge(row: &super::layout::Row<'_>) -> Option<(&'static str, &'static str)> {
    if !row.is_known {
        Some(("broken", "no bundle"))
    } else if !row.is_listed {
        Some(("broken", "no channel"))
    } else if row.deprecation.is_some() {
        Some(("deprecated", "deprecated"))
    } else {
        None
    }
}

fn channel_label(lane: &Lane<'_>) -> String {
    let mut text = shortened(lane.name, MAX_CHANNEL).into_owned();
    if lane.is_default {
        text.push_str(" (default)");
    }
    if let Some(problem) = &lane.problem {
        let _ = write!(text, " – {problem}");
    }
    text
}

/// About as wide as the text becomes, in pixels.
fn text_width(text: &str) -> usize {
    text.chars().count() * 7
}

/// Returns text for XML, in which control characters are shown as on a terminal.
pub(crate) fn escaped(text: &str) -> String {
    xml_escaped(&printable(text))
}
