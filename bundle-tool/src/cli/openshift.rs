//! `--openshift`: the versions of OpenShift that catalogs are for.

use std::path::Path;
use std::str::FromStr;

use clap::Args;

use olm_catalog::validate;
use olm_model::kubernetes::{Minor, Versions, openshift_versions};

/// A version of OpenShift such as `4.17`, or a range such as `4.17..4.20`; either end of a range may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenshiftRange {
    first: Minor,
    last: Minor,
}

impl FromStr for OpenshiftRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // The same values as for bundles.
        Versions::parse_openshift(text).map_err(|error| error.to_string())?;
        let version = |part: &str| Minor::parse_openshift(part).map_err(|error| error.to_string());
        let Some((first, last)) = text.split_once("..") else {
            let only = version(text)?;
            return Ok(Self { first: only, last: only });
        };
        let known = openshift_versions();
        let end = |part: &str, missing: Option<&(Minor, Minor)>| match missing {
            Some((openshift, _)) if part.is_empty() => Ok(*openshift),
            _ => version(part),
        };
        Ok(Self { first: end(first, known.first())?, last: end(last, known.last())? })
    }
}

impl OpenshiftRange {
    /// Returns the newest version, which rejects what any older one rejects.
    pub(crate) fn newest(self) -> Minor {
        self.last
    }

    /// Returns all versions.
    pub(crate) fn versions(self) -> impl Iterator<Item = Minor> {
        let between = (self.first.number()..self.last.number()).map(Minor::openshift);
        between.chain([self.last])
    }
}

// Which versions of OpenShift catalogs are for.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct OpenshiftOption {
    /// OpenShift versions that the catalogs are for, such as `4.17` or `4.17..4.20` [default: that of a path such as catalogs/v4.17]
    #[arg(long, value_name = "VERSIONS", alias = "openshift-version")]
    openshift: Option<OpenshiftRange>,
}

impl OpenshiftOption {
    /// Returns the option of a command that also validates bundles.
    pub(crate) fn new(openshift: Option<OpenshiftRange>) -> Self {
        Self { openshift }
    }

    /// Returns the version that the catalog at a path is for, if it is known.
    pub(crate) fn for_catalog(self, path: &Path) -> Option<Minor> {
        let of_path = || validate::version_of_path(&path.canonicalize().ok()?);
        self.openshift.map(OpenshiftRange::newest).or_else(of_path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_ranges_are_parsed() {
        let versions = |text: &str| {
            let range = text.parse::<OpenshiftRange>();
            range.map(|range| range.versions().map(|one| one.to_string()).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(versions("v4.17").as_deref(), Ok("4.17"));
        assert_eq!(versions("4.16..4.18").as_deref(), Ok("4.16 4.17 4.18"));
        assert_eq!(versions("..4.2").as_deref(), Ok("4.1 4.2"));
        for wrong in ["4.18..4.16", "4.16..5.1", "5.1", "4.99", "4", "1.30", "4.17.3", "", ".."] {
            assert!(versions(wrong).is_err(), "{wrong}");
        }
    }
}
