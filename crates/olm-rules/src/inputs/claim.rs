//! The versions of Kubernetes that a bundle claims to support.

use kube_yaml::Value;
use olm_model::kubernetes::{self, Minor, Versions};
use olm_model::version::{self, Version};
use olm_model::{Annotations, Bundle};

use super::csv::Csv;
use super::settings::Settings;

/// The property that names the last version of OpenShift.
pub(crate) const MAX_OPENSHIFT: &str = "olm.maxOpenShiftVersion";
/// The annotation that selects OpenShift versions.
pub(crate) const OPENSHIFT_VERSIONS: &str = "com.redhat.openshift.versions";

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
                let supported = kubernetes::supported();
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
                since.unwrap_or_else(kubernetes::supported),
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
    let annotation = annotation(bundle).and_then(|(_, text)| Some((text, parse(text).ok()?)));
    let last = max_openshift(bundle, csv);
    let mut what = Vec::new();
    let mut versions = Versions::range(Minor::kubernetes(0), LAST);
    if let Some((text, selector)) = annotation {
        versions = versions.intersection(selector.kubernetes());
        what.push(format!("`{OPENSHIFT_VERSIONS}: {text}`"));
    }
    if let Some(last) = last {
        let until = kubernetes::of_openshift(last).unwrap_or(LAST);
        versions = versions.intersection(Versions::range(Minor::kubernetes(0), until));
        what.push(format!("`{MAX_OPENSHIFT}: {last}`"));
    }
    (!what.is_empty()).then_some((versions, what))
}

/// Returns the last version of OpenShift that the bundle declares, in `metadata/properties.yaml` or in the CSV's annotation.
fn max_openshift(bundle: &Bundle, csv: Option<&Csv<'_>>) -> Option<Minor> {
    let value = |item: Value<'_>| {
        let is_maximum = item.get("type").and_then(Value::as_str) == Some(MAX_OPENSHIFT);
        let text = item.get("value").filter(|_| is_maximum)?.text().trim_matches('"').parse::<Minor>();
        text.ok().filter(|minor| minor.is_openshift())
    };
    let in_file = bundle.metadata_list("properties").and_then(|(_, items)| items.items().find_map(value));
    in_file.or_else(|| {
        let annotations = csv?.typed.metadata.annotations.as_ref()?;
        let parsed = kube_yaml::parse(annotations.get("olm.properties")?.as_bytes());
        parsed.documents.first()?.root().items().find_map(value)
    })
}

/// The versions of OpenShift that the annotation selects.
///
/// Source: `operatorcert/static_tests/community/bundle.py` of operator-pipelines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selector {
    /// `v4.14`: this version and later ones.
    From(Minor),
    /// `=v4.14`: this version alone.
    Exactly(Minor),
    /// `v4.12-v4.14`: all from the first to the second.
    Range(Minor, Minor),
    /// `v4.5,v4.6`: the lowest and later ones.
    List(Vec<Minor>),
}

/// Returns the bundle's annotations and the value of [`OPENSHIFT_VERSIONS`], if it is set.
pub(crate) fn annotation(bundle: &Bundle) -> Option<(Annotations<'_>, &str)> {
    let annotations = bundle.annotations()?;
    let written = annotations.get(OPENSHIFT_VERSIONS).filter(|written| !written.is_empty())?;
    Some((annotations, written))
}

/// Parses the value of the annotation.
pub(crate) fn parse(text: &str) -> Result<Selector, String> {
    let text = text.trim();
    if let Some((first, last)) = text.split_once('-') {
        let (first, last) = (minor(first)?, minor(last)?);
        if last < first {
            return Err("the range ends before it begins".to_owned());
        }
        return Ok(Selector::Range(first, last));
    }
    if text.contains(',') {
        return text.split(',').map(minor).collect::<Result<_, _>>().map(Selector::List);
    }
    match text.strip_prefix('=') {
        Some(version) => minor(version).map(Selector::Exactly),
        None => minor(text).map(Selector::From),
    }
}

