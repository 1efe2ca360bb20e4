//! `opm alpha render-graph`, and the output format `mermaid` of templates.
//!
//! Source: `MermaidWriter` in `alpha/declcfg/write.go` of operator-registry v1.73.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::io::{self, Write as _};
use std::ops;

use anyhow::{Result, bail};

use super::super::Status;
use super::super::cobra::Matches;
use super::render;
use crate::cli::rendering::MigrateLevel;
use kube_yaml::text::printable;
use olm_model::catalog::{Catalog, Channel, Entry};
use olm_model::version;
use olm_model::version::{Range, Version};

/// What is drawn.
#[derive(Debug, Default)]
pub(crate) struct Options<'o> {
    /// The lowest bundle; empty for all.
    pub(crate) min_edge: &'o str,
    /// The package; empty for all.
    pub(crate) package: &'o str,
    /// Whether links that OLM v0 does not follow are marked.
    pub(crate) with_v0_semantics: bool,
}

pub(crate) fn run(matches: &Matches) -> Result<Status> {
    for reference in &matches.arguments {
        render::require_catalog(reference)?;
    }
    let catalog = render::catalog(matches, &matches.arguments, MigrateLevel::None, None)?;
    let options = Options {
        min_edge: matches.text("minimum-edge"),
        package: matches.text("package-name"),
        with_v0_semantics: matches.bool("draw-v0-semantics"),
    };
    let mut out = io::BufWriter::with_capacity(64 << 10, io::stdout().lock());
    write(&catalog, &options, &mut out)?;
    out.flush()?;
    Ok(Status::SUCCESS)
}

/// The names that a catalog deprecates.
#[derive(Debug, Default)]
struct Deprecated<'c> {
    packages: BTreeSet<&'c str>,
    channels: BTreeSet<&'c str>,
    bundles: BTreeSet<&'c str>,
}

/// The classes and styles that follow the graphs.
#[derive(Debug, Default)]
struct Decorations {
    package: String,
    channels: Vec<String>,
    /// The nodes of each class.
    bundles: BTreeMap<&'static str, BTreeSet<String>>,
    /// The numbers of links, in which those of an entry's range are consecutive.
    skipped_links: Vec<ops::Range<usize>>,
    links: usize,
}

/// A channel with the entries that are drawn.
struct Graph<'c> {
    channel: &'c Channel,
    entries: Cow<'c, [Entry]>,
}

/// What a channel's graph consists of.
enum Part<'p> {
    Node {
        entry: &'p Entry,
        is_skipped: bool,
    },
    Link {
        from: &'p str,
        to: &'p str,
        label: &'p str,
        is_marked: bool,
    },
    /// An invalid range has no links; everything else is drawn.
    InvalidRange {
        entry: &'p Entry,
        reason: String,
    },
}

/// A node: its id and its label. What a terminal obeys is escaped, as everywhere in the diagram.
struct Node<'n> {
    graph: &'n str,
    name: &'n str,
}

impl fmt::Display for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}[{:?}]", self.graph, printable(self.name), self.name)
    }
}

impl Graph<'_> {
    fn id(&self) -> String {
        printable(&format!("{}-{}", self.channel.package, self.channel.name)).into_owned()
    }
}

