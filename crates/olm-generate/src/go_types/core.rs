//! Services, service accounts, roles and their bindings.
//!
//! Source: `types.go` of `k8s.io/api/core/v1` and `k8s.io/api/rbac/v1`, v0.34.

use super::fields::GoType::{Bool, Int, IntOrText, List, Map, Struct, Text};
use super::fields::{GoStruct, always, omitempty, pointer};
use super::meta::{LABEL_SELECTOR, LOCAL_OBJECT_REFERENCE, OBJECT, OBJECT_REFERENCE};

pub(crate) static POLICY_RULE: GoStruct = GoStruct::new(&[
    omitempty("apiGroups", List(&Text)),
    omitempty("nonResourceURLs", List(&Text)),
    omitempty("resourceNames", List(&Text)),
    omitempty("resources", List(&Text)),
    always("verbs", List(&Text)),
]);

pub(crate) static ROLE: GoStruct = GoStruct::with(&OBJECT, &[always("rules", List(&Struct(&POLICY_RULE)))]);

static AGGREGATION_RULE: GoStruct =
    GoStruct::new(&[omitempty("clusterRoleSelectors", List(&Struct(&LABEL_SELECTOR)))]);

pub(crate) static CLUSTER_ROLE: GoStruct =
    GoStruct::with(&ROLE, &[pointer("aggregationRule", Struct(&AGGREGATION_RULE))]);

static SUBJECT: GoStruct = GoStruct::new(&[
    omitempty("apiGroup", Text),
    always("kind", Text),
    always("name", Text),
    omitempty("namespace", Text),
]);

static ROLE_REF: GoStruct =
    GoStruct::new(&[always("apiGroup", Text), always("kind", Text), always("name", Text)]);

pub(crate) static ROLE_BINDING: GoStruct = GoStruct::with(
    &OBJECT,
    &[always("roleRef", Struct(&ROLE_REF)), omitempty("subjects", List(&Struct(&SUBJECT)))],
);

pub(crate) static SERVICE_ACCOUNT: GoStruct = GoStruct::with(
    &OBJECT,
    &[
        pointer("automountServiceAccountToken", Bool),
        omitempty("imagePullSecrets", List(&Struct(&LOCAL_OBJECT_REFERENCE))),
        omitempty("secrets", List(&Struct(&OBJECT_REFERENCE))),
    ],
);

static SERVICE_PORT: GoStruct = GoStruct::new(&[
    pointer("appProtocol", Text),
    omitempty("name", Text),
    omitempty("nodePort", Int),
    always("port", Int),
    omitempty("protocol", Text),
    omitempty("targetPort", IntOrText),
]);

static CLIENT_IP_CONFIG: GoStruct = GoStruct::new(&[pointer("timeoutSeconds", Int)]);

static SESSION_AFFINITY_CONFIG: GoStruct = GoStruct::new(&[pointer("clientIP", Struct(&CLIENT_IP_CONFIG))]);

static SERVICE_SPEC: GoStruct = GoStruct::new(&[
    pointer("allocateLoadBalancerNodePorts", Bool),
    omitempty("clusterIP", Text),
    omitempty("clusterIPs", List(&Text)),
    omitempty("externalIPs", List(&Text)),
    omitempty("externalName", Text),
    omitempty("externalTrafficPolicy", Text),
    omitempty("healthCheckNodePort", Int),
    pointer("internalTrafficPolicy", Text),
    omitempty("ipFamilies", List(&Text)),
    pointer("ipFamilyPolicy", Text),
    pointer("loadBalancerClass", Text),
    omitempty("loadBalancerIP", Text),
    omitempty("loadBalancerSourceRanges", List(&Text)),
    omitempty("ports", List(&Struct(&SERVICE_PORT))),
    omitempty("publishNotReadyAddresses", Bool),
    omitempty("selector", Map(&Text)),
    omitempty("sessionAffinity", Text),
    pointer("sessionAffinityConfig", Struct(&SESSION_AFFINITY_CONFIG)),
    pointer("trafficDistribution", Text),
    omitempty("type", Text),
]);

pub(crate) static SERVICE: GoStruct = GoStruct::with(&OBJECT, &[omitempty("spec", Struct(&SERVICE_SPEC))]);
