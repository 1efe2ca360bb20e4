//! Custom resource definitions, v1 and v1beta1.
//!
//! Source: `types.go` and `types_jsonschema.go` of `k8s.io/apiextensions-apiserver`, v0.34.

use super::Shape::{
    Any, Bool, Float, Int, List, Map, Struct, StructOrBool, StructOrList, StructOrTexts, Text,
};
use super::meta::OBJECT_META;
use super::{Fields, given, keep, omit};

static CUSTOM_RESOURCE_DEFINITION_NAMES: Fields = Fields(&[
    omit("categories", List(&Text)),
    keep("kind", Text),
    omit("listKind", Text),
    keep("plural", Text),
    omit("shortNames", List(&Text)),
    omit("singular", Text),
]);

static EXTERNAL_DOCUMENTATION: Fields = Fields(&[omit("description", Text), omit("url", Text)]);

static VALIDATION_RULE: Fields = Fields(&[
    omit("fieldPath", Text),
    omit("message", Text),
    omit("messageExpression", Text),
    given("optionalOldSelf", Bool),
    given("reason", Text),
    keep("rule", Text),
]);

static SCHEMA: Fields = Fields(&[
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

static CUSTOM_RESOURCE_VALIDATION: Fields = Fields(&[given("openAPIV3Schema", Struct(&SCHEMA))]);

static CUSTOM_RESOURCE_SUBRESOURCE_STATUS: Fields = Fields(&[]);

static CUSTOM_RESOURCE_SUBRESOURCE_SCALE: Fields = Fields(&[
    given("labelSelectorPath", Text),
    keep("specReplicasPath", Text),
    keep("statusReplicasPath", Text),
]);

static CUSTOM_RESOURCE_SUBRESOURCES: Fields = Fields(&[
    given("scale", Struct(&CUSTOM_RESOURCE_SUBRESOURCE_SCALE)),
    given("status", Struct(&CUSTOM_RESOURCE_SUBRESOURCE_STATUS)),
]);

static CUSTOM_RESOURCE_COLUMN_DEFINITION: Fields = Fields(&[
    omit("description", Text),
    omit("format", Text),
    keep("jsonPath", Text),
    keep("name", Text),
    omit("priority", Int),
    keep("type", Text),
]);

static SELECTABLE_FIELD: Fields = Fields(&[keep("jsonPath", Text)]);

static CUSTOM_RESOURCE_DEFINITION_VERSION: Fields = Fields(&[
    omit("additionalPrinterColumns", List(&Struct(&CUSTOM_RESOURCE_COLUMN_DEFINITION))),
    omit("deprecated", Bool),
    given("deprecationWarning", Text),
    keep("name", Text),
    given("schema", Struct(&CUSTOM_RESOURCE_VALIDATION)),
    omit("selectableFields", List(&Struct(&SELECTABLE_FIELD))),
    keep("served", Bool),
    keep("storage", Bool),
    given("subresources", Struct(&CUSTOM_RESOURCE_SUBRESOURCES)),
]);

static APIEXTENSIONS_V1_SERVICE_REFERENCE: Fields =
    Fields(&[keep("name", Text), keep("namespace", Text), given("path", Text), given("port", Int)]);

static APIEXTENSIONS_V1_WEBHOOK_CLIENT_CONFIG: Fields = Fields(&[
    omit("caBundle", Text),
    given("service", Struct(&APIEXTENSIONS_V1_SERVICE_REFERENCE)),
    given("url", Text),
]);

static WEBHOOK_CONVERSION: Fields = Fields(&[
    given("clientConfig", Struct(&APIEXTENSIONS_V1_WEBHOOK_CLIENT_CONFIG)),
    keep("conversionReviewVersions", List(&Text)),
]);

static CUSTOM_RESOURCE_CONVERSION: Fields =
    Fields(&[keep("strategy", Text), given("webhook", Struct(&WEBHOOK_CONVERSION))]);

static CUSTOM_RESOURCE_DEFINITION_SPEC: Fields = Fields(&[
    given("conversion", Struct(&CUSTOM_RESOURCE_CONVERSION)),
    keep("group", Text),
    keep("names", Struct(&CUSTOM_RESOURCE_DEFINITION_NAMES)),
    omit("preserveUnknownFields", Bool),
    keep("scope", Text),
    keep("versions", List(&Struct(&CUSTOM_RESOURCE_DEFINITION_VERSION))),
]);

pub(in crate::generate) static CUSTOM_RESOURCE_DEFINITION: Fields = Fields(&[
    omit("apiVersion", Text),
    omit("kind", Text),
    omit("metadata", Struct(&OBJECT_META)),
    keep("spec", Struct(&CUSTOM_RESOURCE_DEFINITION_SPEC)),
]);

static CUSTOM_RESOURCE_SUBRESOURCE_STATUS_V1BETA1: Fields = Fields(&[]);

static CUSTOM_RESOURCE_SUBRESOURCES_V1BETA1: Fields = Fields(&[
    given("scale", Struct(&CUSTOM_RESOURCE_SUBRESOURCE_SCALE)),
    given("status", Struct(&CUSTOM_RESOURCE_SUBRESOURCE_STATUS_V1BETA1)),
]);

static CUSTOM_RESOURCE_COLUMN_DEFINITION_V1BETA1: Fields = Fields(&[
    keep("JSONPath", Text),
    omit("description", Text),
    omit("format", Text),
    keep("name", Text),
    omit("priority", Int),
    keep("type", Text),
]);

static CUSTOM_RESOURCE_DEFINITION_VERSION_V1BETA1: Fields = Fields(&[
    omit("additionalPrinterColumns", List(&Struct(&CUSTOM_RESOURCE_COLUMN_DEFINITION_V1BETA1))),
    omit("deprecated", Bool),
    given("deprecationWarning", Text),
    keep("name", Text),
    given("schema", Struct(&CUSTOM_RESOURCE_VALIDATION)),
    omit("selectableFields", List(&Struct(&SELECTABLE_FIELD))),
    keep("served", Bool),
    keep("storage", Bool),
    given("subresources", Struct(&CUSTOM_RESOURCE_SUBRESOURCES_V1BETA1)),
]);

static CUSTOM_RESOURCE_CONVERSION_V1BETA1: Fields = Fields(&[
    omit("conversionReviewVersions", List(&Text)),
    keep("strategy", Text),
    given("webhookClientConfig", Struct(&APIEXTENSIONS_V1_WEBHOOK_CLIENT_CONFIG)),
]);

static CUSTOM_RESOURCE_DEFINITION_SPEC_V1BETA1: Fields = Fields(&[
    omit("additionalPrinterColumns", List(&Struct(&CUSTOM_RESOURCE_COLUMN_DEFINITION_V1BETA1))),
    given("conversion", Struct(&CUSTOM_RESOURCE_CONVERSION_V1BETA1)),
    keep("group", Text),
    keep("names", Struct(&CUSTOM_RESOURCE_DEFINITION_NAMES)),
    given("preserveUnknownFields", Bool),
    keep("scope", Text),
    omit("selectableFields", List(&Struct(&SELECTABLE_FIELD))),
    given("subresources", Struct(&CUSTOM_RESOURCE_SUBRESOURCES_V1BETA1)),
    given("validation", Struct(&CUSTOM_RESOURCE_VALIDATION)),
    omit("version", Text),
    omit("versions", List(&Struct(&CUSTOM_RESOURCE_DEFINITION_VERSION_V1BETA1))),
]);

pub(in crate::generate) static CUSTOM_RESOURCE_DEFINITION_V1BETA1: Fields = Fields(&[
    omit("apiVersion", Text),
    omit("kind", Text),
    omit("metadata", Struct(&OBJECT_META)),
    keep("spec", Struct(&CUSTOM_RESOURCE_DEFINITION_SPEC_V1BETA1)),
]);
