//! Deployments and what their pods say beside containers and volumes.
//!
//! Source: `types.go` of `k8s.io/api/apps/v1` and `k8s.io/api/core/v1`, v0.34.

use super::container::{
    APP_ARMOR_PROFILE, CONTAINER, RESOURCE_REQUIREMENTS, SE_LINUX_OPTIONS, SECCOMP_PROFILE,
    WINDOWS_SECURITY_CONTEXT_OPTIONS,
};
use super::fields::Shape::{Bool, Int, IntOrText, List, Map, Quantity, Struct, Text};
use super::fields::{Fields, given, keep, omit};
use super::meta::{LABEL_SELECTOR, LOCAL_OBJECT_REFERENCE, OBJECT, OBJECT_META};
use super::volumes::VOLUME;

static EPHEMERAL_CONTAINER: Fields = Fields::with(&CONTAINER, &[omit("targetContainerName", Text)]);

static SYSCTL: Fields = Fields::of(&[keep("name", Text), keep("value", Text)]);

static POD_SECURITY_CONTEXT: Fields = Fields::of(&[
    given("appArmorProfile", Struct(&APP_ARMOR_PROFILE)),
    given("fsGroup", Int),
    given("fsGroupChangePolicy", Text),
    given("runAsGroup", Int),
    given("runAsNonRoot", Bool),
    given("runAsUser", Int),
    given("seLinuxChangePolicy", Text),
    given("seLinuxOptions", Struct(&SE_LINUX_OPTIONS)),
    given("seccompProfile", Struct(&SECCOMP_PROFILE)),
    omit("supplementalGroups", List(&Int)),
    given("supplementalGroupsPolicy", Text),
    omit("sysctls", List(&Struct(&SYSCTL))),
    given("windowsOptions", Struct(&WINDOWS_SECURITY_CONTEXT_OPTIONS)),
]);

static NODE_SELECTOR_REQUIREMENT: Fields =
    Fields::of(&[keep("key", Text), keep("operator", Text), omit("values", List(&Text))]);

static NODE_SELECTOR_TERM: Fields = Fields::of(&[
    omit("matchExpressions", List(&Struct(&NODE_SELECTOR_REQUIREMENT))),
    omit("matchFields", List(&Struct(&NODE_SELECTOR_REQUIREMENT))),
]);

static NODE_SELECTOR: Fields = Fields::of(&[keep("nodeSelectorTerms", List(&Struct(&NODE_SELECTOR_TERM)))]);

static PREFERRED_SCHEDULING_TERM: Fields =
    Fields::of(&[keep("preference", Struct(&NODE_SELECTOR_TERM)), keep("weight", Int)]);

static NODE_AFFINITY: Fields = Fields::of(&[
    omit("preferredDuringSchedulingIgnoredDuringExecution", List(&Struct(&PREFERRED_SCHEDULING_TERM))),
    given("requiredDuringSchedulingIgnoredDuringExecution", Struct(&NODE_SELECTOR)),
]);

static POD_AFFINITY_TERM: Fields = Fields::of(&[
    given("labelSelector", Struct(&LABEL_SELECTOR)),
    omit("matchLabelKeys", List(&Text)),
    omit("mismatchLabelKeys", List(&Text)),
    given("namespaceSelector", Struct(&LABEL_SELECTOR)),
    omit("namespaces", List(&Text)),
    keep("topologyKey", Text),
]);

static WEIGHTED_POD_AFFINITY_TERM: Fields =
    Fields::of(&[keep("podAffinityTerm", Struct(&POD_AFFINITY_TERM)), keep("weight", Int)]);

static POD_AFFINITY: Fields = Fields::of(&[
    omit("preferredDuringSchedulingIgnoredDuringExecution", List(&Struct(&WEIGHTED_POD_AFFINITY_TERM))),
    omit("requiredDuringSchedulingIgnoredDuringExecution", List(&Struct(&POD_AFFINITY_TERM))),
]);

static POD_ANTI_AFFINITY: Fields = Fields::of(&[
    omit("preferredDuringSchedulingIgnoredDuringExecution", List(&Struct(&WEIGHTED_POD_AFFINITY_TERM))),
    omit("requiredDuringSchedulingIgnoredDuringExecution", List(&Struct(&POD_AFFINITY_TERM))),
]);

static AFFINITY: Fields = Fields::of(&[
    given("nodeAffinity", Struct(&NODE_AFFINITY)),
    given("podAffinity", Struct(&POD_AFFINITY)),
    given("podAntiAffinity", Struct(&POD_ANTI_AFFINITY)),
]);

static TOLERATION: Fields = Fields::of(&[
    omit("effect", Text),
    omit("key", Text),
    omit("operator", Text),
    given("tolerationSeconds", Int),
    omit("value", Text),
]);

static HOST_ALIAS: Fields = Fields::of(&[omit("hostnames", List(&Text)), keep("ip", Text)]);

static POD_DNS_CONFIG_OPTION: Fields = Fields::of(&[omit("name", Text), given("value", Text)]);

