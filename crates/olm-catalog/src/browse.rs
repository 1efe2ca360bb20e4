//! What pages show of a catalog: its packages, a package with its channels, and the entries of a channel.
//!
//! Two pages show the same: that of the server, whose catalog is an index, and that for browsers, whose catalog is the blobs. Both
//! fill in [`Package`], [`Head`] and [`Entry`], and what is shown is decided here.

use std::cmp::Reverse;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use semver::Version;
use serde::Serialize;
use serde_json::Value as Json;

use crate::validate::{PackageGraph, heads};

/// The maximum length of a description in the list of packages.
const MAX_SUMMARY: usize = 160;

/// What a package and its channels say.
#[derive(Debug, Clone, Default)]
pub struct Package {
    /// The name.
    pub name: String,
    /// The name of the default channel.
    pub default_channel: String,
    /// The description of the package itself.
    pub description: String,
    /// Whether the package has an icon.
    pub has_icon: bool,
    /// The message if it is deprecated.
    pub deprecation: Option<String>,
    /// The channels.
    pub channels: Vec<Channel>,
}

/// A channel, as the page of its package shows it.
#[derive(Debug, Clone, Serialize)]
pub struct Channel {
    /// The name.
    pub name: String,
    /// The newest bundle.
    pub head: String,
    /// The number of bundles.
    pub entries: usize,
    /// The message if it is deprecated.
    pub deprecation: Option<String>,
}

/// A bundle, as the page of its channel shows it.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    /// The name.
    pub name: String,
    /// The version; empty if it has none.
    pub version: String,
    /// The bundle that it replaces.
    pub replaces: String,
    /// The bundles that it skips.
    pub skips: Vec<String>,
    /// The versions from which it is upgraded to.
    pub skip_range: String,
    /// The message if it is deprecated.
    pub deprecation: Option<String>,
    /// Whether it is the newest one.
    pub is_head: bool,
}

/// What the bundle at the head of the default channel says of its package.
#[derive(Debug, Clone, Default)]
pub struct Head {
    /// The version.
    pub version: String,
    /// The image.
    pub image: String,
    /// The APIs that it provides: kind, group and version.
    pub apis: Vec<String>,
    /// What its CSV says.
    pub described: Described,
}

/// What a CSV says to users.
#[derive(Debug, Clone, Default)]
pub struct Described {
    display_name: String,
    provider: String,
    short: String,
    description: String,
    keywords: Vec<String>,
    links: Vec<(String, String)>,
}

/// A package, as the list of packages shows it.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    name: String,
    display_name: String,
    provider: String,
    description: String,
    has_icon: bool,
    is_deprecated: bool,
    channels: usize,
    /// The text that a search matches, in lower case.
    searched: String,
}

/// A package, as its page shows it.
#[derive(Debug, Clone, Serialize)]
pub struct View {
    name: String,
    display_name: String,
    provider: String,
    version: String,
    image: String,
    description: String,
    has_icon: bool,
    deprecation: Option<String>,
    default_channel: String,
    channels: Vec<Channel>,
    apis: Vec<String>,
    links: Vec<(String, String)>,
}

impl Described {
    /// Reads a CSV.
    #[must_use]
    pub fn of_csv(csv: &Json) -> Self {
        Self::read(csv.pointer("/spec"), csv.pointer("/metadata/annotations"))
    }

    /// Reads the property `olm.csv.metadata`, which has the same fields in another place.
    fn of_metadata(metadata: &Json) -> Self {
        Self::read(Some(metadata), metadata.get("annotations"))
    }

    fn read(spec: Option<&Json>, annotations: Option<&Json>) -> Self {
        let (spec, annotations) = (spec.unwrap_or(&Json::Null), annotations.unwrap_or(&Json::Null));
        let links = spec.get("links").and_then(Json::as_array).into_iter().flatten();
        let keywords = spec.get("keywords").and_then(Json::as_array).into_iter().flatten();
        Self {
            display_name: string_at(spec, "/displayName").to_owned(),
            provider: string_at(spec, "/provider/name").to_owned(),
            short: string_at(annotations, "/description").to_owned(),
            description: string_at(spec, "/description").to_owned(),
            keywords: keywords.filter_map(Json::as_str).map(str::to_owned).collect(),
            // Other schemes could run scripts.
            links: links
                .map(|link| (string_at(link, "/name").to_owned(), string_at(link, "/url").to_owned()))
                .filter(|(_, url)| url.starts_with("https://") || url.starts_with("http://"))
                .collect(),
        }
    }
}

