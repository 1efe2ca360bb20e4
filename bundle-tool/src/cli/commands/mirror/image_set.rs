//! Reads an `ImageSetConfiguration` (v2alpha1) of oc-mirror.
//!
//! Source: `internal/pkg/api/v2alpha1/type_config.go` of openshift/oc-mirror, and the table of filters in its documentation.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use oci_images::registry::Repository;
use regex::{RegexBuilder, RegexSet, RegexSetBuilder};
use serde_json::Value as Json;

use super::images::Wanted;
use super::part::{Newest, Selection};
use super::plan::Rename;
use kube_yaml::text::excerpt;
use olm_catalog::prune::Keep;
use olm_model::disk::file;
use olm_model::version::Range;

/// Maximum size of a configuration in bytes.
const MAX_CONFIG: u64 = 4 << 20;
/// Maximum number of entries of a list.
const MAX_ITEMS: usize = 10_000;
/// Maximum size of the compiled patterns of blocked images, in bytes.
const MAX_PATTERNS: usize = 8 << 20;
/// The version that is read.
const API_VERSION: &str = "mirror.openshift.io/v2alpha1";

/// What a configuration asks for.
#[derive(Debug, Default)]
pub(crate) struct ImageSet {
    /// Catalogs and single images.
    pub(crate) wanted: Vec<Wanted>,
    /// Patterns of the names of images that are not mirrored.
    pub(crate) blocked: RegexSet,
    /// Fields that are not honored.
    pub(crate) ignored: Vec<Ignored>,
    /// Paths of fields with the names of images at the target.
    renames: Vec<String>,
}

/// A field that is not honored.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ignored {
    pub(crate) path: String,
    /// Completes the warning that begins with the path.
    pub(crate) reason: &'static str,
}

/// Why fields are not honored, by their names.
const REASONS: [(&str, &str); 5] = [
    ("archiveSize", "was ignored, because archives are not split"),
    ("platforms", "was ignored, because images are mirrored for all their platforms"),
    (
        "repositories",
        "is not supported and was ignored; render the charts with `helm template` and mirror the output, or pass charts in \
         registries as REFs",
    ),
    (
        "imagePaths",
        "is not supported and was ignored; render the chart with `helm template` and mirror the output",
    ),
    (
        "targetCatalogSourceTemplate",
        "is not supported and was ignored; edit the CatalogSource in --manifests-dir",
    ),
];
/// Why all others are not.
const UNSUPPORTED: &str = "is not supported and was ignored";

