//! The versions of OpenShift that a bundle declares: the annotation [`OPENSHIFT_VERSIONS`], which catalog pipelines read, and the
//! property [`MAX_OPENSHIFT_VERSION`], which OLM reads.

use std::str::FromStr;

use crate::bundle::{Annotations, Bundle};
use crate::kubernetes::{self, Minor, Versions};
use crate::version;

/// The annotation that selects OpenShift versions.
pub const OPENSHIFT_VERSIONS: &str = "com.redhat.openshift.versions";
/// The property that names the last version of OpenShift.
pub const MAX_OPENSHIFT_VERSION: &str = "olm.maxOpenShiftVersion";

/// A bound that is newer than every version.
const LAST: Minor = Minor::kubernetes(u16::MAX);

/// Returns the version in a value of [`MAX_OPENSHIFT_VERSION`], which is written without quotes; `None` if it is not a version of
/// OpenShift.
#[must_use]
pub fn max_openshift_version(text: &str) -> Option<Minor> {
    text.parse().ok().filter(|minor: &Minor| minor.is_openshift())
}

impl Bundle {
    /// Returns the annotations and the value of [`OPENSHIFT_VERSIONS`], if it is set.
    #[must_use]
    pub fn openshift_versions(&self) -> Option<(Annotations<'_>, &str)> {
        let annotations = self.annotations()?;
        let written = annotations.get(OPENSHIFT_VERSIONS).filter(|written| !written.is_empty())?;
        Some((annotations, written))
    }
}

/// The versions of OpenShift that the annotation selects.
///
/// Source: `operatorcert/static_tests/community/bundle.py` of operator-pipelines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenShiftVersions {
    /// `v4.14`: this version and later ones.
    From(Minor),
    /// `=v4.14`: this version alone.
    Exactly(Minor),
    /// `v4.12-v4.14`: all from the first to the second.
    Range(Minor, Minor),
    /// `v4.5,v4.6`: the lowest and later ones.
    List(Vec<Minor>),
}

/// The reason why a string is not a value of [`OPENSHIFT_VERSIONS`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenShiftVersionsError {
    /// The range ends before it begins.
    #[error("the range ends before it begins")]
    EmptyRange,
    /// A version is empty.
    #[error("missing version")]
    Missing,
    /// A version is not one of OpenShift.
    #[error("invalid version `{0}`")]
    Invalid(String),
}

impl FromStr for OpenShiftVersions {
    type Err = OpenShiftVersionsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if let Some((first, last)) = text.split_once('-') {
            let (first, last) = (minor(first)?, minor(last)?);
            if last < first {
                return Err(OpenShiftVersionsError::EmptyRange);
            }
            return Ok(Self::Range(first, last));
        }
        if text.contains(',') {
            return text.split(',').map(minor).collect::<Result<_, _>>().map(Self::List);
        }
        match text.strip_prefix('=') {
            Some(version) => minor(version).map(Self::Exactly),
            None => minor(text).map(Self::From),
        }
    }
}

/// Parses `v4.14` or `4.14`; a patch number is ignored.
fn minor(text: &str) -> Result<Minor, OpenShiftVersionsError> {
    let text = text.trim();
    let numbers = text.strip_prefix('v').unwrap_or(text);
    if numbers.is_empty() {
        return Err(OpenShiftVersionsError::Missing);
    }
    let invalid = || OpenShiftVersionsError::Invalid(text.to_owned());
    let version = version::tolerant(numbers).map_err(|_| invalid())?;
    match (version.major, u16::try_from(version.minor)) {
        (4, Ok(minor)) => Ok(Minor::openshift(minor)),
        (..4, _) => Ok(Minor::openshift(0)),
        _ => Err(invalid()),
    }
}

impl OpenShiftVersions {
    /// Returns whether a minor version of OpenShift is selected.
    #[must_use]
    pub fn selects(&self, version: Minor) -> bool {
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
    #[must_use]
    pub fn raised_to(&self, first: Minor) -> Option<String> {
        match self {
            Self::Exactly(only) if *only < first => None,
            Self::Range(_, last) if *last < first => None,
            Self::Range(_, last) if *last == first => Some(format!("=v{first}")),
            Self::Range(_, last) => Some(format!("v{first}-v{last}")),
            Self::From(_) | Self::Exactly(_) | Self::List(_) => Some(format!("v{first}")),
        }
    }

    /// Returns whether versions before `first` are selected.
    #[must_use]
    pub fn begins_before(&self, first: Minor) -> bool {
        self.first().is_some_and(|own| own < first)
    }

    /// Returns the versions of Kubernetes in the selected versions of OpenShift and, if the selection has no end, all later ones.
    #[must_use]
    pub fn kubernetes(&self) -> Versions {
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
    #[must_use]
    pub fn older_than(&self, minor: u64) -> Vec<String> {
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

    fn parse(text: &str) -> Result<OpenShiftVersions, OpenShiftVersionsError> {
        text.parse()
    }

    #[test]
    fn versions_are_those_that_catalogs_select() {
        let selected = |text: &str| {
            let selected = parse(text).unwrap();
            (9..=16).filter(|minor| selected.selects(Minor::openshift(*minor))).collect::<Vec<_>>()
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
    fn raised_versions_keep_their_end() {
        let raised = |text: &str| parse(text).unwrap().raised_to(Minor::openshift(20));
        assert_eq!(raised("v4.12").as_deref(), Some("v4.20"));
        assert_eq!(raised("v4.12-v4.22").as_deref(), Some("v4.20-v4.22"));
        assert_eq!(raised("v4.12-v4.20").as_deref(), Some("=v4.20"));
        assert_eq!(raised("v4.12-v4.14"), None);
    }
}