/// Writes the upgrade graphs of a catalog as a Mermaid flowchart. A skip range has a link from each entry in it, so that the diagram can
/// be much larger than the catalog: nothing but the nodes is kept.
pub(crate) fn write(catalog: &Catalog, options: &Options<'_>, out: &mut dyn io::Write) -> Result<()> {
    let versions = versions(catalog)?;
    let floor = match versions.get(options.min_edge) {
        Some(version) => version.clone(),
        None if options.min_edge.is_empty() => Version::new(0, 0, 0),
        None => bail!("unknown minimum edge name: {:?}", options.min_edge),
    };
    let mut channels: Vec<&Channel> = catalog.channels.iter().collect();
    channels.sort_by_key(|channel| &channel.name);
    let floor_package = channels
        .iter()
        .find(|channel| {
            !options.min_edge.is_empty() && channel.entries.iter().any(|entry| entry.name == options.min_edge)
        })
        .map_or("", |channel| channel.package.as_str());
    let deprecated = deprecated(catalog);
    let kept =
        |channel| Some(Graph { channel, entries: kept(channel, options, &versions, &floor, floor_package)? });
    let graphs: Vec<Graph<'_>> = channels.into_iter().filter_map(kept).collect();
    // Links are numbered in the order of the channels, but written by package.
    let mut decorations = Decorations::default();
    let mut packages: BTreeMap<&str, Vec<&Graph<'_>>> = BTreeMap::new();
    for graph in &graphs {
        packages.entry(&graph.channel.package).or_default().push(graph);
        decorations.add(graph, &versions, &deprecated, options.with_v0_semantics)?;
    }
    out.write_all(
        b"graph LR\n  classDef deprecated fill:#E8960F\n  classDef skipped stroke:#FF0000,stroke-width:4px\n  \
         classDef deprecatedskipped fill:#E8960F,stroke:#FF0000,stroke-width:4px\n",
    )?;
    for (name, graphs) in packages {
        write!(out, "  %% package {name:?}\n  subgraph {name:?}\n")?;
        for graph in graphs {
            draw(graph, &versions, options.with_v0_semantics, out)?;
        }
        writeln!(out, "  end")?;
    }
    decorations.write(out)?;
    Ok(())
}

impl Decorations {
    /// Adds the classes and styles of a channel.
    fn add(
        &mut self,
        graph: &Graph<'_>,
        versions: &HashMap<&str, Version>,
        deprecated: &Deprecated<'_>,
        with_v0_semantics: bool,
    ) -> io::Result<()> {
        let id = graph.id();
        if deprecated.packages.contains(graph.channel.package.as_str()) {
            self.package = printable(&graph.channel.package).into_owned();
        }
        if deprecated.channels.contains(graph.channel.name.as_str()) {
            self.channels.push(id.clone());
        }
        visit(graph, versions, with_v0_semantics, &mut |part| {
            match part {
                Part::Node { entry, is_skipped } => {
                    let class = match (deprecated.bundles.contains(entry.name.as_str()), is_skipped) {
                        (true, true) => Some("deprecatedskipped"),
                        (true, false) => Some("deprecated"),
                        (false, true) => Some("skipped"),
                        (false, false) => None,
                    };
                    if let Some(class) = class {
                        let node = format!("{id}-{}", printable(&entry.name));
                        self.bundles.entry(class).or_default().insert(node);
                    }
                }
                Part::Link { is_marked, .. } => {
                    if is_marked {
                        match self.skipped_links.last_mut() {
                            Some(range) if range.end == self.links => range.end += 1,
                            _ => self.skipped_links.push(self.links..self.links + 1),
                        }
                    }
                    self.links += 1;
                }
                Part::InvalidRange { .. } => {}
            }
            Ok(())
        })
    }

    fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        if !self.package.is_empty() {
            writeln!(out, "style {} fill:#989695", self.package)?;
        }
        for channel in &self.channels {
            writeln!(out, "style {channel} fill:#DCD0FF")?;
        }
        for (class, nodes) in &self.bundles {
            let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
            writeln!(out, "class {} {class}", nodes.join(","))?;
        }
        let mut separator = "linkStyle ";
        for link in self.skipped_links.iter().cloned().flatten() {
            write!(out, "{separator}{link}")?;
            separator = ",";
        }
        if !self.skipped_links.is_empty() {
            writeln!(out, " stroke:#FF0000,stroke-width:3px,stroke-dasharray:5;")?;
        }
        Ok(())
    }
}

/// Draws a channel.
fn draw(
    graph: &Graph<'_>,
    versions: &HashMap<&str, Version>,
    with_v0_semantics: bool,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let (id, channel) = (&graph.id(), graph.channel);
    write!(out, "    %% channel {:?}\n    subgraph {id}[{:?}]\n", channel.name, channel.name)?;
    visit(graph, versions, with_v0_semantics, &mut |part| match part {
        Part::Node { entry, .. } => writeln!(out, "      {}", Node { graph: id, name: &entry.name }),
        Part::Link { from, to, label, .. } => {
            let [from, to] = [from, to].map(|name| Node { graph: id, name });
            writeln!(out, "      {from}-- {label} --> {to}")
        }
        Part::InvalidRange { entry, reason } => {
            // If standard error is closed, there is nowhere to report the failure.
            let _ = writeln!(
                io::stderr(),
                "warning: ignoring invalid SkipRange for package/edge {:?}/{:?}: {}",
                printable(&channel.package),
                printable(&entry.name),
                printable(&reason)
            );
            Ok(())
        }
    })?;
    writeln!(out, "    end")
}

