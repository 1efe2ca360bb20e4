//! The types of a CRD's fields except for its schemas, which are validated in place, to decode it as the API server does.
//!
//! Source: `pkg/apis/apiextensions/v1/types.go` of `k8s.io/apiextensions-apiserver`.

#![expect(clippy::struct_field_names, reason = "the names of Kubernetes' fields")]

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

/// A CRD.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Crd {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    #[serde(rename = "metadata")]
    _metadata: ObjectMeta,
    #[serde(rename = "spec")]
    _specification: Spec,
    #[serde(rename = "status")]
    _state: Status,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    #[serde(rename = "group")]
    _group: String,
    #[serde(rename = "names")]
    _called: Names,
    #[serde(rename = "scope")]
    _scope: String,
    #[serde(rename = "versions")]
    _list: Vec<Version>,
    #[serde(rename = "conversion")]
    _converted: Option<Conversion>,
    #[serde(rename = "preserveUnknownFields")]
    _preserve_unknown_fields: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Names {
    #[serde(rename = "plural")]
    _plural: String,
    #[serde(rename = "singular")]
    _singular: String,
    #[serde(rename = "shortNames")]
    _short_names: Vec<String>,
    #[serde(rename = "kind")]
    _kind: String,
    #[serde(rename = "listKind")]
    _list_kind: String,
    #[serde(rename = "categories")]
    _categories: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Version {
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "served")]
    _served: bool,
    #[serde(rename = "storage")]
    _storage: bool,
    #[serde(rename = "deprecated")]
    _deprecated: bool,
    #[serde(rename = "deprecationWarning")]
    _deprecation_warning: Option<String>,
    #[serde(rename = "schema")]
    _schema: Option<Validation>,
    #[serde(rename = "subresources")]
    _subresources: Option<Subresources>,
    #[serde(rename = "additionalPrinterColumns")]
    _additional_printer_columns: Vec<Column>,
    #[serde(rename = "selectableFields")]
    _selectable: Vec<SelectableField>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Validation {
    #[serde(rename = "openAPIV3Schema")]
    _schema: Option<Unread>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Subresources {
    #[serde(rename = "status")]
    _status: Option<Empty>,
    #[serde(rename = "scale")]
    _scale: Option<Scale>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Empty {}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Scale {
    #[serde(rename = "specReplicasPath")]
    _spec_replicas_path: String,
    #[serde(rename = "statusReplicasPath")]
    _status_replicas_path: String,
    #[serde(rename = "labelSelectorPath")]
    _label_selector_path: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Column {
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "type")]
    _kind: String,
    #[serde(rename = "format")]
    _format: String,
    #[serde(rename = "description")]
    _description: String,
    #[serde(rename = "priority")]
    _priority: i32,
    #[serde(rename = "jsonPath")]
    _json_path: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SelectableField {
    #[serde(rename = "jsonPath")]
    _json_path: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Conversion {
    #[serde(rename = "strategy")]
    _strategy: String,
    #[serde(rename = "webhook")]
    _webhook: Option<Webhook>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Webhook {
    #[serde(rename = "clientConfig")]
    _client_config: Option<ClientConfig>,
    #[serde(rename = "conversionReviewVersions")]
    _conversion_review_versions: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ClientConfig {
    #[serde(rename = "url")]
    _url: Option<String>,
    #[serde(rename = "service")]
    _service: Option<Service>,
    #[serde(rename = "caBundle", deserialize_with = "base64")]
    _ca_bundle: (),
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Service {
    #[serde(rename = "namespace")]
    _namespace: String,
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "path")]
    _path: Option<String>,
    #[serde(rename = "port")]
    _port: Option<i32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    #[serde(rename = "conditions")]
    _conditions: Vec<Condition>,
    #[serde(rename = "acceptedNames")]
    _accepted_called: Names,
    #[serde(rename = "storedVersions")]
    _stored_versions: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Condition {
    #[serde(rename = "type")]
    _kind: String,
    #[serde(rename = "status")]
    _status: String,
    #[serde(rename = "lastTransitionTime", deserialize_with = "time")]
    _last_transition_time: (),
    #[serde(rename = "reason")]
    _reason: String,
    #[serde(rename = "message")]
    _message: String,
}

/// A map whose contents are not decoded here.
#[derive(Debug, Default)]
struct Unread;

impl<'de> Deserialize<'de> for Unread {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Map;
        impl<'de> Visitor<'de> for Map {
            type Value = Unread;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<Unread, A::Error> {
                Ok(Unread)
            }
        }
        deserializer.deserialize_map(Map)
    }
}

/// Decodes bytes as Go's JSON decoder does: padded base64, line breaks skipped.
fn base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    let mut text = String::deserialize(deserializer)?;
    text.retain(|c| !matches!(c, '\r' | '\n'));
    STANDARD.decode(text).map(drop).map_err(|_| D::Error::custom("invalid base64"))
}

/// Decodes a time as Go does: RFC 3339, or null.
fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(()) };
    let valid = text.as_bytes().get(10) == Some(&b'T') && text.parse::<jiff::Timestamp>().is_ok();
    if valid { Ok(()) } else { Err(D::Error::custom("invalid time: must be in RFC 3339 format")) }
}
