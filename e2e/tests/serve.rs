//! Catalog images of every kind that `push catalog` makes, in OLM: ready, shown, installed from, upgraded from, killed.

use anyhow::{Context as _, Result, ensure};
use e2e::{
    Cluster, NEXT_VERSION, Programs, Registry, TIMEOUT, VERSION, install_from, release_versions, uninstall,
    wait_for, wait_for_version,
};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

/// The catalog's `CatalogSource`, as `install_from` names it.
const SOURCE: &str = "memcached";

fn catalog_source(image: &str, extracts: bool) -> Value {
    let mut source = json!({
        "sourceType": "grpc", "image": image, "grpcPodConfig": {"securityContextConfig": "restricted"},
    });
    if extracts {
        source["grpcPodConfig"]["extractContent"] = json!({"catalogDir": "/configs"});
    }
    source
}

/// The running pod of the catalog, which is ready.
async fn catalog_pod(pods: &Api<Pod>, image: &str) -> Result<Pod> {
    let list = pods.list(&ListParams::default().labels(&format!("olm.catalogSource={SOURCE}"))).await?;
    let is_ready = |pod: &Pod| {
        let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
        let names_image = serde_json::to_string(&pod.spec).is_ok_and(|spec| spec.contains(image));
        names_image
            && pod.metadata.deletion_timestamp.is_none()
            && conditions
                .into_iter()
                .flatten()
                .any(|condition| condition.type_ == "Ready" && condition.status == "True")
    };
    list.items.into_iter().find(is_ready).context("no catalog pod is ready")
}

async fn is_connected(cluster: &Cluster, namespace: &str) -> Result<()> {
    wait_for("the catalog is connected", TIMEOUT, async || {
        let sources = cluster.api("operators.coreos.com/v1alpha1", "CatalogSource", namespace).await?;
        let state = sources.get(SOURCE).await?.data["status"]["connectionState"].clone();
        ensure!(state["lastObservedState"] == "READY", "{state}");
        Ok(())
    })
    .await
}

/// Waits until the package server shows the package as the catalog has it.
async fn is_shown(cluster: &Cluster, namespace: &str, version: &str) -> Result<()> {
    wait_for(&format!("the package is shown with {version}"), TIMEOUT, async || {
        let manifests = cluster.api("packages.operators.coreos.com/v1", "PackageManifest", namespace).await?;
        let manifest = manifests.get("memcached-operator").await?;
        let channel = &manifest.data["status"]["channels"][0];
        let description = &channel["currentCSVDesc"];
        ensure!(
            channel["currentCSV"] == format!("memcached-operator.v{version}"),
            "{}",
            channel["currentCSV"]
        );
        let is_some = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
        // Icons are not part of the object: consoles ask for them apart.
        let icon = format!(
            "/apis/packages.operators.coreos.com/v1/namespaces/{namespace}/packagemanifests/memcached-operator/icon"
        );
        let icon = cluster.client.request_text(http::Request::get(icon).body(Vec::new())?).await?;
        ensure!(icon.contains("<svg"), "the icon is {icon:?}");
        ensure!(is_some(&description["description"]), "no description: {description}");
        ensure!(is_some(&description["displayName"]), "no display name: {description}");
        Ok(())
    })
    .await
}

/// The server's pods of the Memcached, by UID with how often each was restarted.
async fn servers(pods: &Api<Pod>) -> Result<Vec<(String, i32)>> {
    let parameters = ListParams::default().labels("app.kubernetes.io/managed-by=memcached-operator");
    let restarts = |pod: &Pod| {
        let status = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
        status.into_iter().flatten().map(|container| container.restart_count).sum()
    };
    Ok(pods
        .list(&parameters)
        .await?
        .items
        .iter()
        .map(|pod| (pod.uid().unwrap_or_default(), restarts(pod)))
        .collect())
}

