//! `bundle-tool catalog add`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, ValueEnum};
use serde_json::Value as Json;

use super::store::{Change, Store};
use crate::cli::bundles;
use crate::cli::exit::Exit;
use crate::cli::images::{Location, RegistryArgs, image_name};
use crate::cli::lock::lock;
use crate::cli::report::print_errors;
use crate::cli::runtime::SharedRuntime;
use crate::terminal::{ERROR, messages, stderr};
use kube_yaml::Path as FieldPath;
use kube_yaml::text::printable;
use olm_catalog::validate::{Blob, decode};
use olm_catalog::{DefaultChannel, PackageBlob};
use olm_model::Annotations;
use olm_model::catalog::{Bundle, Icon};
use olm_model::csv::ClusterServiceVersion;
use olm_model::disk::file;
use olm_model::icon;
use olm_model::names::check_label;
use olm_model::read::catalog as reader;
use olm_model::read::catalog::{Content, Limits, Source};
use olm_model::report::{BundleReport, Finding};
use olm_model::version;
use olm_report::Subject;
use olm_rules::catalog;

/// Add bundles to a file-based catalog
///
/// Adds each bundle to its channels, with the upgrade edges from its CSV. A bundle with the same name is replaced. The
/// blobs of its package are changed in place; new blobs are added to the file of the `olm.package` blob, which is
/// CATALOG/PACKAGE/catalog.yaml for a new package. Several bundles are added from the lowest to the highest version.
/// Nothing is written unless all of them can be added and the resulting catalog is valid.
///
/// Exit status: 0 on success, 1 if a bundle or the resulting catalog is invalid, 2 on an error; with 1 or 2, nothing is
/// written.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Add a bundle to the channels of its annotations
  bundle-tool catalog add ./catalog ./bundle \\
    --image quay.io/example/operator-bundle:v1.0.0

  # Add a bundle to other channels, one of which becomes the default
  bundle-tool catalog add ./catalog ./bundle \\
    --image quay.io/example/operator-bundle:v1.0.0 \\
    --channels stable,candidate --default-channel stable

  # Add several bundles at once, with the image of each
  bundle-tool catalog add ./catalog bundle-1.1.0 bundle-1.2.0 \\
    --image quay.io/example/operator-bundle:v1.1.0 \\
    --image quay.io/example/operator-bundle:v1.2.0

  # Add bundles from a registry, without --image
  bundle-tool catalog add ./catalog \\
    quay.io/example/operator-bundle:v1.1.0 quay.io/example/gadget-bundle:v3.0.0

  # Replace the bundle with the next lower version, whatever its CSV replaces
  bundle-tool catalog add ./catalog ./bundle \\
    --image quay.io/example/operator-bundle:v1.0.1 --edges semver")]
pub(crate) struct Add {
    /// Catalog directory, created if it does not exist
    catalog: PathBuf,
    /// Bundles: directories, oci:DIR, oci-archive:FILE or image names
    #[arg(required = true, value_name = "BUNDLE")]
    bundles: Vec<String>,
    /// Image reference to record for a bundle, in BUNDLE order (repeatable). Required for directories, layouts and
    /// archives; the image does not have to exist yet
    #[arg(long, value_name = "NAME")]
    image: Vec<String>,
    /// Channels, separated by commas [default: the channels in the annotations of each bundle]
    #[arg(long, visible_alias = "channel", value_delimiter = ',', value_name = "CHANNEL")]
    channels: Vec<String>,
    /// Default channel of the packages [default: the one in the annotations of the bundle with the highest version]
    #[arg(long, value_name = "CHANNEL")]
    default_channel: Option<String>,
    /// File with the icon of the package: SVG, PNG, JPEG, GIF or WebP [default: the icon of the bundle with the highest version]
    #[arg(long, value_name = "FILE")]
    icon: Option<PathBuf>,
    /// File with the description of the package, in Markdown [default: that of the bundle with the highest version]
    #[arg(long, value_name = "FILE")]
    description: Option<PathBuf>,
    /// Where the upgrade edges of the bundles come from
    #[arg(long, value_enum, value_name = "SOURCE", default_value = "csv")]
    edges: Edges,
    /// Write the catalog even if it is invalid
    #[arg(long)]
    no_validate: bool,
    #[command(flatten)]
    registries: RegistryArgs,
}

/// Where upgrade edges come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Edges {
    /// `replaces`, `skips` and `olm.skipRange` of the CSV
    Csv,
    /// The versions: each bundle replaces the one with the next lower version
    Semver,
}

impl From<Edges> for olm_catalog::Edges {
    fn from(edges: Edges) -> Self {
        match edges {
            Edges::Csv => Self::Csv,
            Edges::Semver => Self::Versions,
        }
    }
}

/// The maximum size of an icon or a description in bytes.
const MAX_DESCRIPTION: u64 = 1 << 20;

