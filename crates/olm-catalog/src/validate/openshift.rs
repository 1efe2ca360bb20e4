//! What catalogs for a version of OpenShift must not contain.
//!
//! Source: `operatorcert/static_tests/common/operator_catalogs.py` of operator-pipelines, which checks the first bundle only.

use std::path::{Component, Path};
use std::str::FromStr;

use super::blob::{Blob, Bundle};
use super::repair;
use olm_model::report::Finding;
use olm_rules::catalog;

/// The first version whose catalogs have `olm.csv.metadata` instead of `olm.bundle.object`.
const WITHOUT_OBJECTS: OpenshiftVersion = OpenshiftVersion { major: 4, minor: 17 };

/// A minor version of OpenShift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpenshiftVersion {
    major: u32,
    minor: u32,
}

impl FromStr for OpenshiftVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number =
            |part: &str| part.parse().ok().filter(|_| part.bytes().all(|byte| byte.is_ascii_digit()));
        let parts = text.strip_prefix('v').unwrap_or(text).split_once('.');
        let version =
            parts.and_then(|(major, minor)| Some(Self { major: number(major)?, minor: number(minor)? }));
        version.ok_or_else(|| "expected MAJOR.MINOR, such as 4.17".to_owned())
    }
}

impl std::fmt::Display for OpenshiftVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl OpenshiftVersion {
    /// Returns the version that a catalog is for by its place in a catalog repository: `catalogs/v4.17`, or below it.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        let names: Vec<&str> = path
            .components()
            .filter_map(|component| match component {
                Component::Normal(name) => name.to_str(),
                _ => None,
            })
            .collect();
        names.windows(2).rev().find_map(|pair| match pair {
            ["catalogs", version] if version.starts_with('v') => version.parse().ok(),
            _ => None,
        })
    }
}

/// Reports what the catalog of a version must not contain.
pub(crate) fn check(blobs: &[Blob], version: OpenshiftVersion) -> Vec<Finding> {
    if version < WITHOUT_OBJECTS {
        return Vec::new();
    }
    let bundles = blobs.iter().filter_map(|blob| match blob {
        Blob::Bundle(bundle) => Some(bundle),
        _ => None,
    });
    bundles.filter_map(|bundle| objects(bundle, version)).collect()
}

fn objects(bundle: &Bundle, version: OpenshiftVersion) -> Option<Finding> {
    let objects = bundle.objects.as_ref()?;
    let message = format!(
        "bundle `{}` has properties of type `olm.bundle.object`, which catalogs for OpenShift {version} must not have",
        bundle.name
    );
    let finding = objects.place.finding(&catalog::BUNDLE_OBJECT_OBSOLETE, &objects.path, message);
    let (proposal, fix) = match () {
        () if bundle.image.is_empty() => {
            ("push the bundle as an image and set `image`, then run `bundle-tool catalog migrate`", None)
        }
        () if bundle.has_metadata => (
            "remove the properties of type `olm.bundle.object`: the bundle also has `olm.csv.metadata`",
            None,
        ),
        () => (catalog::BUNDLE_OBJECT_OBSOLETE.help, Some(repair::migrate())),
    };
    Some(repair::with(finding, Some(proposal.to_owned()), fix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_directory_in_a_catalog_repository() {
        let of = |path: &str| OpenshiftVersion::of_path(Path::new(path)).map(|version| version.to_string());
        assert_eq!(of("/repository/catalogs/v4.17").as_deref(), Some("4.17"));
        assert_eq!(of("/repository/catalogs/v4.9/gizmo/catalog.yaml").as_deref(), Some("4.9"));
        assert_eq!(of("/catalogs/v4.9/catalogs/v4.20").as_deref(), Some("4.20"));
        for path in [
            "/catalogs",
            "/catalogs/4.17",
            "/catalogs/v4",
            "/catalogs/v4.x",
            "/catalog/v4.17",
            "/catalogs/v4.+7",
        ] {
            assert_eq!(of(path), None, "{path}");
        }
        let version = |text: &str| text.parse::<OpenshiftVersion>();
        assert!(version("4.9").unwrap() < WITHOUT_OBJECTS && version("v4.100").unwrap() > WITHOUT_OBJECTS);
        assert!(version("5.0").unwrap() > WITHOUT_OBJECTS);
        assert!(version("4.17.1").is_err() && version("").is_err());
    }
}
