//! The pages: packages with a search, a package, a channel with its upgrade graph.
//!
//! Everything that comes from the catalog is escaped by the templates.

use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value};
use serde::Serialize;
use serde_json::Value as Json;

use crate::browse::EntryDetails;
use crate::query::{Catalog, QueryError};

/// The style sheet.
pub(crate) const STYLE: &str = include_str!("style.css");
/// The icon of the pages.
pub(crate) const ICON: &str = include_str!("icon.svg");

const LAYOUT: &str = include_str!("layout.html");
const PACKAGES: &str = include_str!("packages.html");
const PACKAGE: &str = include_str!("package.html");
const CHANNEL: &str = include_str!("channel.html");
const NOT_FOUND: &str = include_str!("not_found.html");

/// The number of packages on a page.
const PAGE_SIZE: usize = 60;

/// The maximum length of a description in the list of packages.
const MAX_SUMMARY: usize = 160;

/// Why a page cannot be shown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    #[error(transparent)]
    Query(#[from] QueryError),
    #[error("failed to render the page: {0}")]
    Template(#[from] minijinja::Error),
}

/// A page as HTML.
pub(crate) enum Page {
    Found(String),
    NotFound(String),
}

/// What the list shows of a package.
#[derive(Debug, Serialize)]
struct Summary {
    name: String,
    display_name: String,
    provider: String,
    description: String,
    has_icon: bool,
    is_deprecated: bool,
    channels: usize,
    /// The text that a search matches, in lower case.
    #[serde(skip)]
    searched: String,
}

#[derive(Serialize)]
struct Layout<'a> {
    title: &'a str,
    content: Value,
}

#[derive(Serialize)]
struct PackagesView<'a> {
    query: &'a str,
    found: usize,
    total: usize,
    packages: Vec<&'a Summary>,
    page: usize,
    pages: usize,
}

#[derive(Serialize)]
struct PackageView<'a> {
    name: &'a str,
    display_name: String,
    provider: String,
    version: String,
    image: String,
    description: String,
    has_icon: bool,
    deprecation: Option<String>,
    default_channel: String,
    channels: Vec<ChannelRow>,
    apis: Vec<String>,
    links: Vec<(String, String)>,
}

#[derive(Serialize)]
struct ChannelRow {
    name: String,
    head: String,
    entries: u32,
    deprecation: Option<String>,
}

#[derive(Serialize)]
struct ChannelView<'a> {
    package: &'a str,
    name: &'a str,
    is_default: bool,
    deprecation: Option<String>,
    entries: Vec<EntryRow>,
}

#[derive(Serialize)]
struct EntryRow {
    name: String,
    version: String,
    replaces: String,
    skips: Vec<String>,
    skip_range: String,
    deprecation: Option<String>,
    is_head: bool,
}

/// The templates, and the summaries of all packages.
#[derive(Debug)]
pub(crate) struct Pages {
    environment: Environment<'static>,
    packages: Vec<Summary>,
}

