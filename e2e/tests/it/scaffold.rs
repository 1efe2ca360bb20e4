//! Scaffolded operators are built, tested, bundled and validated; one is installed by OLM, if `KUBECONFIG` and `REGISTRY` name a
//! cluster and a registry. Tests on a control plane run if the environment names its programs (docs/cookbook.md).
//!
//! They are built with the workspace's lock file, so that nothing is downloaded, into one directory, so that dependencies are
//! shared.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use e2e::{Cluster, Registry, TIMEOUT, condition, skip, wait_for};
use serde_json::json;

/// The commands that bundle-tool runs have this long altogether.
const MAX_TOOL_TIME: Duration = Duration::from_mins(1);

fn root() -> Result<PathBuf> {
    Ok(fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))?)
}

/// Returns the target directory of scaffolded projects. It is not the workspace's, because the workspace uses another linker: each build
/// would overwrite libraries of the other, even while a test links them.
fn target_directory() -> Result<PathBuf> {
    Ok(root()?.join("target/scaffold"))
}

/// Waits until no other test builds scaffolded projects: cargo gives the copies of `operator-runtime` in all projects one name, so each
/// build removes that of the other, even while its tests run.
fn lock_target() -> Result<File> {
    fs::create_dir_all(target_directory()?)?;
    let lock = File::create(target_directory()?.join("tests.lock"))?;
    lock.lock()?;
    Ok(lock)
}

/// A directory for projects, which have nothing but what bundle-tool writes.
struct Directory {
    parent: tempfile::TempDir,
    tool: PathBuf,
}

impl Directory {
    fn new() -> Result<Self> {
        let parent = tempfile::tempdir()?;
        let root = root()?;
        let tool = root.join(format!("target/{}-unknown-linux-musl/debug", std::env::consts::ARCH));
        ensure!(tool.join("bundle-tool").is_file(), "bundle-tool is not built; run `make build`");
        Ok(Self { parent, tool })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.parent.path().join(name)
    }

    /// Runs commands as a shell does, in a directory; returns how long they took.
    fn run(&self, directory: &Path, commands: &str) -> Result<Duration> {
        let path = std::env::join_paths(
            std::iter::once(self.tool.clone())
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
        )?;
        let _lock = lock_target()?;
        let start = Instant::now();
        let output = e2e::outside_cargo(&mut Command::new("bash"))
            .args(["-euo", "pipefail", "-c", commands])
            .current_dir(directory)
            .env("PATH", path)
            .env("CARGO_TARGET_DIR", target_directory()?)
            .env("CARGO_NET_OFFLINE", "true")
            // Debug information would only make the build larger.
            .env("CARGO_PROFILE_DEV_DEBUG", "false")
            .env_remove("MAKEFLAGS")
            .env_remove("MAKELEVEL")
            .output()?;
        let took = start.elapsed();
        eprintln!("{:6.1} s  $ {}", took.as_secs_f64(), commands.trim().replace('\n', "\n          $ "));
        ensure!(
            output.status.success(),
            "{commands}\n{}\n{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(took)
    }

    /// Puts the workspace's lock file into a project.
    fn lock(&self, project: &str) -> Result<()> {
        fs::copy(root()?.join("Cargo.lock"), self.path(project).join("Cargo.lock"))?;
        Ok(())
    }
}

/// The code blocks of a page: language and text.
fn blocks(page: &str) -> Vec<(&str, String)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else { continue };
        let text = lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
        blocks.push((language, text));
    }
    blocks
}

/// The operator of the guide.
struct Guide {
    directory: Directory,
    project: PathBuf,
    /// How long bundle-tool took, and what make did.
    tool: Duration,
    build: Duration,
    /// How many lines a user wrote.
    written: usize,
}

