//! Installs with OLM v1: creates a `ClusterCatalog` and a `ClusterExtension`, and waits for their conditions.
//!
//! Source: the conditions of `api/v1` of operator-controller 1.11: `Serving` and `Progressing` of catalogs, `Installed` and
//! `Progressing` of extensions.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::manifests::API;
use crate::client::{Cluster, Error, Write};
use crate::deadline::Deadline;
use crate::diagnose::{Diagnosis, object as named, shortened, v1};
use crate::install::{Changes, Failure, Report, repeated};
use crate::kinds;
use crate::kinds::Kind;
use crate::snapshot::{list, name_of, string};
use crate::stage::{Progress, Stage};

/// The time between two looks at the cluster.
const INTERVAL: Duration = Duration::from_millis(500);
/// How long the controllers may retry before the reason of their failure ends the wait.
const RETRYING: Duration = Duration::from_mins(1);
/// How long they may retry what does not pass by itself: the condition may be that of an earlier attempt.
const DEFINITE: Duration = Duration::from_secs(5);

/// What is observed of an object that is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// It is ready.
    Ready,
    /// It is not ready yet.
    Waiting(String),
    /// It fails, and its controller retries.
    Retrying(String),
    /// It cannot become ready as it is.
    Blocked(String),
}

/// Returns whether the cluster has OLM v1.
///
/// # Errors
/// The API server does not respond.
pub async fn is_served(cluster: &Cluster) -> Result<bool, Error> {
    match cluster.get_path(API, "read the APIs of OLM v1").await {
        Ok(resources) => Ok([kinds::CLUSTER_CATALOG, kinds::CLUSTER_EXTENSION]
            .iter()
            .all(|kind| list(&resources, "/resources").iter().any(|one| one["name"] == kind.plural))),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Creates the objects in their order, and waits until each catalog is served and the extension has installed `bundle`.
/// What was created and changed is recorded in `changes`.
///
/// # Errors
/// The API server rejects an object, a condition says why the operator is not installed, or it takes too long.
pub async fn run(
    cluster: &Cluster,
    objects: &[Value],
    bundle: &str,
    deadline: Deadline,
    changes: &mut Changes,
    report: &mut dyn FnMut(Report),
) -> Result<(), Failure> {
    for object in objects {
        let Some(kind) = Kind::of_object(object) else { continue };
        let apply = async || cluster.apply(kind, object, Write::Stored).await;
        let applied = repeated(deadline, stage_of(kind), report, apply).await?;
        changes.record(kind, object, applied.is_new);
        if kind == kinds::CLUSTER_CATALOG || kind == kinds::CLUSTER_EXTENSION {
            // An object that exists keeps the conditions of its former specification until its controller has seen this one.
            let generation = applied.object["metadata"]["generation"].as_i64().unwrap_or_default();
            let waited = Waited { cluster, kind, name: name_of(object), bundle, generation };
            waited.wait(deadline, report).await?;
        }
    }
    Ok(())
}

/// Returns the stage of an installation that an object of a kind belongs to.
fn stage_of(kind: Kind) -> Stage {
    if kind == kinds::CLUSTER_CATALOG { Stage::Catalog } else { Stage::Extension }
}

/// An object that is waited for.
struct Waited<'w> {
    cluster: &'w Cluster,
    kind: Kind,
    name: &'w str,
    bundle: &'w str,
    generation: i64,
}

impl Waited<'_> {
    async fn wait(&self, deadline: Deadline, report: &mut dyn FnMut(Report)) -> Result<(), Failure> {
        let stage = stage_of(self.kind);
        let mut retrying: Option<Instant> = None;
        let mut last = Progress { stage, text: String::new() };
        loop {
            let (text, problem) = match self.cluster.get(self.kind, "", self.name).await {
                Ok(found) => {
                    let object = found.unwrap_or_default();
                    match state(&object, self.kind, self.bundle, self.generation) {
                        State::Ready => return Ok(()),
                        State::Waiting(text) => {
                            retrying = None;
                            (text, None)
                        }
                        State::Retrying(text) => {
                            let since = *retrying.get_or_insert_with(Instant::now);
                            let problem = self.problem(&object, &text);
                            let patience = if v1::is_definite(problem.reason) { DEFINITE } else { RETRYING };
                            (text, (since.elapsed() >= patience).then_some(problem))
                        }
                        State::Blocked(text) => {
                            let problem = self.problem(&object, &text);
                            (text, Some(problem))
                        }
                    }
                }
                Err(error) if error.is_temporary() => {
                    // Nobody knows whether it went on retrying meanwhile.
                    retrying = None;
                    (format!("{error}; trying again"), None)
                }
                Err(error) => return Err(error.into()),
            };
            if let Some(problem) = problem {
                return Err(Failure::Diagnosis { problem: Box::new(problem), log: String::new() });
            }
            if last.text != text {
                last.text = text;
                report(Report::Progress(last.clone()));
            }
            if deadline.is_over() {
                return Err(Failure::Timeout {
                    after: deadline.limit(),
                    progress: Box::new(last),
                    problems: Vec::new(),
                });
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    fn problem(&self, object: &Value, text: &str) -> Diagnosis {
        let (reason, help) = explained(self.kind, object);
        let mut problem = Diagnosis::of_preflight(
            reason,
            named(self.kind, object),
            format!("{} `{}` is not ready: {text}", self.kind.kind, self.name),
            help,
        );
        problem.evidence = list(object, "/status/conditions").iter().map(words).collect();
        problem
    }
}

/// Returns the reason why an object is not ready, and what to do about it.
fn explained(kind: Kind, object: &Value) -> (&'static str, String) {
    let conditions = list(object, "/status/conditions");
    let progressing = conditions.iter().find(|one| one["type"] == "Progressing").unwrap_or(&Value::Null);
    if kind == kinds::CLUSTER_CATALOG {
        let message = string(progressing, "/message");
        return ("cluster-catalog-failed", v1::catalog_help(message, name_of(object)));
    }
    let explained = v1::explain(object, progressing);
    (explained.reason, explained.help)
}

/// Returns what the conditions of an object say.
fn state(object: &Value, kind: Kind, bundle: &str, generation: i64) -> State {
    let is_catalog = kind == kinds::CLUSTER_CATALOG;
    let (ready, controller) =
        if is_catalog { ("Serving", "catalogd") } else { ("Installed", "operator-controller") };
    let condition = |name: &str| {
        let mut conditions = list(object, "/status/conditions").iter();
        conditions.find(|one| {
            one["type"] == name
                && one["observedGeneration"].as_i64().is_none_or(|observed| observed >= generation)
        })
    };
    let is_bundle = is_catalog || string(object, "/status/install/bundle/name") == bundle;
    if is_bundle && condition(ready).is_some_and(|one| one["status"] == "True") {
        return State::Ready;
    }
    match condition("Progressing") {
        Some(progressing) => match string(progressing, "/reason") {
            "Blocked" | "InvalidConfiguration" | "ProgressDeadlineExceeded" => {
                State::Blocked(words(progressing))
            }
            "Retrying" => State::Retrying(words(progressing)),
            _ => State::Waiting(condition(ready).map_or_else(|| words(progressing), words)),
        },
        None => State::Waiting(format!("waiting for {controller}")),
    }
}

/// Returns a condition in words.
fn words(condition: &Value) -> String {
    let (kind, reason) = (string(condition, "/type"), string(condition, "/reason"));
    format!("{kind}: {reason}: {}", shortened(string(condition, "/message")))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use kube::Client;
    use kube::client::Body;
    use serde_json::json;

    use super::*;
    use crate::v1::manifests::{ClusterCatalog, ClusterExtension};

    /// A cluster whose controllers go through `states` of an extension, one for each look; catalogs are served at once.
    fn cluster(states: Vec<Value>) -> Cluster {
        let looks = Arc::new(AtomicUsize::new(0));
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let is_extension = request.uri().path().contains("clusterextensions");
            let observed = if request.method() != http::Method::GET {
                Value::Null
            } else if is_extension {
                let look = looks.fetch_add(1, Ordering::Relaxed);
                states[look.min(states.len() - 1)].clone()
            } else {
                json!({"conditions": [{"type": "Serving", "status": "True", "reason": "Available"}]})
            };
            let object = json!({"metadata": {"name": "gizmo", "generation": 2}, "status": observed});
            // As if only the catalog did not exist before.
            let code = if request.method() == http::Method::PATCH && !is_extension { 201 } else { 200 };
            let response = http::Response::builder().status(code);
            async move { Ok::<_, Infallible>(response.body(Body::from(object.to_string().into_bytes())).unwrap()) }
        });
        Cluster::through(Client::new(service, "default"))
    }

    async fn installed(states: Vec<Value>) -> (Result<(), Failure>, Vec<String>) {
        let catalog = ClusterCatalog { name: "gizmo-catalog".into(), ..ClusterCatalog::default() };
        let extension = ClusterExtension { name: "gizmo".into(), ..ClusterExtension::default() };
        let (mut changes, mut seen) = (Changes::default(), Vec::new());
        let result = run(
            &cluster(states),
            &[catalog.object(), extension.object()],
            "gizmo.v1.2.0",
            Deadline::after(Duration::from_mins(5)),
            &mut changes,
            &mut |report| {
                if let Report::Progress(progress) = report {
                    seen.push(format!("{}: {}", progress.stage, progress.text));
                }
            },
        )
        .await;
        let expected = Changes {
            created: vec!["ClusterCatalog `gizmo-catalog`".into()],
            changed: vec!["ClusterExtension `gizmo`".into()],
            had_operator: true,
        };
        assert_eq!(changes, expected);
        (result, seen)
    }

    fn status(bundle: &str, conditions: &Value) -> Value {
        json!({"install": {"bundle": {"name": bundle}}, "conditions": conditions})
    }

    #[tokio::test(start_paused = true)]
    async fn an_extension_is_waited_for() {
        let absent = json!({"type": "Installed", "status": "False", "reason": "Absent", "message": "No bundle installed"});
        let rolling =
            json!({"type": "Progressing", "status": "True", "reason": "RollingOut", "message": "unpacking"});
        let done =
            json!({"type": "Installed", "status": "True", "reason": "Succeeded", "observedGeneration": 2});
        let stale =
            json!({"type": "Installed", "status": "True", "reason": "Succeeded", "observedGeneration": 1});
        let (result, seen) = installed(vec![
            Value::Null,
            status("gizmo.v1.2.0", &json!([stale])),
            status("", &json!([absent, rolling])),
            // The bundle before an upgrade is installed, and the new one is not.
            status("gizmo.v1.1.0", &json!([done, rolling])),
            status("gizmo.v1.2.0", &json!([done])),
        ])
        .await;
        result.unwrap();
        assert_eq!(
            seen,
            [
                "cluster extension: waiting for operator-controller",
                "cluster extension: Installed: Absent: No bundle installed",
                "cluster extension: Installed: Succeeded: ",
            ]
        );
    }

    #[tokio::test]
    async fn a_blocked_extension_ends_the_wait() {
        let blocked =
            json!({"type": "Progressing", "status": "False", "reason": "Blocked", "message": "no webhooks"});
        let (result, _) = installed(vec![status("", &json!([blocked]))]).await;
        let Err(Failure::Diagnosis { problem, .. }) = result else { panic!("{result:?}") };
        assert_eq!(
            problem.message,
            "ClusterExtension `gizmo` is not ready: Progressing: Blocked: no webhooks"
        );
        assert_eq!(problem.evidence, ["Progressing: Blocked: no webhooks"]);
    }

    #[test]
    fn retries_are_told_from_waiting() {
        let object = |reason: &str| json!({"status": {"conditions": [{"type": "Progressing", "status": "True", "reason": reason, "message": "m"}]}});
        let state = |reason: &str| state(&object(reason), kinds::CLUSTER_CATALOG, "", 1);
        assert_eq!(state("Retrying"), State::Retrying("Progressing: Retrying: m".into()));
        assert_eq!(state("Succeeded"), State::Waiting("Progressing: Succeeded: m".into()));
    }
}