impl ImageSet {
    /// Reads a configuration.
    ///
    /// # Errors
    /// The file cannot be read, or is not a configuration of this version.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let failed = || format!("failed to read {}", path.display());
        let bytes = file::read(path, MAX_CONFIG).with_context(failed)?;
        Self::parse(&path.display().to_string(), &bytes).with_context(failed)
    }

    fn parse(name: &str, bytes: &[u8]) -> Result<Self> {
        let parsed = kube_yaml::parse(bytes);
        if let Some(error) = parsed.error {
            bail!("{name}:{}:{}: {}", error.position.line, error.position.column, error.with_help());
        }
        let [document] = parsed.documents.as_slice() else {
            bail!("expected one ImageSetConfiguration, found {} documents", parsed.documents.len())
        };
        let root = document.root().to_json();
        if root["kind"] != "ImageSetConfiguration" {
            bail!("expected kind `ImageSetConfiguration`");
        }
        let version = root["apiVersion"].as_str().unwrap_or_default();
        if version != API_VERSION {
            bail!("unsupported apiVersion `{}`: expected `{API_VERSION}`", excerpt(version));
        }
        let mut set = Self::default();
        let mut catalogs = BTreeSet::new();
        set.ignore_others(&root, "", &["kind", "apiVersion", "metadata", "mirror"]);
        let mirror = map(&root, "mirror", "")?;
        set.ignore_others(mirror, "mirror.", &["operators", "additionalImages", "blockedImages", "helm"]);
        for (index, operator) in items(mirror, "operators", "mirror.")?.iter().enumerate() {
            let at = format!("mirror.operators[{index}].");
            let selection = set.operator(operator, &at)?;
            let catalog = required(operator, "catalog", &at)?;
            let reference = match catalog.strip_prefix("oci://") {
                Some(path) => format!("oci:{path}"),
                None => catalog.to_owned(),
            };
            let rename = set.rename(operator, "targetCatalog", &at)?;
            if !catalogs.insert((reference.clone(), rename.clone().repository, rename.clone().tag)) {
                bail!("{at}catalog: duplicate catalog `{}`", excerpt(&reference));
            }
            set.wanted.push(Wanted { reference, selection, rename });
        }
        for (index, image) in items(mirror, "additionalImages", "mirror.")?.iter().enumerate() {
            let at = format!("mirror.additionalImages[{index}].");
            set.ignore_others(image, &at, &["name", "targetRepo", "targetTag"]);
            let reference = required(image, "name", &at)?.to_owned();
            let rename = set.rename(image, "targetRepo", &at)?;
            set.wanted.push(Wanted { reference, selection: Selection::default(), rename });
        }
        let helm = map(mirror, "helm", "mirror.")?;
        set.ignore_others(helm, "mirror.helm.", &["local"]);
        for (index, chart) in items(helm, "local", "mirror.helm.")?.iter().enumerate() {
            let at = format!("mirror.helm.local[{index}].");
            // The version is that of the chart.
            set.ignore_others(chart, &at, &["name", "path", "version"]);
            // As a path, not as the name of an image.
            let reference = Path::new(".").join(required(chart, "path", &at)?).display().to_string();
            let rename = Rename::default();
            set.wanted.push(Wanted { reference, selection: Selection::default(), rename });
        }
        let mut patterns = Vec::new();
        for (index, image) in items(mirror, "blockedImages", "mirror.")?.iter().enumerate() {
            let at = format!("mirror.blockedImages[{index}].");
            set.ignore_others(image, &at, &["name"]);
            patterns.push(required(image, "name", &at)?);
        }
        set.blocked = blocked(&patterns)?;
        Ok(set)
    }

    /// Lets images keep their names, as they do in layouts and archives.
    pub(crate) fn keep_names(&mut self) {
        let reason = "was ignored, because images keep their names in layouts and archives";
        self.ignored.extend(self.renames.drain(..).map(|path| Ignored { path, reason }));
        for one in &mut self.wanted {
            one.rename = Rename::default();
        }
    }

    /// Returns the name of an image at the target, whose repository is in the field `name`.
    fn rename(&mut self, map: &Json, name: &str, at: &str) -> Result<Rename> {
        let (repository, tag) = (optional_string(map, name, at)?, optional_string(map, "targetTag", at)?);
        let repository = repository.filter(|repository| !repository.is_empty());
        let tag = tag.filter(|tag| !tag.is_empty());
        for (name, value, whole) in [
            (name, repository, repository.map(|repository| format!("registry.example.com/{repository}"))),
            ("targetTag", tag, tag.map(|tag| format!("registry.example.com/x:{tag}"))),
        ] {
            let (Some(value), Some(whole)) = (value, whole) else { continue };
            // Neither contains parts of the other.
            let is_valid = Repository::parse(&whole).is_ok_and(|parsed| {
                parsed.digest().is_none()
                    && (if name == "targetTag" {
                        parsed.tag() == Some(value)
                    } else {
                        parsed.repository() == value
                    })
            });
            if !is_valid {
                let expected =
                    if name == "targetTag" { "a tag" } else { "a repository without a registry or tag" };
                bail!("invalid {at}{name} `{}`: expected {expected}", excerpt(value));
            }
            self.renames.push(format!("{at}{name}"));
        }
        let owned = |value: Option<&str>| value.map(str::to_owned);
        Ok(Rename { repository: owned(repository), tag: owned(tag) })
    }

    /// Returns the part of a catalog.
    fn operator(&mut self, operator: &Json, at: &str) -> Result<Selection> {
        // Without skipDependencies, oc-mirror v2 adds no dependencies, either.
        let known = ["catalog", "full", "packages", "targetCatalog", "targetTag", "skipDependencies"];
        self.ignore_others(operator, at, &known);
        boolean(operator, "skipDependencies", at)?;
        let is_full = boolean(operator, "full", at)?;
        let mut selection = Selection::default();
        let packages = items(operator, "packages", at)?;
        if packages.is_empty() {
            selection.newest_of_all = !is_full;
            return Ok(selection);
        }
        let mut names = BTreeSet::new();
        for (index, package) in packages.iter().enumerate() {
            let at = format!("{at}packages[{index}].");
            let known = ["name", "defaultChannel", "channels", "minVersion", "maxVersion"];
            self.ignore_others(package, &at, &known);
            let name = required(package, "name", &at)?.to_owned();
            if !names.insert(name.clone()) {
                bail!("{at}name: duplicate package `{}`", excerpt(&name));
            }
            if let Some(default) = optional_string(package, "defaultChannel", &at)? {
                selection.defaults.insert(name.clone(), default.to_owned());
            }
            let versions = range(package, &at)?;
            let channels = items(package, "channels", &at)?;
            if channels.is_empty() {
                if is_full && versions.is_none() {
                    selection.keep.push(Keep { package: name, channel: None, versions: None });
                } else {
                    selection.newest.push(Newest { package: name, channel: None, versions });
                }
                continue;
            }
            if versions.is_some() {
                bail!("{at}channels cannot be combined with minVersion and maxVersion of the package");
            }
            let mut channel_names = BTreeSet::new();
            for (index, channel) in channels.iter().enumerate() {
                let at = format!("{at}channels[{index}].");
                self.ignore_others(channel, &at, &["name", "minVersion", "maxVersion"]);
                let (package, channel_name) = (name.clone(), required(channel, "name", &at)?.to_owned());
                if !channel_names.insert(channel_name.clone()) {
                    bail!("{at}name: duplicate channel `{}`", excerpt(&channel_name));
                }
                let versions = range(channel, &at)?;
                if is_full || versions.is_some() {
                    selection.keep.push(Keep { package, channel: Some(channel_name), versions });
                } else {
                    selection.newest.push(Newest { package, channel: Some(channel_name), versions });
                }
            }
        }
        Ok(selection)
    }

    /// Records the fields of a map that are not honored.
    fn ignore_others(&mut self, map: &Json, at: &str, known: &[&str]) {
        let fields = map.as_object().into_iter().flatten();
        let others = fields.filter(|(name, value)| !known.contains(&name.as_str()) && !is_unset(value));
        self.ignored.extend(others.map(|(name, _)| {
            let reason = REASONS.iter().find(|(of, _)| of == name);
            Ignored { path: format!("{at}{name}"), reason: reason.map_or(UNSUPPORTED, |(_, reason)| reason) }
        }));
    }
}