impl Guide {
    /// Follows the guide: runs its commands and applies its changes.
    fn follow() -> Result<Self> {
        let page = fs::read_to_string(root()?.join("docs/tutorials/rust.md"))?;
        let directory = Directory::new()?;
        let project = directory.path("flight-operator");
        let mut guide = Self { directory, project, tool: Duration::ZERO, build: Duration::ZERO, written: 0 };
        for (language, text) in blocks(&page) {
            match language {
                "sh" if !guide.project.exists() => {
                    guide.tool += guide.directory.run(guide.directory.parent.path(), &text)?;
                    guide.directory.lock("flight-operator")?;
                }
                "sh" => guide.build += guide.run(&text)?,
                "diff" => guide.change(&text)?,
                _ => {}
            }
        }
        Ok(guide)
    }

    fn run(&self, commands: &str) -> Result<Duration> {
        self.directory.run(&self.project, commands)
    }

    fn change(&mut self, text: &str) -> Result<()> {
        let file = text.lines().find_map(|line| line.strip_prefix("+++ b/")).context("no file")?;
        let patch = diffy::Patch::from_str(text)?;
        let old = fs::read_to_string(self.project.join(file))?;
        let new =
            diffy::apply(&old, &patch).with_context(|| format!("the change of {file} does not apply"))?;
        fs::write(self.project.join(file), new)?;
        self.written += text.lines().filter(|line| line.starts_with('+') && !line.starts_with("+++")).count();
        Ok(())
    }

    fn read(&self, name: &str) -> Result<String> {
        Ok(fs::read_to_string(self.project.join(name))?)
    }
}

/// Checks the project of the guide, whose commands have run.
fn check(guide: &Guide) -> Result<()> {
    let Guide { written, tool, build, .. } = guide;
    eprintln!(
        "a user wrote {written} lines; bundle-tool took {tool:.1?}, make test and make bundle {build:.1?}"
    );
    ensure!(*tool < MAX_TOOL_TIME, "bundle-tool took {tool:?}");
    ensure!((1..400).contains(written), "{written} lines");
    let crd = guide.read("config/crd/bases/travel.example.com_flighttickets.yaml")?;
    for part in ["shortNames:\n    - ft", "maximum: 10", "minimum: 1"] {
        ensure!(crd.contains(part), "{part:?} is not in\n{crd}");
    }
    let csv = guide.read("bundle/manifests/flight-operator.clusterserviceversion.yaml")?;
    ensure!(csv.contains("--max-concurrent-reconciles=2"), "{csv}");
    ensure!(!csv.contains("webhookdefinitions"), "a project without webhooks has none: {csv}");
    Ok(())
}

/// The file of the listener, as the operand of a `FlightTicket`: the image of the guide is not in the test's registry.
const LISTENER: &str = env!("CARGO_BIN_EXE_listener");

#[tokio::test]
async fn the_guide_leads_from_an_empty_directory_to_an_operator_that_olm_installs() -> Result<()> {
    let guide = Guide::follow()?;
    check(&guide)?;
    if std::env::var_os("KUBECONFIG").is_none() || std::env::var_os("REGISTRY").is_none() {
        skip("KUBECONFIG and REGISTRY are not set");
        return Ok(());
    }
    let (cluster, registry) = (Cluster::from_env().await?, Registry::from_env()?);
    let namespace = cluster.namespace_for("flights", "restricted").await?;
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let operator = target_directory()?.join(format!("{target}/debug/flight-operator"));
    let (image, operand) = (registry.image("flight-operator:e2e"), registry.image("flight-operand:e2e"));
    let ca = registry.ca_file.iter().map(|file| format!(" --ca-file {file}")).collect::<String>();
    let user = "--user 65532:65532";
    guide.run(&format!(
        "
bundle-tool push image {image} {}=/flight-operator --entrypoint /flight-operator {user}{ca}
bundle-tool push image {operand} {LISTENER}=/listener --entrypoint /listener {user}{ca}
FLIGHT_TICKET_IMAGE={operand} make bundle IMG={image}
bundle-tool run bundle bundle --namespace {}
",
        operator.display(),
        namespace.name
    ))?;

    let ticket = |size: u32| {
        json!({
            "apiVersion": "travel.example.com/v1alpha1", "kind": "FlightTicket",
            "metadata": {"name": "ticket", "namespace": namespace.name}, "spec": {"size": size},
        })
    };
    let error = cluster.apply(&ticket(11)).await.err().context("size 11 was accepted")?;
    ensure!(format!("{error:#}").contains("spec.size"), "{error:#}");
    cluster.apply(&ticket(2)).await?;
    let tickets = cluster.api("travel.example.com/v1alpha1", "FlightTicket", &namespace.name).await?;
    wait_for("the FlightTicket is Available with two pods", TIMEOUT, async || {
        let ticket = tickets.get("ticket").await?;
        let nodes = ticket.data["status"]["nodes"].as_array().map_or(0, Vec::len);
        let (status, reason) = condition(&ticket, "Available");
        ensure!(status == "True" && nodes == 2, "{status} {reason}, {nodes} nodes");
        Ok(())
    })
    .await?;
    let resources = cluster.client.list_api_group_resources("travel.example.com/v1alpha1").await?;
    let resource = resources.resources.iter().find(|resource| resource.kind == "FlightTicket");
    let short_names = resource.and_then(|resource| resource.short_names.clone());
    ensure!(short_names.as_deref() == Some(&["ft".to_owned()]), "{short_names:?}");

    cluster.delete(&ticket(2)).await?;
    guide
        .run(&format!("bundle-tool cleanup flight-operator --namespace {} --delete-crds", namespace.name))?;
    namespace.delete().await
}

