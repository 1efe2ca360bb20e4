//! Creates the objects of an installation and waits until the operator runs, or until it is known why it does not.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Cluster, Error, Write};
use super::deadline::Deadline;
use super::diagnose::{Diagnosis, Log, Scope, problems};
use super::gather::Scheduling;
use super::kinds::{self, Kind};
use super::manifests::Request;
use super::queries::{self, ANY};
use super::snapshot::{Snapshot, name_of, namespace_of, string, strings};
use super::stage::{Progress, STABLE, Stage, Target, is_catalog_ready, plan_of, progress};

/// The interval at which the cluster is polled.
const INTERVAL: Duration = Duration::from_millis(500);
/// The number of lines of a log that are shown.
const LOG_LINES: u16 = 10;

/// Why an operator is not installed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Something keeps it from being installed.
    #[error("{}", .problem.message)]
    Diagnosis {
        /// What it is.
        problem: Box<Diagnosis>,
        /// The last lines of the container's log.
        log: String,
    },
    /// It took too long.
    #[error("timed out after {} s: {}", .after.as_secs(), .progress.text)]
    Timeout {
        /// The time that was waited.
        after: Duration,
        /// How far it was.
        progress: Box<Progress>,
        /// What might be wrong.
        problems: Vec<Diagnosis>,
    },
    /// The cluster cannot be used.
    #[error(transparent)]
    Cluster(#[from] Error),
}

/// What is reported while an operator is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// How far it is.
    Progress(Progress),
    /// Something worth knowing.
    Note(String),
}

/// What an installation has changed on the cluster, in words such as ``Deployment `gizmo` ``.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Objects that did not exist before.
    pub created: Vec<String>,
    /// Objects that existed before.
    pub changed: Vec<String>,
    /// Whether the `Subscription` or `ClusterExtension` existed before, and with it perhaps the operator.
    pub had_operator: bool,
}

impl Changes {
    /// Records an object that was applied.
    pub(crate) fn record(&mut self, kind: Kind, object: &Value, is_new: bool) {
        let name = format!("{} `{}`", kind.kind, name_of(object));
        if is_new {
            self.created.push(name);
        } else {
            self.had_operator |= kind == kinds::SUBSCRIPTION || kind == kinds::CLUSTER_EXTENSION;
            self.changed.push(name);
        }
    }
}

/// An installation that is under way.
pub struct Installation<'c> {
    cluster: &'c Cluster,
    package: String,
    target: Target,
    deadline: Deadline,
    changes: &'c mut Changes,
}

impl<'c> Installation<'c> {
    /// Returns an installation that ends at `deadline`, and records what it creates and changes.
    #[must_use]
    pub fn new(
        cluster: &'c Cluster,
        request: &Request,
        deadline: Deadline,
        changes: &'c mut Changes,
    ) -> Self {
        Self {
            cluster,
            package: request.package.clone(),
            target: Target {
                namespace: request.namespace.clone(),
                catalog: request.catalog_name(),
                subscription: request.subscription_name(),
                csv: request.csv.clone(),
            },
            deadline,
            changes,
        }
    }

    /// Creates the objects and waits until the CSV is Succeeded.
    ///
    /// # Errors
    /// The API server rejects an object, something keeps the operator from being installed, or it takes too long.
    pub async fn run(&mut self, objects: &[Value], report: &mut dyn FnMut(Report)) -> Result<(), Failure> {
        let is_server = |object: &&Value| {
            [kinds::NAMESPACE, kinds::CONFIG_MAP, kinds::DEPLOYMENT, kinds::SERVICE]
                .iter()
                .any(|kind| object["kind"] == kind.kind)
        };
        let mut served = Vec::new();
        for object in objects.iter().filter(is_server) {
            served.push(self.create(object, Stage::Catalog, report).await?);
        }
        if served.iter().any(|object| object["kind"] == kinds::DEPLOYMENT.kind) {
            let catalog = self.target.catalog.clone();
            let is_new = |snapshot: &Snapshot| {
                let deployment = snapshot.get(kinds::DEPLOYMENT, &self.target.namespace, &catalog);
                deployment.is_some_and(|one| {
                    one["status"]["observedGeneration"] == one["metadata"]["generation"]
                        && one["status"]["updatedReplicas"] == 1
                        && one["status"]["availableReplicas"] == 1
                        && one["status"]["replicas"] == 1
                })
            };
            self.wait(is_new, report).await?;
        }
        let (sources, others): (Vec<_>, Vec<_>) = objects
            .iter()
            .filter(|object| !is_server(object))
            .partition(|object| object["kind"] == kinds::CATALOG_SOURCE.kind);
        for source in sources {
            let owner = self.create(source, Stage::Catalog, report).await?;
            self.own(&owner, &served, report).await?;
        }
        // A subscription to a catalog that does not respond yet fails to resolve, and OLM tries again only after a while.
        let target = self.target.clone();
        self.wait(move |snapshot| is_catalog_ready(snapshot, &target), report).await?;
        for object in others {
            self.create(object, Stage::Resolution, report).await?;
        }
        self.finish(report).await
    }

