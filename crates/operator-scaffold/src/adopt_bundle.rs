//! Finds the bundle that an operator already has.

use std::collections::BTreeSet;

use semver::Version;

use super::adopt_metadata::yaml;
use super::adopt_version::parse as version;

/// What precedes the name of a package's fields in `annotations.yaml`.
const PREFIX: &str = "operators.operatorframework.io.bundle.";
/// The directory that `Makefile.bundle` writes to.
pub(crate) const DIRECTORY: &str = "bundle";
/// Directories whose bundles are inputs of tests.
const TESTS: &[&str] = &["e2e", "example", "examples", "fixtures", "test", "tests"];

/// The bundle that an operator already has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExistingBundle {
    /// Its directory.
    pub directory: String,
    /// The path of its annotations.
    pub annotations: String,
    /// The package.
    pub package: Option<String>,
    /// The channels, separated by commas.
    pub channels: Option<String>,
    /// The default channel.
    pub default_channel: Option<String>,
    /// Its CSV.
    pub csv: Option<ExistingCsv>,
}

/// The CSV of an existing bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExistingCsv {
    /// The path.
    pub path: String,
    /// `metadata.name`; empty if there is none.
    pub name: String,
    /// `spec.version`; empty if there is none.
    pub version: String,
}

impl ExistingBundle {
    fn version(&self) -> Option<Version> {
        version(&self.csv.as_ref()?.version)
    }
}

/// Finds the bundle: a directory with `metadata/annotations.yaml` and a CSV in `manifests`, whatever their names are. Of several,
/// it is the one with the highest version of the package of `bundle/`, or else of the only package, or else of the package
/// `own`. The line says which one was chosen, or why none.
///
/// # Errors
/// As `text`.
pub(crate) fn find<E>(
    files: &[String],
    own: Option<&str>,
    text: &mut impl FnMut(&str) -> Result<Option<String>, E>,
) -> Result<(Option<ExistingBundle>, Option<String>), E> {
    let sorted: BTreeSet<&str> = files.iter().map(String::as_str).collect();
    let mut bundles = Vec::new();
    for annotations in &sorted {
        let Some(directory) = ["/metadata/annotations.yaml", "/metadata/annotations.yml"]
            .iter()
            .find_map(|name| annotations.strip_suffix(name))
        else {
            continue;
        };
        if directory.split('/').any(|name| TESTS.contains(&name)) {
            continue;
        }
        let metadata = text(annotations)?.unwrap_or_default();
        let annotation = |key: &str| yaml(&metadata, &["annotations", &format!("{PREFIX}{key}")]);
        let mut bundle = ExistingBundle {
            directory: directory.to_owned(),
            annotations: (*annotations).to_owned(),
            package: annotation("package.v1"),
            channels: annotation("channels.v1"),
            default_channel: annotation("channel.default.v1"),
            csv: None,
        };
        let manifests = format!("{directory}/manifests/");
        for path in sorted.range(manifests.as_str()..).take_while(|path| path.starts_with(&manifests)) {
            let manifest = text(path)?.unwrap_or_default();
            if manifest.contains("ClusterServiceVersion")
                && yaml(&manifest, &["kind"]).as_deref() == Some("ClusterServiceVersion")
            {
                let name = yaml(&manifest, &["metadata", "name"]).unwrap_or_default();
                let version = yaml(&manifest, &["spec", "version"]).unwrap_or_default();
                bundle.csv = Some(ExistingCsv { path: (*path).to_owned(), name, version });
                break;
            }
        }
        if bundle.csv.is_some() || directory == DIRECTORY {
            bundles.push(bundle);
        }
    }
    let packages: BTreeSet<Option<String>> = bundles.iter().map(|bundle| bundle.package.clone()).collect();
    let main = bundles.iter().find(|bundle| bundle.directory == DIRECTORY);
    let package = match main {
        Some(bundle) => bundle.package.clone(),
        None if packages.len() > 1 => {
            let own = own.map(str::to_owned);
            if own.is_none() || !packages.contains(&own) {
                let names: Vec<&str> = packages.iter().flatten().map(String::as_str).collect();
                let names = names.join(", ");
                let note =
                    format!("the existing bundles are ignored because they are of several packages: {names}");
                return Ok((None, Some(note)));
            }
            own
        }
        None => packages.into_iter().next().flatten(),
    };
    let chosen = bundles
        .into_iter()
        .filter(|bundle| bundle.package == package)
        .max_by_key(|bundle| (bundle.version(), bundle.directory == DIRECTORY, bundle.directory.clone()));
    let note = chosen.as_ref().filter(|bundle| bundle.directory != DIRECTORY).map(|bundle| {
        format!(
            "the package, the channels and the version are from the bundle in {}; `make bundle` writes to \
             {DIRECTORY}/",
            bundle.directory
        )
    });
    Ok((chosen, note))
}
