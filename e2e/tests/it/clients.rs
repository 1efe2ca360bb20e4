//! Images between `bundle-tool`, skopeo and buildah: each reads what others have pushed, from `bundle-tool registry serve` over TLS
//! with a login, and from the registry of `REGISTRY` if it is set.
//!
//! Needs skopeo (`SKOPEO`, by default `skopeo`) and buildah (`BUILDAH`, by default `buildah`); skipped without them. No cluster is
//! involved.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use e2e::{Programs, Registry, skip};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::Value;
use tempfile::TempDir;

/// alice's password is `secret`.
const USERS: &str = "alice:$2y$04$EQaLPwU9ATlLOFfHPB0mzejGhGmeikvz9FF8ANO71uwQZx0DcLOf6\n";
const BUNDLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bundle");

/// The programs, with a login that they share, and a registry.
struct Stage {
    programs: Programs,
    skopeo: String,
    buildah: String,
    directory: TempDir,
    host: String,
    server: Option<Child>,
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

impl Stage {
    /// Starts `registry serve` with a certificate of an authority of its own, and logs in.
    fn serve() -> Result<Option<Self>> {
        use std::io::{BufRead as _, BufReader};
        let Some(mut stage) = Self::new()? else { return Ok(None) };
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
        let key = KeyPair::generate()?;
        let names = ["127.0.0.1".to_owned(), "localhost".to_owned()];
        let certificate = CertificateParams::new(names)?.signed_by(&key, &authority)?;
        for (name, text) in [
            ("ca/ca.crt", authority.pem()),
            ("tls.crt", certificate.pem()),
            ("tls.key", key.serialize_pem()),
            ("users", USERS.to_owned()),
        ] {
            let path = stage.directory.path().join(name);
            std::fs::create_dir_all(path.parent().context("no parent")?)?;
            std::fs::write(path, text)?;
        }
        let mut server = Command::new(stage.programs.path("bundle-tool"))
            .args([
                "registry",
                "serve",
                "--address",
                "127.0.0.1:0",
                "--dir",
                "registry",
                "--htpasswd",
                "users",
            ])
            .args(["--tls-cert", "tls.crt", "--tls-key", "tls.key"])
            .current_dir(stage.directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .context("failed to start bundle-tool registry serve")?;
        let mut line = String::new();
        let output = server.stdout.take().context("no standard output")?;
        stage.server = Some(server);
        BufReader::new(output).read_line(&mut line)?;
        line.trim().trim_start_matches("https://").clone_into(&mut stage.host);
        ensure!(!stage.host.is_empty(), "registry serve did not start");
        let host = stage.host.clone();
        stage.tool(&["login", &host, "--username", "alice", "--password-stdin"], b"secret")?;
        Ok(Some(stage))
    }

    /// Uses the registry of the environment.
    fn external() -> Result<Option<Self>> {
        let Ok(registry) = Registry::from_env() else { return Ok(None) };
        let Some(mut stage) = Self::new()? else { return Ok(None) };
        let authorities = stage.directory.path().join("ca");
        std::fs::create_dir(&authorities)?;
        if let Some(file) = &registry.ca_file {
            std::fs::copy(file, authorities.join("ca.crt"))?;
        }
        std::fs::write(stage.directory.path().join("auth.json"), "{}")?;
        stage.host = registry.image("skopeo");
        Ok(Some(stage))
    }

    fn new() -> Result<Option<Self>> {
        let program = |variable: &str, name: &str| {
            let program = std::env::var(variable).unwrap_or_else(|_| name.to_owned());
            if Command::new(&program).arg("--version").stdout(Stdio::null()).status().is_err() {
                skip(&format!("{name} is not installed ({variable})"));
                return None;
            }
            Some(program)
        };
        let (Some(skopeo), Some(buildah)) = (program("SKOPEO", "skopeo"), program("BUILDAH", "buildah"))
        else {
            return Ok(None);
        };
        let directory = tempfile::tempdir()?;
        Ok(Some(Self {
            programs: Programs::from_env()?,
            skopeo,
            buildah,
            directory,
            host: String::new(),
            server: None,
        }))
    }

    fn image(&self, name: &str) -> String {
        format!("{}/{name}", self.host)
    }

    fn docker(&self, name: &str) -> String {
        format!("docker://{}", self.image(name))
    }

    /// Runs a program in the directory, with the login in it; returns its standard output.
    fn run(&self, program: &Path, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.directory.path());
        e2e::run(command.env("REGISTRY_AUTH_FILE", self.directory.path().join("auth.json")), input)
    }

