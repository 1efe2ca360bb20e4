//! A small operator for the tests of this crate.

use crate::admission::{Decision, Webhook};
use crate::conditions::State;
use crate::controller::{Children, Exists, Invalid, Observed, OwnerKind, Owns, Reconciler};
use crate::conversion::{Conversion, Spoke};
use crate::crd::Crd;
use crate::identity::Identity;
use crate::operator::Operator;
use crate::views::Rollout;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::core::ApiResource;
use kube::{CustomResource, Resource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const IDENTITY: Identity = Identity {
    name: "test-operator",
    group: "example.com",
    version: "0.0.1",
    about: "Tests",
    image: "example.com/test-operator",
};

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

crate::conditioned!(ClusterStatus);

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[kube(group = "example.com", version = "v1", kind = "Bucket", status = "ClusterStatus", derive = "Default")]
pub(crate) struct BucketSpec {}

/// An older version with another schema.
pub(crate) mod old {
    use super::{Deserialize, JsonSchema, Serialize, Spoke};
    use kube::CustomResource;

    #[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
    #[kube(group = "example.com", version = "v1beta1", kind = "Cluster", namespaced)]
    pub(crate) struct ClusterSpec {
        pub(crate) replicas: i32,
    }

    impl Spoke<super::Cluster> for Cluster {
        fn to_hub(self) -> Result<super::Cluster, String> {
            if self.spec.replicas < 0 {
                return Err("spec.replicas: must not be negative".to_owned());
            }
            let spec = super::ClusterSpec { size: self.spec.replicas, note: None };
            Ok(super::Cluster { metadata: self.metadata, spec, status: None })
        }

        fn from_hub(hub: super::Cluster) -> Result<Self, String> {
            Ok(Self { metadata: hub.metadata, spec: ClusterSpec { replicas: hub.spec.size } })
        }
    }
}

struct Clusters;

impl Reconciler for Clusters {
    type Object = Cluster;
    const FINALIZER: Option<&'static str> = Some("example.com/finalizer");

    fn owns(&self, owns: &mut Owns) {
        owns.child::<Deployment, Rollout>();
        owns.child::<ConfigMap, Exists>().optional();
    }

    fn desired(&self, _: &Cluster, _: &Observed) -> Result<Children, Invalid> {
        Ok(Children::new())
    }

    fn status(&self, cluster: &Cluster, observed: &Observed) -> ClusterStatus {
        let mut draft = observed.draft(cluster);
        draft.set("Available", State::True, "Nothing", "");
        draft.finish()
    }
}

/// An operator with everything that shows in manifests and permissions.
pub(crate) fn operator() -> Operator {
    Operator::new(IDENTITY)
        .crd(Crd::of::<Cluster>().version::<old::Cluster>())
        .controller(Clusters)
        .webhook(Webhook::defaulting::<Cluster>(|_| Decision::allowed()))
        .webhook(Webhook::validating::<Cluster>(|_| Decision::allowed()))
        .webhook(Webhook::conversion(Conversion::<Cluster>::to_hub().spoke::<old::Cluster>()))
        .sample(
            "example_v1_cluster.yaml",
            serde_json::json!({"apiVersion": "example.com/v1", "kind": "Cluster"}),
        )
}

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

pub(crate) fn owner_kind() -> OwnerKind {
    OwnerKind { resource: resource(), namespaced: true }
}
