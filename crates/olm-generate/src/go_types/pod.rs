//! Deployments and what their pods say beside containers and volumes.
//!
//! Source: `types.go` of `k8s.io/api/apps/v1` and `k8s.io/api/core/v1`, v0.34.

use super::container::{
    APP_ARMOR_PROFILE, CONTAINER, RESOURCE_REQUIREMENTS, SE_LINUX_OPTIONS, SECCOMP_PROFILE,
    WINDOWS_SECURITY_CONTEXT_OPTIONS,
};
use super::fields::GoType::{Bool, Int, IntOrText, List, Map, Quantity, Struct, Text};
use super::fields::{GoStruct, always, omitempty, pointer};
use super::meta::{LABEL_SELECTOR, LOCAL_OBJECT_REFERENCE, OBJECT, OBJECT_META};
use super::volumes::VOLUME;

static EPHEMERAL_CONTAINER: GoStruct = GoStruct::with(&CONTAINER, &[omitempty("targetContainerName", Text)]);

static SYSCTL: GoStruct = GoStruct::new(&[always("name", Text), always("value", Text)]);

static POD_SECURITY_CONTEXT: GoStruct = GoStruct::new(&[
    pointer("appArmorProfile", Struct(&APP_ARMOR_PROFILE)),
    pointer("fsGroup", Int),
    pointer("fsGroupChangePolicy", Text),
    pointer("runAsGroup", Int),
    pointer("runAsNonRoot", Bool),
    pointer("runAsUser", Int),
    pointer("seLinuxChangePolicy", Text),
    pointer("seLinuxOptions", Struct(&SE_LINUX_OPTIONS)),
    pointer("seccompProfile", Struct(&SECCOMP_PROFILE)),
    omitempty("supplementalGroups", List(&Int)),
    pointer("supplementalGroupsPolicy", Text),
    omitempty("sysctls", List(&Struct(&SYSCTL))),
    pointer("windowsOptions", Struct(&WINDOWS_SECURITY_CONTEXT_OPTIONS)),
]);

static NODE_SELECTOR_REQUIREMENT: GoStruct =
    GoStruct::new(&[always("key", Text), always("operator", Text), omitempty("values", List(&Text))]);

static NODE_SELECTOR_TERM: GoStruct = GoStruct::new(&[
    omitempty("matchExpressions", List(&Struct(&NODE_SELECTOR_REQUIREMENT))),
    omitempty("matchFields", List(&Struct(&NODE_SELECTOR_REQUIREMENT))),
]);

static NODE_SELECTOR: GoStruct =
    GoStruct::new(&[always("nodeSelectorTerms", List(&Struct(&NODE_SELECTOR_TERM)))]);

static PREFERRED_SCHEDULING_TERM: GoStruct =
    GoStruct::new(&[always("preference", Struct(&NODE_SELECTOR_TERM)), always("weight", Int)]);

static NODE_AFFINITY: GoStruct = GoStruct::new(&[
    omitempty("preferredDuringSchedulingIgnoredDuringExecution", List(&Struct(&PREFERRED_SCHEDULING_TERM))),
    pointer("requiredDuringSchedulingIgnoredDuringExecution", Struct(&NODE_SELECTOR)),
]);

static POD_AFFINITY_TERM: GoStruct = GoStruct::new(&[
    pointer("labelSelector", Struct(&LABEL_SELECTOR)),
    omitempty("matchLabelKeys", List(&Text)),
    omitempty("mismatchLabelKeys", List(&Text)),
    pointer("namespaceSelector", Struct(&LABEL_SELECTOR)),
    omitempty("namespaces", List(&Text)),
    always("topologyKey", Text),
]);

static WEIGHTED_POD_AFFINITY_TERM: GoStruct =
    GoStruct::new(&[always("podAffinityTerm", Struct(&POD_AFFINITY_TERM)), always("weight", Int)]);

static POD_AFFINITY: GoStruct = GoStruct::new(&[
    omitempty("preferredDuringSchedulingIgnoredDuringExecution", List(&Struct(&WEIGHTED_POD_AFFINITY_TERM))),
    omitempty("requiredDuringSchedulingIgnoredDuringExecution", List(&Struct(&POD_AFFINITY_TERM))),
]);

static POD_ANTI_AFFINITY: GoStruct = GoStruct::new(&[
    omitempty("preferredDuringSchedulingIgnoredDuringExecution", List(&Struct(&WEIGHTED_POD_AFFINITY_TERM))),
    omitempty("requiredDuringSchedulingIgnoredDuringExecution", List(&Struct(&POD_AFFINITY_TERM))),
]);

static AFFINITY: GoStruct = GoStruct::new(&[
    pointer("nodeAffinity", Struct(&NODE_AFFINITY)),
    pointer("podAffinity", Struct(&POD_AFFINITY)),
    pointer("podAntiAffinity", Struct(&POD_ANTI_AFFINITY)),
]);

static TOLERATION: GoStruct = GoStruct::new(&[
    omitempty("effect", Text),
    omitempty("key", Text),
    omitempty("operator", Text),
    pointer("tolerationSeconds", Int),
    omitempty("value", Text),
]);

static HOST_ALIAS: GoStruct = GoStruct::new(&[omitempty("hostnames", List(&Text)), always("ip", Text)]);

static POD_DNS_CONFIG_OPTION: GoStruct = GoStruct::new(&[omitempty("name", Text), pointer("value", Text)]);

