//! `bundle-tool olm`: OLM itself on a cluster.

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::migrate::Migrate;
use crate::cli::cluster::{Connection, Printer};
use crate::cli::exit::Exit;
use crate::cli::format::{Format, OutputOption};
use crate::cli::runtime::runtime;
use crate::cli::time_limit::TimeLimit;
use crate::terminal::{NOTE, messages};
use kube_yaml::Position;
use kube_yaml::text::{printable, write_json};
use olm_cluster::Snapshot;
use olm_cluster::olm;
use olm_cluster::olm::{Mirror, Options, Prepared, Status};
use olm_model::Document;
use olm_model::disk;
use olm_model::read;

/// The maximum size of one file of manifests: the CRDs of OLM 0.46 have 650 KB.
const MAX_MANIFESTS: u64 = 16 << 20;
/// The releases of OLM.
const RELEASES: &str = "https://github.com/operator-framework/operator-lifecycle-manager/releases";

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Show the version and the components of OLM
  bundle-tool olm status

  # Install a release from its two files
  bundle-tool olm install --manifests crds.yaml --manifests olm.yaml

  # Plan the move of an operator to OLM v1
  bundle-tool olm migrate gizmo-operator --namespace gizmos")]
pub(crate) struct Olm {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Install(Install),
    /// Plan the move of operators from OLM v0 to OLM v1
    ///
    /// Reports what blocks the move (findings of the suite `olmv1`, and problems of the installation), the manifests to
    /// apply, and which objects of OLM v0 to delete, in which order. CRDs and their objects are kept. The command
    /// changes nothing on the cluster.
    ///
    /// Exit status: 0 if everything can be moved, 1 if something is blocked, 2 if the plan cannot be made.
    Migrate(Box<Migrate>),
    Status(ShowStatus),
    Uninstall(Uninstall),
}

impl Olm {
    pub(crate) fn run(self) -> Result<Exit> {
        match self.command {
            Command::Install(command) => runtime()?.block_on(command.install()),
            Command::Migrate(command) => command.run(),
            Command::Status(command) => runtime()?.block_on(command.show()),
            Command::Uninstall(command) => runtime()?.block_on(command.uninstall()),
        }
    }
}

/// Install OLM from the manifests of a release
///
/// Applies the CRDs and waits until they are served, then applies everything else in the order of its dependencies and
/// waits until OLM runs. The manifests are crds.yaml and olm.yaml of a release; download them from
/// <https://github.com/operator-framework/operator-lifecycle-manager/releases>. Long flags with a single dash in the
/// manifests (`-namespace`) get two dashes, because OLM's programs reject them otherwise. Running the command again
/// continues, upgrades or repairs an installation.
///
/// Exit status: 0 if OLM is installed and runs, 2 on an error.
#[derive(Debug, Args)]
#[command(mut_arg("namespace", |argument| argument.hide(true)))]
#[command(after_long_help = "Examples:
  # Install a release from its two files
  bundle-tool olm install --manifests crds.yaml --manifests olm.yaml

  # Install without access to public registries
  bundle-tool olm install --manifests crds.yaml --manifests olm.yaml \\
    --mirror quay.io=registry.example.com/quay --no-catalogs")]
struct Install {
    /// File with OLM's manifests, or directory of such files; with @sha256:DIGEST, a file must have this digest (repeatable)
    #[arg(long, value_name = "FILE|DIR[@sha256:DIGEST]", required_unless_present = "version")]
    manifests: Vec<String>,
    /// Version of OLM that the manifests must have
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Replace SOURCE at the beginning of image names with MIRROR (repeatable)
    #[arg(long, value_name = "SOURCE=MIRROR")]
    mirror: Vec<Mirror>,
    /// Omit the catalogs of the manifests
    #[arg(long)]
    no_catalogs: bool,
    /// Time limit for all network access, including waiting for the cluster, such as 90s or 1h
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = TimeLimit::parser("--timeout"))]
    timeout: TimeLimit,
    #[command(flatten)]
    connection: Connection,
}

