//! The only place that writes owned objects: server-side apply with one field manager, and deletes with preconditions.

use super::build::{Desired, Kind, Objects};
use super::cache::{Cache, Key, controller_uid};
use super::dereference::Observed;
use super::error::Problem;
use super::live::Live;
use super::plan::{Plan, Step};
use axum::http::StatusCode;
use futures::future::join3;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions, Request};
use kube::client::Body;
use kube::core::Status;

/// The field manager of every write.
pub(crate) const FIELD_MANAGER: &str = "memcached-operator";

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

/// The result of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) deployment: Done,
    pub(crate) service: Done,
    pub(crate) disruption_budget: Done,
}

impl Outcome {
    /// Returns the most important problem.
    pub(crate) fn problem(&self) -> Option<&Problem> {
        let Self { deployment, service, disruption_budget } = self;
        [deployment, service, disruption_budget].into_iter().find_map(|done| match done {
            Done::Failed(problem) => Some(problem),
            _ => None,
        })
    }
}

/// Carries out a plan, all kinds at once; a failure does not affect the other kinds.
pub(crate) async fn apply(
    client: &Client,
    key: &Key,
    uid: &str,
    plan: Plan,
    objects: &Objects,
    observed: &Observed,
) -> Outcome {
    let to = |step| Target { client, key, uid, step };
    let (deployment, service, disruption_budget) = join3(
        to(plan.deployment).reach(Some(&objects.deployment), &observed.deployments),
        to(plan.service).reach(objects.service.as_ref(), &observed.services),
        to(plan.disruption_budget).reach(objects.disruption_budget.as_ref(), &observed.disruption_budgets),
    )
    .await;
    Outcome { deployment, service, disruption_budget }
}

struct Target<'a> {
    client: &'a Client,
    key: &'a Key,
    uid: &'a str,
    step: Step,
}

impl Target<'_> {
    async fn reach<K, F>(self, desired: Option<&Desired>, cache: &Cache<K, F>) -> Done
    where
        K: Kind,
        F: Clone + PartialEq,
    {
        let api: Api<Live<K>> = Api::namespaced(self.client.clone(), &self.key.namespace);
        match (&self.step, desired) {
            // Only what was built is planned to be applied.
            (Step::Leave, _) | (Step::Apply { .. }, None) => Done::Nothing,
            (Step::Blocked(message), _) => Done::Failed(Problem::blocked::<K>(message)),
            (Step::Delete { uid }, _) => self.delete(&api, uid).await,
            (Step::Apply { ours }, Some(desired)) => self.apply(&api, cache, desired, *ours).await,
        }
    }

    async fn apply<K, F>(
        &self,
        api: &Api<Live<K>>,
        cache: &Cache<K, F>,
        desired: &Desired,
        ours: bool,
    ) -> Done
    where
        K: Kind,
        F: Clone + PartialEq,
    {
        let name = &self.key.name;
        let mut params = PatchParams::apply(FIELD_MANAGER);
        params.force = ours;
        let mut response = self.send(&params, desired).await;
        if !ours && matches!(&response, Err(kube::Error::Api(status)) if status.is_conflict()) {
            // Another manager owns fields of an object that the watch does not report: force only an object of ours.
            match api.get_metadata(name).await {
                Ok(found) if controller_uid(&found.metadata).as_deref() == Some(self.uid) => {
                    response = self.send(&params.force(), desired).await;
                }
                Ok(_) => {
                    let message =
                        format!("a {} named {name} exists and does not belong to this Memcached", K::NAME);
                    return Done::Failed(Problem { retry: true, ..Problem::blocked::<K>(&message) });
                }
                Err(error) => response = Err(error),
            }
        }
        match response {
            Ok((live, created)) => {
                cache.applied(&live, desired.digest);
                if created { Done::Created } else { Done::Updated }
            }
            Err(error) => Done::Failed(Problem::rejected::<K>(&error)),
        }
    }

    /// Sends an apply; returns the object, and whether it was created.
    ///
    /// Only the status code tells whether it existed: 201 or 200. A watch with a label selector does not report an object
    /// without its label.
    async fn send<K: Kind>(&self, params: &PatchParams, desired: &Desired) -> kube::Result<(Live<K>, bool)> {
        let request = Request::new(K::url_path(&(), Some(&self.key.namespace)))
            .patch(&self.key.name, params, &Patch::Apply(&desired.body))
            .map_err(kube::Error::BuildRequest)?;
        let response = self.client.send(request.map(Body::from)).await?;
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

    async fn delete<K>(&self, api: &Api<Live<K>>, uid: &str) -> Done
    where
        K: Kind,
    {
        let preconditions = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
        match api.delete(&self.key.name, &DeleteParams::background().preconditions(preconditions)).await {
            Ok(_) => Done::Deleted,
            // Already deleted, or replaced by another object of this name.
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Done::Nothing,
            Err(error) => Done::Failed(Problem::rejected::<K>(&error)),
        }
    }
}