/// Returns whether a field with this value means the same as none.
fn is_unset(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Bool(value) => !value,
        Json::Number(number) => number.as_u64() == Some(0),
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(fields) => fields.is_empty(),
    }
}

/// Compiles the patterns of blocked images.
fn blocked(patterns: &[&str]) -> Result<RegexSet> {
    if let Ok(blocked) = RegexSetBuilder::new(patterns).size_limit(MAX_PATTERNS).build() {
        return Ok(blocked);
    }
    let is_invalid = |pattern: &&str| {
        matches!(RegexBuilder::new(pattern).size_limit(1).build(), Err(regex::Error::Syntax(_)))
    };
    if let Some(index) = patterns.iter().position(is_invalid) {
        let pattern = excerpt(patterns[index]);
        bail!("mirror.blockedImages[{index}].name: invalid regular expression `{pattern}`");
    }
    bail!("mirror.blockedImages: the regular expressions exceed the limit of {MAX_PATTERNS} bytes")
}

/// Returns the items of a list of maps; none if the field is missing.
fn items<'j>(map: &'j Json, name: &str, at: &str) -> Result<&'j [Json]> {
    match &map[name] {
        Json::Null => Ok(&[]),
        Json::Array(items) if items.len() > MAX_ITEMS => bail!("{at}{name}: more than {MAX_ITEMS} entries"),
        Json::Array(items) => match items.iter().enumerate().find(|(_, item)| !item.is_object()) {
            Some((index, item)) => {
                bail!("{at}{name}[{index}]: expected a map, found {}", type_name(item))
            }
            None => Ok(items),
        },
        other => bail!("{at}{name}: expected a list, found {}", type_name(other)),
    }
}

