//! The semver template: lists of bundles, from which channels with all their upgrade edges are made.
//!
//! opm knows the lists `candidate`, `fast` and `stable`. Here, `channels` may name others, from the least to the most
//! stable; `generatePlainChannels` makes one channel of each list, with its name as it is.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::parts::{Bundles, Rendered, TemplateError, find};
use kube_yaml::{Path, Value, decode_ignoring_case};
use olm_model::catalog::{Catalog, Channel, Entry, Package};
use olm_model::version;
use olm_model::version::Version;

pub(crate) const SCHEMA: &str = "olm.semver";

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Data {
    #[serde(rename = "schema")]
    _schema: String,
    generate_major_channels: bool,
    generate_minor_channels: bool,
    generate_plain_channels: bool,
    default_channel_type_preference: String,
    candidate: List,
    fast: List,
    stable: List,
    channels: Vec<Named>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct List {
    bundles: Vec<Image>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
    bundles: Vec<Image>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Image {
    image: String,
}

/// Which versions a channel has. The order is that of opm's preference for the default channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stream {
    /// All: `stable`
    Plain,
    /// Those of a major version: `stable-v1`
    Major,
    /// Those of a minor version: `stable-v1.2`
    Minor,
}

#[derive(Debug)]
pub(crate) struct Semver {
    /// From the least to the most stable.
    lists: Vec<Named>,
    streams: Vec<Stream>,
    preferred: Stream,
}

impl Named {
    /// Returns the bundles of a list by version.
    fn bundles<'b>(
        &self,
        bundles: &'b Bundles,
        package: &mut Option<String>,
        versions: &mut BTreeMap<&'b str, Version>,
    ) -> Result<Vec<&'b Rendered>, TemplateError> {
        let (mut found, mut names, mut plain) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        for image in &self.bundles {
            let rendered = find(bundles, &image.image)?;
            let bundle = &rendered.bundle;
            let of_package = bundle.property("olm.package");
            let name = of_package["packageName"].as_str().unwrap_or_default();
            let expected = package.get_or_insert_with(|| name.to_owned());
            if expected != name {
                return Err(TemplateError::Package {
                    bundle: bundle.name.clone(),
                    package: name.to_owned(),
                    expected: expected.clone(),
                });
            }
            let version = version::strict(of_package["version"].as_str().unwrap_or_default())
                .map_err(|error| TemplateError::Version { bundle: bundle.name.clone(), error })?;
            if !names.insert(bundle.name.as_str()) {
                let (channel, bundle) = (self.name.clone(), bundle.name.clone());
                return Err(TemplateError::BundleDuplicate { channel, bundle });
            }
            let mut without_build = version.clone();
            without_build.build = semver::BuildMetadata::EMPTY;
            if !plain.insert(without_build) {
                return Err(TemplateError::Build {
                    channel: self.name.clone(),
                    version: version.to_string(),
                });
            }
            versions.insert(&bundle.name, version);
            found.push(rendered);
        }
        found.sort_by(|a, b| versions[a.bundle.name.as_str()].cmp(&versions[b.bundle.name.as_str()]));
        Ok(found)
    }
}

/// An entry before its edges are known.
struct Member<'b> {
    list: usize,
    stream: Stream,
    channel: String,
    name: &'b str,
    version: &'b Version,
    index: usize,
}

impl Semver {
    pub(crate) fn read(root: Value<'_>) -> Result<Self, TemplateError> {
        let decoded = decode_ignoring_case::<Data>(root, &Path::ROOT)?;
        let is_declared =
            |name: &str, declared: &[&str]| declared.iter().any(|it| it.eq_ignore_ascii_case(name));
        if let Some(unknown) = decoded.unknown.iter().find(|it| !is_declared(&it.name, it.declared)) {
            let (name, position) = (unknown.name.clone(), unknown.position);
            return Err(TemplateError::UnknownField { name, line: position.line, column: position.column });
        }
        let data = decoded.object;
        let mut streams = Vec::new();
        if data.generate_plain_channels {
            streams.push(Stream::Plain);
        }
        if data.generate_major_channels {
            streams.push(Stream::Major);
        }
        if data.generate_minor_channels || streams.is_empty() {
            streams.push(Stream::Minor);
        }
        let fallback = streams.last().copied().unwrap_or(Stream::Minor);
        let preferred = match data.default_channel_type_preference.as_str() {
            "" => fallback,
            "minor" => Stream::Minor,
            "major" => Stream::Major,
            "plain" => Stream::Plain,
            _ => {
                return Err(TemplateError::Options(
                    "defaultChannelTypePreference must be `minor`, `major` or `plain`",
                ));
            }
        };
        if !streams.contains(&preferred) {
            return Err(TemplateError::Options(
                "defaultChannelTypePreference selects a channel type that is not generated",
            ));
        }
        let known = [("candidate", data.candidate), ("fast", data.fast), ("stable", data.stable)];
        let mut lists: Vec<Named> = known
            .into_iter()
            .map(|(name, list)| Named { name: name.to_owned(), bundles: list.bundles })
            .collect();
        if !data.channels.is_empty() {
            if lists.iter().any(|list| !list.bundles.is_empty()) {
                return Err(TemplateError::Options(
                    "`channels` cannot be combined with `candidate`, `fast` or `stable`",
                ));
            }
            lists = data.channels;
        }
        let mut names = BTreeSet::new();
        for list in &lists {
            if list.name.is_empty() || list.name.chars().any(|char| char.is_whitespace() || char.is_control())
            {
                return Err(TemplateError::ChannelName(list.name.clone()));
            }
            if !names.insert(list.name.as_str()) {
                return Err(TemplateError::ChannelDuplicate(list.name.clone()));
            }
        }
        Ok(Self { lists, streams, preferred })
    }

