//! Custom resource definitions, v1 and v1beta1.
//!
//! Source: `types.go` and `types_jsonschema.go` of `k8s.io/apiextensions-apiserver`, v0.34.

use super::fields::Shape::{
    Any, Bool, Float, Int, List, Map, Struct, StructOrBool, StructOrList, StructOrTexts, Text,
};
use super::fields::{Fields, given, keep, omit};
use super::meta::OBJECT;
use super::webhook::WEBHOOK_CLIENT_CONFIG;

static CUSTOM_RESOURCE_DEFINITION_NAMES: Fields = Fields::of(&[
    omit("categories", List(&Text)),
    keep("kind", Text),
    omit("listKind", Text),
    keep("plural", Text),
    omit("shortNames", List(&Text)),
    omit("singular", Text),
]);

static EXTERNAL_DOCUMENTATION: Fields = Fields::of(&[omit("description", Text), omit("url", Text)]);

static VALIDATION_RULE: Fields = Fields::of(&[
    omit("fieldPath", Text),
    omit("message", Text),
    omit("messageExpression", Text),
    given("optionalOldSelf", Bool),
    given("reason", Text),
    keep("rule", Text),
]);

static SCHEMA: Fields = Fields::of(&[
    given("$ref", Text),
    omit("$schema", Text),
    given("additionalItems", StructOrBool(&SCHEMA)),
    given("additionalProperties", StructOrBool(&SCHEMA)),
    omit("allOf", List(&Struct(&SCHEMA))),
    omit("anyOf", List(&Struct(&SCHEMA))),
    given("default", Any),
    omit("definitions", Map(&Struct(&SCHEMA))),
    omit("dependencies", Map(&StructOrTexts(&SCHEMA))),
    omit("description", Text),
    omit("enum", List(&Any)),
    given("example", Any),
    omit("exclusiveMaximum", Bool),
    omit("exclusiveMinimum", Bool),
    given("externalDocs", Struct(&EXTERNAL_DOCUMENTATION)),
    omit("format", Text),
    omit("id", Text),
    given("items", StructOrList(&SCHEMA)),
    given("maxItems", Int),
    given("maxLength", Int),
    given("maxProperties", Int),
    given("maximum", Float),
    given("minItems", Int),
    given("minLength", Int),
    given("minProperties", Int),
    given("minimum", Float),
    given("multipleOf", Float),
    given("not", Struct(&SCHEMA)),
    omit("nullable", Bool),
    omit("oneOf", List(&Struct(&SCHEMA))),
    omit("pattern", Text),
    omit("patternProperties", Map(&Struct(&SCHEMA))),
    omit("properties", Map(&Struct(&SCHEMA))),
    omit("required", List(&Text)),
    omit("title", Text),
    omit("type", Text),
    omit("uniqueItems", Bool),
    omit("x-kubernetes-embedded-resource", Bool),
    omit("x-kubernetes-int-or-string", Bool),
    omit("x-kubernetes-list-map-keys", List(&Text)),
    given("x-kubernetes-list-type", Text),
    given("x-kubernetes-map-type", Text),
    given("x-kubernetes-preserve-unknown-fields", Bool),
    omit("x-kubernetes-validations", List(&Struct(&VALIDATION_RULE))),
]);

static CUSTOM_RESOURCE_VALIDATION: Fields = Fields::of(&[given("openAPIV3Schema", Struct(&SCHEMA))]);

static CUSTOM_RESOURCE_SUBRESOURCE_STATUS: Fields = Fields::of(&[]);

static CUSTOM_RESOURCE_SUBRESOURCE_SCALE: Fields = Fields::of(&[
    given("labelSelectorPath", Text),
    keep("specReplicasPath", Text),
    keep("statusReplicasPath", Text),
]);

static CUSTOM_RESOURCE_SUBRESOURCES: Fields = Fields::of(&[
    given("scale", Struct(&CUSTOM_RESOURCE_SUBRESOURCE_SCALE)),
    given("status", Struct(&CUSTOM_RESOURCE_SUBRESOURCE_STATUS)),
]);

/// What the columns of both versions share.
static COLUMN: Fields = Fields::of(&[
    omit("description", Text),
    omit("format", Text),
    keep("name", Text),
    omit("priority", Int),
    keep("type", Text),
]);