static POD_DNS_CONFIG: Fields = Fields::of(&[
    omit("nameservers", List(&Text)),
    omit("options", List(&Struct(&POD_DNS_CONFIG_OPTION))),
    omit("searches", List(&Text)),
]);

static POD_READINESS_GATE: Fields = Fields::of(&[keep("conditionType", Text)]);

static TOPOLOGY_SPREAD_CONSTRAINT: Fields = Fields::of(&[
    given("labelSelector", Struct(&LABEL_SELECTOR)),
    omit("matchLabelKeys", List(&Text)),
    keep("maxSkew", Int),
    given("minDomains", Int),
    given("nodeAffinityPolicy", Text),
    given("nodeTaintsPolicy", Text),
    keep("topologyKey", Text),
    keep("whenUnsatisfiable", Text),
]);

static POD_OS: Fields = Fields::of(&[keep("name", Text)]);

static POD_SCHEDULING_GATE: Fields = Fields::of(&[keep("name", Text)]);

static POD_RESOURCE_CLAIM: Fields = Fields::of(&[
    keep("name", Text),
    given("resourceClaimName", Text),
    given("resourceClaimTemplateName", Text),
]);

static POD_SCHEDULING_GROUP: Fields = Fields::of(&[given("podGroupName", Text)]);

static POD_SPEC: Fields = Fields::of(&[
    given("activeDeadlineSeconds", Int),
    given("affinity", Struct(&AFFINITY)),
    given("automountServiceAccountToken", Bool),
    keep("containers", List(&Struct(&CONTAINER))),
    given("dnsConfig", Struct(&POD_DNS_CONFIG)),
    omit("dnsPolicy", Text),
    given("enableServiceLinks", Bool),
    omit("ephemeralContainers", List(&Struct(&EPHEMERAL_CONTAINER))),
    omit("hostAliases", List(&Struct(&HOST_ALIAS))),
    omit("hostIPC", Bool),
    omit("hostNetwork", Bool),
    omit("hostPID", Bool),
    given("hostUsers", Bool),
    omit("hostname", Text),
    given("hostnameOverride", Text),
    omit("imagePullSecrets", List(&Struct(&LOCAL_OBJECT_REFERENCE))),
    omit("initContainers", List(&Struct(&CONTAINER))),
    omit("nodeName", Text),
    omit("nodeSelector", Map(&Text)),
    given("os", Struct(&POD_OS)),
    omit("overhead", Map(&Quantity)),
    given("preemptionPolicy", Text),
    given("priority", Int),
    omit("priorityClassName", Text),
    omit("readinessGates", List(&Struct(&POD_READINESS_GATE))),
    omit("resourceClaims", List(&Struct(&POD_RESOURCE_CLAIM))),
    given("resources", Struct(&RESOURCE_REQUIREMENTS)),
    omit("restartPolicy", Text),
    given("runtimeClassName", Text),
    omit("schedulerName", Text),
    omit("schedulingGates", List(&Struct(&POD_SCHEDULING_GATE))),
    given("schedulingGroup", Struct(&POD_SCHEDULING_GROUP)),
    given("securityContext", Struct(&POD_SECURITY_CONTEXT)),
    omit("serviceAccount", Text),
    omit("serviceAccountName", Text),
    given("setHostnameAsFQDN", Bool),
    given("shareProcessNamespace", Bool),
    omit("subdomain", Text),
    given("terminationGracePeriodSeconds", Int),
    omit("tolerations", List(&Struct(&TOLERATION))),
    omit("topologySpreadConstraints", List(&Struct(&TOPOLOGY_SPREAD_CONSTRAINT))),
    omit("volumes", List(&Struct(&VOLUME))),
]);

static POD_TEMPLATE_SPEC: Fields =
    Fields::of(&[omit("metadata", Struct(&OBJECT_META)), omit("spec", Struct(&POD_SPEC))]);

static ROLLING_UPDATE_DEPLOYMENT: Fields =
    Fields::of(&[given("maxSurge", IntOrText), given("maxUnavailable", IntOrText)]);

static DEPLOYMENT_STRATEGY: Fields =
    Fields::of(&[given("rollingUpdate", Struct(&ROLLING_UPDATE_DEPLOYMENT)), omit("type", Text)]);

pub(super) static DEPLOYMENT_SPEC: Fields = Fields::of(&[
    omit("minReadySeconds", Int),
    omit("paused", Bool),
    given("progressDeadlineSeconds", Int),
    given("replicas", Int),
    given("revisionHistoryLimit", Int),
    given("selector", Struct(&LABEL_SELECTOR)),
    omit("strategy", Struct(&DEPLOYMENT_STRATEGY)),
    keep("template", Struct(&POD_TEMPLATE_SPEC)),
]);

pub(in crate::generate) static DEPLOYMENT: Fields =
    Fields::with(&OBJECT, &[omit("spec", Struct(&DEPLOYMENT_SPEC))]);
