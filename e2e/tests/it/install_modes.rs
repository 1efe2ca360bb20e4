//! The four install modes of the CSV, each installed through OLM: what is in scope works, what is not is left alone.

use anyhow::{Result, ensure};
use e2e::{
    Cluster, Namespace, Programs, Registry, TIMEOUT, condition, install, release, uninstall, wait_for,
};
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};

/// The operator's own namespace and two others.
struct Stage {
    cluster: Cluster,
    namespaces: [Namespace; 3],
}

impl Stage {
    async fn set(mode: &str) -> Result<Self> {
        let cluster = Cluster::from_env().await?;
        let own = cluster.namespace_for(&format!("{mode}-own"), "baseline").await?;
        let first = cluster.namespace(&format!("{mode}-first")).await?;
        let second = cluster.namespace(&format!("{mode}-second")).await?;
        Ok(Self { cluster, namespaces: [own, first, second] })
    }

    fn names(&self) -> [&str; 3] {
        self.namespaces.each_ref().map(|namespace| namespace.name.as_str())
    }

    fn memcached(namespace: &str) -> Value {
        json!({
            "apiVersion": "cache.example.com/v1", "kind": "Memcached",
            "metadata": {"name": "sample", "namespace": namespace}, "spec": {"size": 1},
        })
    }
}

/// Installs with an operator group for these of the three namespaces, none meaning all of the cluster's.
async fn installed_for(mode: &str, targets: &[usize]) -> Result<()> {
    let (programs, registry) = (Programs::from_env()?, Registry::from_env()?);
    let stage = Stage::set(mode).await?;
    let names = stage.names();
    let catalog = release(&programs, &registry, names[0])?;
    let targeted: Vec<&str> = targets.iter().map(|index| names[*index]).collect();
    install(&stage.cluster, names[0], &targeted, &catalog).await?;

    // Those out of scope first: by the time that the others are Available they would have been seen.
    let in_scope = |index: &usize| targets.is_empty() || targets.contains(index);
    let (inside, outside): (Vec<usize>, Vec<usize>) = (0..names.len()).partition(in_scope);
    for index in outside.iter().chain(&inside) {
        wait_for("the Memcached is let in", TIMEOUT, async || {
            stage.cluster.apply(&Stage::memcached(names[*index])).await
        })
        .await?;
    }
    for index in &inside {
        let memcacheds = stage.cluster.api("cache.example.com/v1", "Memcached", names[*index]).await?;
        wait_for(&format!("the Memcached in {} is Available", names[*index]), TIMEOUT, async || {
            let told = condition(&memcacheds.get("sample").await?, "Available");
            ensure!(told.0 == "True", "{told:?}");
            Ok(())
        })
        .await?;
    }
    for index in &outside {
        let deployments: Api<Deployment> = Api::namespaced(stage.cluster.client.clone(), names[*index]);
        let found =
            deployments.list(&ListParams::default().labels("app.kubernetes.io/name=memcached")).await?;
        ensure!(found.items.is_empty(), "{} is out of scope and was worked in", names[*index]);
    }

    for name in names {
        stage.cluster.delete(&Stage::memcached(name)).await?;
    }
    for index in &inside {
        let memcacheds = stage.cluster.api("cache.example.com/v1", "Memcached", names[*index]).await?;
        wait_for("the Memcached is gone", TIMEOUT, async || {
            ensure!(memcacheds.get_opt("sample").await?.is_none(), "it is still there");
            Ok(())
        })
        .await?;
    }
    uninstall(&stage.cluster, names[0]).await?;
    for namespace in stage.namespaces {
        namespace.delete().await?;
    }
    Ok(())
}

#[tokio::test]
async fn all_namespaces() -> Result<()> {
    installed_for("all", &[]).await
}

#[tokio::test]
async fn own_namespace() -> Result<()> {
    installed_for("own", &[0]).await
}

#[tokio::test]
async fn single_namespace() -> Result<()> {
    installed_for("single", &[1]).await
}

#[tokio::test]
async fn multi_namespace() -> Result<()> {
    installed_for("multi", &[1, 2]).await
}
