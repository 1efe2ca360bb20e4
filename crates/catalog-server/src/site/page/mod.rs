//! The pages: packages with a search, a package, a channel with its upgrade graph.
//!
//! Everything that comes from the catalog is escaped by the templates.

use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value};
use serde::Serialize;

use crate::proto::Bundle;
use crate::query::{Catalog, QueryError};
use olm_catalog::browse::{Described, Entry, Head, Summary, api, sort};

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
struct ChannelView<'a> {
    package: &'a str,
    name: &'a str,
    is_default: bool,
    deprecation: Option<String>,
    entries: Vec<Entry>,
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
        let found: Vec<_> = self.packages.iter().filter(|package| package.matches(&words)).collect();
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
        let view = details.view(Head {
            described: described(&head),
            version: head.version,
            image: head.bundle_path,
            apis: head.provided_apis.iter().map(|of| api(&of.kind, &of.group, &of.version)).collect(),
        });
        Ok(Page::Found(self.render(name, PACKAGE, &view)?))
    }

    /// Returns a channel with its entries.
    pub(crate) fn channel(&self, catalog: &Catalog, package: &str, name: &str) -> Result<Page, PageError> {
        let (Some(details), Some(mut entries)) =
            (catalog.package_details(package)?, catalog.channel_details(package, name)?)
        else {
            return self.not_found(&format!("channel {name} of package {package}"));
        };
        let channel = details.channels.iter().find(|channel| channel.name == name);
        sort(&mut entries);
        let view = ChannelView {
            package,
            name,
            is_default: details.default_channel == name,
            deprecation: channel.and_then(|channel| channel.deprecation.clone()),
            entries,
        };
        Ok(Page::Found(self.render(&format!("{package}: {name}"), CHANNEL, &view)?))
    }
}

/// Returns the first value of a parameter.
pub(crate) fn first(pairs: &[(String, String)], name: &str) -> String {
    pairs.iter().find(|(found, _)| found == name).map(|(_, value)| value.clone()).unwrap_or_default()
}

fn described(head: &Bundle) -> Described {
    Described::of_csv(&kube_yaml::json::from_str(&head.csv_json).unwrap_or_default())
}

fn summary(catalog: &Catalog, name: &str) -> Result<Summary, QueryError> {
    let missing = || QueryError::NotFound(format!("package {name} not found"));
    let details = catalog.package_details(name)?.ok_or_else(missing)?;
    let head = catalog.head(name, &details.default_channel)?;
    Ok(details.summary(&described(&head)))
}
