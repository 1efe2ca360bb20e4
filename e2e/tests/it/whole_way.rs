//! From the built programs to memcached pods: push, install through OLM, create, scale, delete.

use anyhow::{Context as _, Result, ensure};
use e2e::{Cluster, Programs, Registry, TIMEOUT, install, release, uninstall, wait_for};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

async fn running(pods: &Api<Pod>) -> Result<Vec<String>> {
    let list =
        pods.list(&ListParams::default().labels("app.kubernetes.io/managed-by=memcached-operator")).await?;
    let ready = |pod: &Pod| {
        let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
        pod.metadata.deletion_timestamp.is_none()
            && conditions
                .into_iter()
                .flatten()
                .any(|condition| condition.type_ == "Ready" && condition.status == "True")
    };
    Ok(list.items.into_iter().filter(|pod| ready(pod)).filter_map(|pod| pod.metadata.name).collect())
}

/// Waits until `size` pods run and `status.nodes` names them; returns the names.
async fn wait_for_size(memcacheds: &Api<DynamicObject>, pods: &Api<Pod>, size: usize) -> Result<Vec<String>> {
    wait_for(&format!("{size} memcached pods run and status.nodes names them"), TIMEOUT, async || {
        let mut names = running(pods).await?;
        names.sort();
        let nodes = memcacheds.get("sample").await?.data["status"]["nodes"].clone();
        ensure!(names.len() == size && nodes == json!(names), "pods {names:?}, status.nodes {nodes}");
        Ok(names)
    })
    .await
}

/// What memcached answers to `stats` on its port, through the API server.
async fn stats(pods: &Api<Pod>, name: &str) -> Result<String> {
    let mut forwarder = pods.portforward(name, &[11211]).await?;
    let mut stream = forwarder.take_stream(11211).context("no stream to the pod")?;
    stream.write_all(b"stats\r\nquit\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

fn memcached(namespace: &str, size: u32) -> Value {
    json!({
        "apiVersion": "cache.example.com/v1", "kind": "Memcached",
        "metadata": {"name": "sample", "namespace": namespace},
        "spec": {"size": size},
    })
}

#[tokio::test]
async fn from_images_to_memcached_pods_through_olm() -> Result<()> {
    let (programs, registry) = (Programs::from_env()?, Registry::from_env()?);
    let cluster = Cluster::from_env().await?;
    let namespace = cluster.namespace_for("whole-way", "baseline").await?;
    let catalog = release(&programs, &registry, &namespace.name)?;
    install(&cluster, &namespace.name, &[&namespace.name], &catalog).await?;

    cluster.apply(&memcached(&namespace.name, 1)).await?;
    let memcacheds = cluster.api("cache.example.com/v1", "Memcached", &namespace.name).await?;
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), &namespace.name);
    let names = wait_for_size(&memcacheds, &pods, 1).await?;
    let answer = stats(&pods, &names[0]).await?;
    ensure!(answer.contains("STAT version"), "memcached answered: {answer}");

    let scaled = json!({"spec": {"size": 3}});
    memcacheds.patch("sample", &PatchParams::default(), &Patch::Merge(&scaled)).await?;
    wait_for_size(&memcacheds, &pods, 3).await?;

    cluster.delete(&memcached(&namespace.name, 3)).await?;
    wait_for("deleting the Memcached removes all", TIMEOUT, async || {
        let left = pods
            .list(&ListParams::default().labels("app.kubernetes.io/managed-by=memcached-operator"))
            .await?;
        ensure!(left.items.is_empty(), "{} pods are left", left.items.len());
        ensure!(memcacheds.get_opt("sample").await?.is_none(), "the Memcached is still there");
        Ok(())
    })
    .await?;

    uninstall(&cluster, &namespace.name).await?;
    namespace.delete().await
}
