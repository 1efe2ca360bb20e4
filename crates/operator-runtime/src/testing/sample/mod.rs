//! A small operator for the tests of this crate.

mod kinds;
pub(crate) mod old;
pub(crate) mod other;

pub(crate) use kinds::{Bucket, Cluster, ClusterStatus, cluster, resource};

use crate::admission::{Decision, Webhook};
use crate::conditions::ConditionStatus;
use crate::controller::{
    Child, ChildOptions, Children, Error, Exists, Invalid, Observed, OwnerKind, Reconciler, SkipUnchanged,
    Watches,
};
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

impl Clusters {
    fn new(watches: &mut Watches<Cluster>) -> Self {
        let _: Child<Deployment, Rollout> = watches.child();
        let _: Child<ConfigMap> = watches.child_with(ChildOptions::new().optional());
        Self
    }
}

impl Reconciler for Clusters {
    type Object = Cluster;
    type Status = ClusterStatus;
    type External = ();
    const FINALIZER: Option<&'static str> = Some("example.com/finalizer");

    fn desired(&self, _: &Cluster, _: &Observed<Self>) -> Result<Children, Error> {
        Ok(Children::new())
    }

    fn status(&self, _: &Cluster, observed: &Observed<Self>) -> ClusterStatus {
        let mut draft = observed.draft();
        draft.set("Available", ConditionStatus::True, "Nothing", "");
        draft.finish()
    }
}

/// A reconciler of a cluster-scoped kind.
pub(crate) struct Buckets;

impl Buckets {
    pub(crate) fn new(watches: &mut Watches<Bucket>) -> Self {
        watches.child::<ConfigMap, Exists>();
        Self
    }
}

impl Reconciler for Buckets {
    type Object = Bucket;
    type Status = ClusterStatus;
    type External = ();

    fn desired(&self, _: &Bucket, _: &Observed<Self>) -> Result<Children, Error> {
        Ok(Children::new())
    }

    fn status(&self, _: &Bucket, observed: &Observed<Self>) -> ClusterStatus {
        observed.draft().finish()
    }
}

/// A reconciler that cannot start: its example is invalid.
pub(crate) struct Broken;

impl Broken {
    pub(crate) fn new(_: &mut Watches<Cluster>) -> Self {
        Self
    }
}

impl Reconciler for Broken {
    type Object = Cluster;
    type Status = ClusterStatus;
    type External = ();

    fn desired(&self, _: &Cluster, _: &Observed<Self>) -> Result<Children, Error> {
        Err(Invalid::new("spec.size: must be at least 1").into())
    }

    fn status(&self, _: &Cluster, observed: &Observed<Self>) -> ClusterStatus {
        observed.draft().finish()
    }

    fn skip_unchanged(&self) -> Option<SkipUnchanged<Cluster>> {
        Some(SkipUnchanged::new(cluster(0)))
    }
}

/// An operator with everything that shows in manifests and permissions.
pub(crate) fn operator() -> Operator {
    Operator::new(IDENTITY)
        .crd(Crd::new::<Cluster>().version::<old::Cluster>())
        .controller(Clusters::new)
        .webhook(Webhook::defaulting::<Cluster, _>(async |_, _| Ok(Decision::allowed())))
        .webhook(Webhook::validating::<Cluster, _>(async |_, _| Ok(Decision::allowed())))
        .webhook(Webhook::conversion(Conversion::<Cluster>::new().spoke::<old::Cluster>()))
        .sample(
            "example_v1_cluster.yaml",
            serde_json::json!({"apiVersion": "example.com/v1", "kind": "Cluster"}),
        )
}

pub(crate) fn owner_kind() -> OwnerKind {
    OwnerKind { resource: resource(), namespaced: true }
}
