//! An older version of the kind `Cluster`, with another schema.

use super::kinds;
use crate::controller::{Error, Invalid};
use crate::conversion::Spoke;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[kube(group = "example.com", version = "v1beta1", kind = "Cluster", namespaced)]
pub(crate) struct ClusterSpec {
    pub(crate) replicas: i32,
}

impl Spoke<kinds::Cluster> for Cluster {
    fn to_hub(self) -> Result<kinds::Cluster, Error> {
        if self.spec.replicas < 0 {
            return Err(Invalid::new("spec.replicas: must not be negative").into());
        }
        let spec = kinds::ClusterSpec { size: self.spec.replicas, note: None };
        Ok(kinds::Cluster { metadata: self.metadata, spec, status: None })
    }

    fn from_hub(hub: kinds::Cluster) -> Result<Self, Error> {
        Ok(Self { metadata: hub.metadata, spec: ClusterSpec { replicas: hub.spec.size } })
    }
}