impl Head {
    /// Reads a blob of the schema `olm.bundle`.
    #[must_use]
    pub fn of_blob(blob: &Json) -> Self {
        let mut head = Self { image: string_at(blob, "/image").to_owned(), ..Self::default() };
        let mut csv = None;
        for property in blob.get("properties").and_then(Json::as_array).into_iter().flatten() {
            let value = property.get("value").unwrap_or(&Json::Null);
            match string_at(property, "/type") {
                "olm.package" => string_at(value, "/version").clone_into(&mut head.version),
                "olm.gvk" => {
                    head.apis.push(api(
                        string_at(value, "/kind"),
                        string_at(value, "/group"),
                        string_at(value, "/version"),
                    ));
                }
                "olm.csv.metadata" => head.described = Described::of_metadata(value),
                "olm.bundle.object" if csv.is_none() => csv = csv_in(string_at(value, "/data")),
                _ => {}
            }
        }
        if let Some(csv) = csv {
            head.described = Described::of_csv(&csv);
        }
        head
    }
}

/// Returns the CSV if that is what the data of an `olm.bundle.object` are.
fn csv_in(data: &str) -> Option<Json> {
    let parsed = kube_yaml::parse(&STANDARD.decode(data).ok()?);
    let object = parsed.documents.first()?.root().to_json();
    (string_at(&object, "/kind") == "ClusterServiceVersion").then_some(object)
}

/// Returns an API as it is shown.
#[must_use]
pub fn api(kind: &str, group: &str, version: &str) -> String {
    format!("{kind} ({group}/{version})")
}

impl Package {
    /// Returns a package of a catalog; its description and whether it has an icon are not in the graph.
    #[must_use]
    pub fn of_graph(name: &str, linked: &PackageGraph<'_>) -> Self {
        let message = |schema, name: &str| linked.deprecation(schema, name).map(str::to_owned);
        let channels = linked.channels.iter().map(|(name, channel)| Channel {
            name: (*name).to_owned(),
            head: heads(channel).into_iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>().join(", "),
            entries: channel.entries.len(),
            deprecation: message("olm.channel", name),
        });
        Self {
            name: name.to_owned(),
            default_channel: linked.package.default_channel.clone(),
            deprecation: message("olm.package", ""),
            channels: channels.collect(),
            ..Self::default()
        }
    }

    /// Returns the package as the list shows it.
    #[must_use]
    pub fn summary(&self, described: &Described) -> Summary {
        let description = match described.short.as_str() {
            "" => self.description.lines().find(|line| !line.trim().is_empty()).unwrap_or_default(),
            short => short,
        };
        let description = description.trim_start_matches(['#', ' ']).trim();
        let mut short: String = description.chars().take(MAX_SUMMARY).collect();
        if short.len() < description.len() {
            short.push('…');
        }
        let display_name =
            if described.display_name.is_empty() { &self.name } else { &described.display_name };
        let keywords = described.keywords.join(" ");
        let searched =
            [&self.name, display_name, &described.provider, description, &keywords].join(" ").to_lowercase();
        Summary {
            name: self.name.clone(),
            display_name: display_name.clone(),
            provider: described.provider.clone(),
            description: short,
            has_icon: self.has_icon,
            is_deprecated: self.deprecation.is_some(),
            channels: self.channels.len(),
            searched,
        }
    }

    /// Returns the package as its page shows it.
    #[must_use]
    pub fn view(self, head: Head) -> View {
        let Head { version, image, apis, described } = head;
        let description =
            if described.description.is_empty() { self.description } else { described.description };
        View {
            name: self.name,
            display_name: described.display_name,
            provider: described.provider,
            version,
            image,
            description,
            has_icon: self.has_icon,
            deprecation: self.deprecation,
            default_channel: self.default_channel,
            channels: self.channels,
            apis,
            links: described.links,
        }
    }
}

impl Summary {
    /// Returns whether the package has all of the words, which are in lower case.
    #[must_use]
    pub fn matches(&self, words: &[String]) -> bool {
        words.iter().all(|word| self.searched.contains(word.as_str()))
    }
}

/// Returns the entries of a channel of a catalog, the newest first.
#[must_use]
pub fn entries(linked: &PackageGraph<'_>, channel: &str) -> Vec<Entry> {
    let Some(channel) = linked.channels.get(channel) else { return Vec::new() };
    let heads: Vec<_> = heads(channel).into_iter().map(|entry| entry.name.as_str()).collect();
    let entries = channel.entries.iter().map(|entry| {
        let bundle = linked.bundles.get(entry.name.as_str());
        let version = bundle.and_then(|bundle| bundle.version.as_ref()).map(Version::to_string);
        Entry {
            name: entry.name.clone(),
            version: version.unwrap_or_default(),
            replaces: entry.replaces.clone(),
            skips: entry.skips.clone(),
            skip_range: entry.skip_range.clone(),
            deprecation: linked.deprecation("olm.bundle", &entry.name).map(str::to_owned),
            is_head: heads.contains(&entry.name.as_str()),
        }
    });
    let mut entries: Vec<_> = entries.collect();
    sort(&mut entries);
    entries
}

/// Sorts the entries of a channel by version, the newest first.
pub fn sort(entries: &mut [Entry]) {
    entries.sort_by_cached_key(|entry| {
        Reverse((entry.is_head, Version::parse(&entry.version).ok(), entry.name.clone()))
    });
}

fn string_at<'j>(json: &'j Json, pointer: &str) -> &'j str {
    json.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
}
