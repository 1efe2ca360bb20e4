//! The files of one bundle or catalog, and what is asked about them.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value as Json, json};

use crate::settings::{self, SettingsError};
use olm_catalog::browse::{Head, Package, entries};
use olm_catalog::fix as catalog_fix;
use olm_catalog::graph::{self, DrawError, Parts};
use olm_catalog::validate::{Blob, Decoded, PackageGraph, Packages, decode, heads, report, resolve};
use olm_diff::{Options, Version, compare, sections, sentence, summary};
use olm_model::bundle::ANNOTATIONS_FILE;
use olm_model::read::bundle;
use olm_model::read::catalog::{Document, Limits, documents, sources_in};
use olm_model::read::dockerfile;
use olm_model::report::{BundleReport, CatalogReport, Finding, Fix, Safety, rules};
use olm_model::{Bundle, dockerfile as dockerfiles, fix};
use olm_rules::{InvalidSettings, ProjectSettings, SETTINGS_FILE, Selection};

/// Why a question has no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The settings are invalid.
    Settings(SettingsError),
    /// `bundle-tool.toml` is invalid.
    Project(String),
    /// The catalog cannot be read.
    Catalog(String),
    /// There is no finding of this number, package of this name, or rule of this name.
    Missing(&'static str),
    /// No fix can be applied to the files as they are.
    NotFixable,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(error) => error.fmt(f),
            Self::Project(message) | Self::Catalog(message) => f.write_str(message),
            Self::Missing(what) => write!(f, "no such {what}"),
            Self::NotFixable => f.write_str(
                "the fix cannot be applied to the file as it is: resolve its other findings first, or edit the file",
            ),
        }
    }
}

impl std::error::Error for Error {}

/// The entries of channels that are drawn at once.
const MAX_DRAWN: usize = 5000;
/// The size of a drawing, in bytes, above which fewer entries are drawn.
const MAX_DRAWING: usize = 4 << 20;

/// The schema of packages.
const PACKAGE: &str = "olm.package";

/// The files of one bundle or catalog.
///
/// A bundle is parsed once, and then only the files that change.
#[derive(Debug, Default)]
pub struct Workspace {
    name: String,
    files: BTreeMap<String, Vec<u8>>,
    bundle: Option<Bundle>,
    /// A `bundle-tool.toml` above the directory: its path, and its bytes.
    project: Option<(String, Vec<u8>)>,
    /// The findings of the last validation.
    findings: Vec<Finding>,
}

impl Workspace {
    /// Returns a workspace without files; `name` is what the user dropped.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds a file, or replaces its bytes. `path` is relative to the directory of the bundle or catalog.
    pub fn set(&mut self, path: &str, bytes: Vec<u8>) {
        match &mut self.bundle {
            Some(parsed) if self.files.contains_key(path) => bundle::replace(parsed, path, bytes.clone()),
            _ => self.bundle = None,
        }
        self.files.insert(path.to_owned(), bytes);
    }

    /// Sets the `bundle-tool.toml` that applies unless the files have one: that of a directory above them.
    pub fn set_project(&mut self, path: &str, bytes: Vec<u8>) {
        self.project = Some((path.to_owned(), bytes));
    }

    /// Adds the settings of the nearest `bundle-tool.toml` to those of the page, as the command line adds them to its options.
    fn select(&self, settings: &str) -> Result<Selection, Error> {
        let mut selection = settings::selection(settings).map_err(Error::Settings)?;
        let own = self.files.get(SETTINGS_FILE).map(|bytes| (SETTINGS_FILE, bytes));
        let above = || self.project.as_ref().map(|(path, bytes)| (path.as_str(), bytes));
        let Some((path, bytes)) = own.or_else(above) else { return Ok(selection) };
        let project =
            ProjectSettings::parse(bytes).map_err(|InvalidSettings { position, message, .. }| {
                Error::Project(format!("{path}:{}:{}: {message}", position.line, position.column))
            })?;
        project.apply(&mut selection).map_err(|error| Error::Project(format!("{path}: {error}")))?;
        Ok(selection)
    }

    /// Returns whether the files are those of a catalog: there is no `manifests/` and no `metadata/`.
    #[must_use]
    pub fn is_catalog(&self) -> bool {
        let is_of_bundle = |path: &String| path.starts_with("manifests/") || path.starts_with("metadata/");
        !self.files.keys().any(is_of_bundle)
    }

