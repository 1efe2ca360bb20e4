//! Tests on a real control plane: kube-apiserver and etcd, without nodes. The webhooks are served on loopback.
//!
//! They run if `KUBEBUILDER_ASSETS` names a directory with both programs, or `TEST_ASSET_KUBE_APISERVER` and
//! `TEST_ASSET_ETCD` name each. Otherwise they pass without a check, or fail in CI, where `CI` is set.

use std::fmt::Debug;

use kube::api::{Api, ListParams};
use kube::core::object::HasStatus;
use operator_runtime::testing::ControlPlane;
use serde::de::DeserializeOwned;

use memcached_operator::{Args, api, operator};

#[tokio::test]
async fn api_server_accepts_the_crds_and_the_samples() {
    let Some(plane) = ControlPlane::start().await.unwrap() else {
        test_support::skip("set KUBEBUILDER_ASSETS, or TEST_ASSET_KUBE_APISERVER and TEST_ASSET_ETCD");
        return;
    };
    let operator = operator(&Args::default());
    plane.install(&operator).await.unwrap();
    plane.create_samples(&operator).await.unwrap();
    let running = plane.run(&operator);
    has_status::<api::memcached::Memcached>(&plane).await;
    running.stop().await;
}

/// Waits until the controller has written a status to every object of a kind.
async fn has_status<K>(plane: &ControlPlane)
where
    K: kube::Resource<DynamicType = ()> + HasStatus + Clone + Debug + DeserializeOwned,
{
    plane
        .until("every object has a status", async |client| {
            let list = Api::<K>::all(client).list(&ListParams::default()).await;
            list.is_ok_and(|list| list.iter().all(|object| object.status().is_some()))
        })
        .await;
}
