//! Generates a bundle from plain manifests: the `ClusterServiceVersion`, the other objects, annotations and Dockerfile.
//!
//! From the same manifests, operator-sdk (`internal/generate` of operator-framework/operator-sdk) generates the same bundle;
//! what it drops silently is reported here. Nothing in this module does I/O: documents come in, files and notes go out.
//! Time and memory grow in proportion to the input.
//!
//! ```
//! use olm_generate::{Document, Input, Options, bundle};
//!
//! let manifests = "
//! apiVersion: apps/v1
//! kind: Deployment
//! metadata: {name: lake-operator}
//! spec:
//!   selector: {matchLabels: {app: lake}}
//!   template:
//!     metadata: {labels: {app: lake}}
//!     spec: {containers: [{name: manager, image: 'quay.io/example/lake:v1'}]}
//! ---
//! apiVersion: v1
//! kind: Pod
//! metadata: {name: debug}
//! ";
//! let parsed = kube_yaml::parse(manifests.as_bytes());
//! let documents = parsed.documents.into_iter();
//! let input = Input {
//!     documents: documents.map(|tree| Document { file: "all.yaml".to_owned(), tree }).collect(),
//!     ..Input::default()
//! };
//! let options = Options {
//!     package: Some("lake-operator".to_owned()),
//!     version: Some(semver::Version::new(0, 1, 0)),
//!     now: "2026-01-01T00:00:00Z".to_owned(),
//!     ..Options::default()
//! };
//! let generated = bundle(&input, &options)?;
//! assert_eq!(generated.name, "lake-operator.v0.1.0");
//! let files: Vec<&String> = generated.files.keys().collect();
//! assert_eq!(files, ["manifests/lake-operator.clusterserviceversion.yaml", "metadata/annotations.yaml"]);
//! // A bundle cannot contain a Pod.
//! let omitted = generated.report.notes.iter().find(|note| note.message.contains("debug"));
//! assert_eq!(omitted.unwrap().message, "Pod debug was omitted: OLM does not support Pod in a bundle");
//! # Ok::<(), olm_generate::Error>(())
//! ```

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod annotations;
mod base;
mod certificates;
mod crds;
mod csv;
mod descriptors;
mod dockerfile;
mod error;
mod examples;
mod go_types;
mod images;
mod input;
mod json;
pub mod manifests;
mod manifests_base;
mod merge;
mod objects;
mod options;
mod project;
mod rbac;
mod related_images;
mod report;
mod scorecard;
mod submission;
mod upgrade;
mod webhooks;

use std::collections::{BTreeMap, BTreeSet};

pub use base::{check_package_name, display_name, placeholder_base};
pub use csv::created_at;
pub use error::Error;
pub use input::decode_csv;
pub use manifests_base::{Base, UpdatedBase, base};
pub use merge::overlay;
pub use options::{Input, Options, Origin, Replaces, Rewrite, Upgrade};
pub use project::{Icon, Link, Maintainer, Olm, Project, ProjectError};
pub use report::{GenerateNote, GenerateReport, ObjectOutcome, SourceLocation, SourceObject};
pub use submission::{Publishing, Submission, SubmissionError, submission};

pub use olm_model::{Document, Severity};

/// A bundle, and where each object of the input went.
#[derive(Debug)]
pub struct Generated {
    /// The package's name.
    pub package: String,
    /// The name of the CSV.
    pub name: String,
    /// The version of the operator.
    pub version: semver::Version,
    /// Where the package's name comes from.
    pub package_origin: Origin,
    /// Where the version comes from.
    pub version_origin: Origin,
    /// The bundle's channels.
    pub channels: Vec<String>,
    /// The bundle's files: path below its directory to bytes.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The paths of the manifests among the files, in the order in which operator-sdk prints them: the CSV, CRDs, Services, other
    /// objects, and RBAC objects.
    pub manifests: Vec<String>,
    /// `bundle.Dockerfile`.
    pub dockerfile: String,
    /// Where each object went, with notes.
    pub report: GenerateReport,
}

/// Returns the images that a bundle would reference by tag, after [`Options::images`].
///
/// # Errors
/// As [`bundle`].
pub fn unpinned_images(input: &Input, options: &Options) -> Result<BTreeSet<String>, Error> {
    let mut report = GenerateReport::default();
    let (mut collected, _, _, mut base) = collect(input, options, &mut report)?;
    images::rewrite(&mut collected, &mut base, &options.images, &BTreeMap::new(), &mut report);
    Ok(images::unpinned(&mut collected, &mut base))
}