    fn bundle(&mut self) -> &Bundle {
        let (name, files) = (&self.name, &self.files);
        self.bundle.get_or_insert_with(|| {
            let mut bundle = bundle::files(name, files);
            let found = dockerfiles::NAMES.iter().find_map(|name| Some((*name, files.get(*name)?)));
            bundle.dockerfile = found.and_then(|(name, bytes)| dockerfile::parse(name, bytes.clone()));
            bundle
        })
    }

    /// Validates the files. Returns the report as `bundle-tool validate --output json` prints it; `settings` are JSON.
    ///
    /// # Errors
    /// The settings or `bundle-tool.toml` are invalid, or a catalog cannot be read.
    pub fn validate(&mut self, settings: &str) -> Result<String, Error> {
        let selection = self.select(settings)?;
        let (mut bundles, mut catalogs) = (Vec::new(), Vec::new());
        if self.is_catalog() {
            catalogs.push(self.catalog(&selection)?);
        } else {
            bundles.push(olm_rules::validate(self.bundle(), &selection));
        }
        let mut text = Vec::new();
        // Writing to memory cannot fail.
        let _ = olm_report::json(
            Some(&bundles),
            (!catalogs.is_empty()).then_some(catalogs.as_slice()),
            &[],
            &mut text,
        );
        self.findings = match (bundles.pop(), catalogs.pop()) {
            (Some(BundleReport { findings, .. }), _) | (None, Some(CatalogReport { findings, .. })) => {
                findings
            }
            (None, None) => Vec::new(),
        };
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn catalog(&self, selection: &Selection) -> Result<CatalogReport, Error> {
        let mut report = report(&self.name, self.decoded()?, None, selection);
        olm_rules::add_excerpts(&mut report.findings, |name| self.files.get(name).map(Vec::as_slice));
        Ok(report)
    }

    fn decoded(&self) -> Result<Vec<Decoded>, Error> {
        let failed = |error: &dyn fmt::Display| Error::Catalog(error.to_string());
        let sources = sources_in(self.files.clone()).map_err(|error| failed(&error))?;
        documents(sources, Limits::default(), |document| decode(&document)).map_err(|error| failed(&error))
    }

    /// Returns the files that the fix of a finding of the last validation changes, as JSON: path to new text.
    ///
    /// # Errors
    /// There is no such finding, or it has no fix that can be applied.
    pub fn fix(&self, finding: usize) -> Result<String, Error> {
        let one = self.findings.get(finding).ok_or(Error::Missing("finding"))?;
        self.fixed(std::slice::from_ref(one), |_| true)
    }

    /// Returns the files that the safe fixes of the last validation change, as JSON: path to new text. Further fixes may apply to the
    /// new text.
    ///
    /// # Errors
    /// No fix can be applied.
    pub fn fix_all(&self) -> Result<String, Error> {
        self.fixed(&self.findings, |fix| fix.safety == Safety::Safe)
    }

    fn fixed(&self, findings: &[Finding], is_wanted: impl Fn(&Fix) -> bool) -> Result<String, Error> {
        let mut by_file: BTreeMap<&str, Vec<(u32, &Fix)>> = BTreeMap::new();
        for finding in findings.iter().filter(|finding| finding.ignored.is_none()) {
            let (Some(file), Some(fix)) = (&finding.file, &finding.fix) else { continue };
            if is_wanted(fix) {
                let file = fix.file.as_deref().unwrap_or(file);
                by_file.entry(file).or_default().push((finding.line.unwrap_or(1), fix));
            }
        }
        let mut changed = Map::new();
        for (file, fixes) in by_file {
            let text = self.files.get(file).and_then(|bytes| std::str::from_utf8(bytes).ok());
            let Some(text) = text else { continue };
            let new = if self.is_catalog() {
                catalog_fix::documents(file, text)
                    .and_then(|documents| catalog_fix::apply(&documents, text, &fixes))
                    .unwrap_or_else(|| text.to_owned())
            } else {
                fix::apply(text, &fixes.iter().map(|(_, fix)| *fix).collect::<Vec<_>>()).0
            };
            if new != text {
                changed.insert(file.to_owned(), Json::String(new));
            }
        }
        if changed.is_empty() {
            return Err(Error::NotFixable);
        }
        Ok(Json::Object(changed).to_string())
    }

    /// Returns what a preview of the bundle needs, as JSON: the CSV, the CRDs by name, and the annotations.
    pub fn preview(&mut self) -> String {
        let bundle = self.bundle();
        let crds: Map<String, Json> = bundle
            .of_kind("CustomResourceDefinition")
            .map(|crd| (crd.name().to_owned(), crd.root.to_json()))
            .collect();
        let annotations = bundle.annotations().map(|annotations| annotations.labels());
        json!({
            "csv": bundle.csv().map(|csv| csv.root.to_json()),
            "csvFile": bundle.csv().map(|csv| csv.file.path.as_str()),
            "annotationsFile": bundle.annotations().map_or(ANNOTATIONS_FILE, |one| one.file.path.as_str()),
            "crds": crds,
            "annotations": annotations.unwrap_or_default(),
        })
        .to_string()
    }

    /// Compares an older bundle with this one, as JSON: what breaks, and what else changes.
    pub fn compare(&mut self, old: &mut Self) -> String {
        let difference =
            compare(Version::of_bundle(old.bundle()), Version::of_bundle(self.bundle()), &Options::default());
        let crds = difference.crds.iter().map(
            |crd| json!({"name": crd.name, "changes": crd.breaking.iter().map(sentence).collect::<Vec<_>>()}),
        );
        json!({
            "old": difference.old,
            "new": difference.new,
            "breaks": difference.breaks(),
            "summary": summary(&difference),
            "crds": crds.collect::<Vec<_>>(),
            "sections": sections(&difference, ["-", "+"]),
        })
        .to_string()
    }

    /// Returns the packages of a catalog as a list shows them, as JSON, with their icons as `[media type, base64]`.
    ///
    /// # Errors
    /// The catalog cannot be read.
    pub fn packages(&self) -> Result<String, Error> {
        self.with_packages(|packages| {
            let mut found: BTreeMap<&str, Package> = BTreeMap::new();
            // The bundle that describes a package, by package.
            let mut heads: BTreeMap<&str, (&str, Head)> = BTreeMap::new();
            for (name, linked) in &packages {
                found.insert(name, Package::of_graph(name, linked));
                if let Some(head) = head_of(linked) {
                    heads.insert(name, (head, Head::default()));
                }
            }
            let mut icons: BTreeMap<String, Json> = BTreeMap::new();
            let is_wanted = |package: &str, name: Option<&str>| {
                name.is_none_or(|name| heads.get(package).is_some_and(|(head, _)| *head == name))
            };
            for (schema, package, blob) in self.blobs(is_wanted)? {
                if schema != PACKAGE {
                    if let Some((_, head)) = heads.get_mut(package.as_str()) {
                        *head = Head::of_blob(&blob);
                    }
                } else if let Some(found) = found.get_mut(package.as_str()) {
                    complete(found, &blob);
                    icons.insert(package, icon(&blob));
                }
            }
            let none = Head::default();
            let summaries = found.iter().map(|(name, package)| {
                let described = &heads.get(name).map_or(&none, |(_, head)| head).described;
                let mut summary = json!(package.summary(described));
                summary["icon"] = icons.remove(*name).unwrap_or_default();
                summary
            });
            Ok(Json::Array(summaries.collect()).to_string())
        })
    }

    /// Returns what pages show of a package, as JSON: `view`, the icon as `[media type, base64]` or null, and what the page of its
    /// upgrade graph consists of, or the problem with it. The graph has the bundles from the one at `from` on, where 0 is the newest: a
    /// browser cannot draw all bundles of a large package.
    ///
    /// # Errors
    /// The catalog cannot be read, or does not have the package.
    pub fn package(&self, package: &str, from: usize) -> Result<String, Error> {
        self.with_packages(|mut packages| {
            packages.retain(|name, _| *name == package);
            let linked = packages.values().next().ok_or(Error::Missing("package"))?;
            let wanted = head_of(linked);
            let (mut found, mut head, mut of_package) =
                (Package::of_graph(package, linked), Head::default(), Json::Null);
            for (schema, _, blob) in
                self.blobs(|of, name| of == package && (name.is_none() || name == wanted))?
            {
                if schema == PACKAGE {
                    complete(&mut found, &blob);
                    of_package = icon(&blob);
                } else {
                    head = Head::of_blob(&blob);
                }
            }
            let icon = if found.has_icon { of_package } else { Json::Null };
            let parts = drawn(linked, from);
            let problem = parts.as_ref().err().map(ToString::to_string);
            let graph = parts.ok().map(|parts| {
                let drawn = [parts.bundles.start, parts.bundles.end];
                json!({"style": parts.style, "body": parts.body, "drawn": drawn, "total": parts.total})
            });
            Ok(json!({
                "view": found.view(head),
                "icon": icon,
                "graph": graph,
                "problem": problem,
                "text": graph::text(&packages),
            })
            .to_string())
        })
    }

    /// Returns the entries of a channel, as JSON, the newest first.
    ///
    /// # Errors
    /// The catalog cannot be read, or does not have the package.
    pub fn channel(&self, package: &str, channel: &str) -> Result<String, Error> {
        self.with_packages(|packages| {
            let linked = packages.get(package).ok_or(Error::Missing("package"))?;
            Ok(json!(entries(linked, channel)).to_string())
        })
    }

    /// Returns schema, package and JSON of the packages and bundles that are wanted: by package, and by name if they are bundles.
    fn blobs(
        &self,
        is_wanted: impl Fn(&str, Option<&str>) -> bool + Sync,
    ) -> Result<Vec<(String, String, Json)>, Error> {
        let failed = |error: &dyn fmt::Display| Error::Catalog(error.to_string());
        let sources = sources_in(self.files.clone()).map_err(|error| failed(&error))?;
        let read = |document: Document| {
            let root = document.content.as_ref().ok()?.tree.root();
            let field =
                |name| root.get(name).and_then(kube_yaml::Value::as_str).unwrap_or_default().to_owned();
            let (schema, name) = (field("schema"), field("name"));
            let (package, of_bundle) = match schema.as_str() {
                PACKAGE => (name.clone(), None),
                "olm.bundle" => (field("package"), Some(name.as_str())),
                _ => return None,
            };
            if !is_wanted(&package, of_bundle) {
                return None;
            }
            Some((schema, package, root.to_json()))
        };
        let found = documents(sources, Limits::default(), read).map_err(|error| failed(&error))?;
        Ok(found.into_iter().flatten().collect())
    }

    fn with_packages(
        &self,
        answer: impl FnOnce(Packages<'_>) -> Result<String, Error>,
    ) -> Result<String, Error> {
        let blobs: Vec<Blob> = self.decoded()?.into_iter().map(|decoded| decoded.blob).collect();
        answer(resolve(&blobs).0)
    }
}

/// Returns the upgrade graph of a package from a bundle on, as much of it as a browser can draw.
fn drawn(linked: &PackageGraph<'_>, from: usize) -> Result<Parts, DrawError> {
    let mut entries = MAX_DRAWN;
    loop {
        let parts = graph::parts(linked, from, entries)?;
        if parts.body.len() <= MAX_DRAWING || entries <= 1 {
            return Ok(parts);
        }
        entries /= 2;
    }
}

/// Returns the bundle that describes a package: the head of its default channel.
fn head_of<'b>(linked: &PackageGraph<'b>) -> Option<&'b str> {
    let channel = linked.channels.get(linked.package.default_channel.as_str())?;
    heads(channel).first().map(|entry| entry.name.as_str())
}

