//! The only place that writes children: server-side apply with one field manager, and deletes with preconditions.

use super::cache::{Cache, controller_uid};
use super::children::Body;
use super::key::Key;
use super::live::Live;
use super::owns::Owns;
use super::plan::{Planned, Step};
use crate::problem::Problem;
use axum::http::StatusCode;
use futures::future::join_all;
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions, Request};
use kube::client::Body as RequestBody;
use kube::core::{ApiResource, Status};
use kube::{Client, Resource};

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
        join_all(plan.iter().map(|planned| self.reach(planned, bodies))).await
    }

    async fn reach(&self, planned: &Planned, bodies: &[Body]) -> Done {
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
            Step::Apply { ours } => match bodies.iter().find(|body| body.kind == *kind && body.key == *key) {
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
        let mut params = PatchParams::apply(self.applier.manager);
        params.force = ours;
        let mut response = self.send(&params, body).await;
        if !ours && matches!(&response, Err(kube::Error::Api(status)) if status.is_conflict()) {
            // Another manager owns fields of an object that the watch does not report: force only an object of ours.
            match self.api().get_metadata(&self.key.name).await {
                Ok(found) if controller_uid(&found.metadata) == Some(self.applier.uid) => {
                    response = self.send(&params.force(), body).await;
                }
                Ok(_) => {
                    let (kind, name, owner) = (self.kind(), &self.key.name, self.applier.owner_kind);
                    let message = format!("a {kind} named {name} exists and does not belong to this {owner}");
                    return Done::Failed(Problem { retry: true, ..Problem::blocked(kind, &message) });
                }
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
    /// Only the status code tells whether it existed: 201 or 200. A watch with a label selector does not report an object
    /// without its label.
    async fn send(&self, params: &PatchParams, desired: &Body) -> kube::Result<(Live, bool)> {
        let namespace = Some(self.key.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        let request = Request::new(Live::url_path(self.resource, namespace))
            .patch(&self.key.name, params, &Patch::Apply(&desired.object))
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
