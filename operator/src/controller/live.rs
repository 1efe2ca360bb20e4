//! Objects as they come from the API server, with only what the controller looks at.
//!
//! A Deployment as Rust type takes several kilobytes and most of its JSON is bookkeeping. [`Live`] parses the metadata
//! that matters, keeps spec and status as JSON just long enough to be looked at, and drops the rest while reading.

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use kube::Resource;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// An object of kind `K`: slim metadata, unparsed spec and status.
#[derive(Clone, Debug, Deserialize)]
#[serde(bound = "")]
pub(crate) struct Live<K> {
    #[serde(deserialize_with = "slim_metadata")]
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) spec: Value,
    #[serde(default)]
    pub(crate) status: Value,
    #[serde(skip)]
    kind: PhantomData<fn() -> K>,
}

/// The metadata that the controller looks at; unknown fields, above all `managedFields`, are skipped unparsed.
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
        ..ObjectMeta::default()
    })
}

impl<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>> Resource for Live<K> {
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

    #[test]
    fn managed_fields_are_dropped_and_the_rest_is_there() {
        let live: Live<Deployment> = serde_json::from_value(serde_json::json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "a", "resourceVersion": "12", "managedFields": [{"manager": "x"}]},
            "spec": {"replicas": 3},
        }))
        .unwrap();
        assert_eq!(live.metadata.name.as_deref(), Some("a"));
        assert_eq!(version_of(&live.metadata), Some(12));
        assert!(live.metadata.managed_fields.is_none());
        assert_eq!(live.spec["replicas"], 3);
        assert!(live.status.is_null());
    }
}