    fn tool(&self, arguments: &[&str], input: &[u8]) -> Result<String> {
        let needs_registry = arguments.iter().any(|argument| argument.starts_with(&self.host));
        let has_authority = self.directory.path().join("ca/ca.crt").exists();
        let ca: &[&str] = if needs_registry && has_authority { &["--ca-file", "ca/ca.crt"] } else { &[] };
        let output = self.run(&self.programs.path("bundle-tool"), &[arguments, ca].concat(), input)?;
        Ok(String::from_utf8(output)?)
    }

    fn inspected(&self, name: &str) -> Result<Value> {
        Ok(serde_json::from_str(&self.tool(&["inspect", name, "--output", "json"], &[])?)?)
    }

    fn skopeo(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let certificates: &[&str] = match arguments[0] {
            "copy" => &["--src-cert-dir", "ca", "--dest-cert-dir", "ca"],
            _ => &["--cert-dir", "ca"],
        };
        self.run(
            Path::new(&self.skopeo),
            &[&["--insecure-policy"], &arguments[..1], certificates, &arguments[1..]].concat(),
            &[],
        )
    }

    fn buildah(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        // Neither privileges nor the state of the machine are needed.
        let storage = ["--storage-driver", "vfs", "--root", "storage", "--runroot", "run"];
        self.run(Path::new(&self.buildah), &[&storage[..], arguments].concat(), &[])
    }

    /// Pushes an image for two platforms and a bundle; skopeo sees the same digests and labels, and copies every byte.
    fn skopeo_reads_what_bundle_tool_pushes(&self) -> Result<()> {
        for platform in ["amd64", "arm64"] {
            std::fs::write(self.directory.path().join(platform), format!("a program for {platform}"))?;
        }
        let index = self.image("index:v1");
        let platforms = "--platform=linux/amd64=amd64,linux/arm64=arm64";
        let printed = self.tool(&["push", "image", &index, platforms, "--entrypoint", "/manager"], &[])?;
        let digest = printed.trim().rsplit_once('@').context("no digest")?.1;
        let raw = self.skopeo(&["inspect", "--raw", &self.docker("index:v1")])?;
        ensure!(oci_images::layout::sha256(&raw).to_string() == digest, "another manifest than {digest}");
        self.skopeo(&["copy", "--all", "--preserve-digests", &self.docker("index:v1"), "oci:copied:v1"])?;
        ensure!(self.inspected("oci:copied")?["digest"] == digest, "skopeo's copy has another digest");
        self.skopeo(&["copy", "--all", "--preserve-digests", "oci:copied:v1", &self.docker("again:v1")])?;
        ensure!(self.inspected(&self.image("again:v1"))?["digest"] == digest, "pushed with another digest");
        let bundle = self.image("bundle:v1");
        self.tool(&["push", "bundle", BUNDLE, &bundle], &[])?;
        let seen: Value = serde_json::from_slice(&self.skopeo(&["inspect", &self.docker("bundle:v1")])?)?;
        ensure!(seen["Labels"] == self.inspected(&bundle)?["labels"], "{seen}");
        ensure!(seen["Labels"].as_object().is_some_and(|labels| labels.len() > 5), "{seen}");
        let tags: Value = serde_json::from_slice(&self.skopeo(&["list-tags", &self.docker("bundle")])?)?;
        ensure!(tags["Tags"] == serde_json::json!(["v1"]), "{tags}");
        Ok(())
    }

