//! The only place that writes children: server-side apply with one field manager, and deletes with preconditions.

use super::cache::{Cache, controller_uid};
use super::children::Body;
use super::key::Key;
use super::live::Live;
use super::owns::Owns;
use super::plan::{Planned, Step};
use crate::problem::Problem;
use axum::http::StatusCode;
use futures::{StreamExt, stream};
use kube::api::{Api, DeleteParams, Patch, Preconditions, Request};
use kube::client::Body as RequestBody;
use kube::core::{ApiResource, Status};
use kube::{Client, Resource};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Children of one object that are written at the same time.
const MAX_CONCURRENT_WRITES: usize = 16;
/// A resource version that no object has: etcd's first write gets another one.
///
/// With it, the API server creates an object that does not exist, and rejects the apply of one that does as a conflict.
/// Without it, an object of somebody else with other fields would get an owner, and be deleted with it.
///
/// Source: `Store.Update` of Kubernetes' `k8s.io/apiserver/pkg/registry/generic/registry`, which compares versions only if the
/// object exists. Services had a storage of their own, which rejected it, before Kubernetes 1.25.
const VERSION_OF_NONE: &str = "1";

/// The result of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// Nothing had to be done.
    Nothing,
    /// The object was created.
    Created,
    /// The object existed and was updated.
    Updated,
    /// The object was deleted.
    Deleted,
    /// The step failed.
    Failed(Problem),
}

/// The object that children are applied for, and with what.
pub(crate) struct Applier<'a> {
    pub(crate) client: &'a Client,
    /// The field manager of every write.
    pub(crate) manager: &'a str,
    pub(crate) owner: &'a Key,
    pub(crate) owner_kind: &'a str,
    pub(crate) uid: &'a str,
    pub(crate) owns: &'a Owns,
    /// The cache of each kind.
    pub(crate) caches: &'a [Cache],
}

impl Applier<'_> {
    /// Carries out a plan, all steps at once; a failure does not affect the others.
    pub(crate) async fn carry_out(&self, plan: &[Planned], bodies: &[Body]) -> Vec<Done> {
        let bodies = bodies.iter().map(|body| ((body.kind, &body.key), body)).collect::<HashMap<_, _>>();
        let body = |planned: &Planned| bodies.get(&(planned.kind, &planned.key)).copied();
        let steps = plan.iter().map(|planned| self.reach(planned, body(planned))).collect::<Vec<_>>();
        stream::iter(steps).buffered(MAX_CONCURRENT_WRITES).collect().await
    }

    async fn reach(&self, planned: &Planned, body: Option<&Body>) -> Done {
        let Planned { kind, key, step, digest } = planned;
        let target = Target {
            applier: self,
            resource: &self.owns.children[*kind].resource,
            cache: &self.caches[*kind],
            key,
            digest: *digest,
        };
        match step {
            Step::Leave => Done::Nothing,
            Step::Blocked(message) => {
                target.cache.wait(key, self.owner);
                Done::Failed(Problem::blocked(target.kind(), message))
            }
            Step::Delete { uid } => target.delete(uid).await,
            Step::Apply { ours } => match body {
                Some(body) => target.apply(body, *ours).await,
                // Only what was built is planned to be applied.
                None => Done::Nothing,
            },
        }
    }
}

/// Returns the API of a kind in a namespace, or of a cluster-scoped one.
pub(crate) fn api(client: &Client, namespace: &str, resource: &ApiResource) -> Api<Live> {
    if namespace.is_empty() {
        Api::all_with(client.clone(), resource)
    } else {
        Api::namespaced_with(client.clone(), namespace, resource)
    }
}

struct Target<'a> {
    applier: &'a Applier<'a>,
    resource: &'a ApiResource,
    cache: &'a Cache,
    key: &'a Key,
    digest: Option<u64>,
}

