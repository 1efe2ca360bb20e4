//! Admission webhooks.
//!
//! Source: `types.go` of `k8s.io/api/admissionregistration/v1`, v0.34.

use super::fields::GoType::{Int, List, Struct, Text};
use super::fields::{GoStruct, always, omitempty, pointer};
use super::meta::{LABEL_SELECTOR, OBJECT};

static SERVICE_REFERENCE: GoStruct = GoStruct::new(&[
    always("name", Text),
    always("namespace", Text),
    pointer("path", Text),
    pointer("port", Int),
]);

pub(crate) static WEBHOOK_CLIENT_CONFIG: GoStruct = GoStruct::new(&[
    omitempty("caBundle", Text),
    pointer("service", Struct(&SERVICE_REFERENCE)),
    pointer("url", Text),
]);

pub(crate) static RULE_WITH_OPERATIONS: GoStruct = GoStruct::new(&[
    omitempty("apiGroups", List(&Text)),
    omitempty("apiVersions", List(&Text)),
    omitempty("operations", List(&Text)),
    omitempty("resources", List(&Text)),
    pointer("scope", Text),
]);

static MATCH_CONDITION: GoStruct = GoStruct::new(&[always("expression", Text), always("name", Text)]);

static VALIDATING_WEBHOOK: GoStruct = GoStruct::new(&[
    always("admissionReviewVersions", List(&Text)),
    always("clientConfig", Struct(&WEBHOOK_CLIENT_CONFIG)),
    pointer("failurePolicy", Text),
    omitempty("matchConditions", List(&Struct(&MATCH_CONDITION))),
    pointer("matchPolicy", Text),
    always("name", Text),
    pointer("namespaceSelector", Struct(&LABEL_SELECTOR)),
    pointer("objectSelector", Struct(&LABEL_SELECTOR)),
    omitempty("rules", List(&Struct(&RULE_WITH_OPERATIONS))),
    pointer("sideEffects", Text),
    pointer("timeoutSeconds", Int),
]);

pub(crate) static VALIDATING_WEBHOOK_CONFIGURATION: GoStruct =
    GoStruct::with(&OBJECT, &[omitempty("webhooks", List(&Struct(&VALIDATING_WEBHOOK)))]);

static MUTATING_WEBHOOK: GoStruct =
    GoStruct::with(&VALIDATING_WEBHOOK, &[pointer("reinvocationPolicy", Text)]);

pub(crate) static MUTATING_WEBHOOK_CONFIGURATION: GoStruct =
    GoStruct::with(&OBJECT, &[omitempty("webhooks", List(&Struct(&MUTATING_WEBHOOK)))]);