    /// Waits until the CSV is Succeeded and the operator stays up, approving the plan that installs it.
    ///
    /// # Errors
    /// Something keeps the operator from being installed, or it takes too long.
    pub async fn finish(&mut self, report: &mut dyn FnMut(Report)) -> Result<(), Failure> {
        let target = self.target.clone();
        let mut stable: Option<(Progress, Instant)> = None;
        let is_done = move |snapshot: &Snapshot| {
            let now = progress(snapshot, &target);
            match (now.stage, &stable) {
                (Stage::Done, _) => true,
                (Stage::Stability, Some((progress, since))) if *progress == now => since.elapsed() >= STABLE,
                (Stage::Stability, _) => {
                    stable = Some((now, Instant::now()));
                    false
                }
                _ => {
                    stable = None;
                    false
                }
            }
        };
        self.wait(is_done, report).await
    }

    async fn create(
        &mut self,
        object: &Value,
        stage: Stage,
        report: &mut dyn FnMut(Report),
    ) -> Result<Value, Error> {
        let Some(kind) = Kind::of_object(object) else { return Ok(Value::Null) };
        let apply = async || self.cluster.apply(kind, object, Write::Stored).await;
        let applied = repeated(self.deadline, stage, report, apply).await?;
        self.changes.record(kind, object, applied.is_new);
        Ok(applied.object)
    }

    /// Makes the catalog the owner of what serves it, so that all of it is deleted with the catalog.
    async fn own(
        &self,
        owner: &Value,
        served: &[Value],
        report: &mut dyn FnMut(Report),
    ) -> Result<(), Error> {
        let patch = json!({"metadata": {"ownerReferences": [{
            "apiVersion": owner["apiVersion"], "kind": owner["kind"],
            "name": name_of(owner), "uid": string(owner, "/metadata/uid"),
        }]}});
        for object in served {
            let Some(kind) = Kind::of_object(object).filter(|kind| kind.namespaced) else { continue };
            let merge =
                async || self.cluster.merge(kind, namespace_of(object), name_of(object), &patch).await;
            repeated(self.deadline, Stage::Catalog, report, merge).await?;
        }
        Ok(())
    }

