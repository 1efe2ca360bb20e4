//! A bundle in the form in which the `OperatorHub` repositories accept submissions: `operators/PACKAGE/VERSION/` with the
//! bundle, and the files that configure their pipelines.
//!
//! Source: the pages `users/operator-ci-yaml`, `users/fbc_workflow` and `users/fbc_autorelease` of operator-pipelines.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::base::check_package_name;
use super::json::{items, string_at};
use super::merge;
use olm_model::bundle::Bundle;

/// How a submission is published.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Publishing {
    /// By the pipeline, from the bundles.
    Bundles {
        /// Whether versions follow each other by number (`semver-mode`) or by `replaces` (`replaces-mode`).
        by_version: bool,
        /// Whether this replaces the value of an existing `ci.yaml`.
        explicit: bool,
    },
    /// As file-based catalogs, rendered from a template.
    Catalogs {
        /// The catalogs, such as `v4.20`. They replace those in an existing `ci.yaml`.
        names: Vec<String>,
        /// Whether the template is `olm.semver` or `olm.template.basic`.
        by_version: bool,
    },
}

/// Why a bundle cannot be submitted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubmissionError {
    /// There is no CSV.
    #[error("the bundle has no ClusterServiceVersion; generate it with `bundle-tool generate bundle`")]
    NoCsv,
    /// There are no annotations, or they have no valid package name.
    #[error("metadata/annotations.yaml has no valid package name")]
    NoPackage,
    /// The version is not valid, and so not the name of a directory.
    #[error("invalid spec.version {0:?}: expected a semantic version such as 1.2.3")]
    Version(String),
    /// A channel cannot be published by a semver template.
    #[error("channel {0:?} cannot be published by a semver template, which has candidate, fast and stable")]
    Channel(String),
}

/// The files of a submission. Their paths are relative to [`Submission::directory`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Submission {
    /// `operators/PACKAGE`
    pub directory: String,
    /// The version, which is the name of the bundle's directory.
    pub version: String,
    /// The contents of `ci.yaml`.
    pub ci: Json,
    /// The contents of `VERSION/release-config.yaml`, if there is to be one.
    pub release: Option<Json>,
    /// The path and the contents of the catalog template that must exist, if one is used.
    pub template: Option<(String, Json)>,
}

impl Submission {
    /// Returns a bundle's files with their paths in the submission.
    #[must_use]
    pub fn files(&self, bundle: BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
        bundle.into_iter().map(|(path, bytes)| (format!("{}/{path}", self.version), bytes)).collect()
    }
}

/// Returns the submission of a bundle. Values of an existing `ci` are kept, unless `publishing` replaces it; `reviewers` are
/// added to those that it has.
///
/// # Errors
/// The bundle has no CSV, package or version, or a channel that the template does not have.
pub fn submission(
    bundle: &Bundle,
    reviewers: &[String],
    publishing: &Publishing,
    ci: Option<&Json>,
) -> Result<Submission, SubmissionError> {
    let csv = bundle.csv().ok_or(SubmissionError::NoCsv)?.root.to_json();
    let annotations = bundle.annotations().ok_or(SubmissionError::NoPackage)?;
    let package = annotations
        .get(olm_model::Annotations::PACKAGE)
        .filter(|package| check_package_name(package).is_ok())
        .ok_or(SubmissionError::NoPackage)?;
    let version = string_at(&csv, &["spec", "version"]);
    if semver::Version::parse(version).is_err() {
        return Err(SubmissionError::Version(version.to_owned()));
    }
    let mut wanted = Map::new();
    // The pipelines reject an empty list.
    if !reviewers.is_empty() {
        wanted.insert("reviewers".to_owned(), json!(reviewers));
    }
    let mut explicit = json!({});
    let mut release = None;
    let mut template = None;
    match publishing {
        Publishing::Bundles { by_version, explicit: is_explicit } => {
            let mode = if *by_version { "semver-mode" } else { "replaces-mode" };
            wanted.insert("updateGraph".to_owned(), mode.into());
            if *is_explicit {
                explicit = json!({"updateGraph": mode});
            }
        }
        Publishing::Catalogs { names, by_version } => {
            let (file, schema) = if *by_version {
                ("semver.yaml", "olm.semver")
            } else {
                ("basic.yaml", "olm.template.basic")
            };
            let mapping = json!([{"template_name": file, "catalog_names": names, "type": schema}]);
            explicit = json!({"fbc": {"enabled": true, "catalog_mapping": mapping}});
            wanted.insert(
                "fbc".to_owned(),
                json!({"enabled": true, "version_promotion_strategy": "review-needed", "catalog_mapping": mapping}),
            );
            let channels = annotations.channels().map(|channel| template_channel(channel, *by_version));
            let channels = channels.collect::<Result<Vec<_>, _>>()?;
            let default = annotations.get(olm_model::Annotations::DEFAULT_CHANNEL).unwrap_or_default();
            // What OLM takes if the bundle does not say it.
            let default =
                if default.is_empty() { channels.first().cloned() } else { Some(default.to_owned()) };
            let default = default.unwrap_or_default();
            let mut entry = json!({"template_name": file, "channels": channels});
            if !by_version {
                entry["defaultChannel"] = default.as_str().into();
                let range = string_at(&csv, &["metadata", "annotations", "olm.skipRange"]);
                for (key, value) in [
                    ("replaces", Json::from(string_at(&csv, &["spec", "replaces"]))),
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
                Some((format!("catalog-templates/{file}"), first_template(package, schema, &default, &csv)));
        }
    }
    let wanted = Json::Object(wanted);
    let ci = match ci {
        Some(ci) => {
            let mut ci = merge::update(ci, None, &wanted);
            merge::overlay(&mut ci, &explicit);
            with_reviewers(ci, reviewers)
        }
        None => wanted,
    };
    Ok(Submission {
        directory: format!("operators/{package}"),
        version: version.to_owned(),
        ci,
        release,
        template,
    })
}

/// Returns the name of a channel in a template: a semver template has them with a capital.
fn template_channel(channel: &str, by_version: bool) -> Result<String, SubmissionError> {
    if !by_version {
        return Ok(channel.to_owned());
    }
    match channel.to_ascii_lowercase().as_str() {
        "candidate" => Ok("Candidate".to_owned()),
        "fast" => Ok("Fast".to_owned()),
        "stable" => Ok("Stable".to_owned()),
        _ => Err(SubmissionError::Channel(channel.to_owned())),
    }
}

/// Returns the template of a package that has none yet; the pipeline adds the channels and the bundle to it.
fn first_template(package: &str, schema: &str, default_channel: &str, csv: &Json) -> Json {
    if schema == "olm.semver" {
        return json!({"schema": schema, "generateMajorChannels": true, "generateMinorChannels": false});
    }
    let mut entry = json!({"schema": "olm.package", "name": package, "defaultChannel": default_channel});
    if let Some(icon) = items(csv, &["spec", "icon"]).first() {
        entry["icon"] = icon.clone();
    }
    json!({"schema": schema, "entries": [entry]})
}

/// Adds reviewers to those that there are.
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
