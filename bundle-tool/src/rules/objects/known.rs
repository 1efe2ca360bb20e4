//! Objects of Kubernetes' own kinds as typed objects.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use k8s_openapi::api::core::v1::{Service, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Deserializer, de};

use crate::model::Object;
use crate::model::bundle::is_installable;
use crate::model::yaml::{DecodeError, Unknown};

/// An object of one of Kubernetes' own kinds.
#[derive(Debug)]
pub struct Known<'k> {
    /// As written.
    pub object: Object<'k>,
    /// As the API server reads it.
    pub typed: Typed,
    /// The fields that the API server drops.
    pub unknown: Vec<Unknown>,
}

/// The kinds of Kubernetes' own that a bundle may hold.
#[derive(Debug)]
#[expect(missing_docs, reason = "each is named after its kind")]
pub enum Typed {
    ClusterRole(Box<ClusterRole>),
    ClusterRoleBinding(Box<ClusterRoleBinding>),
    ConfigMap(Box<ConfigMap>),
    NetworkPolicy(Box<NetworkPolicy>),
    PodDisruptionBudget(Box<PodDisruptionBudget>),
    PriorityClass(Box<PriorityClass>),
    Role(Box<Role>),
    RoleBinding(Box<RoleBinding>),
    Secret(Box<Secret>),
    Service(Box<Service>),
    ServiceAccount(Box<ServiceAccount>),
}

/// A `ConfigMap`, with bytes as Go decodes them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ConfigMap {
    /// `v1`
    pub api_version: String,
    /// `ConfigMap`
    pub kind: String,
    /// Name and labels.
    pub metadata: ObjectMeta,
    /// Texts.
    pub data: BTreeMap<String, String>,
    /// Bytes.
    pub binary_data: BTreeMap<String, Base64>,
    /// Whether it can be changed.
    pub immutable: bool,
}

/// A Secret, with bytes as Go decodes them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Secret {
    /// `v1`
    pub api_version: String,
    /// `Secret`
    pub kind: String,
    /// Name and labels.
    pub metadata: ObjectMeta,
    /// Bytes.
    pub data: BTreeMap<String, Base64>,
    /// Texts, which take the place of the bytes of the same key.
    pub string_data: BTreeMap<String, String>,
    /// What the keys must be.
    pub r#type: String,
    /// Whether it can be changed.
    pub immutable: bool,
}

/// Bytes: a text in base64, in which line breaks are skipped, or a list of numbers from 0 to 255, as Go takes them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Base64(pub Vec<u8>);

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Bytes)
    }
}

struct Bytes;

impl<'de> de::Visitor<'de> for Bytes {
    type Value = Base64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text in base64")
    }

    fn visit_unit<E>(self) -> Result<Base64, E> {
        Ok(Base64::default())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Base64, E> {
        let mut text = text.to_owned();
        text.retain(|c| c != '\n' && c != '\r');
        base64::engine::general_purpose::STANDARD
            .decode(text)
            .map(Base64)
            .map_err(|error| de::Error::custom(format_args!("the value is not in base64: {error}")))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Base64, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = items.next_element()? {
            bytes.push(byte);
        }
        Ok(Base64(bytes))
    }
}

type Decoded<'k> = (Vec<Known<'k>>, Vec<(Object<'k>, DecodeError)>);

/// Decodes the objects that are of Kubernetes' own kinds, and keeps those that cannot be decoded with the reason.
pub(in crate::rules) fn decode<'k>(objects: &[Object<'k>]) -> Decoded<'k> {
    let mut known = Vec::new();
    let mut undecodable = Vec::new();
    for object in objects {
        match decode_one(object) {
            Some(Ok(one)) => known.push(one),
            // OLM sets the namespace itself, whatever is written.
            Some(Err(error)) if error.path == "metadata.namespace" => {}
            Some(Err(error)) => undecodable.push((*object, error)),
            None => {}
        }
    }
    (known, undecodable)
}

/// Whether an object is of a kind that is installed, but neither one of Kubernetes' own nor OLM's: of these the API
/// server decodes the metadata, but for the namespace, which OLM sets itself.
pub(in crate::rules) fn is_of_other_kind(object: &Object<'_>, error: &DecodeError) -> bool {
    is_installable(object.kind())
        && !matches!(object.kind(), "ClusterServiceVersion" | "CustomResourceDefinition")
        && error.path != "metadata.namespace"
        && decode_one(object).is_none()
}

fn decode_one<'k>(object: &Object<'k>) -> Option<Result<Known<'k>, DecodeError>> {
    macro_rules! typed {
        ($kind:ident) => {
            object.decode().map(|decoded| (Typed::$kind(Box::new(decoded.object)), decoded.unknown))
        };
    }
    let decoded = match (object.api_version(), object.kind()) {
        ("v1", "ConfigMap") => typed!(ConfigMap),
        ("v1", "Secret") => typed!(Secret),
        ("v1", "Service") => typed!(Service),
        ("v1", "ServiceAccount") => typed!(ServiceAccount),
        ("networking.k8s.io/v1", "NetworkPolicy") => typed!(NetworkPolicy),
        ("policy/v1", "PodDisruptionBudget") => typed!(PodDisruptionBudget),
        ("rbac.authorization.k8s.io/v1", "ClusterRole") => typed!(ClusterRole),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding") => typed!(ClusterRoleBinding),
        ("rbac.authorization.k8s.io/v1", "Role") => typed!(Role),
        ("rbac.authorization.k8s.io/v1", "RoleBinding") => typed!(RoleBinding),
        ("scheduling.k8s.io/v1", "PriorityClass") => typed!(PriorityClass),
        _ => return None,
    };
    Some(decoded.map(|(typed, unknown)| Known { object: *object, typed, unknown }))
}