    async fn wait(
        &self,
        mut is_done: impl FnMut(&Snapshot) -> bool,
        report: &mut dyn FnMut(Report),
    ) -> Result<(), Failure> {
        let scope = Scope {
            namespace: Some(self.target.namespace.clone()),
            package: Some(self.package.clone()),
            csv: Some(self.target.csv.clone()),
        };
        let mut since: HashMap<(&'static str, String), Instant> = HashMap::new();
        let mut last = None;
        let mut found = Vec::new();
        let mut scheduling = Scheduling::default();
        loop {
            match self.observe(&mut scheduling).await {
                Ok(snapshot) => {
                    if is_done(&snapshot) {
                        return Ok(());
                    }
                    let now = progress(&snapshot, &self.target);
                    if last.as_ref() != Some(&now) {
                        report(Report::Progress(now.clone()));
                        last = Some(now);
                    }
                    self.approve(&snapshot, report).await?;
                    found = problems(&snapshot, &scope);
                    since.retain(|(reason, object), _| {
                        found.iter().any(|one| one.reason == *reason && one.object == *object)
                    });
                    let lasting = found.iter().position(|problem| {
                        let key = (problem.reason, problem.object.clone());
                        let first = since.entry(key).or_insert_with(Instant::now);
                        first.elapsed() >= Duration::from_secs(problem.patience)
                    });
                    if let Some(index) = lasting {
                        return Err(self.failure(found.swap_remove(index)).await);
                    }
                }
                Err(error) if error.is_temporary() && !self.deadline.is_over() => {
                    let text = format!("{error}; trying again");
                    let stage = last.as_ref().map_or(Stage::Catalog, |progress: &Progress| progress.stage);
                    let now = Progress { stage, text };
                    if last.as_ref() != Some(&now) {
                        report(Report::Progress(now.clone()));
                        last = Some(now);
                    }
                    // Nobody knows whether a problem lasted meanwhile.
                    since.clear();
                }
                Err(error) => return Err(error.into()),
            }
            if self.deadline.is_over() {
                let progress = last.unwrap_or_else(|| Progress {
                    stage: Stage::Catalog,
                    text: "nothing was observed".into(),
                });
                return Err(Failure::Timeout {
                    after: self.deadline.limit(),
                    progress: Box::new(progress),
                    problems: found,
                });
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    async fn failure(&self, problem: Diagnosis) -> Failure {
        let log = match &problem.log {
            Some(log) => last_lines(self.cluster, log).await,
            None => String::new(),
        };
        Failure::Diagnosis { problem: Box::new(problem), log }
    }

    /// Approves the plan that installs the CSV.
    async fn approve(&self, snapshot: &Snapshot, report: &mut dyn FnMut(Report)) -> Result<(), Error> {
        let Some(plan) = plan_of(snapshot, &self.target) else { return Ok(()) };
        if string(plan, "/status/phase") != "RequiresApproval" || plan["spec"]["approved"] == true {
            return Ok(());
        }
        let others: Vec<_> = strings(plan, "/spec/clusterServiceVersionNames")
            .filter(|name| *name != self.target.csv)
            .map(|name| format!("`{name}`"))
            .collect();
        if !others.is_empty() {
            report(Report::Note(format!(
                "InstallPlan `{}` also installs {}",
                name_of(plan),
                others.join(", ")
            )));
        }
        let patch = json!({"spec": {"approved": true}});
        match self.cluster.merge(kinds::INSTALL_PLAN, &self.target.namespace, name_of(plan), &patch).await {
            Ok(_) => Ok(()),
            // OLM updates plans as well; the next look tries again.
            Err(error) if error.is_temporary() || error.is_not_found() => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn observe(&self, scheduling: &mut Scheduling) -> Result<Snapshot, Error> {
        let mut snapshot = observe(self.cluster, &self.target.namespace).await?;
        scheduling.add(self.cluster, &mut snapshot).await?;
        Ok(snapshot)
    }
}

/// Repeats a request until `deadline` for as long as the API server does not take it, and reports that once.
pub(crate) async fn repeated<T>(
    deadline: Deadline,
    stage: Stage,
    report: &mut dyn FnMut(Report),
    request: impl AsyncFn() -> Result<T, Error>,
) -> Result<T, Error> {
    let mut show = |text| report(Report::Progress(Progress { stage, text }));
    deadline.retry(Error::is_unavailable, &mut show, async |_| request().await).await
}

/// Validates objects on the server, and creates none; returns them as they would be stored.
///
/// # Errors
/// The API server rejects one.
pub async fn dry_run(cluster: &Cluster, objects: &[Value]) -> Result<Vec<Value>, Error> {
    let writes = objects.iter().filter_map(|object| Some((Kind::of_object(object)?, object)));
    futures::future::try_join_all(writes.map(|(kind, object)| async move {
        cluster.apply(kind, object, Write::DryRun).await.map(|applied| applied.object)
    }))
    .await
}

/// Reads what explains the state of a namespace.
///
/// # Errors
/// The API server does not respond.
pub async fn observe(cluster: &Cluster, namespace: &str) -> Result<Snapshot, Error> {
    let this = queries::named(namespace);
    let mut reads = queries::operators(Some(namespace), &this);
    reads.push((kinds::CATALOG_SOURCE, Some(namespace), ANY));
    cluster.snapshot(&reads).await
}

/// Returns the last lines of a container's log; empty if they cannot be read.
pub async fn last_lines(cluster: &Cluster, log: &Log) -> String {
    cluster.logs(&log.namespace, &log.pod, &log.container, LOG_LINES).await.unwrap_or_default()
}
