//! The APIs that were removed from Kubernetes, and their uses in a bundle.
//!
//! Permissions are not checked, unlike in operator-sdk: an RBAC rule names no version, so a permission for `cronjobs`
//! does not imply `v1beta1`.
//!
//! Source: Kubernetes' deprecation guide, and `pkg/validation/internal/removed_apis.go` of operator-framework/api.

use crate::model::Object;
use crate::model::version::{self, Version};
use crate::rules::prelude::*;

/// A removed API: its version, its kinds, and the minor version that removed it.
const REMOVED: &[(&str, &[&str], u64)] = &[
    (
        "admissionregistration.k8s.io/v1beta1",
        &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
        22,
    ),
    ("apiextensions.k8s.io/v1beta1", &["CustomResourceDefinition"], 22),
    ("apiregistration.k8s.io/v1beta1", &["APIService"], 22),
    ("authentication.k8s.io/v1beta1", &["TokenReview"], 22),
    (
        "authorization.k8s.io/v1beta1",
        &["LocalSubjectAccessReview", "SelfSubjectAccessReview", "SubjectAccessReview"],
        22,
    ),
    ("certificates.k8s.io/v1beta1", &["CertificateSigningRequest"], 22),
    ("coordination.k8s.io/v1beta1", &["Lease"], 22),
    ("extensions/v1beta1", &["Ingress"], 22),
    ("networking.k8s.io/v1beta1", &["Ingress", "IngressClass"], 22),
    ("rbac.authorization.k8s.io/v1beta1", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"], 22),
    ("scheduling.k8s.io/v1beta1", &["PriorityClass"], 22),
    ("storage.k8s.io/v1beta1", &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"], 22),
    ("autoscaling/v2beta1", &["HorizontalPodAutoscaler"], 25),
    ("batch/v1beta1", &["CronJob"], 25),
    ("discovery.k8s.io/v1beta1", &["EndpointSlice"], 25),
    ("events.k8s.io/v1beta1", &["Event"], 25),
    ("node.k8s.io/v1beta1", &["RuntimeClass"], 25),
    ("policy/v1beta1", &["PodDisruptionBudget", "PodSecurityPolicy"], 25),
    ("autoscaling/v2beta2", &["HorizontalPodAutoscaler"], 26),
];

/// Reports the uses in the bundle: objects, and the resources that the CSV lists for its CRDs. `certain` selects those
/// that no cluster has that the operator supports, or that the user names; or the others.
pub(in crate::rules) fn report(context: &Context<'_>, certain: bool, reporter: &mut Reporter<'_>) {
    let csv = context.csvs.first();
    let minimum = csv.and_then(|csv| version::tolerant(&csv.typed.spec.min_kube_version).ok());
    let minimum = minimum.max(context.settings.kube_version.clone());
    let mut report = |object: &Object<'_>, path: &Path<'_>, api_version: &str, kind: &str| {
        let mut removed = REMOVED.iter();
        let found = removed.find(|(version, kinds, _)| *version == api_version && kinds.contains(&kind));
        let Some((_, _, minor)) = found else { return };
        if certain == minimum.as_ref().is_some_and(|minimum| *minimum >= Version::new(1, *minor, 0)) {
            let message = format!("`{kind}` of `{api_version}` was removed in Kubernetes 1.{minor}");
            reporter.field(object, path, message);
        }
    };
    let root = Path::ROOT;
    for object in &context.objects {
        report(object, &root.field("apiVersion"), object.api_version(), object.kind());
    }
    let Some(csv) = csv else { return };
    let definitions = root.field("spec.customresourcedefinitions");
    let typed = &csv.typed.spec.customresourcedefinitions;
    for (role, crds) in [("owned", &typed.owned), ("required", &typed.required)] {
        let list = definitions.field(role);
        for (index, crd) in crds.iter().enumerate() {
            let entry = list.index(index);
            let resources = entry.field("resources");
            for (index, resource) in crd.resources.iter().enumerate() {
                let path = resources.index(index);
                report(&csv.object, &path.field("version"), &resource.version, &resource.kind);
            }
        }
    }
}