async fn catalog_of(kind: &str, arguments: &[&str], extracts: bool) -> Result<()> {
    let (programs, registry) = (Programs::from_env()?, Registry::from_env()?);
    let cluster = Cluster::from_env().await?;
    let namespace = cluster.namespace_for(kind, "baseline").await?;
    let name = namespace.name.as_str();
    let tag = |version: &str| format!("{name}-{version}");
    let first = release_versions(&programs, &registry, &tag(VERSION), &[VERSION], arguments)?;
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), name);
    install_from(&cluster, name, &[name], &catalog_source(&first, extracts)).await?;
    let pod =
        wait_for("the catalog pod is ready", TIMEOUT, async || catalog_pod(&pods, &first).await).await?;
    is_connected(&cluster, name).await?;
    is_shown(&cluster, name, VERSION).await?;
    wait_for_version(&cluster, name, VERSION).await?;
    let memcached = json!({
        "apiVersion": "cache.example.com/v1", "kind": "Memcached",
        "metadata": {"name": "sample", "namespace": name}, "spec": {"size": 1},
    });
    cluster.apply(&memcached).await?;
    let memcacheds = cluster.api("cache.example.com/v1", "Memcached", name).await?;
    let available = async || {
        let conditions = memcacheds.get("sample").await?.data["status"]["conditions"].clone();
        let found = conditions.as_array().into_iter().flatten();
        let is_available = |item: &Value| item["type"] == "Available" && item["status"] == "True";
        ensure!(found.clone().any(is_available), "{conditions}");
        Ok(())
    };
    wait_for("the Memcached is available", TIMEOUT, available).await?;
    let before = servers(&pods).await?;
    ensure!(before.len() == 1, "{before:?}");

    // Killed, it comes back.
    pods.delete(&pod.name_any(), &DeleteParams::default().grace_period(0)).await?;
    wait_for("another catalog pod is ready", TIMEOUT, async || {
        let other = catalog_pod(&pods, &first).await?;
        ensure!(other.uid() != pod.uid(), "it is still the same pod");
        Ok(())
    })
    .await?;
    is_connected(&cluster, name).await?;
    is_shown(&cluster, name, VERSION).await?;

    // Along the channel, while the Memcached keeps serving.
    let second =
        release_versions(&programs, &registry, &tag(NEXT_VERSION), &[VERSION, NEXT_VERSION], arguments)?;
    let sources = cluster.api("operators.coreos.com/v1alpha1", "CatalogSource", name).await?;
    let patch = Patch::Merge(json!({"spec": {"image": second}}));
    sources.patch(SOURCE, &PatchParams::default(), &patch).await?;
    wait_for_version(&cluster, name, NEXT_VERSION).await?;
    is_shown(&cluster, name, NEXT_VERSION).await?;
    wait_for("the Memcached is available", TIMEOUT, available).await?;
    let after = servers(&pods).await?;
    ensure!(before == after, "the servers changed: {before:?}, {after:?}");

    cluster.delete(&memcached).await?;
    wait_for("the Memcached is deleted", TIMEOUT, async || {
        ensure!(memcacheds.get_opt("sample").await?.is_none(), "it is still there");
        Ok(())
    })
    .await?;
    uninstall(&cluster, name).await?;
    namespace.delete().await
}

#[tokio::test]
async fn from_its_own_image() -> Result<()> {
    catalog_of("serve", &[], false).await
}

#[tokio::test]
async fn from_an_opm_base() -> Result<()> {
    let opm = Registry::from_env()?.opm();
    catalog_of("serve-opm", &["--base", &opm], false).await
}

#[tokio::test]
async fn from_extracted_content() -> Result<()> {
    catalog_of("serve-extract", &["--data-only"], true).await
}

#[tokio::test]
async fn catalogd_unpacks_every_kind_of_image() -> Result<()> {
    let (programs, registry) = (Programs::from_env()?, Registry::from_env()?);
    let cluster = Cluster::from_env().await?;
    let Ok(catalogs) = cluster.api("olm.operatorframework.io/v1", "ClusterCatalog", "default").await else {
        eprintln!("no catalogd: skipped");
        return Ok(());
    };
    let opm = registry.opm();
    for (kind, arguments) in
        [("own", &[][..]), ("opm", &["--base", &opm][..]), ("data", &["--data-only"][..])]
    {
        let name = format!("e2e-serve-{kind}");
        let image = release_versions(&programs, &registry, &name, &[VERSION], arguments)?;
        let catalog = json!({
            "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog",
            "metadata": {"name": name}, "spec": {"source": {"type": "Image", "image": {"ref": image}}},
        });
        cluster.apply(&catalog).await?;
        wait_for(&format!("{name} is served"), TIMEOUT, async || {
            let conditions = catalogs.get(&name).await?.data["status"]["conditions"].clone();
            let found = conditions.as_array().into_iter().flatten();
            let is_served = |item: &Value| item["type"] == "Serving" && item["status"] == "True";
            ensure!(found.clone().any(is_served), "{conditions}");
            Ok(())
        })
        .await?;
        cluster.delete(&catalog).await?;
    }
    Ok(())
}
