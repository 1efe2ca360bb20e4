//! Services, service accounts, roles and their bindings.
//!
//! Source: `types.go` of `k8s.io/api/core/v1` and `k8s.io/api/rbac/v1`, v0.34.

use super::fields::Shape::{Bool, Int, IntOrText, List, Map, Struct, Text};
use super::fields::{Fields, given, keep, omit};
use super::meta::{LABEL_SELECTOR, LOCAL_OBJECT_REFERENCE, OBJECT, OBJECT_REFERENCE};

pub(super) static POLICY_RULE: Fields = Fields::of(&[
    omit("apiGroups", List(&Text)),
    omit("nonResourceURLs", List(&Text)),
    omit("resourceNames", List(&Text)),
    omit("resources", List(&Text)),
    keep("verbs", List(&Text)),
]);

pub(in crate::generate) static ROLE: Fields =
    Fields::with(&OBJECT, &[keep("rules", List(&Struct(&POLICY_RULE)))]);

static AGGREGATION_RULE: Fields = Fields::of(&[omit("clusterRoleSelectors", List(&Struct(&LABEL_SELECTOR)))]);

pub(in crate::generate) static CLUSTER_ROLE: Fields =
    Fields::with(&ROLE, &[given("aggregationRule", Struct(&AGGREGATION_RULE))]);

static SUBJECT: Fields =
    Fields::of(&[omit("apiGroup", Text), keep("kind", Text), keep("name", Text), omit("namespace", Text)]);

static ROLE_REF: Fields = Fields::of(&[keep("apiGroup", Text), keep("kind", Text), keep("name", Text)]);

pub(in crate::generate) static ROLE_BINDING: Fields =
    Fields::with(&OBJECT, &[keep("roleRef", Struct(&ROLE_REF)), omit("subjects", List(&Struct(&SUBJECT)))]);

pub(in crate::generate) static SERVICE_ACCOUNT: Fields = Fields::with(
    &OBJECT,
    &[
        given("automountServiceAccountToken", Bool),
        omit("imagePullSecrets", List(&Struct(&LOCAL_OBJECT_REFERENCE))),
        omit("secrets", List(&Struct(&OBJECT_REFERENCE))),
    ],
);

static SERVICE_PORT: Fields = Fields::of(&[
    given("appProtocol", Text),
    omit("name", Text),
    omit("nodePort", Int),
    keep("port", Int),
    omit("protocol", Text),
    omit("targetPort", IntOrText),
]);

static CLIENT_IP_CONFIG: Fields = Fields::of(&[given("timeoutSeconds", Int)]);

static SESSION_AFFINITY_CONFIG: Fields = Fields::of(&[given("clientIP", Struct(&CLIENT_IP_CONFIG))]);

static SERVICE_SPEC: Fields = Fields::of(&[
    given("allocateLoadBalancerNodePorts", Bool),
    omit("clusterIP", Text),
    omit("clusterIPs", List(&Text)),
    omit("externalIPs", List(&Text)),
    omit("externalName", Text),
    omit("externalTrafficPolicy", Text),
    omit("healthCheckNodePort", Int),
    given("internalTrafficPolicy", Text),
    omit("ipFamilies", List(&Text)),
    given("ipFamilyPolicy", Text),
    given("loadBalancerClass", Text),
    omit("loadBalancerIP", Text),
    omit("loadBalancerSourceRanges", List(&Text)),
    omit("ports", List(&Struct(&SERVICE_PORT))),
    omit("publishNotReadyAddresses", Bool),
    omit("selector", Map(&Text)),
    omit("sessionAffinity", Text),
    given("sessionAffinityConfig", Struct(&SESSION_AFFINITY_CONFIG)),
    given("trafficDistribution", Text),
    omit("type", Text),
]);

pub(in crate::generate) static SERVICE: Fields =
    Fields::with(&OBJECT, &[omit("spec", Struct(&SERVICE_SPEC))]);
