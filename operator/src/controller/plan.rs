//! What has to be written to reach the desired state. Pure: compares digests, makes no request.

use super::build::{Digests, Kind};
use super::cache::Seen;
use super::dereference::Input;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;

/// What to do about one owned object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// It is up to date.
    Leave,
    /// Apply what was built. `ours` means that the object exists and is ours, so that fields of other managers are forced.
    Apply { ours: bool },
    /// Delete the object with this uid.
    Delete { uid: String },
    /// It cannot be created now, for this reason. The watch reports when the other object is gone.
    Blocked(String),
}

/// One step per kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    pub(crate) deployment: Step,
    pub(crate) service: Step,
    pub(crate) disruption_budget: Step,
}

impl Plan {
    /// Compares the desired state with what was observed.
    pub(crate) fn new(digests: Digests, input: &Input) -> Self {
        let uid = input.memcached.metadata.uid.as_deref().unwrap_or_default();
        // Destructured so that a new kind cannot be forgotten here.
        let Digests { deployment, service, disruption_budget } = digests;
        Self {
            deployment: step::<Deployment, _>(Some(deployment), input.deployment.as_deref(), uid),
            service: step::<Service, _>(service, input.service.as_deref(), uid),
            disruption_budget: step::<PodDisruptionBudget, _>(
                disruption_budget,
                input.disruption_budget.as_deref(),
                uid,
            ),
        }
    }

    /// Returns whether nothing has to be done.
    pub(crate) fn is_empty(&self) -> bool {
        [&self.deployment, &self.service, &self.disruption_budget]
            .into_iter()
            .all(|step| *step == Step::Leave)
    }
}

fn step<K: Kind, F>(digest: Option<u64>, seen: Option<&Seen<F>>, uid: &str) -> Step {
    match (digest, seen) {
        (None, Some(seen)) if seen.owner.as_deref() == Some(uid) && !seen.deleting => {
            Step::Delete { uid: seen.uid.clone() }
        }
        (None, _) => Step::Leave,
        (Some(_), None) => Step::Apply { ours: false },
        (Some(_), Some(seen)) if seen.deleting => {
            Step::Blocked(format!("the previous {} of this name is still being deleted", K::NAME))
        }
        (Some(digest), Some(seen)) => match seen.owner.as_deref() {
            Some(owner) if owner == uid && seen.digest == digest => Step::Leave,
            // An object without an owner was orphaned (`kubectl delete --cascade=orphan`) and is adopted again.
            None => Step::Apply { ours: true },
            Some(owner) if owner == uid => Step::Apply { ours: true },
            Some(_) => Step::Blocked(format!("a {} of this name belongs to another object", K::NAME)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(owner: Option<&str>, digest: u64, deleting: bool) -> Seen<()> {
        Seen { uid: "d".into(), owner: owner.map(Into::into), digest, deleting, facts: () }
    }

    fn planned(wanted: Option<u64>, seen: Option<&Seen<()>>) -> Step {
        step::<Service, ()>(wanted, seen, "me")
    }

    #[test]
    fn a_missing_object_is_applied_without_force() {
        assert_eq!(planned(Some(1), None), Step::Apply { ours: false });
    }

    #[test]
    fn an_object_that_is_up_to_date_is_unchanged() {
        assert_eq!(planned(Some(1), Some(&seen(Some("me"), 1, false))), Step::Leave);
    }

    #[test]
    fn drift_is_reverted() {
        let drifted = seen(Some("me"), 2, false);
        assert_eq!(planned(Some(1), Some(&drifted)), Step::Apply { ours: true });
    }

    #[test]
    fn an_object_of_another_owner_or_one_being_deleted_blocks() {
        assert!(matches!(planned(Some(1), Some(&seen(Some("other"), 1, false))), Step::Blocked(_)));
        assert!(matches!(planned(Some(1), Some(&seen(Some("me"), 1, true))), Step::Blocked(_)));
    }

    #[test]
    fn only_an_object_of_ours_is_deleted() {
        assert_eq!(planned(None, Some(&seen(Some("me"), 1, false))), Step::Delete { uid: "d".into() });
        assert_eq!(planned(None, Some(&seen(Some("other"), 1, false))), Step::Leave);
        assert_eq!(planned(None, None), Step::Leave);
    }
}
