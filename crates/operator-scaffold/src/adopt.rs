//! Puts an existing operator under the toolkit: finds out where its manifests come from, and returns the files that package
//! it. Nothing of the operator is changed.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;

use olm_model::names::is_label;

use super::error::Error;
use super::templates::{self, Template};
use super::{names, plugins, project};

pub use super::adopt_bundle::{ExistingBundle, ExistingCsv};
pub use super::adopt_metadata::Metadata;
use super::adopt_metadata::{CSV_SUFFIX, DEFAULT_CHANNEL, join};
use super::{adopt_bundle, adopt_version};

/// The Makefile that packages the operator.
pub const MAKEFILE: &str = "Makefile.bundle";

const TEMPLATE: Template = templates::template!("project/Makefile.bundle.j2");

/// Directories in which operators keep manifests, the likeliest first.
pub(crate) const MANIFEST_DIRECTORIES: &[&str] =
    &["config/manifests", "config/default", "deploy", "manifests", "kubernetes", "k8s", "yaml", "config"];

/// Directories in which operators keep CRDs, the likeliest first.
const CRD_DIRECTORIES: &[&str] =
    &["config/crd/bases", "config/crd", "crds", "deploy/crds", "crd", "manifests/crds"];

/// The names of the file of a kustomization.
const KUSTOMIZATIONS: &[&str] = &["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The maximum number of directories in an error.
const MAX_LISTED: usize = 10;

/// The maximum length of the name of a Helm release.
const MAX_RELEASE_NAME: usize = 53;

/// What there is in the directory of an operator, as far as it matters here.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Relative paths of its files with `/`, sorted: `Cargo.toml`, `Chart.yaml` and the like, and manifests.
    pub files: Vec<String>,
    /// What some of these files say about the operator.
    pub metadata: Metadata,
}

/// Where the manifests of an operator come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A kustomization.
    Kustomize(String),
    /// A Helm chart.
    Chart(String),
    /// A directory of manifests, which may be written by a build.
    Directory(String),
}

impl Found {
    fn has(&self, path: &str) -> bool {
        self.files.iter().any(|file| file == path)
    }

    fn has_manifests(&self, directory: &str) -> bool {
        self.files.iter().any(|file| {
            let below = file.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/'));
            below.is_some_and(|name| is_yaml(name) && !name.contains('/'))
        })
    }

    /// Returns the charts that are nearest to the top.
    fn charts(&self) -> Vec<&str> {
        let depth = |directory: &str| if directory == "." { 0 } else { 1 + directory.matches('/').count() };
        let charts = self.files.iter().filter_map(|file| match file.as_str() {
            "Chart.yaml" => Some("."),
            file => file.strip_suffix("/Chart.yaml"),
        });
        let charts: Vec<&str> = charts.collect();
        let nearest = charts.iter().map(|chart| depth(chart)).min();
        charts.into_iter().filter(|chart| Some(depth(chart)) == nearest).collect()
    }

