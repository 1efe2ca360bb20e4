//! `make deploy` and `make undeploy`: the operator without OLM.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use e2e::{Cluster, Programs, Registry, TIMEOUT, wait_for};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use serde_json::json;

const NAMESPACE: &str = "memcached-operator-system";

fn make(target: &str, image: &str, operand: &str) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let status = e2e::outside_cargo(&mut Command::new("make"))
        .args(["--no-print-directory", "-C"])
        .arg(root)
        .args([target, &format!("IMG={image}"), &format!("MEMCACHED_IMAGE={operand}")])
        // The programs are built. Another build of the workspace may hold cargo's lock for minutes.
        .arg("CARGO=true")
        .status()?;
    ensure!(status.success(), "make {target}: {status}");
    Ok(())
}

#[tokio::test]
async fn deployed_and_undeployed_by_make_with_a_memcached_left() -> Result<()> {
    let (programs, registry) = (Programs::from_env()?, Registry::from_env()?);
    let cluster = Cluster::from_env().await?;
    let image = registry.image("memcached-operator:deploy");
    let binary = format!("{}=/memcached-operator", programs.path("memcached-operator").display());
    let flags = registry.flags();
    let push =
        ["push", "image", &image, &binary, "--entrypoint", "/memcached-operator", "--user", "65532:65532"];
    programs.tool(&[&push[..], &flags].concat(), &[])?;

    make("deploy", &image, &registry.operand())?;
    let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    wait_for("the manager is available", TIMEOUT, async || {
        let deployment = deployments.get("memcached-operator-controller-manager").await?;
        let available = deployment.status.and_then(|status| status.available_replicas).unwrap_or_default();
        ensure!(available == 1, "{available} replicas are available");
        Ok(())
    })
    .await?;

    let namespace = cluster.namespace("deployed").await?;
    let memcached = json!({
        "apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached",
        "metadata": {"name": "sample", "namespace": namespace.name},
        "spec": {"size": 1},
    });
    cluster.apply(&memcached).await?;
    let memcacheds = cluster.api("cache.example.com/v1alpha1", "Memcached", &namespace.name).await?;
    wait_for("the Memcached is Available", TIMEOUT, async || {
        let status = memcacheds.get("sample").await?.data["status"].clone();
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        let available = conditions
            .iter()
            .any(|condition| condition["type"] == "Available" && condition["status"] == "True");
        ensure!(available, "{status}");
        Ok(())
    })
    .await?;
    // It is left for `make undeploy`, which has to delete it while the manager can remove its finalizer.
    make("undeploy", &image, &registry.operand())?;
    let namespaces: Api<Namespace> = Api::all(cluster.client.clone());
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
    wait_for("namespace and CRD are gone", TIMEOUT, async || {
        ensure!(namespaces.get_opt(NAMESPACE).await?.is_none(), "the namespace still exists");
        let definition = definitions.get_opt("memcacheds.cache.example.com").await?;
        ensure!(definition.is_none(), "the CRD still exists");
        Ok(())
    })
    .await?;
    namespace.delete().await
}
