//! Reads an `ImageSetConfiguration` (v2alpha1) of oc-mirror.
//!
//! Source: `internal/pkg/api/v2alpha1/type_config.go` of openshift/oc-mirror, and the table of filters in its documentation.

use std::collections::BTreeMap;
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
        let Some(document) = parsed.documents.first() else { bail!("expected an ImageSetConfiguration") };
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
        let mirror = &root["mirror"];
        set.ignore_others(mirror, "mirror.", &["operators", "additionalImages", "blockedImages"]);
        for (index, operator) in items(&mirror["operators"]).enumerate() {
            let at = format!("mirror.operators[{index}].");
            let selection = set.operator(operator, &at)?;
            let catalog = required(operator, "catalog", &at)?;
            let reference = match catalog.strip_prefix("oci://") {
                Some(path) => format!("oci:{path}"),
                None => catalog.to_owned(),
            };
            set.wanted.push(Wanted { reference, selection });
        }
        for (index, image) in items(&mirror["additionalImages"]).enumerate() {
            let at = format!("mirror.additionalImages[{index}].");
            set.ignore_others(image, &at, &["name"]);
            let reference = required(image, "name", &at)?.to_owned();
            set.wanted.push(Wanted { reference, selection: Selection::default() });
        }
        for (index, image) in items(&mirror["blockedImages"]).enumerate() {
            let at = format!("mirror.blockedImages[{index}].");
            set.blocked.push(required(image, "name", &at)?.to_owned());
        }
        Ok(set)
    }

    /// Returns the part of a catalog.
    fn operator(&mut self, operator: &Json, at: &str) -> Result<Selection> {
        self.ignore_others(operator, at, &["catalog", "full", "packages"]);
        let is_full = operator["full"].as_bool().unwrap_or(false);
        let mut selection = Selection::default();
        let packages: Vec<&Json> = items(&operator["packages"]).collect();
        if packages.is_empty() {
            selection.newest_of_all = !is_full;
            return Ok(selection);
        }
        for (index, package) in packages.into_iter().enumerate() {
            let at = format!("{at}packages[{index}].");
            let known = ["name", "defaultChannel", "channels", "minVersion", "maxVersion"];
            self.ignore_others(package, &at, &known);
            let name = required(package, "name", &at)?.to_owned();
            if let Some(default) = package["defaultChannel"].as_str() {
                selection.defaults.insert(name.clone(), default.to_owned());
            }
            let versions = range(package, &at)?;
            let channels: Vec<&Json> = items(&package["channels"]).collect();
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
            for (index, channel) in channels.into_iter().enumerate() {
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

fn items(value: &Json) -> impl Iterator<Item = &Json> {
    value.as_array().into_iter().flatten()
}

fn required<'j>(map: &'j Json, name: &str, at: &str) -> Result<&'j str> {
    let found = map[name].as_str().filter(|text| !text.is_empty());
    found.with_context(|| format!("missing required field `{at}{name}`"))
}

/// Returns the versions between `minVersion` and `maxVersion`, both included.
fn range(map: &Json, at: &str) -> Result<Option<Range>> {
    let bounds = BTreeMap::from([(">=", &map["minVersion"]), ("<=", &map["maxVersion"])]);
    let bounds: Vec<String> = bounds
        .into_iter()
        .rev()
        .filter_map(|(comparator, bound)| Some(format!("{comparator}{}", bound.as_str()?)))
        .collect();
    if bounds.is_empty() {
        return Ok(None);
    }
    let text = bounds.join(" ");
    let range =
        Range::parse(&text).with_context(|| format!("invalid versions at {at}: `{}`", excerpt(&text)))?;
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
";
        let set = ImageSet::parse(text.as_bytes()).unwrap();
        assert_eq!(set.ignored, ["archiveSize", "mirror.platform", "mirror.operators[0].targetTag"]);
        assert_eq!(set.blocked, ["quay.io/d/app"]);
        let references: Vec<&str> = set.wanted.iter().map(|one| one.reference.as_str()).collect();
        assert_eq!(
            references,
            ["quay.io/a/index:v4.20", "oci:/tmp/index", "quay.io/b/index", "quay.io/c/tool:v1"]
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
        ] {
            let error = ImageSet::parse(wrong.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
