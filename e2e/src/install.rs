//! Installs the operator through OLM from a catalog image, and uninstalls it.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::release::{CHANNEL, NEXT_VERSION, PACKAGE, VERSION};
use crate::wait::{TIMEOUT, wait_for};

const CSVS: (&str, &str) = ("operators.coreos.com/v1alpha1", "ClusterServiceVersion");

fn csv(version: &str) -> String {
    format!("{PACKAGE}.v{version}")
}

/// Returns what a user applies; `targets` are the namespaces that the operator watches, none for all.
fn objects(namespace: &str, targets: &[&str], catalog_source: &Value) -> [Value; 3] {
    let scope = if targets.is_empty() { json!({}) } else { json!({ "targetNamespaces": targets }) };
    [
        json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
            "metadata": {"name": "memcached", "namespace": namespace},
            "spec": catalog_source,
        }),
        json!({
            "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
            "metadata": {"name": "memcached", "namespace": namespace}, "spec": scope,
        }),
        json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": {"name": PACKAGE, "namespace": namespace},
            "spec": {"source": "memcached", "sourceNamespace": namespace, "name": PACKAGE, "channel": CHANNEL},
        }),
    ]
}

/// Subscribes to the operator in a namespace and waits until OLM has installed it; `targets` are the namespaces that it
/// watches, none for all.
///
/// # Errors
/// The API server rejects an object, or the CSV is not Succeeded in time.
pub async fn install(cluster: &Cluster, namespace: &str, targets: &[&str], catalog: &str) -> Result<()> {
    let source = json!({
        "sourceType": "grpc", "image": catalog, "grpcPodConfig": {"securityContextConfig": "restricted"},
    });
    install_from(cluster, namespace, targets, &source).await?;
    wait_for_version(cluster, namespace, VERSION).await
}

/// Subscribes to the operator of a `CatalogSource` with this spec; `targets` are the namespaces that it watches, none for all.
///
/// # Errors
/// The API server rejects an object.
pub async fn install_from(
    cluster: &Cluster,
    namespace: &str,
    targets: &[&str],
    catalog_source: &Value,
) -> Result<()> {
    for object in objects(namespace, targets, catalog_source) {
        cluster.apply(&object).await?;
    }
    Ok(())
}

/// Waits until a version of the operator is installed.
///
/// # Errors
/// Its CSV is not Succeeded in time.
pub async fn wait_for_version(cluster: &Cluster, namespace: &str, version: &str) -> Result<()> {
    let csvs = cluster.api(CSVS.0, CSVS.1, namespace).await?;
    wait_for(&format!("the CSV of {version} is Succeeded"), TIMEOUT, async || {
        let csv = csvs.get(&csv(version)).await?;
        let status = &csv.data["status"];
        ensure!(status["phase"] == "Succeeded", "{}: {}", status["phase"], status["message"]);
        Ok(())
    })
    .await
}

/// Uninstalls the operator and its CRD, so that another test can install it.
///
/// # Errors
/// The cluster rejects.
pub async fn uninstall(cluster: &Cluster, namespace: &str) -> Result<()> {
    for (api_version, kind, name) in [
        ("operators.coreos.com/v1alpha1", "Subscription", PACKAGE),
        (CSVS.0, CSVS.1, &csv(VERSION)),
        (CSVS.0, CSVS.1, &csv(NEXT_VERSION)),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "memcacheds.cache.example.com"),
    ] {
        cluster
            .delete(&json!({
                "apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace},
            }))
            .await?;
    }
    Ok(())
}