/// Show whether OLM is running
///
/// Exit status: 0 if all components are ready, 1 if not, 2 if the cluster cannot be read.
#[derive(Debug, Args)]
#[command(mut_arg("namespace", |argument| argument.hide(true)))]
#[command(after_long_help = "Examples:
  # Show the version and the components of OLM
  bundle-tool olm status

  # Print JSON for a program
  bundle-tool olm status --output json")]
struct ShowStatus {
    #[command(flatten)]
    format: OutputOption<Format>,
    #[command(flatten)]
    connection: Connection,
    /// Time limit for all network access, such as 90s or 1h
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = TimeLimit::parser("--timeout"), help_heading = "Cluster options")]
    timeout: TimeLimit,
}

/// Remove OLM with its CRDs
///
/// Operators that OLM has installed keep running without it, but their subscriptions and CSVs are deleted: if there are
/// any, the command fails unless you pass --force.
///
/// Exit status: 0 if OLM was removed, 2 if it is not installed, is still used, or was not removed completely.
#[derive(Debug, Args)]
#[command(mut_arg("namespace", |argument| argument.hide(true)))]
#[command(after_long_help = "Examples:
  # Remove OLM from a cluster without operators
  bundle-tool olm uninstall")]
struct Uninstall {
    /// Remove OLM even if it has installed operators
    #[arg(long)]
    force: bool,
    /// Time limit for all network access, including waiting for the cluster, such as 90s or 1h
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = TimeLimit::parser("--timeout"))]
    timeout: TimeLimit,
    #[command(flatten)]
    connection: Connection,
}

/// Reads the objects of a file or directory, whose digest may be given.
fn documents(name: &str) -> Result<Vec<serde_json::Value>> {
    let (path, digest) =
        name.split_once("@sha256:").map_or((name, None), |(path, digest)| (path, Some(digest)));
    let path = PathBuf::from(path);
    if path.is_dir() && digest.is_none() {
        return objects(&disk::manifests::directory(&path)?);
    }
    let bytes = disk::file::read_in_project(&path, MAX_MANIFESTS)
        .with_context(|| format!("failed to read {}", path.display()))?;
    if let Some(digest) = digest {
        let found: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        if found != digest {
            bail!("{} has digest sha256:{found}, expected sha256:{digest}", path.display());
        }
    }
    objects(&read::manifests::stream(&path.display().to_string(), bytes.as_slice())?)
}

/// Returns the objects in documents, each of which needs a kind.
fn objects(documents: &[Document]) -> Result<Vec<serde_json::Value>> {
    let object = |document: &Document| {
        let root = document.tree.root();
        if kube_yaml::string(root, "kind").is_empty() {
            let Position { line, column } = root.position();
            bail!("{}:{line}:{column}: missing required field `kind`", document.file);
        }
        Ok(root.to_json())
    };
    documents.iter().map(object).collect()
}

impl Install {
    /// Reads the manifests, of the version that is asked for.
    fn prepared(&self) -> Result<Prepared> {
        // operator-sdk downloads the version that it is given.
        if let Some(version) = self.version.as_deref().filter(|_| self.manifests.is_empty()) {
            let tag = printable(version.trim_start_matches('v'));
            bail!(
                "--version requires --manifests, because bundle-tool does not download manifests; pass crds.yaml and olm.yaml of \
                 {RELEASES}/tag/v{tag}"
            );
        }
        let mut found = Vec::new();
        for name in &self.manifests {
            found.extend(documents(name)?);
        }
        let options = Options { mirrors: self.mirror.clone(), without_catalogs: self.no_catalogs };
        let prepared = olm::prepare(found, &options)?;
        let is_other = |version: &&str| version.trim_start_matches('v') != prepared.version;
        if let Some(version) = self.version.as_deref().filter(is_other) {
            let found = match prepared.version.as_str() {
                "" => "the manifests do not name a version".to_owned(),
                found => format!("the manifests are of version `{found}`"),
            };
            bail!("{found}, but --version requires `{version}`");
        }
        Ok(prepared)
    }