impl Pages {
    /// # Errors
    /// The index cannot be read.
    pub(crate) fn new(catalog: &Catalog) -> Result<Self, QueryError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::Html);
        let packages =
            catalog.packages().map(|name| summary(catalog, name?)).collect::<Result<_, QueryError>>()?;
        Ok(Self { environment, packages })
    }

    fn render(&self, title: &str, template: &str, view: &impl Serialize) -> Result<String, PageError> {
        let content = self.environment.render_named_str("page.html", template, Value::from(Serde(view)))?;
        let layout = Layout { title, content: Value::from_safe_string(content) };
        Ok(self.environment.render_named_str("layout.html", LAYOUT, Value::from(Serde(&layout)))?)
    }

    fn not_found(&self, what: &str) -> Result<Page, PageError> {
        Ok(Page::NotFound(self.render(
            "Not found",
            NOT_FOUND,
            &[("what", what)].into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        )?))
    }

    /// Returns the list of packages that match a search.
    pub(crate) fn packages(&self, query: &[(String, String)]) -> Result<Page, PageError> {
        let text = first(query, "q");
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        let found: Vec<_> = self
            .packages
            .iter()
            .filter(|package| words.iter().all(|word| package.searched.contains(word.as_str())))
            .collect();
        let pages = found.len().div_ceil(PAGE_SIZE).max(1);
        let page = first(query, "page").parse().unwrap_or(1).clamp(1, pages);
        let view = PackagesView {
            query: &text,
            found: found.len(),
            total: self.packages.len(),
            packages: found.into_iter().skip((page - 1) * PAGE_SIZE).take(PAGE_SIZE).collect(),
            page,
            pages,
        };
        Ok(Page::Found(self.render("Packages", PACKAGES, &view)?))
    }

    /// Returns a package with its channels.
    pub(crate) fn package(&self, catalog: &Catalog, name: &str) -> Result<Page, PageError> {
        let Some(details) = catalog.package_details(name)? else {
            return self.not_found(&format!("package {name}"));
        };
        let head = catalog.head(name, &details.default_channel)?;
        let csv = csv(&head.csv_json);
        let description = match text(&csv, "/spec/description") {
            "" => details.description,
            of_csv => of_csv.to_owned(),
        };
        let links = csv.pointer("/spec/links").and_then(Json::as_array).into_iter().flatten();
        let view = PackageView {
            name,
            display_name: text(&csv, "/spec/displayName").to_owned(),
            provider: text(&csv, "/spec/provider/name").to_owned(),
            version: head.version,
            image: head.bundle_path,
            description,
            has_icon: details.has_icon,
            deprecation: details.deprecation,
            default_channel: details.default_channel,
            channels: details
                .channels
                .into_iter()
                .map(|channel| ChannelRow {
                    name: channel.name,
                    head: channel.head,
                    entries: channel.entries,
                    deprecation: channel.deprecation,
                })
                .collect(),
            apis: head
                .provided_apis
                .iter()
                .map(|api| format!("{} ({}/{})", api.kind, api.group, api.version))
                .collect(),
            // Other schemes could run scripts.
            links: links
                .map(|link| (text(link, "/name").to_owned(), text(link, "/url").to_owned()))
                .filter(|(_, url)| url.starts_with("https://") || url.starts_with("http://"))
                .collect(),
        };
        Ok(Page::Found(self.render(name, PACKAGE, &view)?))
    }

    /// Returns a channel with its entries.
    pub(crate) fn channel(&self, catalog: &Catalog, package: &str, name: &str) -> Result<Page, PageError> {
        let (Some(details), Some(entries)) =
            (catalog.package_details(package)?, catalog.channel_details(package, name)?)
        else {
            return self.not_found(&format!("channel {name} of package {package}"));
        };
        let channel = details.channels.iter().find(|channel| channel.name == name);
        let head = channel.map(|channel| channel.head.as_str()).unwrap_or_default();
        let view = ChannelView {
            package,
            name,
            is_default: details.default_channel == name,
            deprecation: channel.and_then(|channel| channel.deprecation.clone()),
            entries: ordered(entries, head),
        };
        Ok(Page::Found(self.render(&format!("{package}: {name}"), CHANNEL, &view)?))
    }
}

/// Returns the first value of a parameter.
pub(crate) fn first(pairs: &[(String, String)], name: &str) -> String {
    pairs.iter().find(|(found, _)| found == name).map(|(_, value)| value.clone()).unwrap_or_default()
}

/// Sorts the entries by version, the newest first.
fn ordered(mut entries: Vec<EntryDetails>, head: &str) -> Vec<EntryRow> {
    entries.sort_by_cached_key(|entry| {
        std::cmp::Reverse((
            entry.name == head,
            semver::Version::parse(&entry.version).ok(),
            entry.name.clone(),
        ))
    });
    entries
        .into_iter()
        .map(|entry| EntryRow {
            is_head: entry.name == head,
            name: entry.name,
            version: entry.version,
            replaces: entry.replaces,
            skips: entry.skips,
            skip_range: entry.skip_range,
            deprecation: entry.deprecation,
        })
        .collect()
}

fn csv(json: &str) -> Json {
    kube_yaml::json::from_str(json).unwrap_or_default()
}

fn text<'j>(json: &'j Json, pointer: &str) -> &'j str {
    json.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
}

fn summary(catalog: &Catalog, name: &str) -> Result<Summary, QueryError> {
    let missing = || QueryError::NotFound(format!("package {name} not found"));
    let details = catalog.package_details(name)?.ok_or_else(missing)?;
    let csv = csv(&catalog.head(name, &details.default_channel)?.csv_json);
    let description = match text(&csv, "/metadata/annotations/description") {
        "" => details.description.lines().find(|line| !line.trim().is_empty()).unwrap_or_default(),
        short => short,
    };
    let description = description.trim_start_matches(['#', ' ']).trim();
    let mut short: String = description.chars().take(MAX_SUMMARY).collect();
    if short.len() < description.len() {
        short.push('…');
    }
    let display_name = match text(&csv, "/spec/displayName") {
        "" => name,
        found => found,
    };
    let provider = text(&csv, "/spec/provider/name");
    let keywords = csv.pointer("/spec/keywords").and_then(Json::as_array).into_iter().flatten();
    let keywords: Vec<_> = keywords.filter_map(Json::as_str).collect();
    let searched = [name, display_name, provider, description, &keywords.join(" ")].join(" ").to_lowercase();
    Ok(Summary {
        name: name.to_owned(),
        display_name: display_name.to_owned(),
        provider: provider.to_owned(),
        description: short,
        has_icon: details.has_icon,
        is_deprecated: details.deprecation.is_some(),
        channels: details.channels.len(),
        searched,
    })
}
