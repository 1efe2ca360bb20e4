//! Samples: objects that an upgrade must keep. They are created before it, and compared with what is left after it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;

use super::client::{Cluster, Error, Write};
use super::deadline::Deadline;
use super::snapshot::{list, name_of, number, string};
use kube_yaml::text::excerpt;

/// The interval at which objects are polled.
const INTERVAL: Duration = Duration::from_millis(500);
/// How long an operator may take to publish a condition, or to change what it should keep.
const GRACE: Duration = Duration::from_secs(10);
/// The maximum number of differences that are reported of an object.
const MAX_DIFFERENCES: usize = 20;

/// Why samples cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The object lacks what every object has.
    #[error("invalid sample: expected an object with apiVersion, kind and metadata.name")]
    Invalid,
    /// The API server does not know the kind.
    #[error("the cluster does not serve kind `{kind}` of `{api_version}`, which sample `{name}` has")]
    NotServed {
        /// `apiVersion` of the object.
        api_version: String,
        /// `kind` of the object.
        kind: String,
        /// The name of the object.
        name: String,
    },
    /// The object is to be in another namespace.
    #[error("{object} is in namespace `{namespace}`: samples are created in the namespace of the operator")]
    Namespace {
        /// The object.
        object: String,
        /// The other namespace.
        namespace: String,
    },
    /// An object does not become ready.
    #[error("{object} is not ready after {} s: {reason}", .after.as_secs())]
    NotReady {
        /// The object.
        object: String,
        /// The time that was waited.
        after: Duration,
        /// What its conditions say.
        reason: String,
    },
    /// The cluster cannot be used.
    #[error(transparent)]
    Cluster(#[from] Error),
}

/// Whether an object is ready, as far as its conditions say.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Readiness {
    /// Its conditions `Ready` and `Available`, or the one that it has, are true.
    Ready,
    /// It has neither condition: that the API server accepted it is all that is known.
    Accepted,
    /// One of the conditions is not true, or the operator has not observed the object yet.
    NotReady(String),
}

/// An object on the cluster, as it was before an upgrade.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The path of the collection.
    path: String,
    /// The path of the API, such as `/apis/example.com/v1`.
    api: String,
    /// The object.
    observed: Value,
    /// Whether it was ready.
    readiness: Readiness,
}

/// What is left of an object after an upgrade.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// The object, such as ``Gizmo `sample` ``.
    pub object: String,
    /// Whether its conditions say that it is ready; nothing without conditions.
    pub ready: Option<bool>,
    /// What the upgrade lost or changed.
    pub losses: Vec<String>,
}

impl Sample {
    /// Creates an object: in `namespace`, if its kind has namespaces. One that exists is an error.
    ///
    /// # Errors
    /// The object is invalid, its kind is not served, or the API server rejects it.
    pub async fn create(cluster: &Cluster, object: &Value, namespace: &str) -> Result<Self, Failure> {
        let (api_version, kind, name) =
            (string(object, "/apiVersion"), string(object, "/kind"), name_of(object));
        if api_version.is_empty() || kind.is_empty() || name.is_empty() {
            return Err(Failure::Invalid);
        }
        let root = if api_version.contains('/') { "/apis" } else { "/api" };
        let api = format!("{root}/{api_version}");
        let resources = match cluster.get_path(&api, &format!("read the resources of {api_version}")).await {
            Ok(resources) => resources,
            Err(error) if error.is_not_found() => Value::Null,
            Err(error) => return Err(error.into()),
        };
        let resource = list(&resources, "/resources")
            .iter()
            .find(|one| one["kind"] == kind && !string(one, "/name").contains('/'));
        let Some(resource) = resource else {
            return Err(Failure::NotServed {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                name: name.to_owned(),
            });
        };
        let mut object = object.clone();
        let path = if resource["namespaced"] == true {
            let other = string(&object, "/metadata/namespace");
            if !other.is_empty() && other != namespace {
                return Err(Failure::Namespace { object: named(&object), namespace: other.to_owned() });
            }
            object["metadata"]["namespace"] = namespace.into();
            format!("{api}/namespaces/{namespace}/{}", string(resource, "/name"))
        } else {
            format!("{api}/{}", string(resource, "/name"))
        };
        let observed =
            cluster.create_at(&path, &object, &format!("create {}", named(&object)), Write::Stored).await?;
        Ok(Self { path, api, observed, readiness: Readiness::Accepted })
    }

