//! Scaffolded operators are built, tested, bundled and validated. No cluster is needed.
//!
//! They are built in the workspace's target directory with its lock file, so that dependencies are shared and nothing is
//! downloaded.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

/// The commands that bundle-tool runs have this long altogether.
const MAX_TOOL_TIME: Duration = Duration::from_mins(1);

fn root() -> Result<PathBuf> {
    Ok(fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))?)
}

/// A directory for projects, with this repository beside them.
struct Directory {
    parent: tempfile::TempDir,
    tool: PathBuf,
}

impl Directory {
    fn new() -> Result<Self> {
        let parent = tempfile::tempdir()?;
        let root = root()?;
        std::os::unix::fs::symlink(&root, parent.path().join("bundle-tool"))?;
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
        let start = Instant::now();
        let output = Command::new("bash")
            .args(["-euo", "pipefail", "-c", commands])
            .current_dir(directory)
            .env("PATH", path)
            .env("CARGO_TARGET_DIR", root()?.join("target"))
            .env("CARGO_NET_OFFLINE", "true")
            // As in the workspace's profile: its dependencies are the project's.
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

#[test]
fn the_guide_leads_from_an_empty_directory_to_a_validated_bundle() -> Result<()> {
    let page = fs::read_to_string(root()?.join("docs/guide/rust.md"))?;
    let directory = Directory::new()?;
    let project = directory.path("flight-operator");
    let mut tool = Duration::ZERO;
    let mut build = Duration::ZERO;
    let mut written = 0;
    for (language, text) in blocks(&page) {
        match language {
            "sh" if !project.exists() => {
                tool += directory.run(directory.parent.path(), &text)?;
                directory.lock("flight-operator")?;
            }
            "sh" => build += directory.run(&project, &text)?,
            "diff" => {
                let file = text.lines().find_map(|line| line.strip_prefix("+++ b/")).context("no file")?;
                let patch = diffy::Patch::from_str(&text)?;
                let old = fs::read_to_string(project.join(file))?;
                let new = diffy::apply(&old, &patch)
                    .with_context(|| format!("the change of {file} does not apply"))?;
                fs::write(project.join(file), new)?;
                written +=
                    text.lines().filter(|line| line.starts_with('+') && !line.starts_with("+++")).count();
            }
            _ => {}
        }
    }
    eprintln!(
        "a user wrote {written} lines; bundle-tool took {tool:.1?}, make test and make bundle {build:.1?}"
    );
    ensure!(tool < MAX_TOOL_TIME, "bundle-tool took {tool:?}");
    ensure!(written > 0 && written < 400, "{written} lines");
    let crd = fs::read_to_string(project.join("config/crd/bases/travel.example.com_flighttickets.yaml"))?;
    for part in ["shortNames:\n    - ft", "maximum: 10", "minimum: 1"] {
        ensure!(crd.contains(part), "{part:?} is not in\n{crd}");
    }
    let csv =
        fs::read_to_string(project.join("bundle/manifests/flight-operator.clusterserviceversion.yaml"))?;
    ensure!(csv.contains("--max-concurrent-reconciles=2"), "{csv}");
    Ok(())
}

#[test]
fn an_operator_with_two_groups_and_a_conversion_webhook_builds() -> Result<()> {
    let directory = Directory::new()?;
    let project = directory.path("hotel-operator");
    fs::create_dir(&project)?;
    directory.run(
        &project,
        "
bundle-tool init --domain example.com --runtime-path ../bundle-tool/crates/operator-runtime
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
bundle-tool edit --multigroup
bundle-tool create api --group hotel --version v1 --kind Room --namespaced=false
make lint
make test bundle
",
    )?;
    let crd = fs::read_to_string(project.join("bundle/manifests/travel.example.com_flighttickets.yaml"))?;
    ensure!(crd.contains("strategy: Webhook"), "{crd}");
    Ok(())
}
