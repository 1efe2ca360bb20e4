//! The `ClusterServiceVersion` as OLM reads it.
//!
//! Source: `pkg/operators/v1alpha1/clusterserviceversion_types.go` of operator-framework/api v0.45. Fields that OLM
//! parses further when decoding (the semantic version) stay strings here: rules validate them.

use std::collections::BTreeMap;

use k8s_openapi::api::admissionregistration::v1::RuleWithOperations;
use k8s_openapi::api::apps::v1::DeploymentSpec;
use k8s_openapi::api::rbac::v1::PolicyRule;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// An operator at one version: what it is, how it is installed, which APIs it owns and needs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterServiceVersion {
    /// `operators.coreos.com/v1alpha1`
    pub api_version: String,
    /// `ClusterServiceVersion`
    pub kind: String,
    /// Name, annotations, labels.
    pub metadata: ObjectMeta,
    /// The desired state.
    pub spec: Spec,
    /// The observed state. It is not used here, but must be decodable.
    pub status: Status,
}

/// `spec`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// How the operator is installed.
    pub install: InstallStrategy,
    /// The operator's semantic version.
    pub version: String,
    /// A number that distinguishes rebuilds of the same version.
    pub release: Json,
    /// `alpha`, `beta`, `stable`…
    pub maturity: String,
    /// The custom resources that the operator owns and needs.
    pub customresourcedefinitions: CustomResourceDefinitions,
    /// The aggregated APIs that the operator owns and needs.
    pub apiservicedefinitions: ApiServiceDefinitions,
    /// The webhooks that OLM sets up.
    pub webhookdefinitions: Vec<WebhookDescription>,
    /// Native Kubernetes APIs that are required.
    #[serde(rename = "nativeAPIs")]
    pub native_apis: Vec<GroupVersionKind>,
    /// The minimum Kubernetes version.
    pub min_kube_version: String,
    /// The display name.
    pub display_name: String,
    /// The description, in Markdown.
    pub description: String,
    /// Search keywords.
    pub keywords: Vec<String>,
    /// The maintainers.
    pub maintainers: Vec<Maintainer>,
    /// The publisher.
    pub provider: AppLink,
    /// Links to further documentation.
    pub links: Vec<AppLink>,
    /// The icons.
    pub icon: Vec<Icon>,
    /// The sets of namespaces that the operator can watch.
    pub install_modes: Vec<InstallMode>,
    /// The name of the CSV that this one replaces.
    pub replaces: String,
    /// Labels of the operator.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the operator.
    pub annotations: BTreeMap<String, String>,
    /// Selects the objects that belong to the operator.
    pub selector: Option<LabelSelector>,
    /// Whether OLM deletes the operands with the CSV.
    pub cleanup: Cleanup,
    /// The names of CSVs that an upgrade may skip.
    pub skips: Vec<String>,
    /// All images that the operator may run.
    pub related_images: Vec<RelatedImage>,
}

/// `status`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[expect(missing_docs, reason = "read by nobody")]
pub struct Status {
    pub phase: String,
    pub message: String,
    pub reason: String,
    pub last_update_time: Option<Time>,
    pub last_transition_time: Option<Time>,
    pub conditions: Vec<Condition>,
    pub requirement_status: Vec<RequirementStatus>,
    pub certs_last_updated: Option<Time>,
    pub certs_rotate_at: Option<Time>,
    pub cleanup: CleanupStatus,
}

/// `status.conditions`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[expect(missing_docs, reason = "read by nobody")]
pub struct Condition {
    pub phase: String,
    pub message: String,
    pub reason: String,
    pub last_update_time: Option<Time>,
    pub last_transition_time: Option<Time>,
}

/// `status.requirementStatus`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "read by nobody")]
pub struct RequirementStatus {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub name: String,
    pub status: String,
    pub message: String,
    pub uuid: String,
    pub dependents: Vec<DependentStatus>,
}

/// `status.requirementStatus.dependents`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "read by nobody")]
pub struct DependentStatus {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub status: String,
    pub uuid: String,
    pub message: String,
}

/// `status.cleanup`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[expect(missing_docs, reason = "read by nobody")]
pub struct CleanupStatus {
    pub pending_deletion: Vec<PendingDeletion>,
}

/// `status.cleanup.pendingDeletion`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "read by nobody")]
pub struct PendingDeletion {
    pub group: String,
    pub kind: String,
    pub instances: Vec<PendingInstance>,
}

/// `status.cleanup.pendingDeletion.instances`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "read by nobody")]
pub struct PendingInstance {
    pub namespace: String,
    pub name: String,
}

/// `spec.install`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct InstallStrategy {
    /// `deployment`, the only strategy.
    pub strategy: String,
    /// The objects of the strategy.
    pub spec: StrategySpec,
}

/// `spec.install.spec`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StrategySpec {
    /// The Deployments.
    pub deployments: Vec<StrategyDeployment>,
    /// Roles in the watched namespaces, one for each service account.
    pub permissions: Vec<StrategyPermissions>,
    /// `ClusterRoles`, one for each service account.
    pub cluster_permissions: Vec<StrategyPermissions>,
}