/// Returns a map; null if the field is missing.
fn map<'j>(map: &'j Json, name: &str, at: &str) -> Result<&'j Json> {
    match &map[name] {
        value @ (Json::Null | Json::Object(_)) => Ok(value),
        other => bail!("{at}{name}: expected a map, found {}", type_name(other)),
    }
}

/// Returns a boolean; false if the field is missing.
fn boolean(map: &Json, name: &str, at: &str) -> Result<bool> {
    match &map[name] {
        Json::Null => Ok(false),
        Json::Bool(value) => Ok(*value),
        other => bail!("{at}{name}: expected a boolean, found {}", type_name(other)),
    }
}

/// Returns a string; `None` if the field is missing.
fn optional_string<'j>(map: &'j Json, name: &str, at: &str) -> Result<Option<&'j str>> {
    match &map[name] {
        Json::Null => Ok(None),
        Json::String(text) => Ok(Some(text)),
        other => bail!("{at}{name}: expected a string, found {}", type_name(other)),
    }
}

/// Returns what a value is, with its article.
fn type_name(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "a map",
    }
}

fn required<'j>(map: &'j Json, name: &str, at: &str) -> Result<&'j str> {
    let found = optional_string(map, name, at)?.filter(|text| !text.is_empty());
    found.with_context(|| format!("missing required field `{at}{name}`"))
}

