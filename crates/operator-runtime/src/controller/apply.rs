//! The only place that writes children: server-side apply with one field manager, and deletes with preconditions.

use super::children::ChildBody;
use super::immutable::{self, Refused};
use super::model::{ChildTable, controller_uid};
use super::object::Key;
use super::plan::{ChildStep, PlannedStep};
use super::raw_object::RawObject;
use super::watches::{Declared, ImmutableFields};
use crate::labels::MANAGED_BY;
use crate::lock::lock;
use crate::problem::ReconcileProblem;
use axum::http::StatusCode;
use futures::{StreamExt, stream};
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions, Request, ValidationDirective};
use kube::client::Body as RequestBody;
use kube::core::{ApiResource, Status};
use kube::{Client, Resource};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Mutex;

/// Children of one object that are written at the same time.
const MAX_CONCURRENT_WRITES: usize = 16;
/// A resource version that no object can have, because etcd's first write gets another one.
///
/// Sending it makes a server-side apply create-only: the API server creates an object that does not exist, and rejects the apply of
/// one that does as a conflict. Without it, an object of somebody else with other fields would get an owner, and be deleted with
/// it.
///
/// The API's documentation does not promise this: it follows from how kube-apiserver is implemented since Kubernetes 1.25, and
/// `tests/ownership.rs` checks it against a real one.
///
/// Source: `Store.Update` of Kubernetes' `k8s.io/apiserver/pkg/registry/generic/registry`, which compares versions only if the
/// object exists. Services had a storage of their own, which rejected it, before Kubernetes 1.25.
const VERSION_OF_NONE: &str = "1";

/// The result of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StepOutcome {
    /// Nothing had to be done.
    Unchanged,
    /// The object was created.
    Created,
    /// The object existed and was updated.
    Updated,
    /// The object was deleted.
    Deleted,
    /// The object exists, belongs to the owner, and was not known: `desired` has to be asked again.
    Found,
    /// The step failed.
    Failed(ReconcileProblem),
}

/// The object that children are applied for, and with what.
pub(crate) struct Applier<'a> {
    pub(crate) client: &'a Client,
    /// The field manager of every write.
    pub(crate) manager: &'a str,
    pub(crate) owner: &'a Key,
    pub(crate) owner_kind: &'a str,
    pub(crate) uid: &'a str,
    pub(crate) declared: &'a Declared,
    /// What is known of the children, by kind.
    pub(crate) children: &'a [Mutex<ChildTable>],
}

impl Applier<'_> {
    /// Carries out a plan, all steps at once; a failure does not affect the others.
    pub(crate) async fn carry_out(&self, plan: &[PlannedStep], bodies: &[ChildBody]) -> Vec<StepOutcome> {
        let bodies = bodies.iter().map(|body| ((body.kind, &body.key), body)).collect::<HashMap<_, _>>();
        let body = |planned: &PlannedStep| bodies.get(&(planned.kind, &planned.key)).copied();
        let steps = plan.iter().map(|planned| self.reach(planned, body(planned))).collect::<Vec<_>>();
        stream::iter(steps).buffered(MAX_CONCURRENT_WRITES).collect().await
    }

    async fn reach(&self, planned: &PlannedStep, body: Option<&ChildBody>) -> StepOutcome {
        let PlannedStep { kind, key, step, digest } = planned;
        let target = ChildTarget {
            applier: self,
            resource: &self.declared.children[*kind].resource,
            immutable: self.declared.children[*kind].options.immutable,
            table: &self.children[*kind],
            key,
            digest: *digest,
        };
        match step {
            ChildStep::Keep => StepOutcome::Unchanged,
            ChildStep::Blocked(message) => {
                lock(target.table).wait(key, self.owner);
                StepOutcome::Failed(ReconcileProblem::blocked(target.kind(), message))
            }
            ChildStep::Delete { uid } => target.delete(uid, DeleteParams::background()).await,
            ChildStep::Adopt => match body {
                Some(body) => target.adopt(body).await,
                None => StepOutcome::Unchanged,
            },
            ChildStep::Apply { ours } => match body {
                Some(body) => target.apply(body, *ours).await,
                // Only what was built is planned to be applied.
                None => StepOutcome::Unchanged,
            },
        }
    }
}

