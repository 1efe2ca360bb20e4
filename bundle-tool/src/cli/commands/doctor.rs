//! `bundle-tool doctor`: says why operators are not installed, upgraded or deleted.

mod must_gather;

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use crate::cli::cluster::{Connection, print_problem};
use crate::cli::exit::Exit;
use crate::cli::format::{Format, OutputOption};
use crate::cli::runtime::runtime;
use crate::cli::time_limit::TimeLimit;
use crate::terminal::{NOTE, PROBLEM, stdout};
use kube_yaml::text::{printable, write_json};
use must_gather::MustGather;
use olm_cluster::diagnose::problems;
use olm_cluster::install::last_lines;
use olm_cluster::snapshot::{list, string};
use olm_cluster::{Diagnosis, Scope, Snapshot, gather, kinds};

#[derive(Debug, Args)]
#[command(mut_arg("namespace", |argument| argument.help("Namespace of the operator [default: all namespaces]")))]
#[command(after_long_help = "Examples:
  # Diagnose all operators of the cluster
  bundle-tool doctor

  # Diagnose one operator
  bundle-tool doctor gizmo-operator --namespace gizmos

  # Diagnose from a must-gather, without a cluster
  bundle-tool doctor --must-gather must-gather.local.123")]
pub(crate) struct Doctor {
    /// Package of the operator [default: all operators]
    #[arg(value_name = "PACKAGE")]
    package: Option<String>,
    /// Diagnose from the YAML and JSON files in a directory, such as a must-gather, instead of a cluster
    #[arg(long, value_name = "DIR", conflicts_with_all = ["kubeconfig", "context"])]
    must_gather: Option<PathBuf>,
    #[command(flatten)]
    format: OutputOption<Format>,
    #[command(flatten)]
    connection: Connection,
    /// Time limit for all network access, such as 90s or 1h
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = TimeLimit::parser("--timeout"), help_heading = "Cluster options")]
    timeout: TimeLimit,
}

/// The maximum number of problems whose logs are read.
const MAX_LOGS: usize = 5;

impl Doctor {
    pub(crate) fn run(self) -> Result<Exit> {
        self.connection.check_namespace()?;
        let scope =
            Scope { namespace: self.connection.namespace.clone(), package: self.package.clone(), csv: None };
        let (snapshot, mut found, logs) = match &self.must_gather {
            Some(directory) => {
                let gather = MustGather::read(directory)?;
                let found = problems(&gather.snapshot, &scope);
                let log = |(index, problem): (usize, &Diagnosis)| match &problem.log {
                    Some(log) if index < MAX_LOGS => gather.last_lines(log),
                    _ => String::new(),
                };
                let logs = found.iter().enumerate().map(log).collect();
                (gather.snapshot, found, logs)
            }
            None => runtime()?.block_on(self.timeout.start().reading_cluster(self.online(&scope)))?,
        };
        if let Some(package) = &self.package {
            let known =
                snapshot.objects(kinds::SUBSCRIPTION).iter().any(|one| string(one, "/spec/name") == package)
                    || snapshot
                        .objects(kinds::CLUSTER_EXTENSION)
                        .iter()
                        .any(|one| string(one, "/spec/source/catalog/packageName") == package);
            if !known && found.is_empty() {
                bail!(
                    "no subscription or cluster extension for package `{package}` was found{}",
                    self.place()
                );
            }
        }
        let mut out = io::BufWriter::new(stdout().lock());
        match self.format.output {
            Format::Text => write_text(&snapshot, &scope, &found, &logs, &mut out)?,
            Format::Json => {
                for (problem, log) in found.iter_mut().zip(&logs) {
                    problem.evidence.extend(log.lines().map(|line| format!("log: {line}")));
                }
                let document = serde_json::json!({
                    "version": 1, "problems": found, "unreadable": snapshot.unreadable,
                });
                write_json(&document, &mut out)?;
            }
        }
        out.flush()?;
        let read = [kinds::SUBSCRIPTION, kinds::CSV, kinds::INSTALL_PLAN, kinds::CATALOG_SOURCE, kinds::POD];
        if let (true, Some(reason)) = (found.is_empty(), snapshot.unread(&read)) {
            let narrower =
                if self.connection.namespace.is_none() { "; choose a namespace with -n" } else { "" };
            bail!("no problem was found, but not everything could be read: {reason}{narrower}");
        }
        Ok(if found.is_empty() { Exit::Success } else { Exit::Findings })
    }

    fn place(&self) -> String {
        self.connection.namespace.as_ref().map_or_else(String::new, |name| format!(" in namespace `{name}`"))
    }

    async fn online(&self, scope: &Scope) -> Result<(Snapshot, Vec<Diagnosis>, Vec<String>)> {
        let cluster = self.connection.connect().await?;
        let apis = cluster.get_path("/apis", "read the APIs of the cluster").await?;
        let has = |name: &str| list(&apis, "/groups").iter().any(|group| group["name"] == name);
        if !has("operators.coreos.com") && !has("olm.operatorframework.io") {
            bail!(
                "the cluster has no OLM: it serves neither operators.coreos.com nor olm.operatorframework.io"
            );
        }
        let mut snapshot = gather::cluster(&cluster, scope.namespace.as_deref()).await?;
        let mut found = problems(&snapshot, scope);
        found.extend(gather::stuck_crds(&cluster, scope, &mut snapshot).await?);
        let reads = found.iter().enumerate().map(|(index, problem)| {
            let cluster = &cluster;
            async move {
                match &problem.log {
                    Some(log) if index < MAX_LOGS => last_lines(cluster, log).await,
                    _ => String::new(),
                }
            }
        });
        let logs = futures::future::join_all(reads).await;
        Ok((snapshot, found, logs))
    }
}

fn write_text(
    snapshot: &Snapshot,
    scope: &Scope,
    found: &[Diagnosis],
    logs: &[String],
    out: &mut dyn Write,
) -> io::Result<()> {
    for (problem, log) in found.iter().zip(logs) {
        print_problem(out, PROBLEM, problem, log)?;
        writeln!(out)?;
    }
    for (kind, reason) in &snapshot.unreadable {
        writeln!(out, "{NOTE} not all {kind} objects could be read: {}", printable(reason))?;
    }
    if found.is_empty() {
        for line in gather::summary(snapshot, scope) {
            writeln!(out, "{}", printable(&line))?;
        }
        if snapshot.unreadable.is_empty() { writeln!(out, "no problems found") } else { Ok(()) }
    } else {
        writeln!(out, "{} problem{} found", found.len(), if found.len() == 1 { "" } else { "s" })
    }
}