    async fn install(&self) -> Result<Exit> {
        let deadline = self.timeout.start();
        let prepared = self.prepared()?;
        let cluster = deadline.within("nothing was installed", self.connection.connect()).await?;
        let mut printer = Printer::new();
        let result =
            olm::install(&cluster, &prepared, deadline.cluster(), &mut |text| printer.step(text)).await;
        printer.finish();
        let status = result.context("OLM is not installed; run the same command again to continue")?;
        let mut out = io::stdout().lock();
        writeln!(out, "OLM {} is installed in namespace {}", status.version, status.namespace)?;
        out.flush()?;
        Ok(Exit::Success)
    }
}

impl ShowStatus {
    async fn show(&self) -> Result<Exit> {
        let read = async { Ok(olm::observe(&self.connection.connect().await?).await?) };
        let snapshot = self.timeout.start().reading_cluster(read).await?;
        let status = status_of(&snapshot)?;
        let mut out = io::BufWriter::new(io::stdout().lock());
        match self.format.output {
            Format::Text => write_text(&status, &mut out)?,
            Format::Json => write_json(&StatusDocument { version: 1, status: &status }, &mut out)?,
        }
        out.flush()?;
        Ok(if status.is_ready() { Exit::Success } else { Exit::Findings })
    }
}

/// The JSON document about OLM.
#[derive(Serialize)]
struct StatusDocument<'a> {
    version: u32,
    #[serde(flatten)]
    status: &'a Status,
}

/// Returns the state of OLM. It is not known if something could not be read: that would count as missing.
fn status_of(snapshot: &Snapshot) -> Result<Status> {
    if let Some((kind, reason)) = snapshot.unreadable.iter().next() {
        bail!("the state of OLM cannot be read: {kind}: {reason}");
    }
    Ok(olm::status(snapshot))
}

fn write_text(status: &Status, out: &mut dyn io::Write) -> io::Result<()> {
    if !status.installed {
        return writeln!(out, "OLM is not installed");
    }
    if status.version.is_empty() {
        writeln!(out, "OLM of unknown version")?;
    } else {
        writeln!(out, "OLM {}", printable(&status.version))?;
    }
    for part in &status.components {
        let mark = if part.ready { "ready    " } else { "not ready" };
        writeln!(out, "  {mark}  {}: {}", printable(&part.object), printable(&part.state))?;
    }
    Ok(())
}

impl Uninstall {
    async fn uninstall(&self) -> Result<Exit> {
        let deadline = self.timeout.start();
        let cluster = deadline.within("nothing was removed", self.connection.connect()).await?;
        let read =
            async { Ok((status_of(&olm::observe(&cluster).await?)?, olm::operators(&cluster).await?)) };
        let (status, operators) = deadline.within("nothing was removed", read).await?;
        // Without its CRDs, the rest of an interrupted removal may be left.
        let is_gone = !status.installed && status.namespace.is_empty();
        if is_gone && olm::leftovers(&cluster).await?.is_empty() {
            bail!("OLM is not installed");
        }
        if !operators.is_empty() && !self.force {
            let names: Vec<_> =
                operators.iter().take(10).map(|one| format!("{}/{}", one.namespace, one.csv)).collect();
            bail!(
                "OLM has installed {} operators: {}; remove them with `bundle-tool cleanup`, or pass --force",
                operators.len(),
                names.join(", ")
            );
        }
        let namespace = Some(&*status.namespace).filter(|name| !name.is_empty());
        if namespace.is_none() && !is_gone {
            writeln!(
                messages(),
                "{NOTE} the cluster has no deployment of OLM, so its namespace is unknown and is not removed"
            )?;
        }
        let mut printer = Printer::new();
        let result =
            olm::uninstall(&cluster, namespace, deadline.cluster(), &mut |text| printer.step(text)).await;
        printer.finish();
        result.context("OLM was not removed completely; run the same command again to continue")?;
        let mut out = io::stdout().lock();
        writeln!(out, "OLM was removed")?;
        out.flush()?;
        Ok(Exit::Success)
    }
}
