//! Plain manifests into a bundle: the `ClusterServiceVersion`, the other objects, annotations and Dockerfile.
//!
//! What each input object becomes is what operator-sdk makes of it (`internal/generate` of operator-framework/
//! operator-sdk), so that nobody's bundle changes by changing tools; what that one drops without a word is named here.
//! Nothing in this module does I/O: documents come in, files and notes go out.

mod annotations;
mod base;
mod crds;
mod csv;
mod dockerfile;
mod error;
mod examples;
mod input;
mod json;
mod ledger;
mod objects;
mod rbac;
mod related_images;
mod scorecard;
mod shape;
mod webhooks;

use std::collections::BTreeMap;

pub use error::Error;
pub use ledger::{Fate, Ledger, Note, Place, Severity, Source};

use crate::model::yaml::Tree;

/// One YAML document of the input.
#[derive(Debug)]
pub struct Document {
    /// The file that it stands in, as the user would name it; `standard input` where it came from there.
    pub file: String,
    /// The document.
    pub tree: Tree,
}

/// What a bundle is made from.
#[derive(Debug, Default)]
pub struct Input {
    /// All manifests, in the order in which they were read.
    pub documents: Vec<Document>,
    /// The base CSV of the kustomize folder; counts only where no manifest is a CSV.
    pub base: Option<Document>,
    /// The files of the bundle that lies in the output folder now: path below it to bytes.
    pub previous: BTreeMap<String, Vec<u8>>,
    /// `metadata/annotations.yaml` of that bundle.
    pub previous_annotations: Option<Tree>,
    /// The `bundle.Dockerfile` that is there now.
    pub previous_dockerfile: Option<String>,
}

/// What the person asked for.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The package's name; the base CSV's where nothing is given.
    pub package: Option<String>,
    /// The version of the operator; the base CSV's where nothing is given.
    pub version: Option<semver::Version>,
    /// Channels, separated by commas; those of the previous bundle, or `alpha`, where nothing is given.
    pub channels: Option<String>,
    /// The default channel; that of the previous bundle where nothing is given.
    pub default_channel: Option<String>,
    /// Service accounts beside the Deployments' own whose roles belong into the CSV.
    pub extra_service_accounts: Vec<String>,
    /// The layout of the project, as its PROJECT file names it.
    pub layout: Option<String>,
    /// How the Dockerfile, from its own folder, names the bundle's folder.
    pub folder: String,
    /// The time that was set by `SOURCE_DATE_EPOCH`, in RFC 3339.
    pub epoch: Option<String>,
    /// The time now, in RFC 3339.
    pub now: String,
}

/// A bundle, and what became of each object of the input.
#[derive(Debug)]
pub struct Generated {
    /// The package's name.
    pub package: String,
    /// The name of the CSV.
    pub name: String,
    /// The bundle's files: path below its folder to bytes. The first of `manifests/` in reading order is the CSV.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The path of the CSV among the files.
    pub csv: String,
    /// `bundle.Dockerfile`.
    pub dockerfile: String,
    /// Where each object went, and what is to be said about it.
    pub ledger: Ledger,
}

/// Makes a bundle.
///
/// # Errors
/// The input has no Deployment, two of one name, several packages, or an object that does not fit its type.
pub fn bundle(input: &Input, options: &Options) -> Result<Generated, Error> {
    let mut ledger = Ledger::default();
    let collected = input::collect(&input.documents, &mut ledger)?;
    let package = base::package(options.package.as_deref(), &collected, input.base.as_ref())?;
    let base = base::choose(&package, &collected, input.base.as_ref(), &mut ledger)?;
    collected.check()?;

    let rbac = rbac::split(&collected, &options.extra_service_accounts, &mut ledger);
    let scorecard = scorecard::file(&collected, &input.previous, &mut ledger);
    let csv = csv::build(base, &package, options, &collected, &rbac, &mut ledger)?;
    let objects = objects::files(&collected, &rbac, &mut ledger);

    let annotations =
        annotations::Annotations::new(&package, options, input, scorecard.is_some(), &mut ledger)?;
    let mut files = BTreeMap::new();
    for (name, json) in objects {
        files.insert(format!("manifests/{name}"), crate::model::yaml::emit(&json).into_bytes());
    }
    if let Some(bytes) = scorecard {
        files.insert(scorecard::PATH.to_owned(), bytes);
    }
    files.insert(
        "metadata/annotations.yaml".to_owned(),
        annotations.yaml(input.previous.get("metadata/annotations.yaml").map(Vec::as_slice)).into_bytes(),
    );
    let csv_path = format!("manifests/{}.clusterserviceversion.yaml", package.to_lowercase());
    let name = csv.name();
    csv.date(&csv_path, &mut files, &input.previous, options);
    let dockerfile = dockerfile::text(&annotations, &options.folder, input.previous_dockerfile.as_deref());
    ledger.close();
    Ok(Generated { package, name, files, csv: csv_path, dockerfile, ledger })
}
