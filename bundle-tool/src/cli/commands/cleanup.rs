//! `bundle-tool cleanup`: removes an operator that was installed with OLM.

use std::io::{self, Write};

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;

use crate::cli::cluster::{Connection, Printer, print_problem};
use crate::cli::exit::Exit;
use crate::cli::format::{Format, OutputOption};
use crate::cli::runtime::runtime;
use crate::cli::time_limit::TimeLimit;
use crate::terminal::{ERROR, stderr};
use kube_yaml::text::write_json;
use olm_cluster::cleanup;
use olm_cluster::cleanup::{Failure, Item, Options, Plan};

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Remove an operator, and keep its CRDs and their objects
  bundle-tool cleanup gizmo-operator --namespace gizmos

  # Remove everything
  bundle-tool cleanup gizmo-operator --namespace gizmos --delete-crds")]
pub(crate) struct Cleanup {
    /// Package of the operator
    #[arg(value_name = "PACKAGE")]
    package: String,
    /// Delete the owned CRDs, and all of their objects
    #[arg(long)]
    delete_crds: bool,
    /// Delete the `OperatorGroup`, if `run bundle` created it and no other subscription needs it
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    delete_operator_groups: bool,
    /// Time limit for all network access, including waiting for the cluster, such as 90s or 1h
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = TimeLimit::parser("--timeout"))]
    timeout: TimeLimit,
    #[command(flatten)]
    format: OutputOption<Format>,
    #[command(flatten)]
    connection: Connection,
}

impl Cleanup {
    pub(crate) fn run(self) -> Result<Exit> {
        runtime()?.block_on(self.cleanup())
    }

    async fn cleanup(&self) -> Result<Exit> {
        self.connection.check_namespace()?;
        let deadline = self.timeout.start();
        let cluster = deadline.within("nothing was deleted", self.connection.connect()).await?;
        let namespace = self.connection.namespace(&cluster);
        let options = Options { crds: self.delete_crds, operator_group: self.delete_operator_groups };
        let mut printer = Printer::new();
        let mut show = |text: String| printer.step(&text);
        let look = async { Ok(cleanup::observe(&cluster, &self.package, &namespace, &mut show).await?) };
        let snapshot = deadline.within("nothing was deleted", look).await;
        printer.finish();
        let snapshot = snapshot?;
        let plan = cleanup::plan(&snapshot, &self.package, &namespace, options);
        if plan.is_empty() {
            return Err(Failure::NotFound { package: self.package.clone(), namespace }.into());
        }
        if plan.deletes_extension() && !self.delete_crds {
            bail!(
                "OLM v1 deletes the CRDs of {} and all of their objects together with its ClusterExtension, so \
                 nothing was deleted; pass --delete-crds to delete them",
                self.package
            );
        }
        let result = cleanup::run(&cluster, &plan, deadline.cluster(), &mut |text| printer.step(&text)).await;
        printer.finish();
        match result {
            Ok(()) => {}
            Err(Failure::Blocked(problem)) => {
                print_problem(&mut stderr(), ERROR, &problem, "")?;
                bail!("{} was not removed completely; run the same command again to continue", self.package);
            }
            Err(failure) => return Err(failure.into()),
        }
        self.print(&plan, &namespace)?;
        Ok(Exit::Success)
    }

    /// Prints what was deleted.
    fn print(&self, plan: &Plan, namespace: &str) -> Result<()> {
        let mut out = io::stdout().lock();
        match self.format.output {
            Format::Text => {
                writeln!(out, "{} was removed from namespace {namespace}", self.package)?;
                for name in &plan.kept {
                    writeln!(out, "kept CRD {name} and its objects")?;
                }
            }
            Format::Json => {
                let item = |item: &Item| {
                    let namespace = Some(&item.namespace).filter(|name| !name.is_empty());
                    json!({ "kind": item.kind.kind, "namespace": namespace, "name": item.name })
                };
                let deleted = [&plan.first, &plan.crds, &plan.rest].into_iter().flatten();
                let document = json!({
                    "version": 1,
                    "package": self.package,
                    "namespace": namespace,
                    "deleted": deleted.map(item).collect::<Vec<_>>(),
                    "keptCrds": plan.kept,
                });
                write_json(&document, &mut out)?;
            }
        }
        out.flush()?;
        Ok(())
    }
}