fn collect(
    input: &Input,
    options: &Options,
    report: &mut GenerateReport,
) -> Result<(input::Collected, String, Origin, input::Item), Error> {
    let collected = input::collect(&input.documents, report)?;
    let (package, origin) = base::package(options, &collected, input.base.as_ref())?;
    let base = base::choose(&package, &collected, input.base.as_ref(), options.is_of_sdk(), report)?;
    Ok((collected, package, origin, base))
}

/// Adds the platforms that the operator supports to the CSV's labels, unless the base has such labels.
fn label(base: &mut input::Item, platforms: &BTreeSet<String>) {
    let Some(labels) = base.json.get_mut("metadata").and_then(|metadata| json::map_mut(metadata, "labels"))
    else {
        return;
    };
    for kind in ["operatorframework.io/os.", "operatorframework.io/arch."] {
        if labels.keys().any(|key| key.starts_with(kind)) {
            continue;
        }
        for platform in platforms {
            let Some((os, rest)) = platform.split_once('/') else { continue };
            let architecture = rest.split('/').next().unwrap_or(rest);
            let value = if kind.ends_with("os.") { os } else { architecture };
            labels.insert(format!("{kind}{value}"), "supported".into());
        }
    }
    if labels.is_empty()
        && let Some(metadata) = base.json.get_mut("metadata").and_then(serde_json::Value::as_object_mut)
    {
        metadata.shift_remove("labels");
    }
}

/// Generates a bundle.
///
/// # Errors
/// The input has no Deployment, two of the same name, several packages, or an object with a field of the wrong type; or a
/// limit is exceeded (the size of all permissions, the length of a file name).
pub fn bundle(input: &Input, options: &Options) -> Result<Generated, Error> {
    let mut report = GenerateReport::default();
    let (mut collected, package, package_origin, mut base) = collect(input, options, &mut report)?;
    collected.check(options.is_of_sdk(), &report)?;
    images::rewrite(&mut collected, &mut base, &options.images, &BTreeMap::new(), &mut report);
    let platforms = images::platforms(&collected, &options.platforms);
    images::rewrite(&mut collected, &mut base, &[], &options.digests, &mut report);
    label(&mut base, &platforms);

    let rbac = rbac::split(&collected, &options.extra_service_accounts, &mut report)?;
    let scorecard = scorecard::file(&collected, &input.previous, options.scorecard, &mut report);
    let is_of_sdk = options.is_of_sdk();
    let mut certificates = certificates::Certificates::new(&collected, is_of_sdk);
    let has_tests = options.has_test_annotations.unwrap_or(scorecard.is_some());
    let annotations = annotations::Annotations::new(&package, options, input, has_tests, &mut report)?;
    let channels = annotations.channels();
    let channel = channels.first().map_or("", String::as_str);
    let mut csv = csv::build(base, &package, options, &collected, &rbac, &mut certificates, &mut report)?;
    csv.upgrade(&options.upgrade, &package, channel, is_of_sdk, &mut report)?;
    let objects = objects::files(&collected, &rbac, &certificates, is_of_sdk, &mut report)?;

    let csv_path = format!("manifests/{}.clusterserviceversion.yaml", package.to_lowercase());
    let mut manifests = vec![csv_path.clone()];
    let mut files = BTreeMap::new();
    for (name, bytes) in objects {
        let path = format!("manifests/{name}");
        manifests.push(path.clone());
        files.insert(path, bytes);
    }
    if let Some(bytes) = scorecard {
        files.insert(scorecard::PATH.to_owned(), bytes);
    }
    for (name, key, entries) in [
        ("metadata/dependencies.yaml", "dependencies", &options.dependencies),
        ("metadata/properties.yaml", "properties", &options.properties),
    ] {
        if let Some(wrong) =
            entries.iter().find(|entry| !entry["type"].is_string() || entry["value"].is_null())
        {
            return Err(Error::Typed { key, entry: wrong.to_string() });
        }
        if !entries.is_empty() {
            let text = kube_yaml::emit(&serde_json::json!({ key: entries }));
            files.insert(name.to_owned(), text.into_bytes());
        }
    }
    files.insert(
        "metadata/annotations.yaml".to_owned(),
        annotations.yaml(input.previous.get("metadata/annotations.yaml").map(Vec::as_slice)).into_bytes(),
    );
    let (name, version, version_origin) = (csv.name(), csv.version.clone(), csv.origin);
    csv.date(&csv_path, &mut files, &input.previous, options)?;
    let dockerfile = dockerfile::text(&annotations, &options.directory, input.previous_dockerfile.as_deref());
    report.close();
    Ok(Generated {
        package,
        name,
        version,
        package_origin,
        version_origin,
        channels,
        files,
        manifests,
        dockerfile,
        report,
    })
}