/// Returns the API of a kind in a namespace, or of a cluster-scoped one.
pub(crate) fn api(client: &Client, namespace: &str, resource: &ApiResource) -> Api<RawObject> {
    if namespace.is_empty() {
        Api::all_with(client.clone(), resource)
    } else {
        Api::namespaced_with(client.clone(), namespace, resource)
    }
}

/// Returns the parameters of an apply by a field manager.
///
/// Unknown and duplicate fields are not looked for: typed objects have none, and the API server would read each object as YAML a
/// second time.
pub(crate) fn apply_params(manager: &str) -> PatchParams {
    PatchParams::apply(manager).force().validation(ValidationDirective::Ignore)
}

struct ChildTarget<'a> {
    applier: &'a Applier<'a>,
    resource: &'a ApiResource,
    table: &'a Mutex<ChildTable>,
    immutable: ImmutableFields,
    key: &'a Key,
    digest: Option<u64>,
}

impl ChildTarget<'_> {
    fn kind(&self) -> &str {
        &self.resource.kind
    }

    fn api(&self) -> Api<RawObject> {
        api(self.applier.client, &self.key.namespace, self.resource)
    }

    async fn apply(&self, body: &ChildBody, ours: bool) -> StepOutcome {
        let before = lock(self.table).revision(self.key);
        let mut response: kube::Result<(RawObject, bool)> =
            if ours { self.send(&body.object).await } else { self.send(&created_only(&body.object)).await };
        let exists = |status: &Status| status.is_conflict() || status.is_already_exists();
        if !ours && matches!(&response, Err(kube::Error::Api(status)) if exists(status)) {
            // There is an object that the watch does not report, because it lacks the label: it may have been ours.
            match self.api().get(&self.key.name).await {
                Ok(found) if controller_uid(&found.metadata) == Some(self.applier.uid) => {
                    // What it contains may be what `desired` would have asked for.
                    lock(self.table).found(&found, self.applier.manager);
                    return StepOutcome::Found;
                }
                Ok(_) => {
                    let (kind, name, owner) = (self.kind(), &self.key.name, self.applier.owner_kind);
                    let message = format!("a {kind} named {name} exists and does not belong to this {owner}");
                    return StepOutcome::Failed(ReconcileProblem {
                        retry: true,
                        ..ReconcileProblem::blocked(kind, &message)
                    });
                }
                // The conflict was about something else, such as a quota, or the object is gone: the next attempt creates it.
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                Err(error) => response = Err(error),
            }
        }
        if ours
            && let Err(kube::Error::Api(status)) = &response
            && immutable::is_about_immutable_fields(status)
        {
            return self.replace(body, &status.message).await;
        }
        match response {
            Ok((live, created)) => {
                let changed = before.is_none_or(|before| before.differs(&live));
                let mut table = lock(self.table);
                table.applied(&live, self.digest);
                let exact = self.digest.is_some() && table.is_exact();
                match (created, changed || exact) {
                    (true, _) => StepOutcome::Created,
                    (false, true) => StepOutcome::Updated,
                    (false, false) => StepOutcome::Unchanged,
                }
            }
            Err(error) => StepOutcome::Failed(ReconcileProblem::rejected(self.kind(), &error)),
        }
    }

    /// Sends an apply; returns the object, and whether it was created.
    ///
    /// Only the status code shows whether it existed: 201 if it was created, 200 otherwise.
    async fn send(&self, desired: &Value) -> kube::Result<(RawObject, bool)> {
        let params = apply_params(self.applier.manager);
        let namespace = Some(self.key.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        let request = Request::new(RawObject::url_path(self.resource, namespace))
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

    /// Does what was declared for a child with a field that cannot be changed.
    async fn replace(&self, body: &ChildBody, rejection: &str) -> StepOutcome {
        let (kind, name) = (self.kind(), &self.key.name);
        let refused = |message: String| {
            StepOutcome::Failed(ReconcileProblem {
                retry: true,
                ..ReconcileProblem::new("ImmutableField", message)
            })
        };
        if self.immutable == ImmutableFields::Refuse {
            return refused(format!("{kind} {name}: a field that cannot be changed differs: {rejection}"));
        }
        let live = match self.api().get(name).await {
            Ok(live) => live,
            Err(error) => return StepOutcome::Failed(ReconcileProblem::rejected(kind, &error)),
        };
        let uid = live.metadata.uid.clone().unwrap_or_default();
        if controller_uid(&live.metadata) != Some(self.applier.uid) {
            return StepOutcome::Found;
        }
        if self.immutable == ImmutableFields::ExpandClaims {
            match immutable::expand_claims(
                self.applier.client,
                self.applier.manager,
                self.key,
                &live,
                &body.object,
            )
            .await
            {
                Ok(()) => {}
                Err(Refused::Message(message)) => return refused(format!("{kind} {name}: {message}")),
                Err(Refused::Api(error)) => {
                    return StepOutcome::Failed(ReconcileProblem::rejected("PersistentVolumeClaim", &error));
                }
            }
        }
        // The watch reports when it is gone; it is then created again, and adopts what it owned.
        self.delete(&uid, DeleteParams::orphan()).await
    }

    /// Sets label and owner, and nothing else.
    async fn adopt(&self, body: &ChildBody) -> StepOutcome {
        let Some(seen) = lock(self.table).get(self.key) else { return StepOutcome::Unchanged };
        let patch = Patch::Merge(json!({ "metadata": {
            "uid": seen.uid,
            "labels": { MANAGED_BY: self.applier.manager },
            "ownerReferences": body.object["metadata"]["ownerReferences"],
        }}));
        let params =
            PatchParams { field_manager: Some(self.applier.manager.to_owned()), ..PatchParams::default() };
        match self.api().patch(&self.key.name, &params, &patch).await {
            Ok(live) => {
                lock(self.table).applied(&live, None);
                StepOutcome::Updated
            }
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => {
                StepOutcome::Unchanged
            }
            Err(error) => StepOutcome::Failed(ReconcileProblem::rejected(self.kind(), &error)),
        }
    }

    async fn delete(&self, uid: &str, params: DeleteParams) -> StepOutcome {
        let preconditions = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
        match self.api().delete(&self.key.name, &params.preconditions(preconditions)).await {
            Ok(_) => {
                lock(self.table).deleted(self.key, uid);
                StepOutcome::Deleted
            }
            // Already deleted, or replaced by another object of this name.
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => {
                StepOutcome::Unchanged
            }
            Err(error) => StepOutcome::Failed(ReconcileProblem::rejected(self.kind(), &error)),
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
    use crate::controller::Watches;
    use crate::controller::view::{AnyView, Exists};
    use crate::testing::sample::{Cluster, owner_kind};
    use axum::body::Body as AnswerBody;
    use axum::http::Response;
    use k8s_openapi::api::core::v1::ConfigMap;
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn children_are_written_a_few_at_a_time_and_in_any_case_all() {
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
        let mut watches = Watches::<Cluster>::new();
        watches.child::<ConfigMap, Exists>();
        let table = ChildTable::new("ConfigMap", owner_kind(), None, AnyView::parse::<Exists>);
        let owner = Key { namespace: "ns".to_owned(), name: "x".to_owned() };
        let applier = Applier {
            client: &Client::new(tower::service_fn(server), "ns"),
            manager: "me",
            owner: &owner,
            owner_kind: "Cluster",
            uid: "o",
            declared: &watches.declared,
            children: &[Mutex::new(table)],
        };
        let key = |index: usize| Key { namespace: "ns".to_owned(), name: format!("x-{index}") };
        let planned = |index| PlannedStep {
            kind: 0,
            key: key(index),
            step: ChildStep::Apply { ours: false },
            digest: None,
        };
        let body = |index| ChildBody {
            kind: 0,
            key: key(index),
            once: false,
            object: json!({"metadata": {"name": key(index).name, "namespace": "ns", "uid": "u"}}),
        };
        let bodies = (0..100).map(body);
        let plan = (0..100).map(planned).collect::<Vec<_>>();
        let done = applier.carry_out(&plan, &bodies.collect::<Vec<_>>()).await;
        assert_eq!(done, vec![StepOutcome::Created; 100]);
        assert_eq!(most.load(Ordering::SeqCst), MAX_CONCURRENT_WRITES);
    }
}
