//! Objects as they come from the API server, reduced to what a controller uses.
//!
//! A Deployment as a Rust type takes several kilobytes, and most of its JSON is bookkeeping. The text is kept until it is
//! known what is needed of it; `managedFields` are never parsed.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use kube::Resource;
use kube::core::{ApiResource, DynamicResourceScope};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The annotation in which `kubectl apply` keeps a copy of the object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// An object of any kind: reduced metadata, and its JSON.
#[derive(Clone, Debug)]
pub(crate) struct RawObject {
    pub(crate) metadata: ObjectMeta,
    pub(crate) text: Box<RawValue>,
}

impl RawObject {
    /// Returns the object's JSON.
    pub(crate) fn json(&self) -> &str {
        self.text.get()
    }
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Head {
            metadata: Metadata,
        }
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let head: Head = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
        Ok(Self { metadata: head.metadata.into(), text })
    }
}

/// The metadata that controllers use.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    owner_references: Option<Vec<OwnerReference>>,
    finalizers: Option<Vec<String>>,
}

impl From<Metadata> for ObjectMeta {
    fn from(metadata: Metadata) -> Self {
        let Metadata {
            name,
            namespace,
            uid,
            resource_version,
            generation,
            creation_timestamp,
            deletion_timestamp,
            labels,
            mut annotations,
            owner_references,
            finalizers,
        } = metadata;
        if let Some(annotations) = &mut annotations {
            annotations.remove(LAST_APPLIED);
        }
        Self {
            name,
            namespace,
            uid,
            resource_version,
            generation,
            creation_timestamp,
            deletion_timestamp,
            labels,
            annotations: annotations.filter(|annotations| !annotations.is_empty()),
            owner_references,
            finalizers,
            ..Self::default()
        }
    }
}

impl Resource for RawObject {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.kind)
    }
    fn group(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.group)
    }
    fn version(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.version)
    }
    fn api_version(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.api_version)
    }
    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.plural)
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
    use crate::testing::sample::resource;
    use crate::views::Rollout;
    use kube::api::WatchEvent;

    #[test]
    fn managed_fields_are_dropped_and_the_rest_is_parsed() {
        let event: WatchEvent<RawObject> = serde_json::from_str(
            r#"{"type": "ADDED", "object": {
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "a", "resourceVersion": "12", "managedFields": [{"manager": "x"}],
                             "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}},
                "spec": {"replicas": 3}
            }}"#,
        )
        .unwrap();
        let WatchEvent::Added(live) = event else { panic!("{event:?}") };
        assert_eq!(live.metadata.name.as_deref(), Some("a"));
        assert_eq!(version_of(&live.metadata), Some(12));
        assert!(live.metadata.managed_fields.is_none() && live.metadata.annotations.is_none());
        assert_eq!(serde_json::from_str::<Rollout>(live.json()).unwrap().wanted, 3);
        assert_eq!(RawObject::plural(&resource()), "clusters");
    }
}
