//! Conditions and events of an object that runs a number of pods, through a Deployment or a `StatefulSet`.

use crate::conditions::{AVAILABLE, ConditionStatus, Draft, PROGRESSING, Status};
use crate::controller::{Change, Changes, Child, Object, ObservedState, Related};
use crate::events::Event;
use crate::problem::ReconcileProblem;
use crate::views::{PodState, Rollout};
use k8s_openapi::api::core::v1::Pod;

impl<S: Status> Draft<S> {
    /// Sets `Available`, `Progressing` and `Degraded` from the rollout of a Deployment or `StatefulSet` of this size.
    ///
    /// `Degraded` shows the problem of the reconcile, or what prevents replicas from running; with `pods` also what prevents
    /// pods from running: `watches.by_label(labels::INSTANCE)`. Messages contain no counts that change while replicas start, so
    /// that a rollout costs few writes.
    pub fn rollout<E>(
        &mut self,
        rollout: Option<&Rollout>,
        size: i32,
        observed: &ObservedState<S, E>,
        pods: impl Into<Option<Related<Pod, PodState>>>,
    ) {
        // Available replicas count whatever the Deployment's controller does next.
        if rollout.is_some_and(|rollout| rollout.available >= size) {
            let message = format!("{size} of {size} replicas are available");
            self.set(AVAILABLE, ConditionStatus::True, "ReplicasAvailable", message);
        } else if rollout.is_none() && observed.problem().is_none() {
            self.set(
                AVAILABLE,
                ConditionStatus::Unknown,
                "Reconciling",
                "The replicas have not been observed yet",
            );
        } else {
            let message = format!("Fewer than {size} replicas are available");
            self.set(AVAILABLE, ConditionStatus::False, "ReplicasUnavailable", message);
        }

        let complete = rollout.is_some_and(|rollout| rollout.is_complete(size));
        if complete {
            self.set(PROGRESSING, ConditionStatus::False, "Complete", "All replicas are up to date");
        } else if rollout.is_some_and(|rollout| self.is_resizing(rollout, size)) {
            self.set(PROGRESSING, ConditionStatus::True, "Resizing", format!("Scaling to {size} replicas"));
        } else {
            self.set(
                PROGRESSING,
                ConditionStatus::True,
                "RollingOut",
                format!("Rolling out {size} replicas"),
            );
        }

        let failure = rollout
            .and_then(|rollout| rollout.failure.as_ref())
            .or_else(|| observed.pods(pods.into()?).find_map(|(_, pod)| pod.failure.as_ref()))
            .filter(|_| !complete)
            .map(|failure| ReconcileProblem::new(&failure.reason, &failure.message));
        match failure.filter(|_| observed.problem().is_none()) {
            Some(failure) => self.degraded_by_others(&failure),
            None => self.degraded(observed.problem()),
        }
    }

    /// Whether only the number of replicas changes: all were complete before, and have the newest template.
    fn is_resizing(&self, rollout: &Rollout, size: i32) -> bool {
        let earlier = self.previous(PROGRESSING);
        let was_resizing =
            earlier.is_some_and(|earlier| earlier.status == "True" && earlier.reason == "Resizing");
        let was_complete = earlier.is_some_and(|earlier| earlier.status == "False");
        rollout.updated == rollout.replicas
            && (was_resizing || was_complete && rollout.replicas > 0 && rollout.replicas != size)
    }
}

impl Changes<'_> {
    /// Returns the event of a Deployment or `StatefulSet` with the view [`Rollout`] and of this size, if it was written:
    /// `Created`, `Scaled`, `Updated` or `Deleted`.
    #[must_use]
    pub fn rollout<K: Object>(&self, kind: Child<K, Rollout>, name: &str, size: i32) -> Option<Event> {
        let before = self.before(kind, name).map(|rollout| rollout.wanted);
        let change = self.get(kind, name)?;
        let kind = K::kind(&());
        Some(match (change, before) {
            (Change::Created, _) => {
                Event::normal("Created", "Create", format!("Created {kind} {name} with {size} replicas"))
            }
            (Change::Updated, Some(before)) if before != size => {
                Event::normal("Scaled", "Scale", format!("Scaled from {before} to {size} replicas"))
            }
            (Change::Updated, _) if self.new_spec => {
                Event::normal("Updated", "Update", format!("Updated {kind} {name}"))
            }
            (Change::Updated, _) => {
                Event::normal("Updated", "Update", format!("Reverted external changes to {kind} {name}"))
            }
            (Change::Deleted, _) => Event::normal("Deleted", "Delete", format!("Deleted {kind} {name}")),
        })
    }
}
