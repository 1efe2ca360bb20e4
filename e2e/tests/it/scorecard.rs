//! `scorecard`: tests in images run as pods that have the bundle, and that are removed.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use e2e::{Cluster, Programs, Registry, TIMEOUT, wait_for};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Api;
use kube::api::ListParams;
use serde_json::Value;

/// A static program with a shell and `tar`, as Debian's busybox-static installs it.
const BUSYBOX: &str = "/bin/busybox";

/// A bundle whose configuration has a stock test, tests in an image, and one in an image that does not exist.
fn write_bundle(directory: &Path, image: &str, missing: &str) -> Result<()> {
    for (file, content) in [
        ("manifests/gizmo.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: gizmo}\n".to_owned()),
        ("metadata/annotations.yaml", "annotations: {}\n".to_owned()),
        (
            "tests/scorecard/config.yaml",
            format!(
                "apiVersion: scorecard.operatorframework.io/v1alpha3\nkind: Configuration\nstages:\n- parallel: true\n  tests:\n  \
                 - image: quay.io/operator-framework/scorecard-test:v1.42.0\n    entrypoint: [scorecard-test, basic-check-spec]\n  \
                 - image: {image}\n    entrypoint: [/checker]\n    labels: {{suite: gizmo, test: files}}\n    storage: {{spec: {{mountPath: {{path: /output}}}}}}\n  \
                 - image: {image}\n    entrypoint: [/checker, silent]\n- tests:\n  - image: {missing}\n    entrypoint: [missing]\n"
            ),
        ),
    ] {
        let path = directory.join(file);
        std::fs::create_dir_all(path.parent().context("no directory")?)?;
        std::fs::write(path, content)?;
    }
    Ok(())
}

#[tokio::test]
async fn tests_in_images_run_as_pods_that_are_removed() -> Result<()> {
    let (programs, registry) = (Programs::from_env()?, Registry::from_env()?);
    let cluster = Cluster::from_env().await?;
    let (image, missing) = (registry.image("scorecard/checker:e2e"), registry.image("scorecard/missing:e2e"));
    let binary = format!("{}=/checker", env!("CARGO_BIN_EXE_checker"));
    let push = ["push", "image", &image, &binary, "--entrypoint", "/checker", "--user", "65532"];
    programs.tool(&[&push[..], &registry.flags()].concat(), &[])?;
    let busybox = registry.image("scorecard/busybox:e2e");
    let programs_of_busybox =
        ["sh", "sleep", "tar", "gzip", "base64"].map(|name| format!("{BUSYBOX}=/bin/{name}"));
    ensure!(Path::new(BUSYBOX).exists(), "{BUSYBOX} does not exist: install busybox-static");
    let mut push = vec!["push", "image", busybox.as_str()];
    push.extend(programs_of_busybox.iter().map(String::as_str));
    push.extend(["--entrypoint", "/bin/sh", "--user", "65532"]);
    programs.tool(&[&push[..], &registry.flags()].concat(), &[])?;
    let directory = tempfile::tempdir()?;
    let output_directory = directory.path().join("output");
    write_bundle(&directory.path().join("bundle"), &image, &missing)?;
    let namespace = cluster.namespace_for("scorecard", "restricted").await?;
    let accounts: Api<k8s_openapi::api::core::v1::ServiceAccount> =
        Api::namespaced(cluster.client.clone(), &namespace.name);
    wait_for("the namespace has its service account", TIMEOUT, async || {
        accounts.get("default").await.map(drop).map_err(Into::into)
    })
    .await?;

    let output = tokio::process::Command::from(Command::new(programs.path("bundle-tool")))
        .arg("scorecard")
        .arg(directory.path().join("bundle"))
        .args(["-n", &namespace.name, "--pod-security", "restricted", "--wait-time", "2m", "-o", "json"])
        .args(["--storage-image", &busybox, "--test-output"])
        .arg(&output_directory)
        .stdin(Stdio::null())
        .output()
        .await?;
    let error = String::from_utf8(output.stderr)?;
    ensure!(output.status.code() == Some(1), "{error}");
    let list: Value = serde_json::from_slice(&output.stdout)?;
    let results: Vec<&Value> = list["items"]
        .as_array()
        .context("no items")?
        .iter()
        .map(|item| &item["status"]["results"][0])
        .collect();
    let states: Vec<_> = results.iter().map(|result| result["state"].as_str().unwrap_or_default()).collect();
    ensure!(states == ["error", "pass", "error", "error"], "{list:#}\n{error}");
    let expected = format!(
        "{}\n/bundle/manifests/gizmo.yaml\n/bundle/metadata/annotations.yaml\n/bundle/tests/scorecard/config.yaml",
        namespace.name
    );
    ensure!(results[1]["log"] == expected, "{list:#}");
    let reason = |index: usize| results[index]["errors"][0].as_str().unwrap_or_default();
    ensure!(reason(0) == "the bundle contains no ClusterServiceVersion", "{list:#}");
    ensure!(reason(2).starts_with("the test did not print its results as JSON"), "{list:#}");
    ensure!(results[2]["log"] == "no results\n", "{list:#}");
    ensure!(std::fs::read(output_directory.join("gizmo/files/report"))? == b"all files\n");
    let pull = format!("the pod of the test cannot pull image `{missing}`");
    ensure!(reason(3).starts_with(&pull), "{list:#}");

    let ours = ListParams::default().labels("app=scorecard-test");
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), &namespace.name);
    wait_for("the pods are gone", TIMEOUT, async || {
        ensure!(pods.list(&ours).await?.items.is_empty(), "there are pods");
        Ok(())
    })
    .await?;
    let config_maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), &namespace.name);
    ensure!(config_maps.list(&ours).await?.items.is_empty(), "there are ConfigMaps");
    namespace.delete().await
}
