//! The kinds of objects that are read and written, with the paths of their APIs.

use serde_json::Value;

/// A kind of object and where the API server serves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// `apiVersion` of the objects.
    pub api_version: &'static str,
    /// `kind` of the objects.
    pub kind: &'static str,
    /// Name of the resource in paths.
    pub plural: &'static str,
    /// Whether objects are in a namespace.
    pub namespaced: bool,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $api_version:literal, $kind:literal, $plural:literal, $namespaced:literal;)*) => {
        $($(#[$doc])* pub const $name: Kind =
            Kind { api_version: $api_version, kind: $kind, plural: $plural, namespaced: $namespaced };)*
        /// All kinds of this table.
        pub const ALL: &[Kind] = &[$($name),*];
    };
}

kinds! {
    /// A catalog that OLM resolves from.
    CATALOG_SOURCE = "operators.coreos.com/v1alpha1", "CatalogSource", "catalogsources", true;
    /// What a user installs.
    SUBSCRIPTION = "operators.coreos.com/v1alpha1", "Subscription", "subscriptions", true;
    /// What OLM creates for a resolution.
    INSTALL_PLAN = "operators.coreos.com/v1alpha1", "InstallPlan", "installplans", true;
    /// An installed operator.
    CSV = "operators.coreos.com/v1alpha1", "ClusterServiceVersion", "clusterserviceversions", true;
    /// The namespaces that the operators of a namespace watch.
    OPERATOR_GROUP = "operators.coreos.com/v1", "OperatorGroup", "operatorgroups", true;
    /// A namespace.
    NAMESPACE = "v1", "Namespace", "namespaces", false;
    /// A node.
    NODE = "v1", "Node", "nodes", false;
    /// A pod.
    POD = "v1", "Pod", "pods", true;
    /// An event.
    EVENT = "v1", "Event", "events", true;
    /// A configuration map.
    CONFIG_MAP = "v1", "ConfigMap", "configmaps", true;
    /// A secret.
    SECRET = "v1", "Secret", "secrets", true;
    /// A service.
    SERVICE = "v1", "Service", "services", true;
    /// A service account.
    SERVICE_ACCOUNT = "v1", "ServiceAccount", "serviceaccounts", true;
    /// A deployment.
    DEPLOYMENT = "apps/v1", "Deployment", "deployments", true;
    /// A job.
    JOB = "batch/v1", "Job", "jobs", true;
    /// A custom resource definition.
    CRD = "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", false;
    /// A validating webhook configuration.
    VALIDATING_WEBHOOK = "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations", false;
    /// A mutating webhook configuration.
    MUTATING_WEBHOOK = "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations", false;
    /// What clients may do in the whole cluster.
    CLUSTER_ROLE = "rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false;
    /// Who has a cluster role.
    CLUSTER_ROLE_BINDING = "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", false;
    /// What clients may do in a namespace.
    ROLE = "rbac.authorization.k8s.io/v1", "Role", "roles", true;
    /// Who has a role.
    ROLE_BINDING = "rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", true;
    /// Who may talk to pods.
    NETWORK_POLICY = "networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", true;
    /// An API that another server serves.
    API_SERVICE = "apiregistration.k8s.io/v1", "APIService", "apiservices", false;
    /// The configuration of OLM.
    OLM_CONFIG = "operators.coreos.com/v1", "OLMConfig", "olmconfigs", false;
    /// A catalog that OLM v1 serves.
    CLUSTER_CATALOG = "olm.operatorframework.io/v1", "ClusterCatalog", "clustercatalogs", false;
    /// What a user installs with OLM v1.
    CLUSTER_EXTENSION = "olm.operatorframework.io/v1", "ClusterExtension", "clusterextensions", false;
}

impl Kind {
    /// Returns the kind of an object, if it is in the table.
    #[must_use]
    pub fn of_object(object: &Value) -> Option<Self> {
        let kind = object["kind"].as_str()?;
        let api_version = object["apiVersion"].as_str()?;
        ALL.iter().copied().find(|one| one.kind == kind && one.api_version == api_version)
    }

    /// Returns the path of the objects of a namespace, or of all namespaces.
    #[must_use]
    pub fn path(self, namespace: Option<&str>) -> String {
        let root = if self.api_version.contains('/') { "/apis" } else { "/api" };
        match namespace {
            Some(namespace) if self.namespaced => {
                format!("{root}/{}/namespaces/{namespace}/{}", self.api_version, self.plural)
            }
            _ => format!("{root}/{}/{}", self.api_version, self.plural),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_of_kinds() {
        assert_eq!(POD.path(Some("a")), "/api/v1/namespaces/a/pods");
        assert_eq!(NAMESPACE.path(Some("a")), "/api/v1/namespaces");
        assert_eq!(CSV.path(None), "/apis/operators.coreos.com/v1alpha1/clusterserviceversions");
        assert_eq!(
            Kind::of_object(&json!({"apiVersion": "apps/v1", "kind": "Deployment"})),
            Some(DEPLOYMENT)
        );
        assert_eq!(Kind::of_object(&json!({"apiVersion": "apps/v2", "kind": "Deployment"})), None);
    }
}
