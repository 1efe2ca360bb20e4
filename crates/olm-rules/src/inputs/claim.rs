//! The versions of Kubernetes that a bundle claims to support.

use kube_yaml::Value;
use olm_model::Bundle;
use olm_model::kubernetes::{self, Minor, Versions};
use olm_model::openshift::{
    MAX_OPENSHIFT_VERSION, OPENSHIFT_VERSIONS, OpenShiftVersions, max_openshift_version,
};
use olm_model::version::{self, Version};

use super::csv::Csv;
use super::settings::Settings;

/// The versions that a bundle is validated for.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    /// The versions that the user names, or that the bundle claims: from `spec.minKubeVersion` to the newest, within the versions of
    /// OpenShift that the bundle selects. If neither names any, the versions that are supported upstream. Versions that the rules do
    /// not reproduce are replaced by the nearest ones that they do.
    pub(crate) claimed: Versions,
    /// `claimed` before that replacement: a bundle can claim only versions that are older than all that the rules reproduce.
    pub(crate) exact: Versions,
    /// Older versions, if the bundle claims none: findings that hold for these versions alone are informational.
    pub(crate) notes: Versions,
    /// `spec.minKubeVersion` with its patch number, or the oldest version that the user names, if that is newer.
    pub(crate) minimum: Option<Version>,
    /// Which declarations of the bundle contradict each other, if they leave no version.
    pub(crate) contradiction: Option<String>,
}

impl Claim {
    /// Reads the claim of a bundle.
    pub(crate) fn new(bundle: &Bundle, csv: Option<&Csv<'_>>, settings: &Settings) -> Self {
        let written = csv.map_or("", |csv| csv.typed.spec.min_kube_version.as_str());
        let declared = version::tolerant(written).ok().filter(|version| version.major == 1);
        if let Some(versions) = settings.versions {
            let first = versions.first().map(|minor| Version::new(1, u64::from(minor.number()), 0));
            return Self {
                claimed: versions.nearest_reproduced(),
                exact: versions,
                notes: Versions::default(),
                minimum: declared.max(first),
                contradiction: None,
            };
        }
        let selected = openshift(bundle, csv);
        let minor = |version: &Version| Minor::kubernetes(u16::try_from(version.minor).unwrap_or(u16::MAX));
        let since = declared.as_ref().map(|version| Versions::range(minor(version), LAST));
        let (claimed, contradiction) = match (since, selected) {
            (None, None) => {
                let supported = Versions::supported();
                let notes = Versions::reproduced().without(supported);
                return Self {
                    claimed: supported,
                    exact: supported,
                    notes,
                    minimum: None,
                    contradiction: None,
                };
            }
            (since, Some((selected, what))) if selected.is_empty() => (
                since.unwrap_or_else(Versions::supported),
                Some(match what.as_slice() {
                    [one] => format!("{one} selects no known version of OpenShift"),
                    several => format!("{} select no common version of OpenShift", several.join(" and ")),
                }),
            ),
            (Some(since), Some((selected, what))) if since.intersection(selected).is_empty() => (
                since,
                Some(format!(
                    "spec.minKubeVersion {written} is newer than every version of Kubernetes in {}",
                    what.join(" and ")
                )),
            ),
            (Some(since), Some((selected, _))) => (since.intersection(selected), None),
            (Some(one), None) => (one, None),
            (None, Some((selected, _))) => (selected, None),
        };
        let newest = Versions::range(Minor::kubernetes(0), kubernetes::newest());
        let known = claimed.intersection(newest);
        let exact = if known.is_empty() { claimed } else { known };
        Self {
            claimed: exact.nearest_reproduced(),
            exact,
            notes: Versions::default(),
            minimum: declared,
            contradiction,
        }
    }

    /// Returns all versions that the bundle is validated for.
    pub(crate) const fn evaluated(&self) -> Versions {
        self.claimed.union(self.notes)
    }
}

/// A bound that is newer than every version.
const LAST: Minor = Minor::kubernetes(u16::MAX);

/// Returns the versions of Kubernetes in the versions of OpenShift that the bundle selects, and the declarations that select them; `None` if the
/// bundle does not select versions of OpenShift.
fn openshift(bundle: &Bundle, csv: Option<&Csv<'_>>) -> Option<(Versions, Vec<String>)> {
    let annotation = bundle
        .openshift_versions()
        .and_then(|(_, text)| Some((text, text.parse::<OpenShiftVersions>().ok()?)));
    let last = max_openshift(bundle, csv);
    let mut what = Vec::new();
    let mut versions = Versions::range(Minor::kubernetes(0), LAST);
    if let Some((text, selected)) = annotation {
        versions = versions.intersection(selected.kubernetes());
        what.push(format!("`{OPENSHIFT_VERSIONS}: {text}`"));
    }
    if let Some(last) = last {
        let until = kubernetes::of_openshift(last).unwrap_or(LAST);
        versions = versions.intersection(Versions::range(Minor::kubernetes(0), until));
        what.push(format!("`{MAX_OPENSHIFT_VERSION}: {last}`"));
    }
    (!what.is_empty()).then_some((versions, what))
}

/// Returns the last version of OpenShift that the bundle declares, in `metadata/properties.yaml` or in the CSV's annotation.
fn max_openshift(bundle: &Bundle, csv: Option<&Csv<'_>>) -> Option<Minor> {
    let value = |item: Value<'_>| {
        let is_maximum = item.get("type").and_then(Value::as_str) == Some(MAX_OPENSHIFT_VERSION);
        max_openshift_version(item.get("value").filter(|_| is_maximum)?.text().trim_matches('"'))
    };
    let in_file = bundle.metadata_list("properties").and_then(|(_, items)| items.items().find_map(value));
    in_file.or_else(|| {
        let annotations = csv?.typed.metadata.annotations.as_ref()?;
        let parsed = kube_yaml::parse(annotations.get("olm.properties")?.as_bytes());
        parsed.documents.first()?.root().items().find_map(value)
    })
}