/// Visits the nodes and links of a channel in the order in which they are drawn.
fn visit(
    graph: &Graph<'_>,
    versions: &HashMap<&str, Version>,
    with_v0_semantics: bool,
    visitor: &mut dyn FnMut(Part<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let zero = Version::new(0, 0, 0);
    let entries: Vec<(&Entry, &Version)> = graph
        .entries
        .iter()
        .map(|entry| (entry, versions.get(entry.name.as_str()).unwrap_or(&zero)))
        .collect();
    let mut sorted = entries.clone();
    sorted.sort_by(|(_, a), (_, b)| b.cmp_precedence(a));
    let mut skipped: HashSet<&str> = HashSet::new();
    for (entry, _) in sorted {
        visitor(Part::Node { entry, is_skipped: skipped.contains(entry.name.as_str()) })?;
        let mut link = |from: &str, label: &str, is_skipped: bool| {
            visitor(Part::Link { from, to: &entry.name, label, is_marked: with_v0_semantics && is_skipped })
        };
        for skip in &entry.skips {
            let is_known = !skipped.insert(skip.as_str());
            link(skip, "skip", is_known)?;
            if !with_v0_semantics {
                skipped.clear();
            }
        }
        let is_skipped = skipped.contains(entry.name.as_str());
        if !entry.skip_range.is_empty() {
            match Range::parse(&entry.skip_range) {
                Ok(range) => {
                    let label = format!("\"skipRange({})\"", printable(&entry.skip_range));
                    for (other, version) in &entries {
                        if range.contains(version) {
                            link(&other.name, &label, is_skipped)?;
                        }
                    }
                }
                Err(error) => visitor(Part::InvalidRange { entry, reason: error.to_string() })?,
            }
        }
        if !entry.replaces.is_empty() {
            visitor(Part::Link {
                from: &entry.replaces,
                to: &entry.name,
                label: "replace",
                is_marked: with_v0_semantics && is_skipped,
            })?;
        }
    }
    Ok(())
}

/// Returns the entries of a channel that are drawn, without the edges that are not; `None` if no entry is drawn.
fn kept<'c>(
    channel: &'c Channel,
    options: &Options<'_>,
    versions: &HashMap<&str, Version>,
    floor: &Version,
    floor_package: &str,
) -> Option<Cow<'c, [Entry]>> {
    if options.min_edge.is_empty() && options.package.is_empty() {
        return Some(Cow::Borrowed(&channel.entries));
    }
    let is_other = |wanted: &str| !wanted.is_empty() && channel.package != wanted;
    if is_other(options.package) || is_other(floor_package) {
        return None;
    }
    let zero = Version::new(0, 0, 0);
    let is_above = |name: &str| versions.get(name).unwrap_or(&zero).cmp_precedence(floor).is_ge();
    let mut kept = Vec::new();
    for entry in &channel.entries {
        let had_edges = !entry.replaces.is_empty() || !entry.skips.is_empty() || !entry.skip_range.is_empty();
        let mut new = entry.clone();
        if options.min_edge.is_empty() {
            kept.push(new);
            continue;
        }
        let is_floor = entry.name == options.min_edge;
        if is_floor || !is_above(&entry.replaces) {
            new.replaces.clear();
        }
        new.skips.retain(|skip| !is_floor && is_above(skip));
        if is_floor || !Range::parse(&entry.skip_range).is_ok_and(|range| range.contains(floor)) {
            new.skip_range.clear();
        }
        let is_connected = !new.replaces.is_empty() || !new.skips.is_empty() || !new.skip_range.is_empty();
        if is_floor || is_connected || (!had_edges && is_above(&entry.name)) {
            kept.push(new);
        }
    }
    (!kept.is_empty()).then_some(Cow::Owned(kept))
}