    /// Returns the directories of the kustomizations.
    fn kustomizations(&self) -> Vec<&str> {
        let directory = |file: &'_ str| -> Option<usize> {
            let name = KUSTOMIZATIONS.iter().find(|name| file.ends_with(*name))?;
            let end = file.len() - name.len();
            (end == 0 || file[..end].ends_with('/')).then_some(end)
        };
        let directories = self.files.iter().filter_map(|file| Some(&file[..directory(file)?]));
        directories.map(|directory| directory.strip_suffix('/').unwrap_or(".")).collect()
    }

    /// Returns the kustomizations of the variants of an operator, or of several operators: `config/VARIANT/default`. If the
    /// directory is that of a variant, it is `default` or the directory itself.
    fn variants(&self) -> Vec<String> {
        let kustomizations = self.kustomizations();
        for own in ["default", "."] {
            if kustomizations.contains(&own) {
                return vec![own.to_owned()];
            }
        }
        let mut variants: BTreeMap<&str, &str> = BTreeMap::new();
        // What is in `manifests` includes what is in `default`.
        for last in ["/default", "/manifests"] {
            let of_variants = kustomizations
                .iter()
                .filter(|directory| directory.starts_with("config/"))
                .filter_map(|directory| Some((directory.strip_suffix(last)?, *directory)));
            variants.extend(of_variants);
        }
        variants.into_values().map(str::to_owned).collect()
    }

    /// Returns where the manifests come from.
    ///
    /// # Errors
    /// Nothing is known of an operator here, or of several; the kustomizations or charts are in other places, or several are
    /// possible.
    pub fn source(&self) -> Result<Source, Error> {
        let kustomizations = self.kustomizations();
        if let Some(directory) =
            MANIFEST_DIRECTORIES.iter().find(|directory| kustomizations.contains(directory))
        {
            return Ok(Source::Kustomize((*directory).to_owned()));
        }
        let variants = self.variants();
        if let [variant] = variants.as_slice() {
            return Ok(Source::Kustomize(variant.clone()));
        }
        match self.charts().as_slice() {
            [] => {}
            [chart] => return Ok(Source::Chart((*chart).to_owned())),
            charts => return Err(Error::SeveralCharts { charts: listed(charts) }),
        }
        if self.has("pom.xml") {
            return Ok(Source::Directory("target/kubernetes".to_owned()));
        }
        if self.has("build.gradle") || self.has("build.gradle.kts") {
            return Ok(Source::Directory("build/kubernetes".to_owned()));
        }
        match MANIFEST_DIRECTORIES.iter().find(|directory| self.has_manifests(directory)) {
            Some(directory) => Ok(Source::Directory((*directory).to_owned())),
            None if !variants.is_empty() => {
                Err(Error::SeveralOperators { kustomizations: variants.join(", ") })
            }
            None if !kustomizations.is_empty() => {
                let directories = MANIFEST_DIRECTORIES.join(", ");
                Err(Error::OtherKustomizations { directories, kustomizations: listed(&kustomizations) })
            }
            None => Err(Error::NoOperator { directories: MANIFEST_DIRECTORIES.join(", ") }),
        }
    }
}

/// Returns directories for an error.
fn listed(directories: &[&str]) -> String {
    let list = directories[..directories.len().min(MAX_LISTED)].join(", ");
    match directories.len().saturating_sub(MAX_LISTED) {
        0 => list,
        more => format!("{list} and {more} more"),
    }
}

/// Returns whether a file is one that matters in [`Found::files`].
#[must_use]
pub fn matters(name: &str) -> bool {
    is_yaml(name)
        || name.starts_with("Makefile.")
        || name.rsplit_once('.').is_some_and(|(_, extension)| extension == "mk")
        || ["version", "version.txt", ".version"].contains(&name.to_lowercase().as_str())
        || [
            "Cargo.toml",
            "GNUmakefile",
            "Kustomization",
            "Makefile",
            "makefile",
            "build.gradle",
            "build.gradle.kts",
            "gradle.properties",
            "pom.xml",
            "settings.gradle",
            "settings.gradle.kts",
            project::FILE,
        ]
        .contains(&name)
}

fn is_yaml(name: &str) -> bool {
    [".yaml", ".yml"].iter().any(|extension| name.ends_with(extension))
}

#[derive(Serialize)]
struct View<'a> {
    name: &'a str,
    version: String,
    channels: &'a str,
    default_channel: &'a str,
    command: Option<String>,
    directory: Option<&'a str>,
    crds: String,
}

/// Returns the directory of the CRDs.
#[must_use]
pub fn crds(found: &Found, source: &Source) -> String {
    match source {
        Source::Chart(chart) if found.has_manifests(&join(chart, "crds")) => join(chart, "crds"),
        Source::Directory(directory) if !CRD_DIRECTORIES.iter().any(|crds| found.has_manifests(crds)) => {
            directory.clone()
        }
        _ => {
            let there = CRD_DIRECTORIES.iter().find(|directory| found.has_manifests(directory));
            there.unwrap_or(&"config/crd/bases").to_string()
        }
    }
}