static CUSTOM_RESOURCE_COLUMN_DEFINITION: Fields = Fields::with(&COLUMN, &[keep("jsonPath", Text)]);

static SELECTABLE_FIELD: Fields = Fields::of(&[keep("jsonPath", Text)]);

/// What the `spec.versions` of both versions share.
static VERSION: Fields = Fields::of(&[
    omit("deprecated", Bool),
    given("deprecationWarning", Text),
    keep("name", Text),
    given("schema", Struct(&CUSTOM_RESOURCE_VALIDATION)),
    omit("selectableFields", List(&Struct(&SELECTABLE_FIELD))),
    keep("served", Bool),
    keep("storage", Bool),
    given("subresources", Struct(&CUSTOM_RESOURCE_SUBRESOURCES)),
]);

static CUSTOM_RESOURCE_DEFINITION_VERSION: Fields = Fields::with(
    &VERSION,
    &[omit("additionalPrinterColumns", List(&Struct(&CUSTOM_RESOURCE_COLUMN_DEFINITION)))],
);

static WEBHOOK_CONVERSION: Fields = Fields::of(&[
    given("clientConfig", Struct(&WEBHOOK_CLIENT_CONFIG)),
    keep("conversionReviewVersions", List(&Text)),
]);

static CUSTOM_RESOURCE_CONVERSION: Fields =
    Fields::of(&[keep("strategy", Text), given("webhook", Struct(&WEBHOOK_CONVERSION))]);

static CUSTOM_RESOURCE_DEFINITION_SPEC: Fields = Fields::of(&[
    given("conversion", Struct(&CUSTOM_RESOURCE_CONVERSION)),
    keep("group", Text),
    keep("names", Struct(&CUSTOM_RESOURCE_DEFINITION_NAMES)),
    omit("preserveUnknownFields", Bool),
    keep("scope", Text),
    keep("versions", List(&Struct(&CUSTOM_RESOURCE_DEFINITION_VERSION))),
]);

pub(in crate::generate) static CUSTOM_RESOURCE_DEFINITION: Fields =
    Fields::with(&OBJECT, &[keep("spec", Struct(&CUSTOM_RESOURCE_DEFINITION_SPEC))]);

static CUSTOM_RESOURCE_COLUMN_DEFINITION_V1BETA1: Fields = Fields::with(&COLUMN, &[keep("JSONPath", Text)]);

static CUSTOM_RESOURCE_DEFINITION_VERSION_V1BETA1: Fields = Fields::with(
    &VERSION,
    &[omit("additionalPrinterColumns", List(&Struct(&CUSTOM_RESOURCE_COLUMN_DEFINITION_V1BETA1)))],
);

static CUSTOM_RESOURCE_CONVERSION_V1BETA1: Fields = Fields::of(&[
    omit("conversionReviewVersions", List(&Text)),
    keep("strategy", Text),
    given("webhookClientConfig", Struct(&WEBHOOK_CLIENT_CONFIG)),
]);

static CUSTOM_RESOURCE_DEFINITION_SPEC_V1BETA1: Fields = Fields::of(&[
    omit("additionalPrinterColumns", List(&Struct(&CUSTOM_RESOURCE_COLUMN_DEFINITION_V1BETA1))),
    given("conversion", Struct(&CUSTOM_RESOURCE_CONVERSION_V1BETA1)),
    keep("group", Text),
    keep("names", Struct(&CUSTOM_RESOURCE_DEFINITION_NAMES)),
    given("preserveUnknownFields", Bool),
    keep("scope", Text),
    omit("selectableFields", List(&Struct(&SELECTABLE_FIELD))),
    given("subresources", Struct(&CUSTOM_RESOURCE_SUBRESOURCES)),
    given("validation", Struct(&CUSTOM_RESOURCE_VALIDATION)),
    omit("version", Text),
    omit("versions", List(&Struct(&CUSTOM_RESOURCE_DEFINITION_VERSION_V1BETA1))),
]);

pub(in crate::generate) static CUSTOM_RESOURCE_DEFINITION_V1BETA1: Fields =
    Fields::with(&OBJECT, &[keep("spec", Struct(&CUSTOM_RESOURCE_DEFINITION_SPEC_V1BETA1))]);