/// One Deployment of the install strategy.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct StrategyDeployment {
    /// The Deployment's name.
    pub name: String,
    /// The Deployment's spec.
    pub spec: DeploymentSpec,
    /// The Deployment's labels.
    pub label: BTreeMap<String, String>,
}

/// The permissions of a service account.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StrategyPermissions {
    /// The service account, which OLM creates.
    pub service_account_name: String,
    /// The rules of its Role or `ClusterRole`.
    pub rules: Vec<PolicyRule>,
}

/// `spec.customresourcedefinitions`
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct CustomResourceDefinitions {
    /// Provided by the operator; their CRDs are in the bundle.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owned: Vec<CrdDescription>,
    /// Required by the operator.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<CrdDescription>,
}

/// One version of one custom resource.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CrdDescription {
    /// The CRD's name, `plural.group`.
    pub name: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The display name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub display_name: String,
    /// The description.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The kinds that the operator creates for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ApiResourceReference>,
    /// How consoles display fields of the status.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub status_descriptors: Vec<Descriptor>,
    /// How consoles display fields of the spec.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spec_descriptors: Vec<Descriptor>,
    /// How consoles display actions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub action_descriptors: Vec<Descriptor>,
}

/// How consoles display one field.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Descriptor {
    /// The field's path.
    pub path: String,
    /// The display name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub display_name: String,
    /// The description.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Hints to the console.
    #[serde(rename = "x-descriptors")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub x_descriptors: Vec<String>,
    /// A value of any kind.
    #[serde(skip_serializing_if = "Json::is_null")]
    pub value: Json,
}

/// A kind that an operator creates.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct ApiResourceReference {
    /// The resource's name, for custom ones.
    pub name: String,
    /// The kind.
    pub kind: String,
    /// The version.
    pub version: String,
}

/// `spec.apiservicedefinitions`
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct ApiServiceDefinitions {
    /// Provided by the operator.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owned: Vec<ApiServiceDescription>,
    /// Required by the operator.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<ApiServiceDescription>,
}

/// One kind of one aggregated API.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ApiServiceDescription {
    /// The resource's plural name.
    pub name: String,
    /// The group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The Deployment of the install strategy that serves it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub deployment_name: String,
    /// The port of its container.
    #[serde(skip_serializing_if = "is_zero")]
    pub container_port: i32,
    /// The display name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub display_name: String,
    /// The description.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The kinds that the operator creates for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ApiResourceReference>,
    /// How consoles display fields of the status.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub status_descriptors: Vec<Descriptor>,
    /// How consoles display fields of the spec.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spec_descriptors: Vec<Descriptor>,
    /// How consoles display actions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub action_descriptors: Vec<Descriptor>,
}

/// A webhook that OLM creates with its Service and certificate.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WebhookDescription {
    /// The webhook's name and the beginning of its configuration's.
    pub generate_name: String,
    /// `ValidatingAdmissionWebhook`, `MutatingAdmissionWebhook` or `ConversionWebhook`
    pub r#type: String,
    /// The Deployment of the install strategy that serves it.
    pub deployment_name: String,
    /// The Service's port.
    pub container_port: i32,
    /// The container's port.
    pub target_port: Option<IntOrString>,
    /// The requests that are sent to it.
    pub rules: Vec<RuleWithOperations>,
    /// `Fail` or `Ignore`
    pub failure_policy: Option<String>,
    /// `Exact` or `Equivalent`
    pub match_policy: Option<String>,
    /// Selects the objects that are sent to it.
    pub object_selector: Option<LabelSelector>,
    /// `None` or `NoneOnDryRun`
    pub side_effects: Option<String>,
    /// The timeout in seconds, from 1 to 30.
    pub timeout_seconds: Option<i32>,
    /// The review versions that it understands.
    pub admission_review_versions: Vec<String>,
    /// `Never` or `IfNeeded`
    pub reinvocation_policy: Option<String>,
    /// The URL's path.
    pub webhook_path: Option<String>,
    /// The CRDs that a conversion webhook converts.
    #[serde(rename = "conversionCRDs")]
    pub conversion_crds: Vec<String>,
}

/// A native Kubernetes API.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct GroupVersionKind {
    /// The group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
}

/// A person or a mailing list.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Maintainer {
    /// The name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub email: String,
}

/// A name with a URL.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct AppLink {
    /// The name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub url: String,
}

/// An icon.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Icon {
    /// The image's bytes in base64.
    pub base64data: String,
    /// The image's media type.
    pub mediatype: String,
}

/// The install modes that OLM supports.
pub const INSTALL_MODES: [&str; 4] = ["OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"];

/// An install mode: whether a set of namespaces can be watched.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct InstallMode {
    /// `OwnNamespace`, `SingleNamespace`, `MultiNamespace` or `AllNamespaces`
    pub r#type: String,
    /// Whether the operator supports it.
    pub supported: bool,
}

/// `spec.cleanup`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Cleanup {
    /// Whether OLM deletes the operands with the CSV.
    pub enabled: bool,
}

/// An image that the operator may run.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct RelatedImage {
    /// What the image is used for.
    pub name: String,
    /// The image reference.
    pub image: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(number: &i32) -> bool {
    *number == 0
}
