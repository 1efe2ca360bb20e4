//! The kinds of the sample operator.

use crate::conditions::Status;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::core::ApiResource;
use kube::{CustomResource, Resource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Cluster",
    namespaced,
    status = "ClusterStatus",
    derive = "Default",
    derive = "PartialEq"
)]
pub(crate) struct ClusterSpec {
    pub(crate) size: i32,
    pub(crate) note: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
pub(crate) struct ClusterStatus {
    #[serde(default)]
    #[schemars(schema_with = "crate::conditions::schema")]
    pub(crate) conditions: Vec<Condition>,
    #[serde(default)]
    pub(crate) replicas: i32,
    pub(crate) note: Option<String>,
}

impl Status for ClusterStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }
    fn conditions_mut(&mut self) -> Option<&mut Vec<Condition>> {
        Some(&mut self.conditions)
    }
}

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[kube(group = "example.com", version = "v1", kind = "Bucket", status = "ClusterStatus", derive = "Default")]
pub(crate) struct BucketSpec {}

pub(crate) fn cluster(size: i32) -> Cluster {
    let mut cluster = Cluster::new("cache", ClusterSpec { size, note: None });
    let metadata = cluster.meta_mut();
    metadata.namespace = Some("ns".into());
    metadata.uid = Some("u-1".into());
    metadata.generation = Some(1);
    metadata.resource_version = Some("100".into());
    cluster
}

pub(crate) fn resource() -> ApiResource {
    ApiResource::erase::<Cluster>(&())
}
