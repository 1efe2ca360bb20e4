//! Custom resource definitions, v1 and v1beta1.
//!
//! Source: `types.go` and `types_jsonschema.go` of `k8s.io/apiextensions-apiserver`, v0.34.

use super::fields::GoType::{
    Any, Bool, Float, Int, List, Map, Struct, StructOrBool, StructOrList, StructOrTexts, Text,
};
use super::fields::{GoStruct, always, omitempty, pointer};
use super::meta::OBJECT;
use super::webhook::WEBHOOK_CLIENT_CONFIG;

static CUSTOM_RESOURCE_DEFINITION_NAMES: GoStruct = GoStruct::new(&[
    omitempty("categories", List(&Text)),
    always("kind", Text),
    omitempty("listKind", Text),
    always("plural", Text),
    omitempty("shortNames", List(&Text)),
    omitempty("singular", Text),
]);

static EXTERNAL_DOCUMENTATION: GoStruct =
    GoStruct::new(&[omitempty("description", Text), omitempty("url", Text)]);

static VALIDATION_RULE: GoStruct = GoStruct::new(&[
    omitempty("fieldPath", Text),
    omitempty("message", Text),
    omitempty("messageExpression", Text),
    pointer("optionalOldSelf", Bool),
    pointer("reason", Text),
    always("rule", Text),
]);

static SCHEMA: GoStruct = GoStruct::new(&[
    pointer("$ref", Text),
    omitempty("$schema", Text),
    pointer("additionalItems", StructOrBool(&SCHEMA)),
    pointer("additionalProperties", StructOrBool(&SCHEMA)),
    omitempty("allOf", List(&Struct(&SCHEMA))),
    omitempty("anyOf", List(&Struct(&SCHEMA))),
    pointer("default", Any),
    omitempty("definitions", Map(&Struct(&SCHEMA))),
    omitempty("dependencies", Map(&StructOrTexts(&SCHEMA))),
    omitempty("description", Text),
    omitempty("enum", List(&Any)),
    pointer("example", Any),
    omitempty("exclusiveMaximum", Bool),
    omitempty("exclusiveMinimum", Bool),
    pointer("externalDocs", Struct(&EXTERNAL_DOCUMENTATION)),
    omitempty("format", Text),
    omitempty("id", Text),
    pointer("items", StructOrList(&SCHEMA)),
    pointer("maxItems", Int),
    pointer("maxLength", Int),
    pointer("maxProperties", Int),
    pointer("maximum", Float),
    pointer("minItems", Int),
    pointer("minLength", Int),
    pointer("minProperties", Int),
    pointer("minimum", Float),
    pointer("multipleOf", Float),
    pointer("not", Struct(&SCHEMA)),
    omitempty("nullable", Bool),
    omitempty("oneOf", List(&Struct(&SCHEMA))),
    omitempty("pattern", Text),
    omitempty("patternProperties", Map(&Struct(&SCHEMA))),
    omitempty("properties", Map(&Struct(&SCHEMA))),
    omitempty("required", List(&Text)),
    omitempty("title", Text),
    omitempty("type", Text),
    omitempty("uniqueItems", Bool),
    omitempty("x-kubernetes-embedded-resource", Bool),
    omitempty("x-kubernetes-int-or-string", Bool),
    omitempty("x-kubernetes-list-map-keys", List(&Text)),
    pointer("x-kubernetes-list-type", Text),
    pointer("x-kubernetes-map-type", Text),
    pointer("x-kubernetes-preserve-unknown-fields", Bool),
    omitempty("x-kubernetes-validations", List(&Struct(&VALIDATION_RULE))),
]);

static CUSTOM_RESOURCE_VALIDATION: GoStruct = GoStruct::new(&[pointer("openAPIV3Schema", Struct(&SCHEMA))]);

static CUSTOM_RESOURCE_SUBRESOURCE_STATUS: GoStruct = GoStruct::new(&[]);

static CUSTOM_RESOURCE_SUBRESOURCE_SCALE: GoStruct = GoStruct::new(&[
    pointer("labelSelectorPath", Text),
    always("specReplicasPath", Text),
    always("statusReplicasPath", Text),
]);

static CUSTOM_RESOURCE_SUBRESOURCES: GoStruct = GoStruct::new(&[
    pointer("scale", Struct(&CUSTOM_RESOURCE_SUBRESOURCE_SCALE)),
    pointer("status", Struct(&CUSTOM_RESOURCE_SUBRESOURCE_STATUS)),
]);

