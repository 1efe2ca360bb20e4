//! Objects as they come from the API server, reduced to what the controller uses.
//!
//! A Deployment as a Rust type takes several kilobytes, and most of its JSON is bookkeeping. What is not used, above
//! all `managedFields`, is skipped during parsing; what a kind's [`Parts`] name is parsed into narrow structs.

use crate::crd::{Memcached, MemcachedSpec, MemcachedStatus};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use kube::Resource;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// What is parsed of a kind besides its metadata.
pub(crate) trait Parts:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Send + Sync + 'static
{
    /// What is parsed of the spec.
    type Spec: Clone + Debug + Default + DeserializeOwned + Send + Sync;
    /// What is parsed of the status.
    type Status: Clone + Debug + Default + DeserializeOwned + Send + Sync;
}

/// A spec or a status of which nothing is parsed.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(from = "serde::de::IgnoredAny")]
pub(crate) struct Skipped;

impl From<serde::de::IgnoredAny> for Skipped {
    fn from(_: serde::de::IgnoredAny) -> Self {
        Self
    }
}

/// A value that may be malformed without failing the object, the list and the watch that it is part of.
///
/// kube's `DeserializeGuard` does the same for whole objects, but parses each of them into a tree first.
#[derive(Clone, Debug)]
pub(crate) struct Guarded<T>(pub(crate) Result<T, String>);

impl<T> Default for Guarded<T> {
    fn default() -> Self {
        Self(Err("missing field".to_owned()))
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Guarded<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Self(serde_json::from_str(text.get()).map_err(|error| error.to_string())))
    }
}

/// An object of kind `K`: reduced metadata and the parts that are used.
#[derive(Clone, Debug, Deserialize)]
#[serde(bound = "")]
pub(crate) struct Live<K: Parts> {
    #[serde(deserialize_with = "slim_metadata")]
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) spec: K::Spec,
    #[serde(default)]
    pub(crate) status: K::Status,
}

/// A user writes Memcacheds, with a CRD that may be older or newer than this program.
impl Parts for Memcached {
    type Spec = Guarded<MemcachedSpec>;
    type Status = Guarded<MemcachedStatus>;
}

impl Live<Memcached> {
    /// Returns the Memcached and, if its spec cannot be parsed, the reason; its spec is then the default one.
    ///
    /// A status that cannot be parsed counts as missing: the controller writes it anyway.
    pub(crate) fn parsed(self) -> (Memcached, Option<String>) {
        let Self { metadata, spec, status } = self;
        let (spec, error) = match spec.0 {
            Ok(spec) => (spec, None),
            Err(error) => (MemcachedSpec::default(), Some(error)),
        };
        (Memcached { metadata, spec, status: status.0.ok() }, error)
    }
}

/// The metadata that the controller uses.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SlimMetadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    deletion_timestamp: Option<Time>,
    labels: Option<BTreeMap<String, String>>,
    owner_references: Option<Vec<OwnerReference>>,
    finalizers: Option<Vec<String>>,
}

fn slim_metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    let SlimMetadata {
        name,
        namespace,
        uid,
        resource_version,
        generation,
        deletion_timestamp,
        labels,
        owner_references,
        finalizers,
    } = SlimMetadata::deserialize(deserializer)?;
    Ok(ObjectMeta {
        name,
        namespace,
        uid,
        resource_version,
        generation,
        deletion_timestamp,
        labels,
        owner_references,
        finalizers,
        ..ObjectMeta::default()
    })
}

impl<K: Parts> Resource for Live<K> {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        K::kind(&())
    }
    fn group((): &()) -> Cow<'_, str> {
        K::group(&())
    }
    fn version((): &()) -> Cow<'_, str> {
        K::version(&())
    }
    fn plural((): &()) -> Cow<'_, str> {
        K::plural(&())
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Returns the resource version as a number, to compare versions; `None` if the server does not use numbers.
pub(crate) fn version_of(metadata: &ObjectMeta) -> Option<u64> {
    metadata.resource_version.as_deref()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::apps::v1::Deployment;
    use kube::api::WatchEvent;

    #[test]
    fn a_malformed_spec_or_status_does_not_fail_the_object() {
        let parse = |text: &str| serde_json::from_str::<Live<Memcached>>(text).unwrap().parsed();
        let (memcached, error) = parse(r#"{"metadata": {"name": "a"}, "spec": {"size": "x"}, "status": 7}"#);
        assert_eq!(memcached.metadata.name.as_deref(), Some("a"));
        assert!(error.unwrap().contains("invalid type"));
        assert_eq!(memcached.status, None);
        assert!(parse(r#"{"metadata": {"name": "a"}}"#).1.is_some(), "no spec");
        let (memcached, error) = parse(r#"{"metadata": {"name": "a"}, "spec": {"size": 2}, "status": null}"#);
        assert_eq!((memcached.spec.size, error), (2, None));
    }

    #[test]
    fn managed_fields_are_dropped_and_the_rest_is_parsed() {
        let event: WatchEvent<Live<Deployment>> = serde_json::from_str(
            r#"{"type": "ADDED", "object": {
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "a", "resourceVersion": "12", "managedFields": [{"manager": "x"}]},
                "spec": {"replicas": 3}
            }}"#,
        )
        .unwrap();
        let WatchEvent::Added(live) = event else { panic!("{event:?}") };
        assert_eq!(live.metadata.name.as_deref(), Some("a"));
        assert_eq!(version_of(&live.metadata), Some(12));
        assert!(live.metadata.managed_fields.is_none());
        assert_eq!(live.spec.get(), r#"{"replicas": 3}"#);
        assert_eq!(live.status, crate::controller::facts::DeploymentStatus::default());
    }
}