/// Parses `v4.14` or `4.14`; a patch number is ignored.
fn minor(text: &str) -> Result<Minor, String> {
    let text = text.trim();
    let numbers = text.strip_prefix('v').unwrap_or(text);
    if numbers.is_empty() {
        return Err("missing version".to_owned());
    }
    let invalid = || format!("invalid version `{text}`");
    let version = version::tolerant(numbers).map_err(|_| invalid())?;
    match (version.major, u16::try_from(version.minor)) {
        (4, Ok(minor)) => Ok(Minor::openshift(minor)),
        (..4, _) => Ok(Minor::openshift(0)),
        _ => Err(invalid()),
    }
}

impl Selector {
    /// Returns whether a minor version of OpenShift is selected.
    pub(crate) fn selects(&self, version: Minor) -> bool {
        match self {
            Self::From(first) => version >= *first,
            Self::Exactly(only) => version == *only,
            Self::Range(first, last) => (*first..=*last).contains(&version),
            Self::List(versions) => versions.iter().min().is_some_and(|first| version >= *first),
        }
    }

    /// Returns the first selected version of OpenShift, as it is written.
    fn first(&self) -> Option<Minor> {
        match self {
            Self::From(first) | Self::Exactly(first) | Self::Range(first, _) => Some(*first),
            Self::List(versions) => versions.iter().min().copied(),
        }
    }

    /// Returns the annotation's value that selects the same versions, but none before `first`; `None` if it would select none.
    pub(crate) fn raised_to(&self, first: Minor) -> Option<String> {
        match self {
            Self::Exactly(only) if *only < first => None,
            Self::Range(_, last) if *last < first => None,
            Self::Range(_, last) if *last == first => Some(format!("=v{first}")),
            Self::Range(_, last) => Some(format!("v{first}-v{last}")),
            Self::From(_) | Self::Exactly(_) | Self::List(_) => Some(format!("v{first}")),
        }
    }

    /// Returns whether versions before `first` are selected.
    pub(crate) fn begins_before(&self, first: Minor) -> bool {
        self.first().is_some_and(|own| own < first)
    }

    /// Returns the versions of Kubernetes in the selected versions of OpenShift and, if the selection has no end, all later ones.
    fn kubernetes(&self) -> Versions {
        let selected = kubernetes::openshift_versions().iter().filter(|(version, _)| self.selects(*version));
        let versions: Versions = selected.map(|(_, kubernetes)| *kubernetes).collect();
        match self {
            Self::From(_) | Self::List(_) => {
                let newest =
                    kubernetes::openshift_versions().last().map_or(LAST, |(_, kubernetes)| *kubernetes);
                versions.union(Versions::range(newest, LAST))
            }
            Self::Exactly(_) | Self::Range(..) => versions,
        }
    }

    /// Returns the selected versions of OpenShift whose Kubernetes is older than `minor` of Kubernetes 1.
    pub(crate) fn older_than(&self, minor: u64) -> Vec<String> {
        let is_older = |kubernetes: Minor| u64::from(kubernetes.number()) < minor;
        let older = kubernetes::openshift_versions()
            .iter()
            .filter(|(version, kubernetes)| is_older(*kubernetes) && self.selects(*version));
        older.map(|(version, _)| version.to_string()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_select_what_catalogs_do() {
        let selected = |text: &str| {
            let selector = parse(text).unwrap();
            (9..=16).filter(|minor| selector.selects(Minor::openshift(*minor))).collect::<Vec<_>>()
        };
        assert_eq!(selected("v4.14"), [14, 15, 16]);
        assert_eq!(selected("=v4.14"), [14]);
        assert_eq!(selected("v4.10-v4.12"), [10, 11, 12]);
        assert_eq!(selected("4.15, v4.14"), [14, 15, 16]);
        assert_eq!(parse("v4.10-v4.12").unwrap().older_than(24), ["4.10"]);
        for wrong in ["", "v", "v4.12-", "-v4.12", "v4.12-v4.10", "latest", "=4.a"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_raised_selector_keeps_its_end() {
        let raised = |text: &str| parse(text).unwrap().raised_to(Minor::openshift(20));
        assert_eq!(raised("v4.12").as_deref(), Some("v4.20"));
        assert_eq!(raised("v4.12-v4.22").as_deref(), Some("v4.20-v4.22"));
        assert_eq!(raised("v4.12-v4.20").as_deref(), Some("=v4.20"));
        assert_eq!(raised("v4.12-v4.14"), None);
    }
}
