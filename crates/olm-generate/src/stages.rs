//! The stages of generating a bundle, each of which consumes the one before: [`SortedManifests`], whose images are named, become
//! [`PinnedManifests`], whose images have digests, and these a [`Generated`] bundle.

use std::collections::{BTreeMap, BTreeSet};

use super::error::Error;
use super::input::{Collected, Item};
use super::options::{Destination, ImagePins, Manifests, Options, Origin};
use super::report::GenerateReport;
use super::{
    annotations, base, certificates, csv, dockerfile, images, input, json, objects, rbac, scorecard,
};

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

/// The manifests sorted by purpose, with images replaced by [`Options::images`].
#[derive(Debug)]
pub struct SortedManifests<'o> {
    options: &'o Options,
    collected: Collected,
    package: String,
    package_origin: Origin,
    base: Item,
    report: GenerateReport,
}

/// The sorted manifests with image digests, from which a bundle is generated.
#[derive(Debug)]
pub struct PinnedManifests<'o> {
    sorted: SortedManifests<'o>,
    /// Whether digests were given.
    is_pinned: bool,
}

impl<'o> SortedManifests<'o> {
    /// Sorts the manifests.
    ///
    /// # Errors
    /// The input has no Deployment, two of the same name, several packages, or an object with a field of the wrong type.
    pub fn new(manifests: &Manifests, options: &'o Options) -> Result<Self, Error> {
        let mut report = GenerateReport::default();
        let mut collected = input::collect(&manifests.documents, &mut report)?;
        let existing = manifests.base.as_ref();
        let (package, package_origin) = base::package(options, &collected, existing)?;
        let mut base = base::choose(&package, &collected, existing, options.is_of_sdk(), &mut report)?;
        collected.check(options.is_of_sdk(), &report)?;
        let variables = options.image_variables();
        images::rewrite(&mut collected, &mut base, &options.images, &BTreeMap::new(), variables, &mut report);
        Ok(Self { options, collected, package, package_origin, base, report })
    }

    /// Returns the images that a bundle would reference by tag.
    #[must_use]
    pub fn unpinned_images(&mut self) -> BTreeSet<String> {
        images::unpinned(&mut self.collected, &mut self.base, self.options.image_variables())
    }

    /// Replaces the tags of images with digests, and adds the platforms that the operator supports to the CSV's labels.
    #[must_use]
    pub fn pin(mut self, pins: &ImagePins) -> PinnedManifests<'o> {
        let platforms = images::platforms(&self.collected, &pins.platforms);
        let variables = self.options.image_variables();
        images::rewrite(&mut self.collected, &mut self.base, &[], &pins.digests, variables, &mut self.report);
        if !self.options.is_of_sdk() {
            label(&mut self.base, &platforms);
        }
        PinnedManifests { sorted: self, is_pinned: !pins.digests.is_empty() }
    }
}

impl PinnedManifests<'_> {
    /// Generates the bundle.
    ///
    /// # Errors
    /// The version is not a semantic version, the default channel is not one of the channels, an entry of the dependencies or
    /// properties is invalid, or a limit is exceeded (the size of all permissions or of a manifest, the length of a file name).
    pub fn generate(self, destination: &Destination) -> Result<Generated, Error> {
        let Self { sorted, is_pinned } = self;
        let SortedManifests { options, collected, package, package_origin, base, mut report } = sorted;
        let previous = &destination.previous;
        let rbac = rbac::split(&collected, &options.extra_service_accounts, &mut report)?;
        let scorecard = scorecard::file(&collected, &previous.files, options.scorecard, &mut report);
        let is_of_sdk = options.is_of_sdk();
        let mut certificates = certificates::Certificates::new(&collected, is_of_sdk);
        let has_tests = destination.has_test_annotations.unwrap_or(scorecard.is_some());
        let annotations = annotations::Annotations::new(
            &package,
            options,
            previous.annotations.as_ref(),
            has_tests,
            &mut report,
        )?;
        let channels = annotations.channels();
        let channel = channels.first().map_or("", String::as_str);
        let contents =
            csv::Contents { package: &package, options, is_pinned, collected: &collected, rbac: &rbac };
        let mut csv = csv::build(base, &contents, &mut certificates, &mut report)?;
        csv.check_name()?;
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
            annotations
                .yaml(previous.files.get("metadata/annotations.yaml").map(Vec::as_slice), &mut report)
                .into_bytes(),
        );
        let (name, version, version_origin) = (csv.name(), csv.version.clone(), csv.origin);
        csv.date(&csv_path, &mut files, destination)?;
        let dockerfile = dockerfile::render(&annotations, &options.directory, previous.dockerfile.as_deref());
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
}

/// Adds the platforms that the operator supports to the CSV's labels, unless the base has such labels.
fn label(base: &mut Item, platforms: &BTreeSet<String>) {
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
