//! The steps of an installation, each of which takes what the previous one returns: what was [`Read`] is checked against the
//! rules of OLM v0 or v1, what was [`Checked`] by the API server, and then the images are pushed and the objects created.

use std::io::{self, Write as _};

use anyhow::{Context as _, Error, Result, anyhow, bail};
use serde_json::Value;

use super::access::Prepared;
use super::content::Facts;
use super::source::{Input, Uploads};
use super::state::State;
use super::unfinished::{self, Unfinished};
use crate::cli::cluster::{Printer, print_failure, print_problems};
use crate::cli::exit::Exit;
use crate::cli::signals::interrupted;
use crate::cluster::install::{Failure, Installation, Report, dry_run};
use crate::cluster::manifests::Request;
use crate::cluster::preflight::denied;
use crate::cluster::v1::install as v1;
use crate::cluster::{Cluster, Deadline, Kind, Problem, kinds};

/// What was read, and is not checked yet.
pub(super) struct Read {
    /// The cluster; none if nothing of it is needed.
    pub(super) cluster: Option<Cluster>,
    /// Whether nothing of the cluster is needed.
    pub(super) is_offline: bool,
    /// The registries.
    pub(super) registries: Prepared,
    /// The bundle.
    pub(super) input: Input,
    /// What the bundle says about itself.
    pub(super) facts: Facts,
}

/// An installation that nothing keeps from being tried, as far as is known of the bundle and the cluster.
pub(super) struct Checked {
    pub(super) cluster: Option<Cluster>,
    pub(super) registries: Prepared,
    pub(super) facts: Facts,
    /// The objects, in the order in which they are created.
    pub(super) objects: Vec<Value>,
    /// The images that the objects refer to.
    pub(super) uploads: Uploads,
    pub(super) how: How,
}

/// How a bundle is installed.
pub(super) enum How {
    /// With OLM v0.
    V0(Box<ForV0>),
    /// With OLM v1.
    V1,
}

/// What an installation with OLM v0 needs besides.
pub(super) struct ForV0 {
    pub(super) request: Request,
    pub(super) input: Input,
    /// What is known of the cluster; nothing if that is not needed.
    pub(super) state: Option<State>,
}

/// An installation that the API server accepts, as far as a dry run shows.
pub(super) struct Accepted {
    cluster: Cluster,
    checked: Checked,
    /// The objects as they would be stored; nothing if they need a namespace that does not exist yet.
    pub(super) stored: Option<Vec<Value>>,
}

impl Checked {
    /// Has the API server check permissions, objects and pods. With `force`, what it would reject later is a warning.
    pub(super) async fn accepted(mut self, force: bool, printer: &mut Printer) -> Result<Accepted> {
        let cluster = self.cluster.take().context("no cluster is configured")?;
        let (namespace, objects) = (&self.facts.candidate.namespace, &self.objects);
        // An upgrade with OLM v1 changes the objects of the installation.
        let exist = matches!(self.how, How::V1) && self.facts.candidate.is_upgrade;
        if let Some(problem) = denied(&cluster, namespace, objects, exist).await {
            printer.finish();
            report(&[problem], !force)?;
        }
        let creates_namespace = objects.iter().any(|one| Kind::of(one) == Some(kinds::NAMESPACE));
        let needs_namespace = objects.iter().filter_map(Kind::of).any(|kind| kind.namespaced);
        if creates_namespace && needs_namespace {
            return Ok(Accepted { cluster, checked: self, stored: None });
        }
        let stored = dry_run(&cluster, objects).await.context("nothing was created")?;
        if let How::V0(v0) = &self.how
            && let ForV0 { input, state: Some(state), .. } = &**v0
        {
            let problems = state.rejected_pods(&cluster, input, &self.facts, objects).await;
            printer.finish();
            // On OpenShift, the security context constraints of the service account decide.
            report(&problems, !(force || state.openshift))?;
        }
        Ok(Accepted { cluster, checked: self, stored: Some(stored) })
    }
}

/// Prints problems: certain ones end the command.
fn report(problems: &[Problem], is_certain: bool) -> Result<()> {
    print_problems(if is_certain { "error" } else { "warning" }, problems)?;
    if is_certain && !problems.is_empty() { Err(nothing_created(problems)) } else { Ok(()) }
}

/// Returns the error that a command ends with because of problems that were printed.
pub(super) fn nothing_created(problems: &[Problem]) -> Error {
    let reason = problems.first().map_or("a check failed", |problem| problem.message.as_str());
    match problems.len() {
        0 | 1 => anyhow!("nothing was created: {reason}"),
        number => anyhow!("nothing was created: {number} problems, the first of which is: {reason}"),
    }
}

impl Accepted {
    /// Pushes the images, creates the objects, and waits until the operator is installed.
    pub(super) async fn install(&self, deadline: Deadline, printer: &mut Printer) -> Result<Exit> {
        let Checked { facts, objects, uploads, registries, how, .. } = &self.checked;
        let csv = &facts.candidate.csv;
        let mut left = Unfinished::default();
        let Unfinished { pushed, changes } = &mut left;
        let mut show = |report: Report| printer.report(&report);
        let work = async {
            uploads.push(&registries.options.for_another_task(deadline.left()), pushed).await?;
            if deadline.is_over() {
                bail!("timed out before anything was created on the cluster; set a longer --timeout");
            }
            Ok::<_, Error>(match how {
                How::V0(v0) => {
                    Installation::new(&self.cluster, &v0.request, deadline, changes)
                        .run(objects, &mut show)
                        .await
                }
                How::V1 => v1::run(&self.cluster, objects, csv, deadline, changes, &mut show).await,
            })
        };
        let result = tokio::select! {
            result = work => result,
            () = interrupted() => Err(anyhow!("interrupted")),
        };
        printer.finish();
        let (by, cleanup_options) = match how {
            How::V0(_) => ("", ""),
            How::V1 => (" by OLM v1", " --delete-crds"),
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
        unfinished::print(&left, &facts.candidate, cleanup_options)?;
        Err(error)
    }
}
