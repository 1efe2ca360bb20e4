//! What catalogs for a version of OpenShift must not contain.
//!
//! Source: `operatorcert/static_tests/common/operator_catalogs.py` of operator-pipelines, which checks the first bundle only.

use std::path::{Component, Path};

use super::blob::{Blob, Bundle};
use super::repair;
use olm_model::kubernetes::Minor;
use olm_model::report::Finding;
use olm_rules::catalog;

/// The first version whose catalogs have `olm.csv.metadata` instead of `olm.bundle.object`.
const WITHOUT_OBJECTS: Minor = Minor::openshift(17);

/// Returns the version that a catalog is for by its place in a catalog repository: `catalogs/v4.17`, or below it.
#[must_use]
pub fn version_of_path(path: &Path) -> Option<Minor> {
    let names: Vec<&str> = path
        .components()
        .filter_map(|component| match component {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    names.windows(2).rev().find_map(|pair| match pair {
        ["catalogs", version] if version.starts_with('v') => Minor::parse_openshift(version).ok(),
        _ => None,
    })
}

/// Reports what the catalog of a version must not contain.
pub(crate) fn check(blobs: &[Blob], version: Minor) -> Vec<Finding> {
    if version < WITHOUT_OBJECTS {
        return Vec::new();
    }
    let bundles = blobs.iter().filter_map(|blob| match blob {
        Blob::Bundle(bundle) => Some(bundle),
        _ => None,
    });
    bundles.filter_map(|bundle| objects(bundle, version)).collect()
}

fn objects(bundle: &Bundle, version: Minor) -> Option<Finding> {
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
        let of = |path: &str| version_of_path(Path::new(path)).map(|version| version.to_string());
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
            "/catalogs/v4.17.3",
            "/catalogs/v1.30",
        ] {
            assert_eq!(of(path), None, "{path}");
        }
    }
}
