//! Objects of built-in kinds as typed objects.

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

use kube_yaml::{DecodeError, Unknown};
use olm_model::Object;
use olm_model::bundle::is_installable;

/// An object of a built-in kind.
#[derive(Debug)]
pub(crate) struct BuiltinObject<'k> {
    /// As written.
    pub(crate) object: Object<'k>,
    /// As the API server decodes it.
    pub(crate) typed: Typed,
    /// The fields that the API server drops.
    pub(crate) unknown: Vec<Unknown>,
}

/// The built-in kinds that a bundle may contain.
#[derive(Debug)]
pub(crate) enum Typed {
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
    ServiceAccount,
}

/// A `ConfigMap`, with bytes as Go decodes them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ConfigMap {
    /// `v1`
    pub(crate) api_version: String,
    /// `ConfigMap`
    pub(crate) kind: String,
    /// Name and labels.
    pub(crate) metadata: ObjectMeta,
    /// Strings.
    pub(crate) data: BTreeMap<String, String>,
    /// Bytes.
    pub(crate) binary_data: BTreeMap<String, Base64>,
    /// Whether it is immutable.
    pub(crate) immutable: bool,
}

/// A Secret, with bytes as Go decodes them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Secret {
    /// `v1`
    pub(crate) api_version: String,
    /// `Secret`
    pub(crate) kind: String,
    /// Name and labels.
    pub(crate) metadata: ObjectMeta,
    /// Bytes.
    pub(crate) data: BTreeMap<String, Base64>,
    /// Strings, which replace the bytes of the same key.
    pub(crate) string_data: BTreeMap<String, String>,
    /// The type, which determines the required keys.
    pub r#type: String,
    /// Whether it is immutable.
    pub(crate) immutable: bool,
}

/// Bytes as Go decodes them: a base64 string with optional line breaks, or a list of numbers from 0 to 255.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Base64(pub Vec<u8>);

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Bytes)
    }
}

struct Bytes;

impl<'de> de::Visitor<'de> for Bytes {
    type Value = Base64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a base64 string")
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
            .map_err(|_| de::Error::custom("invalid base64"))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Base64, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = items.next_element()? {
            bytes.push(byte);
        }
        Ok(Base64(bytes))
    }
}

/// How many bytes the decoded objects of one bundle may take in memory.
const MAX_DECODED: usize = 128 << 20;

type Decoded<'k> = (Vec<BuiltinObject<'k>>, Vec<(Object<'k>, DecodeError)>);

/// Decodes the objects of built-in kinds, and returns those that cannot be decoded with the error.
pub(crate) fn decode<'k>(objects: &[Object<'k>]) -> Decoded<'k> {
    let mut known = Vec::new();
    let mut undecodable = Vec::new();
    let mut size = 0_usize;
    for object in objects {
        match decode_one(object) {
            Some(Ok((one, bytes))) => {
                size = size.saturating_add(bytes);
                if size > MAX_DECODED {
                    let limit = MAX_DECODED >> 20;
                    let error = format!(
                        "too many objects: this one and those before it exceed {limit} MiB in memory"
                    );
                    undecodable.push((*object, de::Error::custom(error)));
                    break;
                }
                known.push(one);
            }
            // OLM overwrites the namespace.
            Some(Err(error)) if error.path == "metadata.namespace" => {}
            Some(Err(error)) => undecodable.push((*object, error)),
            None => {}
        }
    }
    (known, undecodable)
}

/// Returns whether an object is of an installable kind that is neither built in nor OLM's: the API server decodes only
/// its metadata, without the namespace, which OLM overwrites.
pub(crate) fn is_of_other_kind(object: &Object<'_>, error: &DecodeError) -> bool {
    is_installable(object.kind())
        && !matches!(object.kind(), "ClusterServiceVersion" | "CustomResourceDefinition")
        && error.path != "metadata.namespace"
        && decode_one(object).is_none()
}

/// Decodes one object, and returns about how many bytes it takes.
fn decode_one<'k>(object: &Object<'k>) -> Option<Result<(BuiltinObject<'k>, usize), DecodeError>> {
    macro_rules! typed {
        ($kind:ident) => {
            object
                .decode()
                .map(|decoded| (Typed::$kind(Box::new(decoded.object)), decoded.unknown, decoded.size))
        };
    }
    let decoded = match (object.api_version(), object.kind()) {
        ("v1", "ConfigMap") => typed!(ConfigMap),
        ("v1", "Secret") => typed!(Secret),
        ("v1", "Service") => typed!(Service),
        ("v1", "ServiceAccount") => object
            .decode::<ServiceAccount>()
            .map(|decoded| (Typed::ServiceAccount, decoded.unknown, decoded.size)),
        ("networking.k8s.io/v1", "NetworkPolicy") => typed!(NetworkPolicy),
        ("policy/v1", "PodDisruptionBudget") => typed!(PodDisruptionBudget),
        ("rbac.authorization.k8s.io/v1", "ClusterRole") => typed!(ClusterRole),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding") => typed!(ClusterRoleBinding),
        ("rbac.authorization.k8s.io/v1", "Role") => typed!(Role),
        ("rbac.authorization.k8s.io/v1", "RoleBinding") => typed!(RoleBinding),
        ("scheduling.k8s.io/v1", "PriorityClass") => typed!(PriorityClass),
        _ => return None,
    };
    Some(decoded.map(|(typed, unknown, size)| (BuiltinObject { object: *object, typed, unknown }, size)))
}