/// Returns a path as a word of a shell command in a Makefile.
fn word(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    if path.chars().all(is_plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', "'\\''")).replace('$', "$$").replace('#', "\\#")
}

/// Returns what to know about packaging an operator under a name, a line each: what was guessed, and how the new bundle differs
/// from the existing one.
#[must_use]
pub fn notes(found: &Found, name: &str) -> Vec<String> {
    let mut notes = found.metadata.notes.clone();
    let Some(bundle) = &found.metadata.bundle else { return notes };
    if let Some(package) = bundle.package.as_deref().filter(|package| *package != name) {
        notes.push(format!(
            "the package of the existing bundle is {package}, and that of the new one is {name}"
        ));
    }
    if let Some(csv) = &bundle.csv
        && !csv.name.is_empty()
        && !csv.name.starts_with(&format!("{name}."))
    {
        notes.push(format!(
            "the existing ClusterServiceVersion is named {}, and the new one begins with {name}.v",
            csv.name
        ));
    }
    if bundle.directory == adopt_bundle::DIRECTORY {
        let csv = format!("{}/manifests/{name}{CSV_SUFFIX}", bundle.directory);
        let annotations = format!("{}/metadata/annotations.yaml", bundle.directory);
        let csv = bundle.csv.iter().map(|existing| (&existing.path, csv.clone()));
        for (path, new) in csv.chain([(&bundle.annotations, annotations)]).filter(|(path, new)| *path != new)
        {
            notes.push(format!("rename {path} to {new} first, because `make bundle` writes that file"));
        }
    }
    notes
}

/// Fails if there are bases and none is of the package: the generator would not find it, and make a new one without its texts.
fn check_bases(bases: &[(String, String)], name: &str) -> Result<(), Error> {
    let file_name = |path: &str| {
        let file = path.rsplit('/').next().unwrap_or_default();
        file.strip_suffix(CSV_SUFFIX).unwrap_or(file).to_owned()
    };
    let is_own = |(path, csv): &(String, String)| {
        file_name(path) == name && (csv.is_empty() || csv.starts_with(&format!("{name}.")))
    };
    match bases.first() {
        Some((path, csv)) if !bases.iter().any(is_own) => {
            let csv = if csv.is_empty() { file_name(path) } else { csv.clone() };
            let other = csv.split_once(".v").map_or(csv.as_str(), |(package, _)| package);
            // Otherwise, the base would not be found by that name, either.
            let other = (file_name(path) == other).then(|| other.to_owned());
            Err(Error::OtherBase { path: path.clone(), csv, package: name.to_owned(), other })
        }
        _ => Ok(()),
    }
}

/// Returns the new files, by their paths: the Makefile and, if there is none, `PROJECT`.
///
/// # Errors
/// The name is not valid, or nothing is known of an operator here.
pub fn files(found: &Found, name: &str) -> Result<BTreeMap<String, String>, Error> {
    names::package(name)?;
    let source = found.source()?;
    check_bases(&found.metadata.bases, name)?;
    let metadata = &found.metadata;
    let channels = metadata.channels.as_deref().unwrap_or(DEFAULT_CHANNEL);
    let view = View {
        name,
        version: metadata
            .version
            .as_ref()
            .map_or_else(|| adopt_version::DEFAULT.to_owned(), ToString::to_string),
        channels,
        default_channel: metadata.default_channel.as_deref().unwrap_or(DEFAULT_CHANNEL),
        command: match &source {
            Source::Kustomize(directory) => Some(format!("kubectl kustomize {}", word(directory))),
            Source::Chart(chart) => {
                let release = name[..name.len().min(MAX_RELEASE_NAME)].trim_end_matches('-');
                let namespace = format!("{name}-system");
                let namespace = if is_label(&namespace) { &namespace } else { name };
                Some(format!(
                    "helm template {release} {} --include-crds --namespace {namespace}",
                    word(chart)
                ))
            }
            Source::Directory(_) => None,
        },
        directory: match &source {
            Source::Directory(directory) => Some(directory),
            _ => None,
        },
        crds: crds(found, &source),
    };
    let mut files = BTreeMap::from([(MAKEFILE.to_owned(), templates::render_template(&TEMPLATE, &view)?)]);
    if !found.has(project::FILE) {
        let project = json!({
            "version": project::FORMAT,
            "layout": [plugins::ADOPTED],
            "projectName": name,
            "plugins": {plugins::MANIFESTS: {}},
        });
        let header =
            "# Written by `bundle-tool init --from`. `bundle-tool generate bundle` reads the name.\n";
        files.insert(project::FILE.to_owned(), format!("{header}{}", kube_yaml::emit(&project)));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[&str]) -> Found {
        Found { files: files.iter().map(ToString::to_string).collect(), metadata: Metadata::default() }
    }

    #[test]
    fn paths_are_words_of_a_shell_in_a_makefile() {
        assert_eq!(word("charts/a-b_c.d"), "charts/a-b_c.d");
        assert_eq!(word("a $(b) 'c' #"), r"'a $$(b) '\''c'\'' \#'");
    }

    #[test]
    fn the_source_of_the_manifests_is_found() {
        for (files, expected, crds_in) in [
            (
                &["PROJECT", "config/default/kustomization.yaml", "config/crd/bases/a.yaml"][..],
                Source::Kustomize("config/default".into()),
                "config/crd/bases",
            ),
            (
                &["config/manifests/kustomization.yaml", "config/default/kustomization.yaml"],
                Source::Kustomize("config/manifests".into()),
                "config/crd/bases",
            ),
            (&["Chart.yaml", "crds/a.yaml", "charts/b/Chart.yaml"], Source::Chart(".".into()), "crds"),
            (
                &["charts/x/y/Chart.yaml", "charts/op/Chart.yaml", "charts/op/crds/a.yaml"],
                Source::Chart("charts/op".into()),
                "charts/op/crds",
            ),
            (
                &["Chart.yaml", "charts/a/Chart.yaml", "charts/b/Chart.yaml"],
                Source::Chart(".".into()),
                "config/crd/bases",
            ),
            (
                &["pom.xml", "src/main/resources/a.yaml"],
                Source::Directory("target/kubernetes".into()),
                "target/kubernetes",
            ),
            (&["build.gradle.kts"], Source::Directory("build/kubernetes".into()), "build/kubernetes"),
            (
                &[
                    "PROJECT",
                    "config/hub/default/kustomization.yaml",
                    "config/hub/manifests/kustomization.yaml",
                ],
                Source::Kustomize("config/hub/manifests".into()),
                "config/crd/bases",
            ),
            (
                &["crd/kustomization.yaml", "default/kustomization.yml", "crd/a.yaml"],
                Source::Kustomize("default".into()),
                "crd",
            ),
            (&["kustomization.yaml"], Source::Kustomize(".".into()), "config/crd/bases"),
            (&["Cargo.toml", "yaml/a.yaml"], Source::Directory("yaml".into()), "yaml"),
            (&["Cargo.toml", "deploy/a.yml", "crds/a.yaml"], Source::Directory("deploy".into()), "crds"),
        ] {
            let found = found(files);
            let source = found.source().unwrap();
            assert_eq!(source, expected);
            assert_eq!(crds(&found, &source), crds_in);
        }
        assert!(found(&["Cargo.toml", "src/a.yaml"]).source().is_err());
        let error = found(&["charts/crds/Chart.yaml", "charts/lake/Chart.yaml", "x/y/z/Chart.yaml"])
            .source()
            .unwrap_err()
            .to_string();
        assert!(error.contains("found several Helm charts: charts/crds, charts/lake; set --from"), "{error}");
        let kustomization = found(&["config/default/Kustomization", "config/default/all.yaml"]);
        assert_eq!(kustomization.source().unwrap(), Source::Kustomize("config/default".into()));
        assert!(matters("Kustomization"));
        let mut others: Vec<String> = (0..12).map(|n| format!("a/{n:02}/kustomization.yaml")).collect();
        others.push("b/xkustomization.yaml".to_owned());
        let error = Found { files: others, ..Found::default() }.source().unwrap_err().to_string();
        insta::assert_snapshot!(error);
        let several =
            found(&["config/a/default/kustomization.yaml", "config/b/x/default/kustomization.yaml"]);
        let error = several.source().unwrap_err().to_string();
        assert!(error.contains("config/a/default, config/b/x/default"), "{error}");
    }

    #[test]
    fn long_package_name_fits_helm_and_a_namespace() {
        let name = "a".repeat(60);
        let files = files(&found(&["Chart.yaml"]), &name).unwrap();
        let release = "a".repeat(53);
        assert!(
            files[MAKEFILE]
                .contains(&format!("helm template {release} . --include-crds --namespace {name}\n"))
        );
        assert!(super::files(&found(&["Chart.yaml"]), &"a".repeat(64)).is_err());
    }

    #[test]
    fn base_of_another_package_is_rejected() {
        let mut found = found(&["config/default/kustomization.yaml"]);
        let path = "config/manifests/bases/lake-operator.clusterserviceversion.yaml";
        found.metadata.bases = vec![(path.to_owned(), "lake-operator.v0.0.0".to_owned())];
        assert!(files(&found, "lake-operator").is_ok());
        let error = files(&found, "lake").unwrap_err().to_string();
        insta::assert_snapshot!(error);
        // The name in the file counts, too.
        found.metadata.bases[0].0 = path.replace("lake-operator", "lake");
        let error = files(&found, "lake").unwrap_err().to_string();
        insta::assert_snapshot!("base_of_another_package_in_a_file_of_this_one", error);
    }
}
