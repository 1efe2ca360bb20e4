//! The kinds of objects, and where the API server takes each.

use super::subject::Subject;
use super::template::Template;
use super::{crd, csv, deployment, manifests, rbac, service, webhook};

/// A kind of object.
#[derive(Debug)]
pub struct Kind {
    /// Its name in reports.
    pub name: &'static str,
    /// How a bundle contains it.
    pub subject: Subject,
    pub(crate) template: Template,
}

/// All kinds but the CRDs with expressions, which [`cel_case`](super::cel_case) makes.
#[must_use]
pub fn kinds() -> Vec<Kind> {
    let kind = |name, subject, text: &str| Kind { name, subject, template: Template::parse(text) };
    let rbac = |name, path: &'static str, text: String| kind(name, Subject::Manifest(path), &text);
    vec![
        kind("Deployment", Subject::Deployment, deployment::TEMPLATE),
        kind("Deployment of few fields", Subject::Deployment, deployment::SMALL),
        kind("Service", Subject::Manifest(SERVICES), &service::template()),
        kind("Service with sticky sessions", Subject::Manifest(SERVICES), service::STICKY),
        kind("ValidatingWebhook", Subject::Webhook, webhook::TEMPLATE),
        kind("MutatingWebhook", Subject::Webhook, webhook::MUTATING),
        kind("CustomResourceDefinition", Subject::Crd, crd::TEMPLATE),
        kind("CustomResourceDefinition of few fields", Subject::Crd, crd::SMALL),
        kind("CustomResourceDefinition of a protected group", Subject::Crd, crd::PROTECTED),
        kind("ClusterServiceVersion", Subject::Csv, &csv::template()),
        kind("permissions", Subject::Permission, rbac::PERMISSION),
        kind("clusterPermissions", Subject::ClusterPermission, rbac::CLUSTER_PERMISSION),
        rbac("Role", "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles", rbac::role()),
        rbac("ClusterRole", "/apis/rbac.authorization.k8s.io/v1/clusterroles", rbac::cluster_role()),
        rbac(
            "RoleBinding",
            "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings",
            rbac::role_binding(),
        ),
        rbac(
            "ClusterRoleBinding",
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            rbac::cluster_role_binding(),
        ),
        rbac("ServiceAccount", "/api/v1/namespaces/{namespace}/serviceaccounts", rbac::service_account()),
        rbac("ConfigMap", "/api/v1/namespaces/{namespace}/configmaps", manifests::config_map()),
        kind(
            "large ConfigMap",
            Subject::Manifest("/api/v1/namespaces/{namespace}/configmaps"),
            manifests::LARGE_CONFIG_MAP,
        ),
        kind(
            "large Secret",
            Subject::Manifest("/api/v1/namespaces/{namespace}/secrets"),
            manifests::LARGE_SECRET,
        ),
        kind("APIService", Subject::ApiService, csv::API_SERVICE),
        rbac("Secret", "/api/v1/namespaces/{namespace}/secrets", manifests::secret()),
        rbac(
            "PodDisruptionBudget",
            "/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets",
            manifests::pod_disruption_budget(),
        ),
        rbac("PriorityClass", "/apis/scheduling.k8s.io/v1/priorityclasses", manifests::priority_class()),
        rbac(
            "NetworkPolicy",
            "/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies",
            manifests::network_policy(),
        ),
    ]
}

const SERVICES: &str = "/api/v1/namespaces/{namespace}/services";

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;

    #[test]
    fn templates_parse_and_make_objects() {
        for kind in kinds() {
            for seed in 0..50 {
                let object = kind.template.instantiate(&mut Rng::with_seed(seed), None).object;
                assert!(object.is_object(), "{}", kind.name);
            }
        }
    }
}