static POD_DNS_CONFIG: GoStruct = GoStruct::new(&[
    omitempty("nameservers", List(&Text)),
    omitempty("options", List(&Struct(&POD_DNS_CONFIG_OPTION))),
    omitempty("searches", List(&Text)),
]);

static POD_READINESS_GATE: GoStruct = GoStruct::new(&[always("conditionType", Text)]);

static TOPOLOGY_SPREAD_CONSTRAINT: GoStruct = GoStruct::new(&[
    pointer("labelSelector", Struct(&LABEL_SELECTOR)),
    omitempty("matchLabelKeys", List(&Text)),
    always("maxSkew", Int),
    pointer("minDomains", Int),
    pointer("nodeAffinityPolicy", Text),
    pointer("nodeTaintsPolicy", Text),
    always("topologyKey", Text),
    always("whenUnsatisfiable", Text),
]);

static POD_OS: GoStruct = GoStruct::new(&[always("name", Text)]);

static POD_SCHEDULING_GATE: GoStruct = GoStruct::new(&[always("name", Text)]);

static POD_RESOURCE_CLAIM: GoStruct = GoStruct::new(&[
    always("name", Text),
    pointer("resourceClaimName", Text),
    pointer("resourceClaimTemplateName", Text),
]);

static POD_SCHEDULING_GROUP: GoStruct = GoStruct::new(&[pointer("podGroupName", Text)]);

static POD_SPEC: GoStruct = GoStruct::new(&[
    pointer("activeDeadlineSeconds", Int),
    pointer("affinity", Struct(&AFFINITY)),
    pointer("automountServiceAccountToken", Bool),
    always("containers", List(&Struct(&CONTAINER))),
    pointer("dnsConfig", Struct(&POD_DNS_CONFIG)),
    omitempty("dnsPolicy", Text),
    pointer("enableServiceLinks", Bool),
    omitempty("ephemeralContainers", List(&Struct(&EPHEMERAL_CONTAINER))),
    omitempty("hostAliases", List(&Struct(&HOST_ALIAS))),
    omitempty("hostIPC", Bool),
    omitempty("hostNetwork", Bool),
    omitempty("hostPID", Bool),
    pointer("hostUsers", Bool),
    omitempty("hostname", Text),
    pointer("hostnameOverride", Text),
    omitempty("imagePullSecrets", List(&Struct(&LOCAL_OBJECT_REFERENCE))),
    omitempty("initContainers", List(&Struct(&CONTAINER))),
    omitempty("nodeName", Text),
    omitempty("nodeSelector", Map(&Text)),
    pointer("os", Struct(&POD_OS)),
    omitempty("overhead", Map(&Quantity)),
    pointer("preemptionPolicy", Text),
    pointer("priority", Int),
    omitempty("priorityClassName", Text),
    omitempty("readinessGates", List(&Struct(&POD_READINESS_GATE))),
    omitempty("resourceClaims", List(&Struct(&POD_RESOURCE_CLAIM))),
    pointer("resources", Struct(&RESOURCE_REQUIREMENTS)),
    omitempty("restartPolicy", Text),
    pointer("runtimeClassName", Text),
    omitempty("schedulerName", Text),
    omitempty("schedulingGates", List(&Struct(&POD_SCHEDULING_GATE))),
    pointer("schedulingGroup", Struct(&POD_SCHEDULING_GROUP)),
    pointer("securityContext", Struct(&POD_SECURITY_CONTEXT)),
    omitempty("serviceAccount", Text),
    omitempty("serviceAccountName", Text),
    pointer("setHostnameAsFQDN", Bool),
    pointer("shareProcessNamespace", Bool),
    omitempty("subdomain", Text),
    pointer("terminationGracePeriodSeconds", Int),
    omitempty("tolerations", List(&Struct(&TOLERATION))),
    omitempty("topologySpreadConstraints", List(&Struct(&TOPOLOGY_SPREAD_CONSTRAINT))),
    omitempty("volumes", List(&Struct(&VOLUME))),
]);

static POD_TEMPLATE_SPEC: GoStruct =
    GoStruct::new(&[omitempty("metadata", Struct(&OBJECT_META)), omitempty("spec", Struct(&POD_SPEC))]);

static ROLLING_UPDATE_DEPLOYMENT: GoStruct =
    GoStruct::new(&[pointer("maxSurge", IntOrText), pointer("maxUnavailable", IntOrText)]);

static DEPLOYMENT_STRATEGY: GoStruct =
    GoStruct::new(&[pointer("rollingUpdate", Struct(&ROLLING_UPDATE_DEPLOYMENT)), omitempty("type", Text)]);

pub(crate) static DEPLOYMENT_SPEC: GoStruct = GoStruct::new(&[
    omitempty("minReadySeconds", Int),
    omitempty("paused", Bool),
    pointer("progressDeadlineSeconds", Int),
    pointer("replicas", Int),
    pointer("revisionHistoryLimit", Int),
    pointer("selector", Struct(&LABEL_SELECTOR)),
    omitempty("strategy", Struct(&DEPLOYMENT_STRATEGY)),
    always("template", Struct(&POD_TEMPLATE_SPEC)),
]);

pub(crate) static DEPLOYMENT: GoStruct =
    GoStruct::with(&OBJECT, &[omitempty("spec", Struct(&DEPLOYMENT_SPEC))]);
