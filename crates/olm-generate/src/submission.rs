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
        /// The catalogs, such as `v4.20`. They are added to those in an existing `ci.yaml`.
        names: Vec<String>,
        /// Whether the template is `olm.semver` or `olm.template.basic`.
        by_version: bool,
        /// Whether this excludes templates of another type in an existing `ci.yaml`.
        explicit: bool,
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
    #[error("invalid spec.version `{0}`: expected a semantic version such as 1.2.3")]
    Version(String),
    /// A field of an existing `ci.yaml` has another type, so it cannot be changed.
    #[error("invalid {0} in ci.yaml: see `bundle-tool explain community-ci-invalid`")]
    Ci(&'static str),
    /// A catalog is rendered from a template of another type.
    #[error(
        "catalog `{catalog}` is rendered from {template}, which is of another type than --update-graph requires; change \
         fbc.catalog_mapping in ci.yaml first, or omit --update-graph"
    )]
    OtherTemplate {
        /// The catalog.
        catalog: String,
        /// The template.
        template: String,
    },
    /// A new catalog could be rendered from several templates.
    #[error(
        "catalog `{catalog}` could be rendered from {templates}; add it to one of them in fbc.catalog_mapping of ci.yaml"
    )]
    SeveralTemplates {
        /// The catalog.
        catalog: String,
        /// The templates.
        templates: String,
    },
    /// A channel cannot be published by a semver template.
    #[error("channel `{0}` cannot be published by a semver template, which has candidate, fast and stable")]
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
    /// The paths of the catalog templates that must exist, and their contents if they do not.
    pub templates: Vec<(String, Json)>,
    /// What is likely to be a mistake, a line each.
    pub warnings: Vec<String>,
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
    let fbc = ci.and_then(|ci| ci.get("fbc"));
    let has_catalogs = fbc.and_then(|fbc| fbc.get("enabled")).and_then(Json::as_bool) == Some(true);
    let mut warnings = Vec::new();
    let mut explicit = json!({});
    let mut release = None;
    let mut templates = Vec::new();
    let mut mapping = None;
    match publishing {
        Publishing::Bundles { by_version, explicit: is_explicit } => {
            let mode = if *by_version { "semver-mode" } else { "replaces-mode" };
            // It has no effect on file-based catalogs.
            if *is_explicit || !has_catalogs {
                wanted.insert("updateGraph".to_owned(), mode.into());
            }
            if *is_explicit {
                explicit = json!({"updateGraph": mode});
            }
            if has_catalogs {
                warnings.push(
                    "ci.yaml enables file-based catalogs, so without release-config.yaml this version is not added to \
                     a catalog; pass --catalogs"
                        .to_owned(),
                );
            }
        }
        Publishing::Catalogs { names, by_version, explicit: is_explicit } => {
            let existing = fbc.and_then(|fbc| fbc.get("catalog_mapping")).unwrap_or(&Json::Null);
            let (all, used) = map_catalogs(existing, names, *by_version, *is_explicit)?;
            let all = Json::from(all);
            explicit = json!({"fbc": {"enabled": true}});
            wanted.insert(
                "fbc".to_owned(),
                json!({"enabled": true, "version_promotion_strategy": "review-needed", "catalog_mapping": all}),
            );
            mapping = Some(all);
            let default = annotations.get(olm_model::Annotations::DEFAULT_CHANNEL).unwrap_or_default();
            let mut entries = Vec::new();
            for (file, schema) in used {
                let by_version = schema == SEMVER;
                let channels = annotations.channels().map(|channel| template_channel(channel, by_version));
                let channels = channels.collect::<Result<Vec<_>, _>>()?;
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
                entries.push(entry);
                let first = first_template(package, &schema, &default, &csv);
                templates.push((format!("catalog-templates/{file}"), first));
            }
            release = Some(json!({"catalog_templates": entries}));
        }
    }
    let wanted = Json::Object(wanted);
    let ci = match ci {
        Some(ci) => {
            let mut ci = merge::update(ci, None, &wanted);
            merge::overlay(&mut ci, &explicit);
            if let (Some(mapping), Some(fbc)) = (mapping, ci.get_mut("fbc")) {
                fbc["catalog_mapping"] = mapping;
            }
            with_reviewers(ci, reviewers)?
        }
        None => wanted,
    };
    if ci.get("reviewers").and_then(Json::as_array).is_some_and(Vec::is_empty) {
        warnings
            .push("reviewers in ci.yaml is empty, which the pipeline rejects; pass --reviewers".to_owned());
    }
    Ok(Submission {
        directory: format!("operators/{package}"),
        version: version.to_owned(),
        ci,
        release,
        templates,
        warnings,
    })
}

