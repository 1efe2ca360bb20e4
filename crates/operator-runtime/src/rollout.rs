//! Conditions and events of an object that runs a number of pods, through a Deployment or a `StatefulSet`.

use crate::conditions::{AVAILABLE, Conditioned, Draft, PROGRESSING, State};
use crate::controller::{Change, Changes, Observed};
use crate::events::Note;
use crate::problem::Problem;
use crate::views::Rollout;
use kube::Resource;

impl<S: Conditioned> Draft<S> {
    /// Sets `Available`, `Progressing` and `Degraded` from the rollout of a Deployment or `StatefulSet` of this size.
    ///
    /// `Degraded` shows the problem of the reconcile, or what prevents replicas from running. For what prevents pods from
    /// running, declare them: `owns.related::<Pod, PodState>(labels::INSTANCE)`. Messages contain no counts that change
    /// while replicas start, so that a rollout costs few writes.
    pub fn rollout(&mut self, rollout: Option<&Rollout>, size: i32, observed: &Observed) {
        // A malformed spec does not tell the size: the one that was applied last counts.
        let size =
            if observed.is_malformed() { rollout.map_or(1, |rollout| rollout.wanted.max(1)) } else { size };
        // Available replicas count whatever the Deployment's controller does next.
        if rollout.is_some_and(|rollout| rollout.available >= size) {
            let message = format!("{size} of {size} replicas are available");
            self.set(AVAILABLE, State::True, "ReplicasAvailable", message);
        } else if rollout.is_none() && observed.problem().is_none() {
            self.set(AVAILABLE, State::Unknown, "Reconciling", "The replicas have not been observed yet");
        } else {
            let message = format!("Fewer than {size} replicas are available");
            self.set(AVAILABLE, State::False, "ReplicasUnavailable", message);
        }

        let complete = rollout.is_some_and(|rollout| rollout.is_complete(size));
        if complete {
            self.set(PROGRESSING, State::False, "Complete", "All replicas are up to date");
        } else if rollout.is_some_and(|rollout| self.is_resizing(rollout, size)) {
            self.set(PROGRESSING, State::True, "Resizing", format!("Scaling to {size} replicas"));
        } else {
            self.set(PROGRESSING, State::True, "RollingOut", format!("Rolling out {size} replicas"));
        }

        let trouble = rollout
            .and_then(|rollout| rollout.trouble.as_ref())
            .or_else(|| observed.pods().find_map(|(_, pod)| pod.trouble.as_ref()))
            .filter(|_| !complete)
            .map(|trouble| Problem::new(&trouble.reason, &trouble.message));
        self.degraded(observed.problem().or(trouble.as_ref()));
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
    pub fn rollout<K: Resource<DynamicType = ()>>(&self, name: &str, size: i32) -> Option<Note> {
        let before = self.before::<K, Rollout>(name).map(|rollout| rollout.wanted);
        let kind = K::kind(&());
        Some(match (self.of::<K>(name)?, before) {
            (Change::Created, _) => {
                Note::normal("Created", "Create", format!("Created {kind} {name} with {size} replicas"))
            }
            (Change::Updated, Some(before)) if before != size => {
                Note::normal("Scaled", "Scale", format!("Scaled from {before} to {size} replicas"))
            }
            (Change::Updated, _) if self.new_spec => {
                Note::normal("Updated", "Update", format!("Updated {kind} {name}"))
            }
            (Change::Updated, _) => {
                Note::normal("Updated", "Update", format!("Reverted external changes to {kind} {name}"))
            }
            (Change::Deleted, _) => Note::normal("Deleted", "Delete", format!("Deleted {kind} {name}")),
        })
    }
}
