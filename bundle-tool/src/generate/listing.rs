//! A bundle as the `OperatorHub` repositories want it submitted: `operators/PACKAGE/VERSION/` with the bundle, and the
//! two files that steer their pipelines.
//!
//! Source: the pages `users/operator-ci-yaml`, `users/fbc_workflow` and `users/fbc_autorelease` of operator-pipelines.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::json::{items, text};
use super::merge;
use crate::model::bundle::Bundle;

/// How a listing is published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Publishing {
    /// By the pipeline, from the bundles: `semver-mode` or `replaces-mode`.
    Bundles {
        /// Whether versions follow each other by number, and not by `replaces`.
        by_version: bool,
    },
    /// As file-based catalogues, made from a template.
    Catalogs {
        /// The catalogues: `v4.20`.
        names: Vec<String>,
        /// Whether the template is `olm.semver`, and not `olm.template.basic`.
        by_version: bool,
    },
}

/// Why a bundle cannot be listed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListingError {
    /// There is no CSV.
    #[error("the bundle has no ClusterServiceVersion; make it with `bundle-tool generate bundle`")]
    NoCsv,
    /// There are no annotations, or they do not name the package.
    #[error("metadata/annotations.yaml names no package")]
    NoPackage,
    /// The version is none, and so no name for a folder.
    #[error("the CSV's spec.version {0:?} is no semantic version")]
    Version(String),
    /// A channel cannot be published by a semver template.
    #[error("a semver template knows the channels candidate, fast and stable, and {0:?} is none of them")]
    Channel(String),
}

/// Where a listing lies, and the files that are made for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing {
    /// `operators/PACKAGE`
    pub folder: String,
    /// `operators/PACKAGE/VERSION`
    pub version_folder: String,
    /// What `ci.yaml` is to say.
    pub ci: Json,
    /// `release-config.yaml`, where there is to be one.
    pub release: Option<Json>,
    /// The template that there must be, with its schema, where the listing is published from one.
    pub template: Option<(String, Json)>,
}

/// Lays a bundle out; what `ci` says already stays.
///
/// # Errors
/// The bundle has no CSV, package or version, or a channel that the template does not know.
pub fn listing(
    bundle: &Bundle,
    reviewers: &[String],
    publishing: &Publishing,
    ci: Option<&Json>,
) -> Result<Listing, ListingError> {
    let csv = bundle.csv().ok_or(ListingError::NoCsv)?.root.to_json();
    let annotations = bundle.annotations().ok_or(ListingError::NoPackage)?;
    let package = annotations
        .get(crate::model::Annotations::PACKAGE)
        .filter(|package| !package.is_empty() && !package.contains(['/', '\\']) && !package.starts_with('.'))
        .ok_or(ListingError::NoPackage)?;
    let version = text(&csv, &["spec", "version"]);
    if semver::Version::parse(version).is_err() {
        return Err(ListingError::Version(version.to_owned()));
    }
    let folder = format!("operators/{package}");
    let mut wanted = Map::new();
    wanted.insert("reviewers".to_owned(), json!(reviewers));
    let mut release = None;
    let mut template = None;
    match publishing {
        Publishing::Bundles { by_version } => {
            let mode = if *by_version { "semver-mode" } else { "replaces-mode" };
            wanted.insert("updateGraph".to_owned(), mode.into());
        }
        Publishing::Catalogs { names, by_version } => {
            let (file, schema) = if *by_version {
                ("semver.yaml", "olm.semver")
            } else {
                ("basic.yaml", "olm.template.basic")
            };
            let mapping = json!([{"template_name": file, "catalog_names": names, "type": schema}]);
            wanted.insert(
                "fbc".to_owned(),
                json!({"enabled": true, "version_promotion_strategy": "review-needed", "catalog_mapping": mapping}),
            );
            let channels = annotations.channels().map(|channel| template_channel(channel, *by_version));
            let mut entry = json!({
                "template_name": file,
                "channels": channels.collect::<Result<Vec<_>, _>>()?,
            });
            if !by_version {
                let range = text(&csv, &["metadata", "annotations", "olm.skipRange"]);
                for (key, value) in [
                    ("replaces", Json::from(text(&csv, &["spec", "replaces"]))),
                    ("skips", Json::from(items(&csv, &["spec", "skips"]))),
                    ("skipRange", Json::from(range)),
                ] {
                    if let Some(map) = entry.as_object_mut() {
                        super::json::set(map, key, value);
                    }
                }
            }
            release = Some(json!({"catalog_templates": [entry]}));
            template =
                Some((format!("{folder}/catalog-templates/{file}"), first_template(package, schema, &csv)));
        }
    }
    let wanted = Json::Object(wanted);
    Ok(Listing {
        version_folder: format!("{folder}/{version}"),
        folder,
        ci: match ci {
            Some(ci) => with_reviewers(merge::update(ci, None, &wanted), reviewers),
            None => wanted,
        },
        release,
        template,
    })
}

/// A semver template's channels are written with a capital.
fn template_channel(channel: &str, by_version: bool) -> Result<String, ListingError> {
    if !by_version {
        return Ok(channel.to_owned());
    }
    match channel.to_ascii_lowercase().as_str() {
        "candidate" => Ok("Candidate".to_owned()),
        "fast" => Ok("Fast".to_owned()),
        "stable" => Ok("Stable".to_owned()),
        _ => Err(ListingError::Channel(channel.to_owned())),
    }
}

/// A template for a package that has none yet; the pipeline puts the bundle into it.
fn first_template(package: &str, schema: &str, csv: &Json) -> Json {
    if schema == "olm.semver" {
        return json!({"schema": schema, "generateMajorChannels": true, "generateMinorChannels": false});
    }
    let mut entry = json!({"schema": "olm.package", "name": package, "defaultChannel": ""});
    if let Some(icon) = items(csv, &["spec", "icon"]).first() {
        entry["icon"] = icon.clone();
    }
    json!({"schema": schema, "entries": [entry]})
}

/// People who were named before stay, new ones are added.
fn with_reviewers(mut ci: Json, reviewers: &[String]) -> Json {
    if let Some(list) = ci.get_mut("reviewers").and_then(Json::as_array_mut) {
        for reviewer in reviewers {
            if !list.iter().any(|other| other.as_str() == Some(reviewer)) {
                list.push(reviewer.as_str().into());
            }
        }
    }
    ci
}

/// A bundle's files below the folder of its version, without what only a build needs.
#[must_use]
pub fn files(listing: &Listing, bundle: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    bundle.iter().map(|(path, bytes)| (format!("{}/{path}", listing.version_folder), bytes.clone())).collect()
}
