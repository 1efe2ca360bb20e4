//! A kind `Cluster` of another group.

use crate::controller::{Child, Children, Error, Observed, Reconciler, Watches};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[kube(group = "other.example.com", version = "v1", kind = "Cluster", namespaced)]
pub(crate) struct ClusterSpec {}

/// A reconciler of this kind.
pub(crate) struct Clusters(Child<Secret>);

impl Clusters {
    pub(crate) fn new(watches: &mut Watches<Cluster>) -> Self {
        Self(watches.child())
    }
}

impl Reconciler for Clusters {
    type Object = Cluster;
    type Status = ();
    type External = ();

    fn desired(&self, cluster: &Cluster, _: &Observed<Self>) -> Result<Children, Error> {
        let metadata = ObjectMeta { name: cluster.metadata.name.clone(), ..ObjectMeta::default() };
        let mut children = Children::new();
        children.add(self.0, Secret { metadata, ..Secret::default() });
        Ok(children)
    }

    fn status(&self, _: &Cluster, _: &Observed<Self>) {}
}
