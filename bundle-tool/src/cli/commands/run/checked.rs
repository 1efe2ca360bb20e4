//! The steps of an installation, each of which takes what the previous one returns: a [`LoadedBundle`] is validated against the
//! rules of OLM v0 or v1, a [`ValidatedBundle`] is approved by the API server, and with an [`ApprovedInstall`] the images are
//! pushed and the objects created.

use std::io::{self, Write as _};

use anyhow::{Context as _, Error, Result, anyhow};
use serde_json::Value;

use super::access::Prepared;
use super::content::Facts;
use super::leftovers::{self, Leftovers};
use super::source::{Input, Uploads};
use super::state::State;
use crate::cli::cluster::{Printer, print_failure, print_problems};
use crate::cli::exit::Exit;
use crate::cli::signals::interrupted;
use crate::cli::time_limit::Deadline;
use crate::terminal::{ERROR, WARNING};
use olm_cluster::install::{Failure, Installation, Report, dry_run};
use olm_cluster::manifests::Request;
use olm_cluster::preflight::denied;
use olm_cluster::v1::install as v1;
use olm_cluster::{Cluster, Diagnosis, Kind, kinds};

/// A bundle that was read, and is not validated yet.
pub(crate) struct LoadedBundle {
    /// The cluster; `None` if none is configured and none is needed.
    pub(crate) cluster: Option<Cluster>,
    /// Whether nothing of the cluster is needed.
    pub(crate) is_offline: bool,
    /// The registries.
    pub(crate) registries: Prepared,
    /// The bundle.
    pub(crate) input: Input,
    /// What the bundle says about itself.
    pub(crate) facts: Facts,
}

/// A bundle that passed the checks of the bundle and of the cluster, with the objects to create.
pub(crate) struct ValidatedBundle {
    pub(crate) cluster: Option<Cluster>,
    pub(crate) registries: Prepared,
    pub(crate) facts: Facts,
    /// The objects, in the order in which they are created.
    pub(crate) objects: Vec<Value>,
    /// The images that the objects refer to.
    pub(crate) uploads: Uploads,
    pub(crate) method: InstallMethod,
}

/// How a bundle is installed.
pub(crate) enum InstallMethod {
    /// With OLM v0.
    V0(Box<V0Plan>),
    /// With OLM v1.
    V1,
}

/// What an installation with OLM v0 needs besides.
pub(crate) struct V0Plan {
    pub(crate) request: Request,
    pub(crate) input: Input,
    /// What is known of the cluster; `None` if that is not needed.
    pub(crate) state: Option<State>,
}

/// An installation that the API server accepts, as far as a dry run shows.
pub(crate) struct ApprovedInstall {
    cluster: Cluster,
    checked: ValidatedBundle,
    /// The objects as they would be stored; `None` if they need a namespace that does not exist yet.
    pub(crate) stored: Option<Vec<Value>>,
}

impl ValidatedBundle {
    /// Has the API server check permissions, objects and pods. With `force`, what it would reject later is a warning.
    pub(crate) async fn accepted(mut self, force: bool, printer: &mut Printer) -> Result<ApprovedInstall> {
        let cluster = self.cluster.take().context("no cluster is configured")?;
        let (namespace, objects) = (&self.facts.candidate.namespace, &self.objects);
        // An upgrade with OLM v1 changes the objects of the installation.
        let exist = matches!(self.method, InstallMethod::V1) && self.facts.candidate.is_upgrade;
        if let Some(problem) = denied(&cluster, namespace, objects, exist).await {
            printer.finish();
            report(&[problem], !force)?;
        }
        let creates_namespace = objects.iter().any(|one| Kind::of_object(one) == Some(kinds::NAMESPACE));
        let needs_namespace = objects.iter().filter_map(Kind::of_object).any(|kind| kind.namespaced);
        if creates_namespace && needs_namespace {
            return Ok(ApprovedInstall { cluster, checked: self, stored: None });
        }
        let stored = dry_run(&cluster, objects).await.context("nothing was created")?;
        if let InstallMethod::V0(v0) = &self.method
            && let V0Plan { input, state: Some(state), .. } = &**v0
        {
            let problems = state.rejected_pods(&cluster, input, &self.facts, objects).await;
            printer.finish();
            // On OpenShift, the security context constraints of the service account decide.
            report(&problems, !(force || state.openshift))?;
        }
        Ok(ApprovedInstall { cluster, checked: self, stored: Some(stored) })
    }
}

/// Prints problems: certain ones end the command.
fn report(problems: &[Diagnosis], is_certain: bool) -> Result<()> {
    print_problems(if is_certain { ERROR } else { WARNING }, problems)?;
    if is_certain && !problems.is_empty() { Err(nothing_created(problems)) } else { Ok(()) }
}

/// Returns the error that a command ends with because of problems that were printed.
pub(crate) fn nothing_created(problems: &[Diagnosis]) -> Error {
    let reason = problems.first().map_or("a check failed", |problem| problem.message.as_str());
    match problems.len() {
        0 | 1 => anyhow!("nothing was created: {reason}"),
        number => anyhow!("nothing was created: {number} problems, the first of which is: {reason}"),
    }
}

impl ApprovedInstall {
    /// Pushes the images, creates the objects, and waits until the operator is installed.
    pub(crate) async fn install(&self, deadline: Deadline, printer: &mut Printer) -> Result<Exit> {
        let ValidatedBundle { facts, objects, uploads, registries, method, .. } = &self.checked;
        let csv = &facts.candidate.csv;
        let mut left = Leftovers::default();
        let Leftovers { pushed, changes } = &mut left;
        let mut show = |report: Report| printer.report(&report);
        let work = async {
            uploads.push(&registries.options, pushed).await?;
            if deadline.is_over() {
                return Err(deadline.expired("nothing was created on the cluster"));
            }
            Ok::<_, Error>(match method {
                InstallMethod::V0(v0) => {
                    Installation::new(&self.cluster, &v0.request, deadline.cluster(), changes)
                        .run(objects, &mut show)
                        .await
                }
                InstallMethod::V1 => {
                    v1::run(&self.cluster, objects, csv, deadline.cluster(), changes, &mut show).await
                }
            })
        };
        let result = tokio::select! {
            result = work => result,
            () = interrupted() => Err(anyhow!("interrupted")),
        };
        printer.finish();
        let (by, cleanup_options) = match method {
            InstallMethod::V0(_) => ("", ""),
            InstallMethod::V1 => (" by OLM v1", " --delete-crds"),
        };
        let error = match result {
            Ok(Ok(())) => {
                let mut out = io::stdout().lock();
                writeln!(out, "{csv} is installed in namespace {}{by}", facts.candidate.namespace)?;
                out.flush()?;
                return Ok(Exit::Success);
            }
            Ok(Err(failure)) => {
                print_failure(&failure)?;
                match failure {
                    Failure::Cluster(error) => error.into(),
                    _ => anyhow!("{csv} is not installed"),
                }
            }
            Err(error) => error,
        };
        leftovers::print(&left, &facts.candidate, cleanup_options)?;
        Err(error)
    }
}