/// What a package has whatever its bundles have.
struct Described {
    description: Option<String>,
    icon: Option<Icon>,
}

/// A bundle that is added.
struct Added {
    /// The REF of the bundle.
    reference: String,
    /// The findings about its blob, at their positions in the bundle.
    findings: Vec<Finding>,
    blob: Bundle,
    csv: ClusterServiceVersion,
    channels: Vec<String>,
    /// The default channel that its annotations name.
    default_channel: Option<String>,
}

impl Added {
    fn failed(&self) -> String {
        format!("failed to add {}", self.reference)
    }
}

impl Add {
    pub(crate) fn run(self) -> Result<Exit> {
        let added = self.read()?;
        if !self.no_validate && !check_bundles(&added)? {
            return Ok(Exit::Findings);
        }
        let mut lock = lock(&self.catalog)?;
        let store = Store::read(lock.path())?;
        let mut by_package: BTreeMap<&str, Vec<&Added>> = BTreeMap::new();
        for one in &added {
            by_package.entry(&one.blob.package).or_default().push(one);
        }
        let described = self.described(by_package.len())?;
        let mut changes = BTreeMap::new();
        let mut new = Vec::new();
        for (package, added) in by_package {
            self.package(&store, package, &added, &described, &mut changes, &mut new)?;
        }
        let files = store.changed(&changes, &new)?;
        if !store.write(&mut lock, &self.catalog, files, self.no_validate)? {
            return Ok(Exit::Findings);
        }
        for one in &added {
            let (name, channels) = (printable(&one.blob.name), one.channels.join(", "));
            writeln!(
                messages(),
                "added {name} to {} (channels: {})",
                self.catalog.display(),
                printable(&channels)
            )?;
        }
        Ok(Exit::Success)
    }

    /// Reads the description and the icon for the only one of `packages`.
    fn described(&self, packages: usize) -> Result<Described> {
        let read = |path: &PathBuf| {
            file::read(path, MAX_DESCRIPTION).with_context(|| format!("failed to read {}", path.display()))
        };
        if packages > 1 && (self.icon.is_some() || self.description.is_some()) {
            bail!("--icon and --description require bundles of one package, found {packages} packages");
        }
        let description = self.description.as_ref().map(|path| -> Result<String> {
            let text = String::from_utf8(read(path)?);
            text.with_context(|| format!("failed to read {}", path.display()))
        });
        let icon = self.icon.as_ref().map(|path| -> Result<Icon> {
            let bytes = read(path)?;
            let mediatype = icon::media_type(&bytes);
            let mediatype = mediatype.with_context(|| {
                format!("{} is not an icon: expected SVG, PNG, JPEG, GIF or WebP", path.display())
            })?;
            Ok(Icon { base64data: STANDARD.encode(&bytes), mediatype: mediatype.to_owned() })
        });
        Ok(Described { description: description.transpose()?, icon: icon.transpose()? })
    }

    /// Reads the bundles, sorted by their versions.
    fn read(&self) -> Result<Vec<Added>> {
        let runtime = SharedRuntime::default();
        let mut added = Vec::with_capacity(self.bundles.len());
        for (reference, image) in self.bundles.iter().zip(self.images()?) {
            let one = self.rendered(reference, &image, &runtime);
            added.push(one.with_context(|| format!("failed to add {reference}"))?);
        }
        let mut names = BTreeSet::new();
        for one in &added {
            if !names.insert((&one.blob.package, &one.blob.name)) {
                bail!("{}: bundle `{}` is given twice", one.failed(), one.blob.name);
            }
        }
        added.sort_by_cached_key(|one| version::tolerant(&one.csv.spec.version).ok());
        Ok(added)
    }

    /// Returns the image of each bundle: those of `--image` in order, for all bundles or for those that are not in a registry.
    fn images(&self) -> Result<Vec<String>> {
        if self.image.len() == self.bundles.len() {
            return Ok(self.image.clone());
        }
        let mut given = self.image.iter();
        let mut images = Vec::with_capacity(self.bundles.len());
        let mut without = 0;
        for reference in &self.bundles {
            let location = Location::of_image(reference)?;
            if location.as_ref().and_then(Location::registry).is_some() {
                images.push(image_name(reference).to_owned());
            } else {
                without += 1;
                images.extend(given.next().cloned());
            }
        }
        if without != self.image.len() {
            bail!(
                "--image must be passed once for each bundle that is not an image name: expected {without}, found {}",
                self.image.len()
            );
        }
        Ok(images)
    }