/// The types of catalog templates.
const BASIC: &str = "olm.template.basic";
const SEMVER: &str = "olm.semver";

/// The name of a catalog template, and its type.
type Template = (String, String);

/// Adds catalogs to the `existing` catalog mapping, and returns it with the names and the types of the templates that render the
/// catalogs. A catalog that is mapped keeps its template; another one joins the only template, or the one with the default name;
/// if there is none, a new one is added. Only if `is_explicit`, the template must be of the type.
fn map_catalogs(
    existing: &Json,
    names: &[String],
    by_version: bool,
    is_explicit: bool,
) -> Result<(Vec<Json>, Vec<Template>), SubmissionError> {
    let (default, schema) = if by_version { ("semver.yaml", SEMVER) } else { ("basic.yaml", BASIC) };
    let mut mapping = match existing {
        Json::Null => Vec::new(),
        Json::Array(list) => list.clone(),
        _ => return Err(SubmissionError::Ci("fbc.catalog_mapping")),
    };
    for entry in &mapping {
        let file = string_at(entry, &["template_name"]);
        let is_valid = !file.is_empty()
            && !file.starts_with('.')
            && file.chars().all(|char| char.is_ascii_alphanumeric() || "._-".contains(char))
            && [BASIC, SEMVER].contains(&string_at(entry, &["type"]))
            && entry.get("catalog_names").is_some_and(Json::is_array);
        if !is_valid {
            return Err(SubmissionError::Ci("fbc.catalog_mapping"));
        }
    }
    let mut used: Vec<Template> = Vec::new();
    for name in names {
        let fits = |entry: &Json| !is_explicit || string_at(entry, &["type"]) == schema;
        let has =
            |entry: &Json| items(entry, &["catalog_names"]).iter().any(|other| other.as_str() == Some(name));
        let file = |entry: &Json| string_at(entry, &["template_name"]).to_owned();
        let index = if let Some(index) = mapping.iter().position(has) {
            if !fits(&mapping[index]) {
                let template = file(&mapping[index]);
                return Err(SubmissionError::OtherTemplate { catalog: name.clone(), template });
            }
            index
        } else {
            let fitting: Vec<usize> = (0..mapping.len()).filter(|&index| fits(&mapping[index])).collect();
            let index = match fitting.as_slice() {
                [] => {
                    mapping.push(json!({"template_name": default, "catalog_names": [], "type": schema}));
                    mapping.len() - 1
                }
                [only] => *only,
                several => {
                    let is_default = |index: &&usize| file(&mapping[**index]) == default;
                    let templates = || several.iter().map(|&index| file(&mapping[index])).collect::<Vec<_>>();
                    *several.iter().find(is_default).ok_or_else(|| SubmissionError::SeveralTemplates {
                        catalog: name.clone(),
                        templates: templates().join(", "),
                    })?
                }
            };
            if let Some(list) = mapping[index].get_mut("catalog_names").and_then(Json::as_array_mut) {
                list.push(name.as_str().into());
            }
            index
        };
        let template = (file(&mapping[index]), string_at(&mapping[index], &["type"]).to_owned());
        if !used.contains(&template) {
            used.push(template);
        }
    }
    Ok((mapping, used))
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

/// Adds reviewers to those that there are: a list, or one name.
fn with_reviewers(mut ci: Json, reviewers: &[String]) -> Result<Json, SubmissionError> {
    let Some(value) = ci.get_mut("reviewers").filter(|_| !reviewers.is_empty()) else { return Ok(ci) };
    if value.is_string() {
        *value = json!([value.take()]);
    }
    let list = value.as_array_mut().ok_or(SubmissionError::Ci("reviewers"))?;
    for reviewer in reviewers {
        let is_same = |other: &Json| other.as_str().is_some_and(|other| other.eq_ignore_ascii_case(reviewer));
        if !list.iter().any(is_same) {
            list.push(reviewer.as_str().into());
        }
    }
    Ok(ci)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(file: &str, catalogs: &[&str], schema: &str) -> Json {
        json!({"template_name": file, "catalog_names": catalogs, "type": schema})
    }

    #[test]
    fn catalogs_are_added_to_the_existing_mapping() {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let used = |file: &str, schema: &str| (file.to_owned(), schema.to_owned());
        let b = entry("b.yaml", &["v4.18"], BASIC);
        let s = entry("s.yaml", &["v4.17"], SEMVER);
        for (existing, catalogs, by_version, explicit, expected, templates) in [
            (
                Json::Null,
                &["a", "b"][..],
                false,
                false,
                vec![entry("basic.yaml", &["a", "b"], BASIC)],
                vec![used("basic.yaml", BASIC)],
            ),
            (
                json!([b]),
                &["v4.19"],
                false,
                false,
                vec![entry("b.yaml", &["v4.18", "v4.19"], BASIC)],
                vec![used("b.yaml", BASIC)],
            ),
            (json!([b]), &["v4.18"], false, false, vec![b.clone()], vec![used("b.yaml", BASIC)]),
            (
                json!([s]),
                &["v4.19"],
                false,
                false,
                vec![entry("s.yaml", &["v4.17", "v4.19"], SEMVER)],
                vec![used("s.yaml", SEMVER)],
            ),
            (
                json!([b]),
                &["v4.19"],
                true,
                true,
                vec![b.clone(), entry("semver.yaml", &["v4.19"], SEMVER)],
                vec![used("semver.yaml", SEMVER)],
            ),
            (
                json!([b, s]),
                &["v4.17", "v4.18"],
                false,
                false,
                vec![b.clone(), s.clone()],
                vec![used("s.yaml", SEMVER), used("b.yaml", BASIC)],
            ),
        ] {
            let found = map_catalogs(&existing, &names(catalogs), by_version, explicit).unwrap();
            assert_eq!(found, (expected, templates), "{existing} {catalogs:?}");
        }
        for (existing, catalog, by_version, expected) in [
            (json!([b]), "v4.18", true, "catalog `v4.18` is rendered from b.yaml, which is of another type"),
            (
                json!([b, entry("c.yaml", &["x"], BASIC)]),
                "v4.19",
                false,
                "could be rendered from b.yaml, c.yaml;",
            ),
            (json!({}), "v4.19", false, "invalid fbc.catalog_mapping in ci.yaml"),
            (
                json!([entry("../b.yaml", &["x"], BASIC)]),
                "x",
                false,
                "invalid fbc.catalog_mapping in ci.yaml",
            ),
        ] {
            let error =
                map_catalogs(&existing, &names(&[catalog]), by_version, true).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn reviewers_are_added_to_one_name_too() {
        let add = |ci: Json| with_reviewers(ci, &["bob".to_owned()]).map(|ci| ci["reviewers"].clone());
        assert_eq!(add(json!({"reviewers": "ada"})), Ok(json!(["ada", "bob"])));
        assert_eq!(add(json!({"reviewers": ["Bob"]})), Ok(json!(["Bob"])));
        assert_eq!(add(json!({"reviewers": {}})), Err(SubmissionError::Ci("reviewers")));
    }
}
