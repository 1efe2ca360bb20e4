//! The only place that writes owned objects: server-side apply with one field manager, and deletes with preconditions.

use super::build::{Desired, Kind};
use super::cache::{Cache, Key, controller_uid};
use super::dereference::Observed;
use super::error::Problem;
use super::live::Live;
use super::plan::{Plan, Step};
use futures::future::join3;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions};

/// The name under which every write is made.
pub(crate) const FIELD_MANAGER: &str = "memcached-operator";

/// What became of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// Nothing was to be done.
    Nothing,
    /// The object was made.
    Created,
    /// The object existed and was brought back into step.
    Updated,
    /// The object was deleted.
    Deleted,
    /// It could not be done.
    Failed(Problem),
}

/// What became of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) deployment: Done,
    pub(crate) service: Done,
    pub(crate) disruption_budget: Done,
}

impl Outcome {
    /// What went wrong, the most important first.
    pub(crate) fn problem(&self) -> Option<&Problem> {
        let Self { deployment, service, disruption_budget } = self;
        [deployment, service, disruption_budget].into_iter().find_map(|done| match done {
            Done::Failed(problem) => Some(problem),
            _ => None,
        })
    }
}

/// Does what the plan says, all kinds at once; one that fails does not stop the others.
pub(crate) async fn apply(client: &Client, key: &Key, uid: &str, plan: Plan, observed: &Observed) -> Outcome {
    let to = |step| Target { client, key, uid, step };
    let (deployment, service, disruption_budget) = join3(
        to(plan.deployment).reach(&observed.deployments),
        to(plan.service).reach(&observed.services),
        to(plan.disruption_budget).reach(&observed.disruption_budgets),
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
    async fn reach<K, F>(self, cache: &Cache<K, F>) -> Done
    where
        K: Kind,
        F: Clone + PartialEq,
    {
        let api: Api<Live<K>> = Api::namespaced(self.client.clone(), &self.key.namespace);
        match &self.step {
            Step::Leave => Done::Nothing,
            Step::Blocked(message) => Done::Failed(Problem::blocked::<K>(message)),
            Step::Delete { uid } => self.delete(&api, uid).await,
            Step::Apply { desired, ours } => self.apply(&api, cache, desired, *ours).await,
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
        let mut answer = api.patch(name, &params, &Patch::Apply(&desired.body)).await;
        if !ours && matches!(&answer, Err(kube::Error::Api(status)) if status.is_conflict()) {
            // Somebody else holds fields of an object that the watch does not show: only force it if it is ours.
            match api.get_metadata(name).await {
                Ok(found) if controller_uid(&found.metadata).as_deref() == Some(self.uid) => {
                    answer = api.patch(name, &params.force(), &Patch::Apply(&desired.body)).await;
                }
                Ok(_) => {
                    let message = format!("a {} named {name} exists and is not this Memcached's", K::NAME);
                    return Done::Failed(Problem { retry: true, ..Problem::blocked::<K>(&message) });
                }
                Err(error) => answer = Err(error),
            }
        }
        match answer {
            Ok(live) => {
                cache.applied(&live, desired.digest);
                if ours { Done::Updated } else { Done::Created }
            }
            Err(error) => Done::Failed(Problem::refused::<K>(&error)),
        }
    }

    async fn delete<K>(&self, api: &Api<Live<K>>, uid: &str) -> Done
    where
        K: Kind,
    {
        let preconditions = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
        match api.delete(&self.key.name, &DeleteParams::background().preconditions(preconditions)).await {
            Ok(_) => Done::Deleted,
            // Gone already, or replaced by another one of the same name: not ours to delete either way.
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Done::Nothing,
            Err(error) => Done::Failed(Problem::refused::<K>(&error)),
        }
    }
}
