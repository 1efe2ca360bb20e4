//! A small operator for the tests of this crate.

mod kinds;
pub(crate) mod old;

pub(crate) use kinds::{Bucket, Cluster, ClusterStatus, cluster, resource};

use crate::admission::{Decision, Webhook};
use crate::conditions::State;
use crate::controller::{Children, Exists, Invalid, Observed, OwnerKind, Owns, Reconciler};
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