    /// skopeo pushes the bundle in its own ways; each is the same bundle.
    fn bundle_tool_reads_what_skopeo_pushes(&self) -> Result<()> {
        self.tool(&["push", "bundle", BUNDLE, "example.com/bundle:v1", "--to", "oci:bundle"], &[])?;
        // skopeo keeps a layer that is compressed already, and takes one that the registry has for another format.
        self.skopeo(&["copy", "oci:bundle", "dir:plain", "--dest-decompress"])?;
        self.skopeo(&[
            "copy",
            "dir:plain",
            "oci:zstd:v1",
            "--dest-compress",
            "--dest-compress-format",
            "zstd",
        ])?;
        let docker = "application/vnd.docker.distribution.manifest.v2+json";
        let oci = "application/vnd.oci.image.manifest.v1+json";
        for (tag, source, option, manifest, layer) in [
            ("docker", "dir:plain", "--format=v2s2", docker, "rootfs.diff.tar.gzip"),
            ("oci", "dir:plain", "--format=oci", oci, "tar+gzip"),
            ("zstd", "oci:zstd:v1", "--preserve-digests", oci, "tar+zstd"),
        ] {
            let name = format!("theirs-{tag}:v1");
            self.skopeo(&["copy", option, source, &self.docker(&name)])?;
            let found = self.inspected(&self.image(&name))?;
            ensure!(found["mediaType"] == manifest, "{tag}: {}", found["mediaType"]);
            let layer_type = found["layers"][0]["mediaType"].as_str().unwrap_or_default();
            ensure!(layer_type.ends_with(layer), "{tag}: {layer_type}");
            // The exit status is 1 if a file differs.
            self.tool(&["inspect", &self.image(&name), "--against", BUNDLE], &[])?;
        }
        self.skopeo(&[
            "copy",
            &self.docker("theirs-oci:v1"),
            "docker-archive:theirs.tar:example.com/theirs:v1",
        ])?;
        self.tool(&["inspect", "docker-archive:theirs.tar", "--against", BUNDLE], &[])?;
        self.tool(&["copy", &self.image("theirs-docker:v1"), "oci-archive:ours.tar"], &[])?;
        self.skopeo(&["copy", "oci-archive:ours.tar", "dir:ours"])?;
        Ok(())
    }

    /// buildah builds the bundle from the Dockerfile that `generate bundle` has written, and pushes it in both formats.
    fn bundle_tool_reads_what_buildah_pushes(&self) -> Result<()> {
        let context = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let dockerfile = concat!(env!("CARGO_MANIFEST_DIR"), "/../bundle.Dockerfile");
        self.tool(&["push", "bundle", BUNDLE, "example.com/bundle:v1", "--to", "oci:labels"], &[])?;
        let ours = self.inspected("oci:labels")?["labels"].clone();
        for format in ["docker", "oci"] {
            let image = self.image(&format!("buildah-{format}:v1"));
            let build =
                ["build", "--isolation", "chroot", "--format", format, "--tag", &image, "--file", dockerfile];
            self.buildah(&[&build[..], &[context]].concat())?;
            self.buildah(&["push", "--cert-dir", "ca", &image])?;
            self.tool(&["inspect", &image, "--against", BUNDLE], &[])?;
            self.tool(&["validate", &image], &[])?;
            let mut theirs = self.inspected(&image)?["labels"].clone();
            theirs.as_object_mut().context("no labels")?.remove("io.buildah.version");
            ensure!(theirs == ours, "{theirs:#}\n{ours:#}");
        }
        Ok(())
    }
}

#[test]
fn images_go_both_ways_through_registry_serve() -> Result<()> {
    let Some(stage) = Stage::serve()? else { return Ok(()) };
    stage.skopeo_reads_what_bundle_tool_pushes()?;
    stage.bundle_tool_reads_what_skopeo_pushes()?;
    stage.bundle_tool_reads_what_buildah_pushes()?;
    stage.skopeo(&["delete", &stage.docker("theirs-oci:v1")])?;
    let gone = stage.inspected(&stage.image("theirs-oci:v1"));
    ensure!(gone.is_err_and(|error| error.to_string().contains("not found")), "it was not deleted");
    Ok(())
}

#[test]
fn images_go_both_ways_through_another_registry() -> Result<()> {
    let Some(stage) = Stage::external()? else { return Ok(()) };
    stage.skopeo_reads_what_bundle_tool_pushes()?;
    stage.bundle_tool_reads_what_skopeo_pushes()?;
    stage.bundle_tool_reads_what_buildah_pushes()
}
