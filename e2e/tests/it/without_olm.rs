//! `olm install`, `status` and `uninstall`, and what other commands say of a cluster without OLM.
//!
//! Tests run in the order of their names, so this one, which removes OLM, comes last.

use std::process::Output;

use anyhow::{Result, ensure};
use e2e::{Cluster, Programs, TIMEOUT, skip, wait_for};

fn tool(programs: &Programs, arguments: &[&str]) -> Result<(Option<i32>, String, String)> {
    eprintln!("$ bundle-tool {}", arguments.join(" "));
    let Output { status, stdout, stderr } =
        std::process::Command::new(programs.path("bundle-tool")).args(arguments).output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    eprint!("{}{}", text(&stdout), text(&stderr));
    Ok((status.code(), text(&stdout), text(&stderr)))
}

#[tokio::test]
async fn olm_is_removed_and_installed_again() -> Result<()> {
    let Ok(manifests) = std::env::var("OLM_MANIFESTS") else {
        skip("OLM_MANIFESTS is not set");
        return Ok(());
    };
    let (programs, cluster) = (Programs::from_env()?, Cluster::from_env().await?);
    // Catalogs of earlier tests may still be in the course of deletion.
    wait_for("OLM is ready", TIMEOUT, async || {
        let (status, out, _) = tool(&programs, &["olm", "status"])?;
        ensure!(status == Some(0) && out.contains("packageserver`: Succeeded"), "{out}");
        Ok(())
    })
    .await?;

    let (status, out, err) = tool(&programs, &["olm", "uninstall"])?;
    ensure!(status == Some(0) && out == "OLM was removed\n", "{out}{err}");
    let (status, out, _) = tool(&programs, &["olm", "status"])?;
    ensure!(status == Some(1) && out == "OLM is not installed\n", "{out}");
    let (status, _, err) = tool(&programs, &["olm", "uninstall"])?;
    ensure!(status == Some(2) && err.contains("OLM is not installed"), "{err}");
    let roles = cluster.api("rbac.authorization.k8s.io/v1", "ClusterRole", "").await?;
    let left: Vec<_> = roles
        .list(&kube::api::ListParams::default())
        .await?
        .into_iter()
        .filter_map(|role| role.metadata.name)
        .filter(|name| name.contains("olm"))
        .collect();
    ensure!(left.is_empty(), "cluster roles are left: {left:?}");

    // Without OLM, each command says so, and creates nothing.
    let bundle = concat!(env!("CARGO_MANIFEST_DIR"), "/../bundle");
    let (status, out, err) = tool(&programs, &["run", "bundle", bundle, "-n", "default"])?;
    ensure!(status == Some(2) && out.is_empty() && err.contains("the cluster has no OLM"), "{out}{err}");
    // What OLM v1 has installed is diagnosed without OLM v0.
    let has_v1 = cluster.api("olm.operatorframework.io/v1", "ClusterCatalog", "").await.is_ok();
    for arguments in [&["doctor", "-n", "default"][..], &["doctor"]] {
        let (status, out, err) = tool(&programs, arguments)?;
        let says_so = status == Some(2) && out.is_empty() && err.contains("the cluster has no OLM");
        ensure!(says_so || has_v1 && status != Some(2), "{out}{err}");
    }

    let mut install = vec!["olm", "install"];
    install.extend(manifests.split(',').flat_map(|file| ["--manifests", file]));
    // The same command again changes nothing.
    for _ in 0..2 {
        let (status, out, err) = tool(&programs, &install)?;
        ensure!(status == Some(0) && out.contains("is installed in namespace olm"), "{out}{err}");
    }
    let (status, out, _) = tool(&programs, &["olm", "status", "-o", "json"])?;
    let found: serde_json::Value = serde_json::from_str(&out)?;
    ensure!(status == Some(0) && found["installed"] == true, "{out}");
    Ok(())
}