/// Returns the versions of bundles by name.
fn versions(catalog: &Catalog) -> Result<HashMap<&str, Version>> {
    let mut versions = HashMap::new();
    for bundle in &catalog.bundles {
        if versions.contains_key(bundle.name.as_str()) {
            continue;
        }
        let mut packages = bundle.properties.iter().filter(|property| property.r#type == "olm.package");
        let (Some(package), None) = (packages.next(), packages.next()) else {
            bail!("bundle {:?} has multiple \"olm.package\" properties, expected exactly 1", bundle.name);
        };
        let text = package.value["version"].as_str().unwrap_or_default();
        match version::strict(text) {
            Ok(version) => versions.insert(bundle.name.as_str(), version),
            Err(error) => bail!("bundle {:?} has invalid version {text:?}: {error}", bundle.name),
        };
    }
    Ok(versions)
}

/// Returns what the `olm.deprecations` blobs name.
fn deprecated(catalog: &Catalog) -> Deprecated<'_> {
    let mut found = Deprecated::default();
    for blob in catalog.others.iter().filter(|blob| blob["schema"] == "olm.deprecations") {
        for entry in blob["entries"].as_array().into_iter().flatten() {
            let reference = &entry["reference"];
            let name = reference["name"].as_str().unwrap_or_default();
            match reference["schema"].as_str() {
                Some("olm.package") => found.packages.insert(blob["package"].as_str().unwrap_or_default()),
                Some("olm.channel") => found.channels.insert(name),
                Some("olm.bundle") => found.bundles.insert(name),
                _ => false,
            };
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use olm_model::read::catalog as reader;
    use olm_model::read::catalog::{Content, Limits, Source};

    /// Returns a catalog with one channel of `count` entries, each of which skips all others by its range.
    fn catalog(name: &str, count: usize) -> Catalog {
        let bundles = || (0..count).map(|index| format!("\"{name}.v1.0.{index}\""));
        let mut parts = vec![
            format!("---\nschema: olm.package\nname: \"{name}\"\ndefaultChannel: s\n"),
            format!("---\nschema: olm.channel\npackage: \"{name}\"\nname: s\nentries:\n"),
        ];
        parts.extend(bundles().map(|bundle| format!("- {{name: {bundle}, skipRange: '>=1.0.0 <9.0.0'}}\n")));
        parts.extend(bundles().enumerate().map(|(index, bundle)| {
            format!(
                "---\nschema: olm.bundle\npackage: \"{name}\"\nname: {bundle}\nproperties:\n\
                 - {{type: olm.package, value: {{packageName: \"{name}\", version: 1.0.{index}}}}}\n"
            )
        }));
        let text = parts.concat();
        let source = Source { name: "c.yaml".into(), content: Content::Bytes(text.into_bytes()) };
        reader::blobs(vec![source], Limits::default()).unwrap()
    }

    /// Counts bytes and links, and remembers the longest write.
    #[derive(Default)]
    struct Count {
        links: usize,
        longest: usize,
        limit: Option<usize>,
    }

    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.longest = self.longest.max(bytes.len());
            self.links += bytes.windows(3).filter(|window| window == b"-->").count();
            if self.limit.is_some_and(|limit| self.links >= limit) {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn links_are_written_one_by_one() {
        let catalog = catalog("a", 300);
        let mut out = Count::default();
        write(&catalog, &Options::default(), &mut out).unwrap();
        assert_eq!(out.links, 300 * 300);
        assert!(out.longest < 1000, "{}", out.longest);
        let mut closed = Count { limit: Some(10), ..Count::default() };
        let error = write(&catalog, &Options::default(), &mut closed).unwrap_err();
        assert!(crate::cli::exit::is_broken_pipe(&error));
        assert_eq!(closed.links, 10);
    }

    #[test]
    fn names_are_escaped() {
        let mut out = Vec::new();
        write(&catalog("\\e[31m\u{202e}x", 2), &Options::default(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
        assert!(text.contains("subgraph \\u{1b}[31m\\u{202e}x-s[\"s\"]"), "{text}");
    }
}
