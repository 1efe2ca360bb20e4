//! The OpenShift versions that a bundle is for, and their Kubernetes versions.
//!
//! Source: `operatorcert/static_tests/community/bundle.py` of operator-pipelines. Its table ends at 4.17; the versions
//! after it are those of preflight's `internal/bundle/versions.go`.

use crate::model::{Annotations, Bundle};

/// The annotation that selects OpenShift versions.
pub(in crate::rules) const KEY: &str = "com.redhat.openshift.versions";

/// A minor version of OpenShift: major, minor.
pub(in crate::rules) type Minor = (u64, u64);

/// Which versions the annotation selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::rules) enum Selector {
    /// `v4.14`: this version and later ones.
    From(Minor),
    /// `=v4.14`: this version alone.
    Exactly(Minor),
    /// `v4.12-v4.14`: all from the first to the second.
    Range(Minor, Minor),
    /// `v4.5,v4.6`: the lowest and later ones.
    List(Vec<Minor>),
}

/// Minor versions of OpenShift 4, and the minor version of Kubernetes in each.
const KUBERNETES: [(u64, u64); 23] = [
    (1, 13),
    (2, 14),
    (3, 16),
    (4, 17),
    (5, 18),
    (6, 19),
    (7, 20),
    (8, 21),
    (9, 22),
    (10, 23),
    (11, 24),
    (12, 25),
    (13, 26),
    (14, 27),
    (15, 28),
    (16, 29),
    (17, 30),
    (18, 31),
    (19, 32),
    (20, 33),
    (21, 34),
    (22, 35),
    (23, 36),
];

/// Returns the bundle's annotations and the value of [`KEY`], if it is set.
pub(in crate::rules) fn annotation(bundle: &Bundle) -> Option<(Annotations<'_>, &str)> {
    let annotations = bundle.annotations()?;
    let written = annotations.get(KEY).filter(|written| !written.is_empty())?;
    Some((annotations, written))
}

/// Parses the value of the annotation.
pub(in crate::rules) fn parse(text: &str) -> Result<Selector, String> {
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
    let version = crate::model::version::tolerant(numbers);
    version.map(|version| (version.major, version.minor)).map_err(|_| format!("invalid version `{text}`"))
}

/// Returns the minor versions of OpenShift that the table has.
pub(in crate::rules) fn supported() -> impl Iterator<Item = Minor> {
    KUBERNETES.iter().map(|(version, _)| (4, *version))
}

impl Selector {
    /// Returns whether a minor version of OpenShift is selected.
    pub(in crate::rules) fn selects(&self, version: Minor) -> bool {
        match self {
            Self::From(first) => version >= *first,
            Self::Exactly(only) => version == *only,
            Self::Range(first, last) => (*first..=*last).contains(&version),
            Self::List(versions) => versions.iter().min().is_some_and(|first| version >= *first),
        }
    }

    /// Returns the selected versions of OpenShift whose Kubernetes is older than `minor` of Kubernetes 1.
    pub(in crate::rules) fn older_than(&self, minor: u64) -> Vec<String> {
        let older = KUBERNETES
            .iter()
            .filter(|(version, kubernetes)| *kubernetes < minor && self.selects((4, *version)));
        older.map(|(version, _)| format!("4.{version}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_select_what_catalogs_do() {
        let selected = |text: &str| {
            let selector = parse(text).unwrap();
            (9..=16).filter(|minor| selector.selects((4, *minor))).collect::<Vec<_>>()
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
}
