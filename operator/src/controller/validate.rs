//! From what the API server accepted to what can be built: [`Wanted`] contains only valid values.
//!
//! Pure. The CRD's schema rejects most invalid values already. The webhook runs the same checks before the API server
//! stores a Memcached, the controller for those that were stored without it or with an older CRD.

use crate::IDENTITY;
use crate::api::{MAX_PORT, MAX_SIZE, MIN_PORT, MIN_SIZE, Memcached, MemcachedSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use operator_runtime::labels;
use operator_runtime::syntax::{is_image_reference, is_label_key, is_label_value, is_service_name};
use std::collections::BTreeMap;

/// Memory limit of a container in mebibytes unless the spec says otherwise.
pub(crate) const DEFAULT_MEMORY_MIB: u32 = 96;
/// The smallest memory limit that a memcached can start with, in mebibytes.
const MIN_MEMORY_MIB: u32 = 24;
/// The largest memory limit, in mebibytes: 4 TiB.
const MAX_MEMORY_MIB: u32 = 4 * 1024 * 1024;

/// Why a Memcached is invalid. The message says what to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Invalid {
    /// The name cannot be a Service's name.
    #[error(
        "metadata.name: invalid Service name `{0}`: must be at most 63 lower-case letters, digits or `-`, starting with a letter and ending with a letter or digit"
    )]
    Name(String),
    /// Too few or too many servers.
    #[error("spec.size: invalid size {0}: must be between {MIN_SIZE} and {MAX_SIZE}")]
    Size(i32),
    /// Not a TCP port, or one that a restricted container cannot open.
    #[error("spec.containerPort: invalid port {0}: must be between {MIN_PORT} and {MAX_PORT}")]
    Port(i32),
    /// Not a reference to an image.
    #[error(
        "spec.image: invalid image reference `{0}`: expected a form such as `registry.example.com/memcached:1.6`"
    )]
    Image(String),
    /// Not an amount of memory that a server can run with.
    #[error(
        "spec.memoryLimit: invalid quantity `{0}`: must be between {MIN_MEMORY_MIB}Mi and {MAX_MEMORY_MIB}Mi"
    )]
    Memory(String),
    /// Not a label.
    #[error("spec.nodeSelector: invalid label key or value `{0}`")]
    NodeSelector(String),
}

/// A Memcached with valid values only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) name: String,
    pub(crate) size: i32,
    pub(crate) port: i32,
    pub(crate) image: String,
    pub(crate) memory_mib: u32,
    pub(crate) node_selector: BTreeMap<String, String>,
}

impl Wanted {
    /// Returns the labels that never change: they select a Memcached's pods.
    pub(crate) fn selector(&self) -> BTreeMap<String, String> {
        labels::selector("memcached", &self.name)
    }

    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        labels::all(&IDENTITY, "memcached", &self.name, &self.image)
    }

    pub(crate) fn metadata(&self) -> ObjectMeta {
        ObjectMeta { name: Some(self.name.clone()), labels: Some(self.labels()), ..ObjectMeta::default() }
    }
}

/// Validates a Memcached; `operand_image` is used unless it sets an image.
///
/// # Errors
/// The first invalid value.
pub(crate) fn validate(memcached: &Memcached, operand_image: &str) -> Result<Wanted, Invalid> {
    let name = memcached.name_any();
    if !is_service_name(&name) {
        return Err(Invalid::Name(name));
    }
    // Destructured so that a new field cannot be forgotten here.
    let MemcachedSpec { size, container_port, image, memory_limit, node_selector } = &memcached.spec;
    if !(MIN_SIZE..=MAX_SIZE).contains(size) {
        return Err(Invalid::Size(*size));
    }
    if !(MIN_PORT..=MAX_PORT).contains(container_port) {
        return Err(Invalid::Port(*container_port));
    }
    let image = image.as_deref().unwrap_or(operand_image);
    if !is_image_reference(image) {
        return Err(Invalid::Image(image.to_owned()));
    }
    let memory_mib = match memory_limit {
        None => DEFAULT_MEMORY_MIB,
        Some(text) => memory(text).ok_or_else(|| Invalid::Memory(text.clone()))?,
    };
    for (name, value) in node_selector {
        if !is_label_key(name) {
            return Err(Invalid::NodeSelector(name.clone()));
        }
        if !is_label_value(value) {
            return Err(Invalid::NodeSelector(value.clone()));
        }
    }
    Ok(Wanted {
        name,
        size: *size,
        port: *container_port,
        image: image.to_owned(),
        memory_mib,
        node_selector: node_selector.clone(),
    })
}

/// Returns the mebibytes of a quantity like `96Mi` or `1Gi`.
fn memory(text: &str) -> Option<u32> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(2)?)?;
    let factor = match unit {
        "Mi" => 1,
        "Gi" => 1024,
        _ => return None,
    };
    let mib = digits.parse::<u32>().ok()?.checked_mul(factor)?;
    (MIN_MEMORY_MIB..=MAX_MEMORY_MIB).contains(&mib).then_some(mib)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const IMAGE: &str = "registry.example.com/memcached:1.6";

    pub(crate) fn memcached(size: i32) -> Memcached {
        let mut memcached = Memcached::new(
            "cache",
            MemcachedSpec { size, container_port: 11211, ..MemcachedSpec::default() },
        );
        memcached.metadata.namespace = Some("ns".into());
        memcached.metadata.uid = Some("u-1".into());
        memcached.metadata.generation = Some(1);
        memcached.metadata.resource_version = Some("100".into());
        memcached
    }

    fn invalid(change: impl FnOnce(&mut Memcached)) -> Invalid {
        let mut memcached = memcached(3);
        change(&mut memcached);
        validate(&memcached, IMAGE).unwrap_err()
    }

    #[test]
    fn a_valid_memcached_gets_the_operators_image() {
        let wanted = validate(&memcached(3), IMAGE).unwrap();
        assert_eq!((wanted.size, wanted.image.as_str(), wanted.memory_mib), (3, IMAGE, 96));
    }

    #[test]
    fn invalid_values_are_rejected_with_their_field() {
        assert!(matches!(invalid(|m| m.spec.size = 0), Invalid::Size(0)));
        assert!(matches!(invalid(|m| m.spec.size = 6), Invalid::Size(6)));
        assert!(matches!(invalid(|m| m.spec.container_port = 80), Invalid::Port(80)));
        assert!(matches!(invalid(|m| m.spec.memory_limit = Some("1Mi".into())), Invalid::Memory(_)));
        assert!(matches!(invalid(|m| m.metadata.name = Some("9x".into())), Invalid::Name(_)));
        assert!(matches!(invalid(|m| m.metadata.name = Some("x".repeat(64))), Invalid::Name(_)));
        let text = invalid(|m| m.spec.image = Some("Not An Image".into())).to_string();
        assert!(text.starts_with("spec.image"), "{text}");
        let bad = |m: &mut Memcached| drop(m.spec.node_selector.insert("a b".into(), String::new()));
        assert!(matches!(invalid(bad), Invalid::NodeSelector(_)));
    }

    #[test]
    fn memory_is_parsed_in_mebibytes() {
        assert_eq!(memory("96Mi"), Some(96));
        assert_eq!(memory("2Gi"), Some(2048));
        for bad in ["", "Mi", "1", "5Mi", "é", "99999999Gi"] {
            assert_eq!(memory(bad), None, "{bad}");
        }
    }
}
