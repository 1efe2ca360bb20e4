//! `render manifests`: the API server accepts what is made of published bundles.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use e2e::{Cluster, Programs, skip};
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::Value;

/// The number of bundles.
const BUNDLES: usize = 20;

/// Returns the directories of bundles, one of each package, spread over the corpus.
fn bundles(corpus: &Path) -> Result<Vec<String>> {
    let mut packages = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(corpus)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let package = name.split("__").next().unwrap_or_default().to_owned();
        if path.join("manifests").is_dir() {
            packages.insert(package, path.display().to_string());
        }
    }
    let step = (packages.len() / (BUNDLES * 2)).max(1);
    Ok(packages.into_values().step_by(step).collect())
}

/// Applies an object in a dry run; returns why it is rejected, or nothing if the cluster does not know its kind.
async fn rejection(cluster: &Cluster, object: &Value) -> Result<Option<Result<(), String>>> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let namespace = text("/metadata/namespace");
    let Ok(api) = cluster.api(text("/apiVersion"), text("/kind"), namespace).await else { return Ok(None) };
    let parameters = PatchParams { dry_run: true, ..PatchParams::apply("e2e").force() };
    let result: Result<DynamicObject, _> =
        api.patch(text("/metadata/name"), &parameters, &Patch::Apply(object)).await;
    match result {
        Ok(_) => Ok(Some(Ok(()))),
        Err(kube::Error::Api(status)) => Ok(Some(Err(status.message.clone()))),
        Err(error) => Err(error.into()),
    }
}

#[tokio::test]
async fn twenty_bundles_are_accepted_by_the_api_server() -> Result<()> {
    let Some(corpus) = std::env::var_os("CORPUS_DIR") else {
        skip("CORPUS_DIR is not set");
        return Ok(());
    };
    let programs = Programs::from_env()?;
    let cluster = Cluster::from_env().await?;
    let (mut rendered, mut accepted, mut unknown, mut with_webhooks) = (0, 0, 0, 0);
    let mut wrong = Vec::new();
    for bundle in bundles(Path::new(&corpus))? {
        if rendered == BUNDLES {
            break;
        }
        let name = Path::new(&bundle).file_name().context("no name")?.to_string_lossy().into_owned();
        let namespace = cluster.namespace_for("render", "privileged").await?;
        let arguments = [
            "render",
            "manifests",
            &bundle,
            "-n",
            &namespace.name,
            "--certificates",
            "self-signed",
            "-o",
            "kustomize",
        ];
        let scratch = tempfile::tempdir()?;
        let target = scratch.path().join("base").display().to_string();
        let output = std::process::Command::new(programs.path("bundle-tool"))
            .args(arguments)
            .args(["--output-dir", &target])
            .output()?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            // Those that OLM alone can install, and those that watch chosen namespaces only.
            ensure!(error.contains("APIService") || error.contains("install mode"), "{name}: {error}");
            namespace.delete().await?;
            continue;
        }
        rendered += 1;
        for entry in std::fs::read_dir(&target)? {
            let path = entry?.path();
            if path.ends_with("kustomization.yaml") {
                continue;
            }
            let object: Value = serde_saphyr::from_str(&std::fs::read_to_string(&path)?)?;
            if object["kind"] == "Namespace" {
                continue;
            }
            with_webhooks += usize::from(object["kind"] == "Secret" && object["type"] == "kubernetes.io/tls");
            match rejection(&cluster, &object).await? {
                None => unknown += 1,
                Some(Ok(())) => accepted += 1,
                Some(Err(message)) => wrong.push(format!("{name}: {}: {message}", path.display())),
            }
        }
        namespace.delete().await?;
    }
    eprintln!(
        "{rendered} bundles, {with_webhooks} certificates of webhooks: {accepted} objects are accepted, {unknown} are of kinds that the cluster does not know"
    );
    ensure!(rendered == BUNDLES, "only {rendered} bundles could be rendered");
    ensure!(with_webhooks > 0, "no bundle has webhooks");
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
