//! Catalog images of every kind that `push catalog` makes, in OLM: ready, shown, installed from, upgraded from, killed.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use e2e::{
    Cluster, NEXT_VERSION, Programs, Registry, TIMEOUT, VERSION, install_from, release_versions, skip,
    uninstall, wait_for, wait_for_version,
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
        skip("the cluster has no catalogd");
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

/// The headers that a client of catalogd may depend on, beside those whose values differ from server to server.
const HEADERS: &[&str] = &[
    "accept-ranges",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "vary",
    "x-content-type-options",
];

/// What curl received.
#[derive(Debug)]
struct Answer {
    status: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

async fn ask(url: &str, arguments: &[&str]) -> Result<Answer> {
    let mut command = tokio::process::Command::new("curl");
    command.args(["-sS", "-i", "--max-time", "60"]).args(arguments).arg(url);
    if let Ok(file) = std::env::var("REGISTRY_CA_FILE") {
        command.args(["--cacert", &file]);
    }
    let output = command.output().await.context("failed to start curl")?;
    ensure!(output.status.success(), "{url}: {}", String::from_utf8_lossy(&output.stderr));
    let text = output.stdout;
    let end = text.windows(4).position(|window| window == b"\r\n\r\n").context("no headers")?;
    let mut lines = std::str::from_utf8(&text[..end])?.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).context("no status")?.to_owned();
    let header = |line: &str| {
        Some((line.split_once(": ")?.0.to_ascii_lowercase(), line.split_once(": ")?.1.to_owned()))
    };
    Ok(Answer { status, headers: lines.filter_map(header).collect(), body: text[end + 4..].to_vec() })
}

/// What of an answer must be the same everywhere.
#[derive(Debug, PartialEq)]
struct Comparable {
    status: String,
    headers: BTreeMap<String, String>,
    blobs: Vec<Value>,
    text: String,
}

