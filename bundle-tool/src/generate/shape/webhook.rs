//! Admission webhooks.
//!
//! Source: `types.go` of `k8s.io/api/admissionregistration/v1`, v0.34.

use super::fields::Shape::{Int, List, Struct, Text};
use super::fields::{Fields, given, keep, omit};
use super::meta::{LABEL_SELECTOR, OBJECT};

static SERVICE_REFERENCE: Fields =
    Fields::of(&[keep("name", Text), keep("namespace", Text), given("path", Text), given("port", Int)]);

pub(super) static WEBHOOK_CLIENT_CONFIG: Fields =
    Fields::of(&[omit("caBundle", Text), given("service", Struct(&SERVICE_REFERENCE)), given("url", Text)]);

pub(super) static RULE_WITH_OPERATIONS: Fields = Fields::of(&[
    omit("apiGroups", List(&Text)),
    omit("apiVersions", List(&Text)),
    omit("operations", List(&Text)),
    omit("resources", List(&Text)),
    given("scope", Text),
]);

static MATCH_CONDITION: Fields = Fields::of(&[keep("expression", Text), keep("name", Text)]);

static VALIDATING_WEBHOOK: Fields = Fields::of(&[
    keep("admissionReviewVersions", List(&Text)),
    keep("clientConfig", Struct(&WEBHOOK_CLIENT_CONFIG)),
    given("failurePolicy", Text),
    omit("matchConditions", List(&Struct(&MATCH_CONDITION))),
    given("matchPolicy", Text),
    keep("name", Text),
    given("namespaceSelector", Struct(&LABEL_SELECTOR)),
    given("objectSelector", Struct(&LABEL_SELECTOR)),
    omit("rules", List(&Struct(&RULE_WITH_OPERATIONS))),
    given("sideEffects", Text),
    given("timeoutSeconds", Int),
]);

pub(in crate::generate) static VALIDATING_WEBHOOK_CONFIGURATION: Fields =
    Fields::with(&OBJECT, &[omit("webhooks", List(&Struct(&VALIDATING_WEBHOOK)))]);

static MUTATING_WEBHOOK: Fields = Fields::with(&VALIDATING_WEBHOOK, &[given("reinvocationPolicy", Text)]);

pub(in crate::generate) static MUTATING_WEBHOOK_CONFIGURATION: Fields =
    Fields::with(&OBJECT, &[omit("webhooks", List(&Struct(&MUTATING_WEBHOOK)))]);
