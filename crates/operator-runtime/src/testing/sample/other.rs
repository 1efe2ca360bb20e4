//! A kind `Cluster` of another group.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[kube(group = "other.example.com", version = "v1", kind = "Cluster", namespaced)]
pub(crate) struct ClusterSpec {}
