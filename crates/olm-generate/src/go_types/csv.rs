//! The `ClusterServiceVersion`.
//!
//! Source: `clusterserviceversion_types.go` of operator-framework/api v0.45.

use super::core::POLICY_RULE;
use super::fields::GoType::{Any, Bool, Int, IntOrText, List, Map, Struct, Text};
use super::fields::{GoStruct, always, omitempty, pointer};
use super::meta::{LABEL_SELECTOR, OBJECT};
use super::pod::DEPLOYMENT_SPEC;
use super::webhook::RULE_WITH_OPERATIONS;

static STRATEGY_DEPLOYMENT_SPEC: GoStruct = GoStruct::new(&[
    omitempty("label", Map(&Text)),
    always("name", Text),
    always("spec", Struct(&DEPLOYMENT_SPEC)),
]);

static STRATEGY_DEPLOYMENT_PERMISSIONS: GoStruct =
    GoStruct::new(&[always("rules", List(&Struct(&POLICY_RULE))), always("serviceAccountName", Text)]);

static STRATEGY_DETAILS_DEPLOYMENT: GoStruct = GoStruct::new(&[
    omitempty("clusterPermissions", List(&Struct(&STRATEGY_DEPLOYMENT_PERMISSIONS))),
    always("deployments", List(&Struct(&STRATEGY_DEPLOYMENT_SPEC))),
    omitempty("permissions", List(&Struct(&STRATEGY_DEPLOYMENT_PERMISSIONS))),
]);

static NAMED_INSTALL_STRATEGY: GoStruct =
    GoStruct::new(&[omitempty("spec", Struct(&STRATEGY_DETAILS_DEPLOYMENT)), always("strategy", Text)]);

static API_RESOURCE_REFERENCE: GoStruct =
    GoStruct::new(&[always("kind", Text), always("name", Text), always("version", Text)]);

/// A spec, a status or an action descriptor.
static DESCRIPTOR: GoStruct = GoStruct::new(&[
    omitempty("description", Text),
    omitempty("displayName", Text),
    always("path", Text),
    omitempty("value", Any),
    omitempty("x-descriptors", List(&Text)),
]);

static CRD_DESCRIPTION: GoStruct = GoStruct::new(&[
    omitempty("actionDescriptors", List(&Struct(&DESCRIPTOR))),
    omitempty("description", Text),
    omitempty("displayName", Text),
    always("kind", Text),
    always("name", Text),
    omitempty("resources", List(&Struct(&API_RESOURCE_REFERENCE))),
    omitempty("specDescriptors", List(&Struct(&DESCRIPTOR))),
    omitempty("statusDescriptors", List(&Struct(&DESCRIPTOR))),
    always("version", Text),
]);

static CUSTOM_RESOURCE_DEFINITIONS: GoStruct = GoStruct::new(&[
    omitempty("owned", List(&Struct(&CRD_DESCRIPTION))),
    omitempty("required", List(&Struct(&CRD_DESCRIPTION))),
]);

static API_SERVICE_DESCRIPTION: GoStruct = GoStruct::with(
    &CRD_DESCRIPTION,
    &[omitempty("containerPort", Int), omitempty("deploymentName", Text), always("group", Text)],
);

static API_SERVICE_DEFINITIONS: GoStruct = GoStruct::new(&[
    omitempty("owned", List(&Struct(&API_SERVICE_DESCRIPTION))),
    omitempty("required", List(&Struct(&API_SERVICE_DESCRIPTION))),
]);

static WEBHOOK_DESCRIPTION: GoStruct = GoStruct::new(&[
    always("admissionReviewVersions", List(&Text)),
    omitempty("containerPort", Int),
    omitempty("conversionCRDs", List(&Text)),
    omitempty("deploymentName", Text),
    pointer("failurePolicy", Text),
    always("generateName", Text),
    pointer("matchPolicy", Text),
    pointer("objectSelector", Struct(&LABEL_SELECTOR)),
    pointer("reinvocationPolicy", Text),
    omitempty("rules", List(&Struct(&RULE_WITH_OPERATIONS))),
    pointer("sideEffects", Text),
    pointer("targetPort", IntOrText),
    pointer("timeoutSeconds", Int),
    always("type", Text),
    pointer("webhookPath", Text),
]);

static GROUP_VERSION_KIND: GoStruct =
    GoStruct::new(&[always("group", Text), always("kind", Text), always("version", Text)]);

static MAINTAINER: GoStruct = GoStruct::new(&[omitempty("email", Text), omitempty("name", Text)]);

static APP_LINK: GoStruct = GoStruct::new(&[omitempty("name", Text), omitempty("url", Text)]);

static ICON: GoStruct = GoStruct::new(&[always("base64data", Text), always("mediatype", Text)]);

static INSTALL_MODE: GoStruct = GoStruct::new(&[always("supported", Bool), always("type", Text)]);

static CLEANUP_SPEC: GoStruct = GoStruct::new(&[always("enabled", Bool)]);

static RELATED_IMAGE: GoStruct = GoStruct::new(&[always("image", Text), always("name", Text)]);

static CLUSTER_SERVICE_VERSION_SPEC: GoStruct = GoStruct::new(&[
    omitempty("annotations", Map(&Text)),
    omitempty("apiservicedefinitions", Struct(&API_SERVICE_DEFINITIONS)),
    omitempty("cleanup", Struct(&CLEANUP_SPEC)),
    omitempty("customresourcedefinitions", Struct(&CUSTOM_RESOURCE_DEFINITIONS)),
    omitempty("description", Text),
    always("displayName", Text),
    omitempty("icon", List(&Struct(&ICON))),
    always("install", Struct(&NAMED_INSTALL_STRATEGY)),
    omitempty("installModes", List(&Struct(&INSTALL_MODE))),
    omitempty("keywords", List(&Text)),
    omitempty("labels", Map(&Text)),
    omitempty("links", List(&Struct(&APP_LINK))),
    omitempty("maintainers", List(&Struct(&MAINTAINER))),
    omitempty("maturity", Text),
    omitempty("minKubeVersion", Text),
    omitempty("nativeAPIs", List(&Struct(&GROUP_VERSION_KIND))),
    omitempty("provider", Struct(&APP_LINK)),
    omitempty("relatedImages", List(&Struct(&RELATED_IMAGE))),
    omitempty("release", Text),
    omitempty("replaces", Text),
    pointer("selector", Struct(&LABEL_SELECTOR)),
    omitempty("skips", List(&Text)),
    omitempty("version", Text),
    omitempty("webhookdefinitions", List(&Struct(&WEBHOOK_DESCRIPTION))),
]);

pub(crate) static CLUSTER_SERVICE_VERSION: GoStruct =
    GoStruct::with(&OBJECT, &[always("spec", Struct(&CLUSTER_SERVICE_VERSION_SPEC))]);