    pub(crate) fn images(&self) -> BTreeSet<&str> {
        self.lists.iter().flat_map(|list| &list.bundles).map(|bundle| bundle.image.as_str()).collect()
    }

    pub(crate) fn build(self, bundles: &Bundles) -> Result<Catalog, TemplateError> {
        let mut package: Option<String> = None;
        let mut versions: BTreeMap<&str, Version> = BTreeMap::new();
        let mut lists: Vec<Vec<&Rendered>> = Vec::new();
        for list in &self.lists {
            lists.push(list.bundles(bundles, &mut package, &mut versions)?);
        }
        let Some(package) = package else { return Err(TemplateError::Empty) };
        let (mut channels, members, default) = self.channels(&package, &lists, &versions);
        link(&mut channels, &members);
        let head = channels
            .get(&default)
            .and_then(|channel| channel.entries.last())
            .map(|entry| entry.name.as_str());
        let head = lists.iter().flatten().find(|rendered| Some(rendered.bundle.name.as_str()) == head);
        let package = Package {
            schema: "olm.package".to_owned(),
            name: package,
            default_channel: default,
            icon: head.and_then(|head| head.icon.clone()),
            description: head.map(|head| head.description.clone()).unwrap_or_default(),
            properties: Vec::new(),
        };
        let mut seen = BTreeSet::new();
        let all = lists.iter().flatten().filter(|rendered| seen.insert(rendered.bundle.name.as_str()));
        Ok(Catalog {
            packages: vec![package],
            bundles: all.map(|rendered| rendered.bundle.clone()).collect(),
            channels: channels.into_values().collect(),
            others: Vec::new(),
        })
    }

    /// Returns the channels without edges, their entries, and the name of the default channel: the most stable one,
    /// with the highest first version, of the preferred type.
    fn channels<'b>(
        &self,
        package: &str,
        lists: &[Vec<&'b Rendered>],
        versions: &'b BTreeMap<&'b str, Version>,
    ) -> (BTreeMap<String, Channel>, Vec<Member<'b>>, String) {
        let mut channels: BTreeMap<String, Channel> = BTreeMap::new();
        let mut members = Vec::new();
        let mut best: Option<(usize, &Version, bool, Stream, String)> = None;
        for (list, bundles) in lists.iter().enumerate() {
            for rendered in bundles {
                let name = rendered.bundle.name.as_str();
                let version = &versions[name];
                for &stream in &self.streams {
                    let prefix = &self.lists[list].name;
                    let channel = match stream {
                        Stream::Plain => prefix.clone(),
                        Stream::Major => format!("{prefix}-v{}", version.major),
                        Stream::Minor => format!("{prefix}-v{}.{}", version.major, version.minor),
                    };
                    let made = channels.entry(channel.clone()).or_insert_with(|| {
                        let rank = (list, version, stream == self.preferred, stream, channel.clone());
                        let is_better = best.as_ref().is_none_or(|best| {
                            (rank.0, rank.1, rank.2, rank.3) > (best.0, best.1, best.2, best.3)
                        });
                        if is_better {
                            best = Some(rank);
                        }
                        Channel {
                            schema: "olm.channel".to_owned(),
                            name: channel.clone(),
                            package: package.to_owned(),
                            ..Channel::default()
                        }
                    });
                    made.entries.push(Entry { name: name.to_owned(), ..Entry::default() });
                    let index = made.entries.len() - 1;
                    members.push(Member { list, stream, channel, name, version, index });
                }
            }
        }
        members.sort_by_key(|member| (member.list, member.stream, member.version));
        (channels, members, best.map(|best| best.4).unwrap_or_default())
    }
}

/// Sets the edges: the highest patch of each minor version replaces that of the one before, within a major version, and
/// skips everything else before it. Plain channels go on across major versions.
fn link(channels: &mut BTreeMap<String, Channel>, members: &[Member<'_>]) {
    let mut replaces = "";
    let mut skips: BTreeSet<&str> = BTreeSet::new();
    for (index, member) in members.iter().enumerate() {
        let next = members.get(index + 1);
        let is_last = next.is_none_or(|next| !is_same_line(member, next));
        if is_last || next.is_some_and(|next| !is_same_minor(member, next)) {
            let entry =
                channels.get_mut(&member.channel).and_then(|channel| channel.entries.get_mut(member.index));
            if let Some(entry) = entry {
                replaces.clone_into(&mut entry.replaces);
                entry.skips =
                    skips.iter().filter(|skip| **skip != replaces).map(|skip| (*skip).to_owned()).collect();
            }
        }
        if is_last {
            skips.clear();
            replaces = "";
        } else {
            if next.is_some_and(|next| !is_same_minor(member, next)) {
                replaces = member.name;
            }
            skips.insert(member.name);
        }
    }
}

/// Whether upgrades lead from one entry to the other.
fn is_same_line(a: &Member<'_>, b: &Member<'_>) -> bool {
    let is_same_major = a.stream == Stream::Plain || a.version.major == b.version.major;
    a.list == b.list && a.stream == b.stream && is_same_major
}

fn is_same_minor(a: &Member<'_>, b: &Member<'_>) -> bool {
    (a.version.major, a.version.minor) == (b.version.major, b.version.minor)
}
