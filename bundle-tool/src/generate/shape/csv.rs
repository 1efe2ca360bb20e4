//! The `ClusterServiceVersion`.
//!
//! Source: `clusterserviceversion_types.go` of operator-framework/api v0.45.

use super::core::POLICY_RULE;
use super::fields::Shape::{Any, Bool, Int, IntOrText, List, Map, Struct, Text};
use super::fields::{Fields, given, keep, omit};
use super::meta::{LABEL_SELECTOR, OBJECT};
use super::pod::DEPLOYMENT_SPEC;
use super::webhook::RULE_WITH_OPERATIONS;

static STRATEGY_DEPLOYMENT_SPEC: Fields =
    Fields::of(&[omit("label", Map(&Text)), keep("name", Text), keep("spec", Struct(&DEPLOYMENT_SPEC))]);

static STRATEGY_DEPLOYMENT_PERMISSIONS: Fields =
    Fields::of(&[keep("rules", List(&Struct(&POLICY_RULE))), keep("serviceAccountName", Text)]);

static STRATEGY_DETAILS_DEPLOYMENT: Fields = Fields::of(&[
    omit("clusterPermissions", List(&Struct(&STRATEGY_DEPLOYMENT_PERMISSIONS))),
    keep("deployments", List(&Struct(&STRATEGY_DEPLOYMENT_SPEC))),
    omit("permissions", List(&Struct(&STRATEGY_DEPLOYMENT_PERMISSIONS))),
]);

static NAMED_INSTALL_STRATEGY: Fields =
    Fields::of(&[omit("spec", Struct(&STRATEGY_DETAILS_DEPLOYMENT)), keep("strategy", Text)]);

static API_RESOURCE_REFERENCE: Fields =
    Fields::of(&[keep("kind", Text), keep("name", Text), keep("version", Text)]);

/// A spec, a status or an action descriptor.
static DESCRIPTOR: Fields = Fields::of(&[
    omit("description", Text),
    omit("displayName", Text),
    keep("path", Text),
    omit("value", Any),
    omit("x-descriptors", List(&Text)),
]);

static CRD_DESCRIPTION: Fields = Fields::of(&[
    omit("actionDescriptors", List(&Struct(&DESCRIPTOR))),
    omit("description", Text),
    omit("displayName", Text),
    keep("kind", Text),
    keep("name", Text),
    omit("resources", List(&Struct(&API_RESOURCE_REFERENCE))),
    omit("specDescriptors", List(&Struct(&DESCRIPTOR))),
    omit("statusDescriptors", List(&Struct(&DESCRIPTOR))),
    keep("version", Text),
]);

static CUSTOM_RESOURCE_DEFINITIONS: Fields = Fields::of(&[
    omit("owned", List(&Struct(&CRD_DESCRIPTION))),
    omit("required", List(&Struct(&CRD_DESCRIPTION))),
]);

static API_SERVICE_DESCRIPTION: Fields = Fields::with(
    &CRD_DESCRIPTION,
    &[omit("containerPort", Int), omit("deploymentName", Text), keep("group", Text)],
);

static API_SERVICE_DEFINITIONS: Fields = Fields::of(&[
    omit("owned", List(&Struct(&API_SERVICE_DESCRIPTION))),
    omit("required", List(&Struct(&API_SERVICE_DESCRIPTION))),
]);

static WEBHOOK_DESCRIPTION: Fields = Fields::of(&[
    keep("admissionReviewVersions", List(&Text)),
    omit("containerPort", Int),
    omit("conversionCRDs", List(&Text)),
    omit("deploymentName", Text),
    given("failurePolicy", Text),
    keep("generateName", Text),
    given("matchPolicy", Text),
    given("objectSelector", Struct(&LABEL_SELECTOR)),
    given("reinvocationPolicy", Text),
    omit("rules", List(&Struct(&RULE_WITH_OPERATIONS))),
    given("sideEffects", Text),
    given("targetPort", IntOrText),
    given("timeoutSeconds", Int),
    keep("type", Text),
    given("webhookPath", Text),
]);

static GROUP_VERSION_KIND: Fields =
    Fields::of(&[keep("group", Text), keep("kind", Text), keep("version", Text)]);

static MAINTAINER: Fields = Fields::of(&[omit("email", Text), omit("name", Text)]);

static APP_LINK: Fields = Fields::of(&[omit("name", Text), omit("url", Text)]);

static ICON: Fields = Fields::of(&[keep("base64data", Text), keep("mediatype", Text)]);

static INSTALL_MODE: Fields = Fields::of(&[keep("supported", Bool), keep("type", Text)]);

static CLEANUP_SPEC: Fields = Fields::of(&[keep("enabled", Bool)]);

static RELATED_IMAGE: Fields = Fields::of(&[keep("image", Text), keep("name", Text)]);

static CLUSTER_SERVICE_VERSION_SPEC: Fields = Fields::of(&[
    omit("annotations", Map(&Text)),
    omit("apiservicedefinitions", Struct(&API_SERVICE_DEFINITIONS)),
    omit("cleanup", Struct(&CLEANUP_SPEC)),
    omit("customresourcedefinitions", Struct(&CUSTOM_RESOURCE_DEFINITIONS)),
    omit("description", Text),
    keep("displayName", Text),
    omit("icon", List(&Struct(&ICON))),
    keep("install", Struct(&NAMED_INSTALL_STRATEGY)),
    omit("installModes", List(&Struct(&INSTALL_MODE))),
    omit("keywords", List(&Text)),
    omit("labels", Map(&Text)),
    omit("links", List(&Struct(&APP_LINK))),
    omit("maintainers", List(&Struct(&MAINTAINER))),
    omit("maturity", Text),
    omit("minKubeVersion", Text),
    omit("nativeAPIs", List(&Struct(&GROUP_VERSION_KIND))),
    omit("provider", Struct(&APP_LINK)),
    omit("relatedImages", List(&Struct(&RELATED_IMAGE))),
    omit("release", Text),
    omit("replaces", Text),
    given("selector", Struct(&LABEL_SELECTOR)),
    omit("skips", List(&Text)),
    omit("version", Text),
    omit("webhookdefinitions", List(&Struct(&WEBHOOK_DESCRIPTION))),
]);

pub(in crate::generate) static CLUSTER_SERVICE_VERSION: Fields =
    Fields::with(&OBJECT, &[keep("spec", Struct(&CLUSTER_SERVICE_VERSION_SPEC))]);