impl Target<'_> {
    fn kind(&self) -> &str {
        &self.resource.kind
    }

    fn api(&self) -> Api<Live> {
        api(self.applier.client, &self.key.namespace, self.resource)
    }

    async fn apply(&self, body: &Body, ours: bool) -> Done {
        let mut response =
            if ours { self.send(&body.object).await } else { self.send(&created_only(&body.object)).await };
        let exists = |status: &Status| status.is_conflict() || status.is_already_exists();
        if !ours && matches!(&response, Err(kube::Error::Api(status)) if exists(status)) {
            // There is an object that the watch does not report, because it lacks the label: it may have been ours.
            match self.api().get_metadata(&self.key.name).await {
                Ok(found) if controller_uid(&found.metadata) == Some(self.applier.uid) => {
                    response = self.send(&body.object).await;
                }
                Ok(_) => {
                    let (kind, name, owner) = (self.kind(), &self.key.name, self.applier.owner_kind);
                    let message = format!("a {kind} named {name} exists and does not belong to this {owner}");
                    return Done::Failed(Problem { retry: true, ..Problem::blocked(kind, &message) });
                }
                // The conflict was about something else, such as a quota, or the object is gone: the next attempt creates it.
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                Err(error) => response = Err(error),
            }
        }
        match response {
            Ok((live, created)) => {
                let changed = self.cache.applied(&live, self.digest);
                let exact = self.digest.is_some() && self.cache.is_exact();
                match (created, changed || exact) {
                    (true, _) => Done::Created,
                    (false, true) => Done::Updated,
                    (false, false) => Done::Nothing,
                }
            }
            Err(error) => Done::Failed(Problem::rejected(self.kind(), &error)),
        }
    }

    /// Sends an apply; returns the object, and whether it was created.
    ///
    /// Only the status code tells whether it existed: 201 or 200.
    async fn send(&self, desired: &Value) -> kube::Result<(Live, bool)> {
        let params = super::params::apply(self.applier.manager);
        let namespace = Some(self.key.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        let request = Request::new(Live::url_path(self.resource, namespace))
            .patch(&self.key.name, &params, &Patch::Apply(desired))
            .map_err(kube::Error::BuildRequest)?;
        let response = self.applier.client.send(request.map(RequestBody::from)).await?;
        let code = response.status();
        let text = response.into_body().collect_bytes().await?;
        if code.is_success() {
            let live = serde_json::from_slice(&text).map_err(kube::Error::SerdeError)?;
            return Ok((live, code == StatusCode::CREATED));
        }
        // A proxy may respond with something else than a Status.
        let status = serde_json::from_slice::<Status>(&text).unwrap_or_else(|_| {
            Status::failure(&String::from_utf8_lossy(&text), "ApiError").with_code(code.as_u16())
        });
        Err(kube::Error::Api(status.boxed()))
    }

    async fn delete(&self, uid: &str) -> Done {
        let preconditions = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
        match self
            .api()
            .delete(&self.key.name, &DeleteParams::background().preconditions(preconditions))
            .await
        {
            Ok(_) => Done::Deleted,
            // Already deleted, or replaced by another object of this name.
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Done::Nothing,
            Err(error) => Done::Failed(Problem::rejected(self.kind(), &error)),
        }
    }
}

/// Returns what is applied if the object must not exist yet.
fn created_only(object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"]["resourceVersion"] = json!(VERSION_OF_NONE);
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::view::{AnyView, Exists};
    use crate::testing::sample::owner_kind;
    use axum::body::Body as AnswerBody;
    use axum::http::Response;
    use k8s_openapi::api::core::v1::ConfigMap;
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn many_children_are_written_a_few_at_a_time_and_in_any_case_all() {
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (now, maximum) = (Arc::clone(&running), Arc::clone(&most));
        let server = move |request: axum::http::Request<RequestBody>| {
            let (now, maximum) = (Arc::clone(&now), Arc::clone(&maximum));
            async move {
                maximum.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let body = request.into_body().collect_bytes().await.unwrap();
                tokio::time::sleep(Duration::from_millis(10)).await;
                now.fetch_sub(1, Ordering::SeqCst);
                let mut answer = Response::new(AnswerBody::from(body));
                *answer.status_mut() = StatusCode::CREATED;
                Ok::<_, Infallible>(answer)
            }
        };
        let mut owns = Owns::default();
        owns.child::<ConfigMap, Exists>();
        let cache = Cache::new("ConfigMap", owner_kind(), None, AnyView::parse::<Exists>);
        let owner = Key { namespace: "ns".to_owned(), name: "x".to_owned() };
        let applier = Applier {
            client: &Client::new(tower::service_fn(server), "ns"),
            manager: "me",
            owner: &owner,
            owner_kind: "Cluster",
            uid: "o",
            owns: &owns,
            caches: &[cache],
        };
        let key = |index: usize| Key { namespace: "ns".to_owned(), name: format!("x-{index}") };
        let planned =
            |index| Planned { kind: 0, key: key(index), step: Step::Apply { ours: false }, digest: None };
        let body = |index| Body {
            kind: 0,
            key: key(index),
            object: json!({"metadata": {"name": key(index).name, "namespace": "ns", "uid": "u"}}),
        };
        let bodies = (0..100).map(body);
        let plan = (0..100).map(planned).collect::<Vec<_>>();
        let done = applier.carry_out(&plan, &bodies.collect::<Vec<_>>()).await;
        assert_eq!(done, vec![Done::Created; 100]);
        assert_eq!(most.load(Ordering::SeqCst), MAX_CONCURRENT_WRITES);
    }
}
