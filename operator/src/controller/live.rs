//! Objects as they come from the API server, with only what the controller looks at.
//!
//! A Deployment as Rust type takes several kilobytes and most of its JSON is bookkeeping. What is not looked at, above
//! all `managedFields`, is skipped while reading; what a kind's [`Parts`] name is read into narrow structs.

use crate::crd::{Memcached, MemcachedSpec, MemcachedStatus};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use kube::Resource;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// What is read of a kind besides its metadata.
pub(crate) trait Parts:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Send + Sync + 'static
{
    /// What is read of the spec.
    type Spec: Clone + Debug + Default + DeserializeOwned + Send + Sync;
    /// What is read of the status.
    type Status: Clone + Debug + Default + DeserializeOwned + Send + Sync;
}

/// A spec or a status of which nothing is read.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(from = "serde::de::IgnoredAny")]
pub(crate) struct Skipped;

impl From<serde::de::IgnoredAny> for Skipped {
    fn from(_: serde::de::IgnoredAny) -> Self {
        Self
    }
}

/// An object of kind `K`: slim metadata and the parts that are looked at.
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

impl Parts for Memcached {
    type Spec = MemcachedSpec;
    type Status = Option<MemcachedStatus>;
}

impl From<Live<Memcached>> for Memcached {
    fn from(Live { metadata, spec, status }: Live<Memcached>) -> Self {
        Self { metadata, spec, status }
    }
}

/// The metadata that the controller looks at.
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

/// The resource version as a number, for telling older from newer; `None` where a server counts otherwise.
pub(crate) fn version_of(metadata: &ObjectMeta) -> Option<u64> {
    metadata.resource_version.as_deref()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::apps::v1::Deployment;
    use kube::api::WatchEvent;

    #[test]
    fn managed_fields_are_dropped_and_the_rest_is_there() {
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