impl Comparable {
    fn of(answer: &Answer) -> Result<Self> {
        let mut headers: BTreeMap<String, String> = answer
            .headers
            .iter()
            .filter(|(name, _)| HEADERS.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if answer.headers.contains_key("last-modified") {
            headers.insert("last-modified".into(), "some".into());
        }
        let is_lines = headers.get("content-type").is_some_and(|value| value == "application/jsonl");
        let (mut blobs, mut text) = (Vec::new(), String::new());
        if is_lines && answer.status == "200" {
            for line in serde_json::Deserializer::from_slice(&answer.body).into_iter() {
                blobs.push(line?);
            }
        } else {
            text = String::from_utf8_lossy(&answer.body).into_owned();
        }
        Ok(Self { status: answer.status.clone(), headers, blobs, text })
    }

    fn shown(&self) -> String {
        let Self { status, headers, blobs, text } = self;
        format!("{status} {headers:?} {} blobs {text:?}", blobs.len())
    }
}

/// `serve --http` of a catalog.
struct Ours {
    child: tokio::process::Child,
    base: String,
}

async fn serve_http(programs: &Programs, directory: &str, name: &str) -> Result<Ours> {
    use tokio::io::{AsyncBufReadExt as _, BufReader};
    let mut child = tokio::process::Command::new(programs.path("bundle-tool"))
        .args(["serve", directory, "--port", "0", "--http", "127.0.0.1:0", "--catalog-name", name])
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("failed to start bundle-tool")?;
    let mut lines = BufReader::new(child.stdout.take().context("no standard output")?).lines();
    lines.next_line().await?.context("no address")?;
    let base = lines.next_line().await?.context("no URL")?;
    Ok(Ours { child, base: format!("{base}catalogs") })
}

#[tokio::test]
async fn http_answers_are_those_of_catalogd() -> Result<()> {
    let (programs, registry) = (Programs::from_env()?, Registry::from_env()?);
    let cluster = Cluster::from_env().await?;
    let Ok(catalogs) = cluster.api("olm.operatorframework.io/v1", "ClusterCatalog", "default").await else {
        skip("the cluster has no catalogd");
        return Ok(());
    };
    let directory = std::env::var("LARGE_CATALOG")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../catalog").to_owned());
    let name = "e2e-http";
    let image = registry.image(&format!("{name}:v1"));
    let flags = registry.flags();
    programs.tool(&[&["push", "catalog", &directory, &image, "--data-only"], &flags[..]].concat(), &[])?;
    let catalog = json!({
        "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog",
        "metadata": {"name": name}, "spec": {"source": {"type": "Image", "image": {"ref": image}}},
    });
    cluster.apply(&catalog).await?;
    let base = wait_for("the catalog is served", TIMEOUT, async || {
        let status = catalogs.get(name).await?.data["status"].clone();
        let found = status["conditions"].as_array().into_iter().flatten();
        let is_served = |item: &Value| item["type"] == "Serving" && item["status"] == "True";
        ensure!(found.clone().any(is_served), "{status}");
        let url = status["urls"]["base"].as_str().context("no URL")?;
        Ok(url.trim_end_matches(&format!("/{name}")).to_owned())
    })
    .await?;
    let mut ours = serve_http(&programs, &directory, name).await?;
    let package = std::fs::read_dir(Path::new(&directory))?
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .min()
        .context("no file")?;
    let package = package.trim_end_matches(".yaml").to_owned();
    let date = |answer: &Answer| format!("If-Modified-Since: {}", answer.headers["last-modified"]);
    let since = [&base, &ours.base]
        .map(async |base| anyhow::Ok(date(&ask(&format!("{base}/{name}/api/v1/all"), &["-I"]).await?)));
    let [theirs_since, ours_since] = since;
    let (theirs_since, ours_since) = (theirs_since.await?, ours_since.await?);
    let all = format!("{name}/api/v1/all");
    let metas = format!("{name}/api/v1/metas");
    let requests: Vec<(String, Vec<&str>)> = vec![
        (all.clone(), vec![]),
        (all.clone(), vec!["-I"]),
        (all.clone(), vec!["--compressed", "-H", "Accept-Encoding: gzip"]),
        (all.clone(), vec!["-H", "SINCE"]),
        (all.clone(), vec!["-H", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT", "-I"]),
        (all.clone(), vec!["-H", "If-None-Match: *"]),
        (all.clone(), vec!["-H", "If-Match: \"x\""]),
        (all.clone(), vec!["-H", "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT"]),
        (all.clone(), vec!["-r", "10-30"]),
        (all.clone(), vec!["-r", "-30"]),
        (all.clone(), vec!["-H", "Range: bytes=999999999999-"]),
        (all.clone(), vec!["-H", "Range: bytes=b-a"]),
        (all.clone(), vec!["-X", "POST"]),
        (all.clone(), vec!["-X", "DELETE"]),
        (format!("{all}?schema=olm.package"), vec!["-I"]),
        (metas.clone(), vec![]),
        (metas.clone(), vec!["-I"]),
        (metas.clone(), vec!["--compressed", "-H", "Accept-Encoding: gzip"]),
        (metas.clone(), vec!["-H", "SINCE"]),
        (metas.clone(), vec!["-H", "If-Match: \"x\""]),
        (metas.clone(), vec!["-r", "10-30"]),
        (metas.clone(), vec!["-X", "PUT"]),
        (format!("{metas}?schema=olm.package"), vec![]),
        (format!("{metas}?schema=olm.channel&package={package}"), vec![]),
        (format!("{metas}?package={package}"), vec![]),
        (format!("{metas}?package={package}&name=stable"), vec![]),
        (format!("{metas}?name={package}"), vec![]),
        (format!("{metas}?schema=none"), vec![]),
        (format!("{metas}?schema="), vec!["-I"]),
        (format!("{metas}?channel=stable"), vec![]),
        (format!("{metas}?schema=olm.package&Schema=olm.bundle"), vec![]),
        ("none/api/v1/all".into(), vec![]),
        ("none/api/v1/metas?x=y".into(), vec![]),
        ("Not_A_Name/api/v1/all".into(), vec![]),
        (format!("{}/api/v1/all", "a".repeat(254)), vec![]),
        (format!("{name}/api/v1/none"), vec![]),
        (format!("{name}/api/v1/all/"), vec![]),
    ];
    let mut wrong = Vec::new();
    for (path, arguments) in requests {
        let with = |since: &str| -> Vec<String> {
            arguments.iter().map(|argument| argument.replace("SINCE", since)).collect()
        };
        let (theirs, mine) = (with(&theirs_since), with(&ours_since));
        let (theirs, mine): (Vec<&str>, Vec<&str>) =
            (theirs.iter().map(String::as_str).collect(), mine.iter().map(String::as_str).collect());
        let theirs = ask(&format!("{base}/{path}"), &theirs).await?;
        let mine = ask(&format!("{}/{path}", ours.base), &mine).await?;
        let (theirs, mine) = (Comparable::of(&theirs)?, Comparable::of(&mine)?);
        if theirs != mine {
            let shown = format!("\n  catalogd: {}\n  ours:     {}", theirs.shown(), mine.shown());
            wrong.push(format!("{path} {arguments:?}{shown}"));
        }
    }
    ours.child.kill().await?;
    cluster.delete(&catalog).await?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
