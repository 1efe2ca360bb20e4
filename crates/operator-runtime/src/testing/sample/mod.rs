//! A small operator for the tests of this crate.

mod kinds;
pub(crate) mod old;
pub(crate) mod other;

pub(crate) use kinds::{Bucket, Cluster, ClusterStatus, cluster, resource};

use crate::admission::{Decision, Webhook};
use crate::conditions::State;
use crate::controller::{Children, Digests, Exists, Invalid, Observed, OwnerKind, Owns, Reconciler};
use crate::conversion::Conversion;
use crate::crd::Crd;
use crate::identity::Identity;
use crate::operator::Operator;
use crate::views::Rollout;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;

pub(crate) const IDENTITY: Identity = Identity {
    name: "test-operator",
    group: "example.com",
    version: "0.0.1",
    about: "Tests",
    image: "example.com/test-operator",
};

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

/// A reconciler of a cluster-scoped kind.
pub(crate) struct Buckets;

impl Reconciler for Buckets {
    type Object = Bucket;

    fn owns(&self, owns: &mut Owns) {
        owns.child::<ConfigMap, Exists>();
    }

    fn desired(&self, _: &Bucket, _: &Observed) -> Result<Children, Invalid> {
        Ok(Children::new())
    }

    fn status(&self, bucket: &Bucket, observed: &Observed) -> ClusterStatus {
        observed.draft(bucket).finish()
    }
}

/// A reconciler that cannot start: its example is invalid.
pub(crate) struct Broken;

impl Reconciler for Broken {
    type Object = Cluster;

    fn owns(&self, _: &mut Owns) {}

    fn desired(&self, _: &Cluster, _: &Observed) -> Result<Children, Invalid> {
        Err(Invalid::new("spec.size: must be at least 1"))
    }

    fn status(&self, cluster: &Cluster, observed: &Observed) -> ClusterStatus {
        observed.draft(cluster).finish()
    }

    fn digests(&self) -> Option<Digests<Cluster>> {
        Some(Digests::of(cluster(0)))
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

pub(crate) fn owner_kind() -> OwnerKind {
    OwnerKind { resource: resource(), namespaced: true }
}