    fn rendered(&self, reference: &str, image: &str, runtime: &SharedRuntime) -> Result<Added> {
        let bundle = bundles::read_complete(reference, &self.registries, runtime)?;
        let blob = olm_catalog::render(&bundle, Some(image))?;
        if let Err(reason) = check_label(&blob.package) {
            bail!("invalid package name `{}`: {reason}", blob.package);
        }
        let csv = bundle.csv().context("the bundle has no ClusterServiceVersion")?;
        let csv = csv.decode::<ClusterServiceVersion>()?.object;
        let annotations = bundle.annotations().context("the bundle has no annotations")?;
        let channels = if self.channels.is_empty() {
            annotations.channels().map(str::to_owned).collect()
        } else {
            self.channels.clone()
        };
        let default_channel = annotations.get(Annotations::DEFAULT_CHANNEL).map(str::to_owned);
        let findings = findings(&bundle, &blob)?;
        Ok(Added { reference: reference.to_owned(), findings, blob, csv, channels, default_channel })
    }

    /// Adds the bundles of a package.
    fn package(
        &self,
        store: &Store,
        package: &str,
        added: &[&Added],
        described: &Described,
        changes: &mut BTreeMap<usize, Change>,
        new: &mut Vec<(Arc<str>, Json)>,
    ) -> Result<()> {
        let of_package = |found: &&(usize, &Blob)| {
            found.1.package() == package
                && matches!(found.1, Blob::Package(_) | Blob::Channel(_) | Blob::Bundle(_))
        };
        let known: Vec<(usize, &Blob)> =
            store.blobs.iter().enumerate().filter(|found| of_package(&found)).collect();
        let home = known.iter().find(|(_, blob)| matches!(blob, Blob::Package(_)));
        let home = home.and_then(|(index, _)| store.file(*index));
        let home = home.unwrap_or_else(|| format!("{package}/catalog.yaml").into());
        let mut blobs = Vec::with_capacity(known.len());
        for (index, _) in &known {
            blobs.push(PackageBlob::known(store.json(*index)?));
        }
        for one in added {
            let given = self.default_channel.as_deref().map(DefaultChannel::Given);
            let annotated = || one.default_channel.as_deref().map(DefaultChannel::Annotated);
            let default = given.or_else(annotated);
            olm_catalog::add(&mut blobs, &one.blob, &one.csv, &one.channels, default, self.edges.into())
                .with_context(|| one.failed())?;
        }
        let Described { description, icon } = described;
        olm_catalog::describe(&mut blobs, package, description.as_deref(), icon.as_ref())?;
        olm_catalog::check_default_channel(&blobs, package)
            .with_context(|| added.last().map_or_else(String::new, |one| one.failed()))?;
        for (place, blob) in blobs.into_iter().enumerate().filter(|(_, blob)| blob.is_changed) {
            match known.get(place) {
                Some((index, _)) => {
                    changes.insert(*index, Change::To(blob.json));
                }
                None => new.push((home.clone(), blob.json)),
            }
        }
        Ok(())
    }
}

/// Validates the version in the blob of a bundle; findings point at the version in its CSV.
fn findings(bundle: &olm_model::Bundle, blob: &Bundle) -> Result<Vec<Finding>> {
    let source = Source { name: "".into(), content: Content::Bytes(serde_json::to_vec(blob)?) };
    let decoded = reader::documents([source], Limits::default(), |document| decode(&document))?;
    let mut findings: Vec<Finding> = decoded.into_iter().flat_map(|one| one.findings).collect();
    // Everything else is reported for the whole catalog, which is validated with the user's options.
    findings.retain(|finding| finding.rule == catalog::BUNDLE_VERSION_INVALID.id);
    for finding in &mut findings {
        // No file contains the blob, so its positions lead nowhere.
        (finding.file, finding.line, finding.column, finding.fix) = (None, None, None, None);
        if let Some(csv) = bundle.csv() {
            let root = FieldPath::ROOT;
            let spec = root.field("spec");
            let position = csv.locate(&spec.field("version"));
            finding.file = Some(csv.file.path.clone());
            (finding.line, finding.column) = (Some(position.line), Some(position.column));
            finding.path = Some("spec.version".to_owned());
            finding.help =
                "use MAJOR.MINOR.PATCH, such as `1.2.3`, in spec.version of the ClusterServiceVersion".into();
        }
    }
    olm_rules::add_excerpts(&mut findings, |name| Some(bundle.file(name)?.bytes.as_slice()));
    Ok(findings)
}

/// Prints the findings about the blobs of bundles. Returns whether there are none.
fn check_bundles(added: &[Added]) -> Result<bool> {
    let reports: Vec<BundleReport> = added
        .iter()
        .filter(|one| !one.findings.is_empty())
        .map(|one| BundleReport {
            path: one.reference.clone(),
            parent: None,
            name: Some(one.blob.name.clone()),
            package: Some(one.blob.package.clone()),
            findings: one.findings.clone(),
        })
        .collect();
    if reports.is_empty() {
        return Ok(true);
    }
    print_errors(&reports.iter().map(Subject::from).collect::<Vec<_>>())?;
    writeln!(
        stderr(),
        "{ERROR} opm rejects the bundle and the catalog was not written; pass --no-validate to write it anyway"
    )?;
    Ok(false)
}
