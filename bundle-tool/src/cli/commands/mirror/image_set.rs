//! Reads an `ImageSetConfiguration` (v2alpha1) of oc-mirror.
//!
//! Source: `internal/pkg/api/v2alpha1/type_config.go` of openshift/oc-mirror, and the table of filters in its documentation.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::Value as Json;

use super::images::Wanted;
use super::part::{Newest, Selection};
use kube_yaml::text::excerpt;
use olm_catalog::prune::Keep;
use olm_model::disk::file;
use olm_model::version::Range;

/// Maximum size of a configuration in bytes.
const MAX_CONFIG: u64 = 4 << 20;
/// Maximum number of entries of a list.
const MAX_ITEMS: usize = 10_000;
/// The version that is read.
const API_VERSION: &str = "mirror.openshift.io/v2alpha1";

/// What a configuration asks for.
#[derive(Debug, Default)]
pub(crate) struct ImageSet {
    /// Catalogs and single images.
    pub(crate) wanted: Vec<Wanted>,
    /// Images that are not mirrored.
    pub(crate) blocked: Vec<String>,
    /// Paths of fields that are not honored.
    pub(crate) ignored: Vec<String>,
}

impl ImageSet {
    /// Reads a configuration.
    ///
    /// # Errors
    /// The file cannot be read, or is not a configuration of this version.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let failed = || format!("failed to read {}", path.display());
        let bytes = file::read(path, MAX_CONFIG).with_context(failed)?;
        Self::parse(&bytes).with_context(failed)
    }

    fn parse(bytes: &[u8]) -> Result<Self> {
        let parsed = kube_yaml::parse(bytes);
        if let Some(error) = parsed.error {
            return Err(error.into());
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
            set.wanted.push(Wanted { reference, selection });
        }
        for (index, image) in items(mirror, "additionalImages", "mirror.")?.iter().enumerate() {
            let at = format!("mirror.additionalImages[{index}].");
            set.ignore_others(image, &at, &["name"]);
            let reference = required(image, "name", &at)?.to_owned();
            set.wanted.push(Wanted { reference, selection: Selection::default() });
        }
        let helm = map(mirror, "helm", "mirror.")?;
        set.ignore_others(helm, "mirror.helm.", &["local"]);
        for (index, chart) in items(helm, "local", "mirror.helm.")?.iter().enumerate() {
            let at = format!("mirror.helm.local[{index}].");
            set.ignore_others(chart, &at, &["name", "path"]);
            // As a path, not as the name of an image.
            let reference = Path::new(".").join(required(chart, "path", &at)?).display().to_string();
            set.wanted.push(Wanted { reference, selection: Selection::default() });
        }
        for (index, image) in items(mirror, "blockedImages", "mirror.")?.iter().enumerate() {
            let at = format!("mirror.blockedImages[{index}].");
            set.blocked.push(required(image, "name", &at)?.to_owned());
        }
        Ok(set)
    }

    /// Returns the part of a catalog.
    fn operator(&mut self, operator: &Json, at: &str) -> Result<Selection> {
        self.ignore_others(operator, at, &["catalog", "full", "packages"]);
        let is_full = boolean(operator, "full", at)?;
        let mut selection = Selection::default();
        let packages = items(operator, "packages", at)?;
        if packages.is_empty() {
            selection.newest_of_all = !is_full;
            return Ok(selection);
        }
        for (index, package) in packages.iter().enumerate() {
            let at = format!("{at}packages[{index}].");
            let known = ["name", "defaultChannel", "channels", "minVersion", "maxVersion"];
            self.ignore_others(package, &at, &known);
            let name = required(package, "name", &at)?.to_owned();
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
            for (index, channel) in channels.iter().enumerate() {
                let at = format!("{at}channels[{index}].");
                self.ignore_others(channel, &at, &["name", "minVersion", "maxVersion"]);
                let (package, channel_name) = (name.clone(), required(channel, "name", &at)?.to_owned());
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
        let others = fields.filter(|(name, _)| !known.contains(&name.as_str()));
        self.ignored.extend(others.map(|(name, _)| format!("{at}{name}")));
    }
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

    #[test]
    fn configuration_is_translated_and_the_rest_is_named() {
        let text = "
kind: ImageSetConfiguration
apiVersion: mirror.openshift.io/v2alpha1
archiveSize: 4
mirror:
  platform: {graph: true}
  operators:
  - catalog: quay.io/a/index:v4.20
    targetTag: x
    packages:
    - {name: plain}
    - {name: ranged, minVersion: 1.0.0, maxVersion: 1.2.0}
    - name: channels
      defaultChannel: fast
      channels: [{name: fast}, {name: slow, minVersion: 2.0.0}]
  - {catalog: 'oci:///tmp/index', full: true}
  - {catalog: quay.io/b/index}
  additionalImages: [{name: quay.io/c/tool:v1}]
  blockedImages: [{name: quay.io/d/app}]
  helm:
    repositories: [{name: podinfo}]
    local: [{name: app, path: charts/app.tgz, imagePaths: [x]}, {path: /srv/b.tgz}]
";
        let set = ImageSet::parse(text.as_bytes()).unwrap();
        assert_eq!(
            set.ignored,
            [
                "archiveSize",
                "mirror.platform",
                "mirror.operators[0].targetTag",
                "mirror.helm.repositories",
                "mirror.helm.local[0].imagePaths",
            ]
        );
        assert_eq!(set.blocked, ["quay.io/d/app"]);
        let references: Vec<&str> = set.wanted.iter().map(|one| one.reference.as_str()).collect();
        assert_eq!(
            references,
            [
                "quay.io/a/index:v4.20",
                "oci:/tmp/index",
                "quay.io/b/index",
                "quay.io/c/tool:v1",
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
        for (wrong, expected) in [
            ("kind: Other", "expected kind"),
            (
                "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v1alpha2",
                "unsupported apiVersion",
            ),
            (
                "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror: {operators: [{}]}",
                "missing required field `mirror.operators[0].catalog`",
            ),
            (
                "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror: [operators]",
                "mirror: expected a map, found a list",
            ),
            (
                "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror: {helm: {local: x}}",
                "mirror.helm.local: expected a list, found a string",
            ),
            (
                "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror: {operators: [x]}",
                "mirror.operators[0]: expected a map, found a string",
            ),
        ] {
            let error = ImageSet::parse(wrong.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
