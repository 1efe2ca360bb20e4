//! `mirror`: an operator is installed from a mirror of its catalog while the registry that its images name is gone.
//!
//! The cluster's containerd has to read `REGISTRY_HOSTS`, its directory of registry configurations; skipped without it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use e2e::{
    Cluster, Programs, Registry, TIMEOUT, VERSION, condition, install_from, release, skip, uninstall,
    wait_for, wait_for_version,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The process of a registry on a loopback address, which no node can reach.
struct Origin {
    server: Child,
    _directory: TempDir,
}

impl Origin {
    fn start(programs: &Programs) -> Result<(Registry, Self)> {
        let directory = tempfile::tempdir()?;
        let mut server = Command::new(programs.path("bundle-tool"))
            .args(["registry", "serve", "--address", "127.0.0.1:0", "--dir"])
            .arg(directory.path().join("registry"))
            .stdout(Stdio::piped())
            .spawn()
            .context("failed to start bundle-tool registry serve")?;
        let mut line = String::new();
        let output = server.stdout.take().context("no standard output")?;
        BufReader::new(output).read_line(&mut line)?;
        let host = line.trim().trim_start_matches("http://").to_owned();
        ensure!(!host.is_empty(), "registry serve did not start");
        let registry = Registry { host, ca_file: None, plain_http: true };
        Ok((registry, Self { server, _directory: directory }))
    }

    fn cut_off(&mut self) -> Result<()> {
        self.server.kill()?;
        self.server.wait()?;
        Ok(())
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        let _ = self.cut_off();
    }
}

/// A registry's configuration for containerd, removed on drop.
struct Hosts(PathBuf);

impl Hosts {
    /// Has containerd pull the images of `origin` from `mirror`, a registry with a path.
    fn write(directory: &Path, origin: &str, mirror: &str, ca_file: Option<&str>) -> Result<Self> {
        let (host, path) = mirror.split_once('/').context("the mirror has no path")?;
        let authority = ca_file.map(|file| format!("  ca = {}\n", json!(file))).unwrap_or_default();
        let text = format!(
            "server = \"http://{origin}\"\n[host.\"https://{host}/v2/{path}\"]\n  capabilities = [\"pull\", \"resolve\"]\n  \
             override_path = true\n{authority}"
        );
        let directory = directory.join(origin);
        fs::create_dir_all(&directory)?;
        let hosts = Self(directory);
        fs::write(hosts.0.join("hosts.toml"), text)?;
        Ok(hosts)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Reads a manifest that `mirror` has written.
fn manifest(directory: &Path, prefix: &str) -> Result<Value> {
    let mut files = fs::read_dir(directory)?.filter_map(Result::ok).map(|entry| entry.path());
    let file = files
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix)))
        .with_context(|| format!("there is no {prefix}"))?;
    let parsed = kube_yaml::parse(&fs::read(file)?);
    Ok(parsed.documents.first().context("no document")?.root().to_json())
}

#[tokio::test]
async fn an_operator_is_installed_while_its_registry_is_gone() -> Result<()> {
    let Some(hosts) = std::env::var_os("REGISTRY_HOSTS").map(PathBuf::from) else {
        skip("REGISTRY_HOSTS is not set");
        return Ok(());
    };
    let (programs, target) = (Programs::from_env()?, Registry::from_env()?);
    let cluster = Cluster::from_env().await?;
    let namespace = cluster.namespace_for("mirror", "baseline").await?;
    let name = &namespace.name;

    let (origin, mut process) = Origin::start(&programs)?;
    let flags = [origin.flags(), target.flags()].concat();
    let (theirs, ours) = (target.operand(), origin.operand());
    if theirs != ours {
        programs.tool(&[&["copy", &theirs, &ours], &flags[..]].concat(), &[])?;
    }
    let catalog = release(&programs, &origin, name)?;

    let scratch = tempfile::tempdir()?;
    let manifests = scratch.path().join("manifests").display().to_string();
    let mirror = target.image(&format!("mirror/{name}"));
    let to = ["--to", mirror.as_str()];
    programs
        .tool(&[&["mirror", &catalog, "--manifests-dir", &manifests], &to[..], &flags[..]].concat(), &[])?;
    process.cut_off()?;

    let source = manifest(manifests.as_ref(), "catalog-source-")?;
    let mirrored = source["spec"]["image"].as_str().context("the CatalogSource has no image")?;
    ensure!(mirrored.starts_with(&mirror), "{source}");
    programs.tool(&[&["mirror", "--check", mirrored], &to[..], &flags[..]].concat(), &[])?;
    let set = manifest(manifests.as_ref(), "image-digest-mirror-set")?;
    let sets = set["spec"]["imageDigestMirrors"].as_array().context("the set is empty")?;
    let repositories = ["memcached", "memcached-bundle", "memcached-catalog", "memcached-operator"];
    let expected: Vec<Value> = repositories
        .iter()
        .map(|one| json!({"source": origin.image(one), "mirrors": [format!("{mirror}/{one}")]}))
        .collect();
    ensure!(*sets == expected, "{set:#}");

    let _hosts = Hosts::write(&hosts, &origin.host, &mirror, target.ca_file.as_deref())?;
    install_from(&cluster, name, &[name], &source["spec"]).await?;
    wait_for_version(&cluster, name, VERSION).await?;
    let sample = json!({
        "apiVersion": "cache.example.com/v1", "kind": "Memcached",
        "metadata": {"name": "sample", "namespace": name}, "spec": {"size": 1},
    });
    cluster.apply(&sample).await?;
    let memcacheds = cluster.api("cache.example.com/v1", "Memcached", name).await?;
    wait_for("the Memcached is Available", TIMEOUT, async || {
        let sample = memcacheds.get("sample").await?;
        ensure!(condition(&sample, "Available").0 == "True", "{}", sample.data["status"]);
        Ok(())
    })
    .await?;
    cluster.delete(&sample).await?;
    wait_for("the Memcached is gone", TIMEOUT, async || {
        ensure!(memcacheds.get_opt("sample").await?.is_none(), "it is still there");
        Ok(())
    })
    .await?;
    uninstall(&cluster, name).await?;
    namespace.delete().await
}
