//! The APIs that were removed from Kubernetes, and their uses in a bundle.
//!
//! Permissions are not checked, unlike in operator-sdk: an RBAC rule names no version, so a permission for `cronjobs`
//! does not imply `v1beta1`.
//!
//! Source: `apis.txt`, which `update-apis` generates from upstream's own `zz_generated.prerelease-lifecycle.go`, and
//! `pkg/validation/internal/removed_apis.go` of operator-framework/api.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::prelude::*;
use olm_model::Object;
use olm_model::version::Version;

/// The first version of Kubernetes whose removals are reported, as in operator-sdk.
const SINCE: u16 = 22;

/// Which minor versions of Kubernetes serve a built-in API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Api {
    /// The version that introduced it.
    pub(crate) introduced: u16,
    /// The version that deprecated it.
    pub(crate) deprecated: Option<u16>,
    /// The first version without it.
    pub(crate) removed: Option<u16>,
}

/// Returns the lifecycle of a built-in API, such as `policy/v1beta1` and `PodDisruptionBudget`.
pub(crate) fn api(api_version: &str, kind: &str) -> Option<Api> {
    static APIS: OnceLock<HashMap<(&'static str, &'static str), Api>> = OnceLock::new();
    let apis = APIS.get_or_init(|| {
        let line = |line: &'static str| {
            let fields: Vec<&'static str> = line.split(' ').collect();
            let &[api_version, kind, introduced, deprecated, removed, _] = &fields[..] else { return None };
            let number = |text: &str| text.parse().ok();
            let introduced = number(introduced).unwrap_or_default();
            let api = Api { introduced, deprecated: number(deprecated), removed: number(removed) };
            Some(((api_version, kind), api))
        };
        include_str!("apis.txt").lines().filter(|line| !line.starts_with('#')).filter_map(line).collect()
    });
    apis.get(&(api_version, kind)).copied()
}

/// Returns the objects of the bundle whose API Kubernetes 1.`minor` removed.
pub(crate) fn objects_removed_in<'c, 'b>(
    context: &'c Context<'b>,
    minor: u16,
) -> impl Iterator<Item = &'c Object<'b>> {
    context.objects.iter().filter(move |object| {
        api(object.api_version(), object.kind()).is_some_and(|api| api.removed == Some(minor))
    })
}

/// Calls `visit` with the uses of built-in APIs in the bundle: objects, and the resources that the CSV lists for its CRDs.
pub(crate) fn each_use(
    context: &Context<'_>,
    mut visit: impl FnMut(&Object<'_>, &Path<'_>, &str, &str, Api),
) {
    let mut found = |object: &Object<'_>, path: &Path<'_>, api_version: &str, kind: &str| {
        if let Some(api) = api(api_version, kind) {
            visit(object, path, api_version, kind, api);
        }
    };
    let root = Path::ROOT;
    for object in &context.objects {
        found(object, &root.field("apiVersion"), object.api_version(), object.kind());
    }
    let Some(csv) = context.csvs.first() else { return };
    let definitions = root.field("spec.customresourcedefinitions");
    let typed = &csv.typed.spec.customresourcedefinitions;
    for (role, crds) in [("owned", &typed.owned), ("required", &typed.required)] {
        let list = definitions.field(role);
        for (index, crd) in crds.iter().enumerate() {
            let entry = list.index(index);
            let resources = entry.field("resources");
            for (index, resource) in crd.resources.iter().enumerate() {
                let path = resources.index(index);
                found(&csv.object, &path.field("version"), &resource.version, &resource.kind);
            }
        }
    }
}

/// Reports the uses of removed APIs. `certain` selects those that no cluster has that the operator supports, or that the user
/// names; or the others.
pub(crate) fn report(context: &Context<'_>, certain: bool, reporter: &mut Reporter<'_>) {
    let minimum = context.claim.minimum.as_ref();
    each_use(context, |object, path, api_version, kind, api| {
        let Some(removed) = api.removed.filter(|removed| (SINCE..=Server::NEWEST).contains(removed)) else {
            return;
        };
        if certain == minimum.is_some_and(|minimum| *minimum >= Version::new(1, u64::from(removed), 0)) {
            let message = format!("`{kind}` of `{api_version}` was removed in Kubernetes 1.{removed}");
            reporter.field(object, path, message);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generated_table_has_the_removals_of_the_deprecation_guide() {
        let removed = |api_version, kind| api(api_version, kind).and_then(|api| api.removed);
        assert_eq!(removed("extensions/v1beta1", "Ingress"), Some(22));
        assert_eq!(removed("policy/v1beta1", "PodSecurityPolicy"), Some(25));
        assert_eq!(removed("autoscaling/v2beta2", "HorizontalPodAutoscaler"), Some(26));
        assert_eq!(removed("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema"), Some(32));
        assert_eq!(removed("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"), Some(22));
        assert_eq!(removed("policy/v1", "PodDisruptionBudget"), None);
        assert_eq!(api("v1", "Gizmo"), None);
        let deprecated = api("batch/v1beta1", "CronJob").map(|api| (api.introduced, api.deprecated));
        assert_eq!(deprecated, Some((8, Some(21))));
    }
}