/// What the columns of both versions share.
static COLUMN: GoStruct = GoStruct::new(&[
    omitempty("description", Text),
    omitempty("format", Text),
    always("name", Text),
    omitempty("priority", Int),
    always("type", Text),
]);

static CUSTOM_RESOURCE_COLUMN_DEFINITION: GoStruct = GoStruct::with(&COLUMN, &[always("jsonPath", Text)]);

static SELECTABLE_FIELD: GoStruct = GoStruct::new(&[always("jsonPath", Text)]);

/// What the `spec.versions` of both versions share.
static VERSION: GoStruct = GoStruct::new(&[
    omitempty("deprecated", Bool),
    pointer("deprecationWarning", Text),
    always("name", Text),
    pointer("schema", Struct(&CUSTOM_RESOURCE_VALIDATION)),
    omitempty("selectableFields", List(&Struct(&SELECTABLE_FIELD))),
    always("served", Bool),
    always("storage", Bool),
    pointer("subresources", Struct(&CUSTOM_RESOURCE_SUBRESOURCES)),
]);

static CUSTOM_RESOURCE_DEFINITION_VERSION: GoStruct = GoStruct::with(
    &VERSION,
    &[omitempty("additionalPrinterColumns", List(&Struct(&CUSTOM_RESOURCE_COLUMN_DEFINITION)))],
);

static WEBHOOK_CONVERSION: GoStruct = GoStruct::new(&[
    pointer("clientConfig", Struct(&WEBHOOK_CLIENT_CONFIG)),
    always("conversionReviewVersions", List(&Text)),
]);

static CUSTOM_RESOURCE_CONVERSION: GoStruct =
    GoStruct::new(&[always("strategy", Text), pointer("webhook", Struct(&WEBHOOK_CONVERSION))]);

static CUSTOM_RESOURCE_DEFINITION_SPEC: GoStruct = GoStruct::new(&[
    pointer("conversion", Struct(&CUSTOM_RESOURCE_CONVERSION)),
    always("group", Text),
    always("names", Struct(&CUSTOM_RESOURCE_DEFINITION_NAMES)),
    omitempty("preserveUnknownFields", Bool),
    always("scope", Text),
    always("versions", List(&Struct(&CUSTOM_RESOURCE_DEFINITION_VERSION))),
]);

pub(crate) static CUSTOM_RESOURCE_DEFINITION: GoStruct =
    GoStruct::with(&OBJECT, &[always("spec", Struct(&CUSTOM_RESOURCE_DEFINITION_SPEC))]);

static CUSTOM_RESOURCE_COLUMN_DEFINITION_V1BETA1: GoStruct =
    GoStruct::with(&COLUMN, &[always("JSONPath", Text)]);

static CUSTOM_RESOURCE_DEFINITION_VERSION_V1BETA1: GoStruct = GoStruct::with(
    &VERSION,
    &[omitempty("additionalPrinterColumns", List(&Struct(&CUSTOM_RESOURCE_COLUMN_DEFINITION_V1BETA1)))],
);

static CUSTOM_RESOURCE_CONVERSION_V1BETA1: GoStruct = GoStruct::new(&[
    omitempty("conversionReviewVersions", List(&Text)),
    always("strategy", Text),
    pointer("webhookClientConfig", Struct(&WEBHOOK_CLIENT_CONFIG)),
]);

static CUSTOM_RESOURCE_DEFINITION_SPEC_V1BETA1: GoStruct = GoStruct::new(&[
    omitempty("additionalPrinterColumns", List(&Struct(&CUSTOM_RESOURCE_COLUMN_DEFINITION_V1BETA1))),
    pointer("conversion", Struct(&CUSTOM_RESOURCE_CONVERSION_V1BETA1)),
    always("group", Text),
    always("names", Struct(&CUSTOM_RESOURCE_DEFINITION_NAMES)),
    pointer("preserveUnknownFields", Bool),
    always("scope", Text),
    omitempty("selectableFields", List(&Struct(&SELECTABLE_FIELD))),
    pointer("subresources", Struct(&CUSTOM_RESOURCE_SUBRESOURCES)),
    pointer("validation", Struct(&CUSTOM_RESOURCE_VALIDATION)),
    omitempty("version", Text),
    omitempty("versions", List(&Struct(&CUSTOM_RESOURCE_DEFINITION_VERSION_V1BETA1))),
]);

pub(crate) static CUSTOM_RESOURCE_DEFINITION_V1BETA1: GoStruct =
    GoStruct::with(&OBJECT, &[always("spec", Struct(&CUSTOM_RESOURCE_DEFINITION_SPEC_V1BETA1))]);