/// Checks a project with clippy's pedantic lints.
fn pedantic(directory: &Directory, project: &Path) -> Result<Duration> {
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let lints = "-W clippy::pedantic -D warnings";
    directory.run(project, &format!("cargo clippy --target {target} --all-targets -- {lints}"))
}

#[test]
fn an_operator_with_two_groups_and_a_conversion_webhook_builds() -> Result<()> {
    let directory = Directory::new()?;
    let project = directory.path("hotel-operator");
    fs::create_dir(&project)?;
    directory.run(
        &project,
        "
bundle-tool init --domain example.com
bundle-tool create api --group travel --version v1alpha1 --kind FlightTicket
bundle-tool create api --group travel --version v1 --kind FlightTicket
",
    )?;
    directory.lock("hotel-operator")?;
    directory.run(&project, "make test bundle")?;
    directory.run(
        &project,
        "
bundle-tool create webhook --group travel --version v1 --kind FlightTicket --defaulting --programmatic-validation --conversion
make lint
",
    )?;
    pedantic(&directory, &project)?;
    directory.run(
        &project,
        "
bundle-tool edit --multigroup
bundle-tool create api --group hotel --version v1 --kind Room --namespaced=false
",
    )?;
    let types = project.join("src/api/hotel/v1/room.rs");
    let text = fs::read_to_string(&types)?;
    let column = "    printcolumn(name = \"Phase\"";
    ensure!(text.contains(column), "{text}");
    let ready = "    printcolumn(name = \"Foo\", type_ = \"string\", json_path = \".spec.foo\"),\n";
    fs::write(&types, text.replacen(column, &format!("{ready}{column}"), 1))?;
    directory.run(&project, "make lint")?;
    pedantic(&directory, &project)?;
    directory.run(&project, "make test bundle")?;
    let crd = fs::read_to_string(project.join("bundle/manifests/travel.example.com_flighttickets.yaml"))?;
    ensure!(crd.contains("strategy: Webhook"), "{crd}");
    let csv = fs::read_to_string(project.join("bundle/manifests/hotel-operator.clusterserviceversion.yaml"))?;
    for resource in ["- secrets", "- mutatingwebhookconfigurations", "- customresourcedefinitions"] {
        ensure!(!csv.contains(resource), "OLM makes the permission for {resource} unnecessary: {csv}");
    }
    let sample = fs::read_to_string(project.join("config/samples/travel_v1_flightticket.yaml"))?;
    let sample = sample.split_once('\n').context("the sample is empty")?.1;
    let shown = sample.replace('\n', "\n    ");
    ensure!(csv.contains(shown.trim_end()), "the description does not show {sample}: {csv}");
    Ok(())
}