/// Returns the versions between `minVersion` and `maxVersion`, both included.
fn range(map: &Json, at: &str) -> Result<Option<Range>> {
    let bounds =
        [(">=", optional_string(map, "minVersion", at)?), ("<=", optional_string(map, "maxVersion", at)?)];
    let bounds: Vec<String> = bounds
        .into_iter()
        .filter_map(|(comparator, bound)| Some(format!("{comparator}{}", bound?)))
        .collect();
    if bounds.is_empty() {
        return Ok(None);
    }
    let bounds = bounds.join(" ");
    let range = Range::parse(&bounds).with_context(|| {
        format!("invalid versions at {}: `{}`", at.trim_end_matches('.'), excerpt(&bounds))
    })?;
    Ok(Some(range))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a configuration of this version with these fields.
    fn read(fields: &str) -> Result<ImageSet> {
        let head = format!("kind: ImageSetConfiguration\napiVersion: {API_VERSION}\n");
        ImageSet::parse("set.yaml", (head + fields).as_bytes())
    }

    #[test]
    fn configuration_is_translated_and_the_rest_is_named() {
        let fields = "
archiveSize: 4
mirror:
  platform: {graph: true}
  samples: [{name: x}]
  operators:
  - catalog: quay.io/a/index:v4.20
    targetCatalog: own/index
    targetTag: v4
    targetCatalogSourceTemplate: template.yaml
    skipDependencies: true
    platforms: [{os: linux, architecture: amd64}]
    packages:
    - {name: plain}
    - {name: ranged, minVersion: 1.0.0, maxVersion: 1.2.0}
    - name: channels
      defaultChannel: fast
      channels: [{name: fast}, {name: slow, minVersion: 2.0.0}]
  - {catalog: 'oci:///tmp/index', full: true}
  - {catalog: quay.io/b/index}
  additionalImages:
  - {name: quay.io/c/tool:v1}
  - {name: quay.io/c/tool:v2, targetRepo: own/tool, targetTag: '2', platforms: [{os: linux}]}
  blockedImages: [{name: '^quay.io/d/.*-debug$'}, {name: quay.io/e/app}]
  helm:
    repositories: [{name: podinfo}]
    local: [{name: app, path: charts/app.tgz, imagePaths: [x]}, {path: /srv/b.tgz}]
";
        let mut set = read(fields).unwrap();
        let ignored = |set: &ImageSet| {
            let lines =
                set.ignored.iter().map(|Ignored { path, reason }| format!("field `{path}` {reason}\n"));
            lines.collect::<String>()
        };
        insta::assert_snapshot!(ignored(&set), @r"
        field `archiveSize` was ignored, because archives are not split
        field `mirror.platform` is not supported and was ignored
        field `mirror.samples` is not supported and was ignored
        field `mirror.operators[0].targetCatalogSourceTemplate` is not supported and was ignored; edit the CatalogSource in --manifests-dir
        field `mirror.operators[0].platforms` was ignored, because images are mirrored for all their platforms
        field `mirror.additionalImages[1].platforms` was ignored, because images are mirrored for all their platforms
        field `mirror.helm.repositories` is not supported and was ignored; render the charts with `helm template` and mirror the output, or pass charts in registries as REFs
        field `mirror.helm.local[0].imagePaths` is not supported and was ignored; render the chart with `helm template` and mirror the output
        ");
        assert_eq!(set.blocked.patterns(), ["^quay.io/d/.*-debug$", "quay.io/e/app"]);
        let rename = |repository: &str, tag: &str| Rename {
            repository: Some(repository.to_owned()),
            tag: Some(tag.to_owned()),
        };
        let renamed: Vec<_> = set.wanted.iter().map(|one| &one.rename).collect();
        assert_eq!(*renamed[0], rename("own/index", "v4"));
        assert_eq!(*renamed[4], rename("own/tool", "2"));
        assert!([1, 2, 3, 5, 6].iter().all(|index| renamed[*index].is_none()));
        let references: Vec<&str> = set.wanted.iter().map(|one| one.reference.as_str()).collect();
        assert_eq!(
            references,
            [
                "quay.io/a/index:v4.20",
                "oci:/tmp/index",
                "quay.io/b/index",
                "quay.io/c/tool:v1",
                "quay.io/c/tool:v2",
                "./charts/app.tgz",
                "/srv/b.tgz",
            ]
        );
        let selection = &set.wanted[0].selection;
        let range = |text| Some(Range::parse(text).unwrap());
        assert_eq!(
            selection.newest,
            [
                Newest { package: "plain".into(), channel: None, versions: None },
                Newest { package: "ranged".into(), channel: None, versions: range(">=1.0.0 <=1.2.0") },
                Newest { package: "channels".into(), channel: Some("fast".into()), versions: None },
            ]
        );
        assert_eq!(selection.keep, ["channels/slow@>=2.0.0".parse::<Keep>().unwrap()]);
        assert_eq!(selection.defaults["channels"], "fast");
        assert!(set.wanted[1].selection.is_everything() && set.wanted[2].selection.newest_of_all);
        set.ignored.clear();
        set.keep_names();
        assert!(set.wanted.iter().all(|one| one.rename.is_none()));
        insta::assert_snapshot!(ignored(&set), @r"
        field `mirror.operators[0].targetCatalog` was ignored, because images keep their names in layouts and archives
        field `mirror.operators[0].targetTag` was ignored, because images keep their names in layouts and archives
        field `mirror.additionalImages[1].targetRepo` was ignored, because images keep their names in layouts and archives
        field `mirror.additionalImages[1].targetTag` was ignored, because images keep their names in layouts and archives
        ");
        for (wrong, expected) in [
            ("kind: Other", "expected kind"),
            (
                "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v1alpha2",
                "unsupported apiVersion",
            ),
        ] {
            let error = ImageSet::parse("set.yaml", wrong.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn fields_with_defaults_are_not_named() {
        let fields = "
archiveSize: 0
mirror:
  platform: {}
  operators: [{catalog: quay.io/a/index, targetTag: '', targetCatalog: null, platforms: [], skipDependencies: false}]
  helm: {repositories: []}
";
        let set = read(fields).unwrap();
        assert_eq!(set.ignored, []);
        assert!(set.wanted[0].rename.is_none());
    }

    #[test]
    fn each_field_with_a_wrong_value_is_one_error() {
        let many = format!("[{}]", "{name: 'x{1000}{1000}'}, ".repeat(3));
        for (mirror, expected) in [
            ("[operators]", "mirror: expected a map, found a list"),
            ("operators: [{}]", "missing required field `mirror.operators[0].catalog`"),
            ("operators: [x]", "mirror.operators[0]: expected a map, found a string"),
            ("helm: {local: x}", "mirror.helm.local: expected a list, found a string"),
            (
                "operators: [{catalog: a, targetCatalog: 5}]",
                "mirror.operators[0].targetCatalog: expected a string",
            ),
            (
                "operators: [{catalog: a, targetCatalog: 'x:v1'}]",
                "invalid mirror.operators[0].targetCatalog `x:v1`",
            ),
            (
                "operators: [{catalog: a, targetCatalog: /x}]",
                "invalid mirror.operators[0].targetCatalog `/x`",
            ),
            (
                "operators: [{catalog: a, targetCatalog: A}]",
                "expected a repository without a registry or tag",
            ),
            (
                "operators: [{catalog: a, targetTag: 'a/b'}]",
                "invalid mirror.operators[0].targetTag `a/b`: expected a tag",
            ),
            ("operators: [{catalog: a, targetTag: 'a@sha256:b'}]", "expected a tag"),
            (
                "operators: [{catalog: a, targetTag: 4.16}]",
                "mirror.operators[0].targetTag: expected a string, found a number",
            ),
            ("operators: [{catalog: a, full: 'yes'}]", "mirror.operators[0].full: expected a boolean"),
            ("operators: [{catalog: a, skipDependencies: 1}]", "skipDependencies: expected a boolean"),
            ("operators: [{catalog: a}, {catalog: a}]", "mirror.operators[1].catalog: duplicate catalog `a`"),
            (
                "operators: [{catalog: a, packages: [{name: x}, {name: x}]}]",
                "packages[1].name: duplicate package `x`",
            ),
            (
                "operators: [{catalog: a, packages: [{name: x, channels: [{name: c}, {name: c}]}]}]",
                "channels[1].name: duplicate channel `c`",
            ),
            ("operators: [{catalog: a, packages: [{name: x, minVersion: one}]}]", "invalid versions at"),
            (
                "additionalImages: [{name: a, targetRepo: a//b}]",
                "invalid mirror.additionalImages[0].targetRepo `a//b`",
            ),
            (
                "additionalImages: [{targetRepo: a}]",
                "missing required field `mirror.additionalImages[0].name`",
            ),
            (
                "blockedImages: [{name: a}, {name: '('}]",
                "mirror.blockedImages[1].name: invalid regular expression `(`",
            ),
            (&format!("blockedImages: {many}"), "mirror.blockedImages"),
            ("helm: {local: [{path: ''}]}", "missing required field `mirror.helm.local[0].path`"),
        ] {
            let error = format!("{:#}", read(&format!("mirror:\n  {mirror}\n")).unwrap_err());
            assert!(error.contains(expected) && error.lines().count() == 1, "{mirror}: {error}");
        }
    }
}