    /// Deletes the object; returns whether it existed.
    ///
    /// # Errors
    /// The API server rejects the request, or does not respond.
    pub async fn delete(&self, cluster: &Cluster) -> Result<bool, Error> {
        let action = format!("delete {}", self.name());
        cluster.delete_at(&self.path, name_of(&self.observed), &action).await
    }

    /// Returns the object's kind and name, such as ``Gizmo `sample` ``.
    #[must_use]
    pub fn name(&self) -> String {
        named(&self.observed)
    }

    /// Returns the object as it is now; nothing if it does not exist.
    async fn observe(&self, cluster: &Cluster) -> Result<Option<Value>, Error> {
        let path = format!("{}/{}", self.path, name_of(&self.observed));
        match cluster.get_path(&path, &format!("read {}", self.name())).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns what is left of the object; `None` as long as that may change, or cannot be read.
    async fn kept(&self, cluster: &Cluster, may_wait: bool) -> Result<Option<Kept>, Error> {
        let read = async {
            if let Some(now) = self.observe(cluster).await? {
                return Ok(self.compare(&now, may_wait));
            }
            let losses = vec![self.missing(cluster).await?];
            Ok(Some(Kept { object: self.name(), ready: None, losses }))
        };
        match read.await {
            Err(error) if may_wait && Error::is_temporary(&error) => Ok(None),
            result => result,
        }
    }

    /// Returns what became of an object that does not exist at its path any more.
    async fn missing(&self, cluster: &Cluster) -> Result<String, Error> {
        let plural = self.path.rsplit('/').next().unwrap_or_default();
        let served = match cluster.get_path(&self.api, "read the APIs of the operator").await {
            Ok(resources) => list(&resources, "/resources").iter().any(|one| one["name"] == plural),
            Err(error) if error.is_not_found() => false,
            Err(error) => return Err(error),
        };
        Ok(if served {
            "it was deleted".to_owned()
        } else {
            format!("its API `{}` is no longer served", string(&self.observed, "/apiVersion"))
        })
    }

    /// Returns what is different in the object now; `None` as long as the operator may still make it ready.
    fn compare(&self, now: &Value, may_wait: bool) -> Option<Kept> {
        let mut losses = Vec::new();
        if !string(now, "/metadata/deletionTimestamp").is_empty() {
            losses.push("it is being deleted".to_owned());
        } else if string(now, "/metadata/uid") != string(&self.observed, "/metadata/uid") {
            losses.push("it was deleted and created again".to_owned());
        } else {
            losses = differences(&self.observed, now);
        }
        let readiness = readiness(now);
        if losses.is_empty()
            && let (Readiness::Ready, other) = (&self.readiness, &readiness)
            && *other != Readiness::Ready
        {
            if may_wait {
                return None;
            }
            losses.push(match other {
                Readiness::NotReady(reason) => format!("it is no longer ready: {reason}"),
                _ => "it no longer has the condition `Ready` or `Available`".to_owned(),
            });
        }
        let ready = match readiness {
            Readiness::Ready => Some(true),
            Readiness::Accepted => None,
            Readiness::NotReady(_) => Some(false),
        };
        Some(Kept { object: self.name(), ready, losses })
    }
}

/// Waits until every sample is ready, or is accepted and has got no condition for ten seconds; remembers each as it is then.
///
/// # Errors
/// A sample is not ready in time, or the cluster cannot be used.
pub async fn settle(
    cluster: &Cluster,
    samples: &mut [Sample],
    deadline: Deadline,
    report: &mut dyn FnMut(String),
) -> Result<(), Failure> {
    let started = Instant::now();
    let mut last = String::new();
    loop {
        let mut waiting = None;
        let mut is_accepted = false;
        for sample in samples.iter_mut() {
            let now = match sample.observe(cluster).await {
                Ok(now) => now.unwrap_or_default(),
                Err(error) if error.is_temporary() => {
                    waiting = Some((sample.name(), error.to_string()));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            sample.readiness = if now.is_null() {
                Readiness::NotReady("it was deleted".to_owned())
            } else {
                let readiness = readiness(&now);
                sample.observed = now;
                readiness
            };
            match &sample.readiness {
                Readiness::Ready => {}
                Readiness::Accepted => is_accepted = true,
                Readiness::NotReady(reason) => waiting = Some((sample.name(), reason.clone())),
            }
        }
        match waiting {
            None if !is_accepted || started.elapsed() >= GRACE => return Ok(()),
            Some((object, reason)) if deadline.is_over() => {
                return Err(Failure::NotReady { object, after: deadline.limit(), reason });
            }
            None => {}
            Some((object, reason)) => {
                let text = format!("{object} is not ready: {reason}");
                if text != last {
                    report(text.clone());
                    last = text;
                }
            }
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Compares the samples with what they are now. The operator has ten seconds to change them, and until `deadline` to make those
/// ready again that were.
///
/// # Errors
/// The cluster cannot be used.
pub async fn compare(
    cluster: &Cluster,
    samples: &[Sample],
    deadline: Deadline,
    report: &mut dyn FnMut(String),
) -> Result<Vec<Kept>, Error> {
    let started = Instant::now();
    let mut last = String::new();
    loop {
        let mut found = Vec::new();
        let mut waiting = None;
        for sample in samples {
            match sample.kept(cluster, !deadline.is_over()).await? {
                Some(kept) => found.push(kept),
                None => waiting = Some(format!("waiting until {} is ready again", sample.name())),
            }
        }
        match waiting {
            None if started.elapsed() >= GRACE => return Ok(found),
            Some(text) if text != last => {
                report(text.clone());
                last = text;
            }
            _ => {}
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Returns whether an object is ready: by its conditions `Ready` and `Available`.
fn readiness(object: &Value) -> Readiness {
    let generation = number(object, "/metadata/generation");
    let is_current = |observed: Option<i64>| observed.is_none_or(|observed| observed >= generation);
    let mut found = Readiness::Accepted;
    for condition in list(object, "/status/conditions") {
        let kind = string(condition, "/type");
        if kind != "Ready" && kind != "Available" {
            continue;
        }
        let observed = condition["observedGeneration"].as_i64();
        if !is_current(observed.or_else(|| object["status"]["observedGeneration"].as_i64())) {
            return Readiness::NotReady("the operator has not observed its latest change".to_owned());
        }
        if condition["status"] != "True" {
            return Readiness::NotReady(format!(
                "condition {kind}: {}: {}",
                string(condition, "/reason"),
                excerpt(string(condition, "/message"))
            ));
        }
        found = Readiness::Ready;
    }
    found
}

/// Returns what an object lost or changed, beside its metadata and its status. Fields that were added, such as defaults, are not
/// listed.
fn differences(before: &Value, now: &Value) -> Vec<String> {
    let fields: BTreeMap<&String, &Value> = before
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| !matches!(key.as_str(), "apiVersion" | "kind" | "metadata" | "status"))
        .collect();
    let mut found = Vec::new();
    for (key, old) in fields {
        compare_field(key, old, now.get(key), &mut found);
    }
    let more = found.len().saturating_sub(MAX_DIFFERENCES);
    found.truncate(MAX_DIFFERENCES);
    if more > 0 {
        found.push(format!("{more} more differences"));
    }
    found
}

fn compare_field(path: &str, old: &Value, new: Option<&Value>, found: &mut Vec<String>) {
    match (old, new) {
        (Value::Null, None) => {}
        (_, None) => found.push(format!("`{path}` was lost; its value was {}", quoted(old))),
        (Value::Object(old), Some(Value::Object(new))) => {
            for (key, value) in old {
                compare_field(&format!("{path}.{key}"), value, new.get(key), found);
            }
        }
        (Value::Array(old), Some(Value::Array(new))) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                compare_field(&format!("{path}[{index}]"), old, Some(new), found);
            }
        }
        (old, Some(new)) if old == new => {}
        (old, Some(new)) => {
            found.push(format!("`{path}` changed from {} to {}", quoted(old), quoted(new)));
        }
    }
}

/// Returns a value as JSON, shortened.
fn quoted(value: &Value) -> String {
    format!("`{}`", excerpt(&value.to_string()))
}

fn named(object: &Value) -> String {
    format!("{} `{}`", string(object, "/kind"), name_of(object))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use kube::Client;
    use kube::client::Body;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_deleted_sample_is_looked_at_again_after_a_temporary_error() {
        let cluster = |status: u16| {
            let service = tower::service_fn(move |request: http::Request<Body>| {
                let is_object = request.uri().path().ends_with("/sample");
                let response = http::Response::builder().status(if is_object { 404 } else { status });
                let body = json!({"message": "", "resources": [{"name": "gizmos"}]}).to_string();
                async move { Ok::<_, Infallible>(response.body(Body::from(body.into_bytes())).unwrap()) }
            });
            Cluster::through(Client::new(service, "default"))
        };
        let sample = Sample {
            path: "/apis/example.com/v1/namespaces/ns/gizmos".into(),
            api: "/apis/example.com/v1".into(),
            observed: json!({"apiVersion": "example.com/v1", "kind": "Gizmo", "metadata": {"name": "sample"}}),
            readiness: Readiness::Ready,
        };
        assert_eq!(sample.kept(&cluster(503), true).await.unwrap(), None);
        sample.kept(&cluster(503), false).await.unwrap_err();
        sample.kept(&cluster(403), true).await.unwrap_err();
        let kept = sample.kept(&cluster(200), true).await.unwrap().unwrap();
        assert_eq!(kept.losses, ["it was deleted"]);
        let kept = sample.kept(&cluster(404), true).await.unwrap().unwrap();
        assert_eq!(kept.losses, ["its API `example.com/v1` is no longer served"]);
    }

    #[test]
    fn readiness_follows_from_conditions() {
        let object = |status: Value| json!({"metadata": {"generation": 2}, "status": status});
        let condition =
            |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": "R", "message": "m"});
        let of = |conditions: Value| readiness(&object(json!({"conditions": conditions})));
        assert_eq!(readiness(&json!({})), Readiness::Accepted);
        assert_eq!(of(json!([condition("Degraded", "True")])), Readiness::Accepted);
        assert_eq!(of(json!([condition("Ready", "True"), condition("Available", "True")])), Readiness::Ready);
        let not = Readiness::NotReady("condition Available: R: m".into());
        assert_eq!(of(json!([condition("Ready", "True"), condition("Available", "False")])), not);
        let stale = json!({"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True"}]});
        assert!(matches!(readiness(&object(stale)), Readiness::NotReady(_)));
    }

    #[test]
    fn what_is_lost_or_changed_is_named_and_what_is_added_is_not() {
        let before = json!({
            "apiVersion": "example.com/v1", "kind": "Gizmo", "metadata": {"name": "a", "labels": {"a": "b"}},
            "spec": {"size": 3, "color": "red", "ports": [{"name": "http", "port": 80}], "none": null, "list": [1, 2]},
            "status": {"size": 3},
        });
        assert_eq!(differences(&before, &before), Vec::<String>::new());
        let now = json!({"spec": {"size": 4, "ports": [{"name": "http"}], "list": [1], "added": true}});
        assert_eq!(
            differences(&before, &now),
            [
                "`spec.size` changed from `3` to `4`",
                "`spec.color` was lost; its value was `\"red\"`",
                "`spec.ports[0].port` was lost; its value was `80`",
                "`spec.list` changed from `[1,2]` to `[1]`",
            ]
        );
        let many: serde_json::Map<String, Value> =
            (0..30).map(|index| (format!("field{index}"), json!(1))).collect();
        let found = differences(&json!({"spec": many}), &json!({"spec": {}}));
        assert_eq!((found.len(), found.last().map(String::as_str)), (21, Some("10 more differences")));
    }
}