/// Returns the icon of a package as `[media type, base64]`.
fn icon(blob: &Json) -> Json {
    json!([blob.pointer("/icon/mediatype"), blob.pointer("/icon/base64data")])
}

/// Adds what only the blob says.
fn complete(package: &mut Package, blob: &Json) {
    let text = |pointer| blob.pointer(pointer).and_then(Json::as_str).unwrap_or_default();
    text("/description").clone_into(&mut package.description);
    package.has_icon = !text("/icon/base64data").is_empty();
}

/// Returns the page of a rule in Markdown, as `bundle-tool explain` prints it.
///
/// # Errors
/// There is no rule of this name.
pub fn explain(rule: &str) -> Result<String, Error> {
    let rule = olm_rules::find(rule).ok_or(Error::Missing("rule"))?;
    Ok(rules::page(&rule.documentation()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: &str = "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n\
                       metadata: {name: lake-operator.v1.2.0}\nspec: {displayName: Lakes, version: 1.2.0}\n";
    const ANNOTATIONS: &str =
        "annotations:\n  operators.operatorframework.io.bundle.package.v1: lake-operator\n";

    fn bundle() -> Workspace {
        let mut workspace = Workspace::new("lake");
        workspace.set("manifests/lake.clusterserviceversion.yaml", CSV.into());
        workspace.set("metadata/annotations.yaml", ANNOTATIONS.into());
        workspace
    }

    fn parsed(json: &str) -> Json {
        serde_json::from_str(json).unwrap()
    }

    fn rules(report: &str) -> Vec<String> {
        let report = parsed(report);
        let findings = report["bundles"][0]["findings"].as_array().unwrap();
        findings.iter().map(|finding| finding["rule"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_changed_file_is_validated_again_and_fixes_apply() {
        let mut workspace = bundle();
        let before = rules(&workspace.validate("{}").unwrap());
        assert!(before.iter().any(|rule| rule == "annotation-missing"), "{before:?}");
        // Not for the first one: nobody but the author knows the channels.
        let at = before.iter().rposition(|rule| rule == "annotation-missing").unwrap();
        let one = parsed(&workspace.fix(at).unwrap());
        assert_eq!(one.as_object().unwrap().keys().collect::<Vec<_>>(), ["metadata/annotations.yaml"]);
        let all = parsed(&workspace.fix_all().unwrap());
        for (path, text) in all.as_object().unwrap() {
            workspace.set(path, text.as_str().unwrap().into());
        }
        let after = rules(&workspace.validate("{}").unwrap());
        assert!(after.len() < before.len(), "{after:?}");
        let mut again = Workspace::new("lake");
        for (path, bytes) in &workspace.files {
            again.set(path, bytes.clone());
        }
        assert_eq!(rules(&again.validate("{}").unwrap()), after);
        assert!(workspace.fix(1000).is_err());
        assert!(workspace.validate("{\"suites\": [\"x\"]}").is_err());
    }

    #[test]
    fn the_nearest_project_settings_apply() {
        let mut workspace = bundle();
        let count = |workspace: &mut Workspace, severity: &str| {
            let report = parsed(&workspace.validate("{}").unwrap());
            let findings = report["bundles"][0]["findings"].as_array().unwrap();
            findings
                .iter()
                .filter(|one| one["rule"] == "annotation-missing" && one["severity"] == severity)
                .count()
        };
        let errors = count(&mut workspace, "error");
        assert!(errors > 0);
        workspace.set_project("../bundle-tool.toml", "[rules]\nannotation-missing = \"warn\"\n".into());
        assert_eq!((count(&mut workspace, "error"), count(&mut workspace, "warning")), (0, errors));
        // That of the directory itself is nearer.
        workspace.set("bundle-tool.toml", "suites = [\"olmv1\"]\n".into());
        assert_eq!(count(&mut workspace, "error"), errors);
        for (text, message) in [
            (
                "[rules]\nx = \"off\"\n",
                "bundle-tool.toml:2:5: unknown level `off`: must be `allow`, `warn` or `deny`",
            ),
            (
                "[rules]\nx = \"deny\"\n",
                "bundle-tool.toml: unknown rule `x`: run `bundle-tool rules` for a list of all rules",
            ),
            ("suites = [\"olmv2\"]\n", "bundle-tool.toml: unknown suite `olmv2`: did you mean `olmv1`?"),
        ] {
            workspace.set("bundle-tool.toml", text.into());
            assert_eq!(workspace.validate("{}").unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn two_bundles_are_compared_and_one_is_previewed() {
        let (mut old, mut new) = (bundle(), bundle());
        let csv = CSV
            .replace("v1.2.0", "v1.3.0")
            .replace("version: 1.2.0", "version: 1.3.0, minKubeVersion: 1.30.0");
        new.set("manifests/lake.clusterserviceversion.yaml", csv.into());
        let difference = parsed(&new.compare(&mut old));
        assert_eq!(
            (&difference["old"], &difference["new"]),
            (&json!("lake-operator.v1.2.0"), &json!("lake-operator.v1.3.0"))
        );
        let titles: Vec<_> =
            difference["sections"].as_array().unwrap().iter().map(|one| &one["title"]).collect();
        assert!(titles.contains(&&json!("minimum Kubernetes version")), "{titles:?}");
        let preview = parsed(&new.preview());
        assert_eq!(preview["csv"]["spec"]["displayName"], "Lakes");
        assert_eq!(preview["annotations"][olm_model::Annotations::PACKAGE], "lake-operator");
    }

    #[test]
    fn packages_of_a_catalog_are_listed_and_drawn() {
        let catalog = "schema: olm.package\nname: lake\ndefaultChannel: stable\n---\nschema: olm.channel\npackage: lake\nname: stable\n\
                       entries:\n- {name: lake.v1.1.0, replaces: lake.v1.0.0}\n- {name: lake.v1.0.0}\n";
        let mut workspace = Workspace::new("catalog");
        workspace.set("lake.yaml", catalog.into());
        assert!(workspace.is_catalog());
        let report = parsed(&workspace.validate("{}").unwrap());
        assert_eq!(report["catalogs"][0]["packages"], json!(["lake"]));
        let packages = parsed(&workspace.packages().unwrap());
        assert_eq!(packages[0]["display_name"], "lake");
        let package = parsed(&workspace.package("lake", 0).unwrap());
        assert_eq!(package["view"]["channels"][0]["head"], "lake.v1.1.0");
        assert!(package["graph"]["body"].as_str().unwrap().contains("<svg"), "{package}");
        assert!(workspace.package("sea", 0).is_err());
        let entries = parsed(&workspace.channel("lake", "stable").unwrap());
        assert_eq!(entries[0]["replaces"], "lake.v1.0.0");
        assert!(explain("yaml-syntax").unwrap().starts_with("# yaml-syntax\n"));
        assert!(explain("x").is_err());
    }

    #[test]
    fn the_graph_of_a_large_package_is_drawn_in_parts() {
        let count = MAX_DRAWN + 10;
        let channel = |name: &str, first: usize| {
            let entries = (first..count).rev().map(|patch| {
                let (older, skipped) = (patch.saturating_sub(1), patch.saturating_sub(2));
                format!("- {{name: lake.v1.0.{patch}, replaces: lake.v1.0.{older}, skips: [lake.v1.0.{skipped}]}}\n")
            });
            let entries: String = entries.collect();
            format!("---\nschema: olm.channel\npackage: lake\nname: {name}\nentries:\n{entries}")
        };
        let package = "schema: olm.package\nname: lake\ndefaultChannel: stable\n";
        let bundles = (0..count).map(|patch| {
            format!("---\nschema: olm.bundle\npackage: lake\nname: lake.v1.0.{patch}\nimage: example.com/lake:{patch}\nproperties:\n\
                     - {{type: olm.package, value: {{packageName: lake, version: 1.0.{patch}}}}}\n")
        });
        let bundles: String = bundles.collect();
        let mut workspace = Workspace::new("catalog");
        workspace.set(
            "lake.yaml",
            [package, &channel("stable", 0), &channel("fast", count - 5), &bundles].concat().into(),
        );
        let graph = |from: usize| parsed(&workspace.package("lake", from).unwrap())["graph"].take();
        let newest = graph(0);
        let end = newest["drawn"][1].as_u64().unwrap();
        let end = usize::try_from(end).unwrap();
        assert_eq!((&newest["drawn"][0], &newest["total"]), (&json!(0), &json!(count)));
        let body = newest["body"].as_str().unwrap();
        assert!(end > 1000 && body.len() <= MAX_DRAWING, "{end} bundles, {} bytes", body.len());
        assert!(body.contains("data-channel=\"fast\"") && !body.contains("-outside="));
        // The rest: what is older than the other channel has no lane for it, and the edges that leave the part are named.
        let older = graph(end);
        let body = older["body"].as_str().unwrap();
        assert_eq!(older["drawn"][0], json!(end));
        assert!(!body.contains("data-channel=\"fast\""));
        assert!(!body.contains("data-state=\"head\""));
        let outside = format!("data-v1-outside=\"lake.v1.0.{} skips\"", count - end + 1);
        assert!(body.contains(&outside), "{outside}");
        // A row that does not exist is the last one.
        let last = graph(usize::MAX);
        assert_eq!(last["drawn"], json!([count - 1, count]));
    }
}
