//! The status that a Memcached should have, derived from what was observed. Pure; the clock is an argument.
//!
//! Conditions keep their `lastTransitionTime` while their status stays the same, and messages contain no counts that
//! change while servers start, so that a rollout costs few writes.

use super::build::selector_text;
use super::dereference::Input;
use super::error::{Problem, reason_word};
use crate::crd::{GROUP, Memcached, MemcachedStatus, STORED_VERSION};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::{Value, json};

/// Whether the requested servers are available.
pub(crate) const AVAILABLE: &str = "Available";
/// Whether servers are being created, replaced or removed.
pub(crate) const PROGRESSING: &str = "Progressing";
/// Whether something prevents the Memcached from reaching its desired state, or it is being deleted.
pub(crate) const DEGRADED: &str = "Degraded";
/// The longest message of a condition in characters; the API allows 32768, more than anybody reads.
const MAX_MESSAGE_CHARS: usize = 1024;

/// Returns the status of a Memcached that is reconciled for the first time.
pub(crate) fn initial_status(memcached: &Memcached, now: Timestamp) -> Option<MemcachedStatus> {
    let status = memcached.status.clone().unwrap_or_default();
    if condition(&status, AVAILABLE).is_some() {
        return None;
    }
    let mut draft = Draft::new(memcached, now);
    draft.set(AVAILABLE, "Unknown", "Reconciling", "Starting reconciliation");
    draft.status.phase = Some("Pending".to_owned());
    Some(draft.finish(memcached))
}

/// Returns the status that reports what was observed; `problem` is what failed in this reconcile.
pub(crate) fn next_status(input: &Input, problem: Option<&Problem>, now: Timestamp) -> MemcachedStatus {
    let memcached = &input.memcached;
    let rollout = input.deployment.as_ref().map(|seen| &seen.facts);
    let size = match &input.malformed {
        None => memcached.spec.size,
        // Nobody knows how many servers are wanted: those that were asked for last stay.
        Some(_) => rollout.map_or(1, |rollout| rollout.wanted.max(1)),
    };
    let before = memcached.status.as_ref();
    let was_complete =
        before.and_then(|status| condition(status, PROGRESSING)).is_some_and(|c| c.status == "False");
    let mut draft = Draft::new(memcached, now);

    let complete = rollout.is_some_and(|rollout| {
        rollout.current
            && rollout.wanted == size
            && rollout.replicas == size
            && rollout.updated == size
            && rollout.available == size
    });
    // Available servers count whatever the Deployment controller does next.
    let available = rollout.is_some_and(|rollout| rollout.available >= size);
    if available {
        draft.set(AVAILABLE, "True", "ServersAvailable", &format!("{size} of {size} servers are available"));
    } else if rollout.is_none() && problem.is_none() {
        draft.set(AVAILABLE, "Unknown", "Reconciling", "The Deployment has not been observed yet");
    } else {
        let message = format!("Fewer than {size} servers are available");
        draft.set(AVAILABLE, "False", "ServersUnavailable", &message);
    }

    if complete {
        draft.set(PROGRESSING, "False", "Complete", "All replicas are up to date");
    } else {
        let resizing = rollout.is_some_and(|rollout| {
            let only_the_number = rollout.updated == rollout.replicas && rollout.replicas > 0;
            let earlier = before.and_then(|status| condition(status, PROGRESSING));
            only_the_number
                && rollout.replicas != size
                && (was_complete || earlier.is_some_and(|earlier| earlier.reason == "Resizing"))
                || earlier.is_some_and(|earlier| earlier.status == "True" && earlier.reason == "Resizing")
                    && rollout.updated == rollout.replicas
        });
        if resizing {
            draft.set(PROGRESSING, "True", "Resizing", &format!("Scaling to {size} servers"));
        } else {
            draft.set(PROGRESSING, "True", "RollingOut", &format!("Rolling out {size} servers"));
        }
    }

    let trouble = problem.cloned().or_else(|| trouble(input, complete));
    match &trouble {
        Some(problem) => draft.set_degraded(problem, before),
        None => draft.set(DEGRADED, "False", "AsExpected", "No problems found"),
    }

    draft.status.nodes =
        input.pods.iter().filter(|(_, pod)| pod.lives).map(|(name, _)| name.clone()).collect();
    draft.status.replicas = rollout.map(|rollout| rollout.replicas).unwrap_or_default();
    draft.status.ready_replicas = rollout.map(|rollout| rollout.ready).unwrap_or_default();
    let phase = match (&trouble, available, complete) {
        (Some(_), ..) => "Degraded",
        (None, true, true) => "Available",
        (None, ..) if rollout.is_none() => "Pending",
        (None, ..) => "Progressing",
    };
    draft.status.phase = Some(phase.to_owned());
    draft.finish(memcached)
}

/// Returns the status of a Memcached that is being deleted.
pub(crate) fn finalizing(memcached: &Memcached, now: Timestamp) -> MemcachedStatus {
    let mut draft = Draft::new(memcached, now);
    let name = memcached.metadata.name.as_deref().unwrap_or_default();
    let message = format!("Performing finalizer operations for the custom resource: {name}");
    draft.set(DEGRADED, "True", "Finalizing", &message);
    draft.status.phase = Some("Finalizing".to_owned());
    draft.finish(memcached)
}

/// Returns what the Deployment or its pods report as a problem.
fn trouble(input: &Input, complete: bool) -> Option<Problem> {
    let deployment = input.deployment.as_ref().and_then(|seen| seen.facts.trouble.as_ref());
    let pod = || input.pods.values().filter(|pod| pod.lives).find_map(|pod| pod.trouble.as_ref());
    let (reason, message) = deployment.or_else(pod).filter(|_| !complete)?;
    Some(Problem { reason: reason_word(reason), message: message.clone(), retry: false })
}

/// Returns the condition of a type.
pub(crate) fn condition<'a>(status: &'a MemcachedStatus, kind: &str) -> Option<&'a Condition> {
    status.conditions.iter().find(|condition| condition.type_ == kind)
}

/// Returns the configuration for server-side apply: the fields and conditions that this operator manages.
pub(crate) fn applied(name: &str, status: &MemcachedStatus) -> Value {
    // Destructured so that a new field cannot be forgotten here.
    let MemcachedStatus { conditions, nodes, phase, replicas, ready_replicas, selector, observed_generation } =
        status;
    let own = [AVAILABLE, PROGRESSING, DEGRADED];
    let conditions: Vec<_> =
        conditions.iter().filter(|condition| own.contains(&condition.type_.as_str())).collect();
    let mut fields = json!({
        "conditions": conditions,
        "nodes": nodes,
        "phase": phase,
        "replicas": replicas,
        "readyReplicas": ready_replicas,
        "selector": selector,
        "observedGeneration": observed_generation,
    });
    if let Some(fields) = fields.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    json!({
        "apiVersion": format!("{GROUP}/{STORED_VERSION}"),
        "kind": "Memcached",
        "metadata": { "name": name },
        "status": fields,
    })
}

struct Draft {
    status: MemcachedStatus,
    generation: Option<i64>,
    now: Timestamp,
}

impl Draft {
    fn new(memcached: &Memcached, now: Timestamp) -> Self {
        Self {
            // Conditions of other managers stay.
            status: memcached.status.clone().unwrap_or_default(),
            generation: memcached.metadata.generation,
            now,
        }
    }

    fn set(&mut self, kind: &str, status: &str, reason: &str, message: &str) {
        let existing = self.status.conditions.iter().position(|condition| condition.type_ == kind);
        let since = existing
            .map(|index| &self.status.conditions[index])
            .filter(|condition| condition.status == status)
            .map_or(Time(self.now), |condition| condition.last_transition_time.clone());
        let condition = Condition {
            type_: kind.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            observed_generation: self.generation,
            last_transition_time: since,
        };
        match existing {
            Some(index) => self.status.conditions[index] = condition,
            None => self.status.conditions.push(condition),
        }
    }

    /// Keeps the first message of a lasting problem: the kubelet words the same one differently every time.
    fn set_degraded(&mut self, problem: &Problem, before: Option<&MemcachedStatus>) {
        let same = before.and_then(|status| condition(status, DEGRADED)).filter(|condition| {
            condition.status == "True"
                && condition.reason == problem.reason
                && condition.observed_generation == self.generation
                && !problem.retry
        });
        let message = same.map_or(&problem.message, |condition| &condition.message);
        let message: String = message.chars().take(MAX_MESSAGE_CHARS).collect();
        self.set(DEGRADED, "True", &problem.reason, &message);
    }

    fn finish(mut self, memcached: &Memcached) -> MemcachedStatus {
        self.status.selector = memcached.metadata.name.as_deref().map(selector_text);
        self.status.observed_generation = self.generation;
        self.status
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::cache::{Key, Seen};
    use crate::controller::facts::{PodFacts, Rollout};
    use crate::controller::validate::tests::memcached;
    use std::sync::Arc;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    fn input(size: i32, rollout: Option<Rollout>) -> Input {
        let memcached = memcached(size);
        Input {
            key: Key::of(&memcached.metadata),
            deployment: rollout.map(|facts| {
                Arc::new(Seen {
                    uid: "d".into(),
                    owner: Some("u-1".into()),
                    digest: 0,
                    deleting: false,
                    facts,
                })
            }),
            memcached: Arc::new(memcached),
            malformed: None,
            service: None,
            disruption_budget: None,
            pods: ["b", "a"].map(|name| (name.to_owned(), PodFacts { lives: true, trouble: None })).into(),
        }
    }

    fn rollout(wanted: i32, replicas: i32, available: i32) -> Rollout {
        Rollout {
            current: true,
            wanted,
            replicas,
            updated: replicas,
            ready: replicas,
            available,
            trouble: None,
        }
    }

    fn then(mut input: Input, status: MemcachedStatus, rollout: Rollout) -> Input {
        Arc::make_mut(&mut input.memcached).status = Some(status);
        if let Some(seen) = &mut input.deployment {
            Arc::make_mut(seen).facts = rollout;
        }
        input
    }

    fn reported(status: &MemcachedStatus, kind: &str) -> (String, String) {
        let condition = condition(status, kind).unwrap();
        (condition.status.clone(), condition.reason.clone())
    }

    #[test]
    fn a_new_memcached_is_unknown_and_reconciling() {
        let mut memcached = memcached(3);
        let status = initial_status(&memcached, at(0)).unwrap();
        assert_eq!(reported(&status, AVAILABLE), ("Unknown".into(), "Reconciling".into()));
        memcached.status = Some(status);
        assert_eq!(initial_status(&memcached, at(1)), None);
    }

    #[test]
    fn available_once_every_server_is_available() {
        let status = next_status(&input(3, Some(rollout(3, 3, 2))), None, at(0));
        assert_eq!(reported(&status, AVAILABLE), ("False".into(), "ServersUnavailable".into()));
        assert_eq!(reported(&status, PROGRESSING), ("True".into(), "RollingOut".into()));
        let status = next_status(&input(3, Some(rollout(3, 3, 3))), None, at(0));
        assert_eq!(reported(&status, AVAILABLE), ("True".into(), "ServersAvailable".into()));
        assert_eq!(reported(&status, PROGRESSING), ("False".into(), "Complete".into()));
        assert_eq!(status.phase.as_deref(), Some("Available"));
        assert_eq!(status.nodes, ["a", "b"], "sorted");
    }

    #[test]
    fn a_change_of_size_is_resizing_until_it_is_done() {
        let complete = next_status(&input(3, Some(rollout(3, 3, 3))), None, at(0));
        let grown = then(input(5, Some(rollout(3, 3, 3))), complete, rollout(5, 3, 3));
        let status = next_status(&grown, None, at(1));
        assert_eq!(reported(&status, PROGRESSING), ("True".into(), "Resizing".into()));
        assert_eq!(reported(&status, AVAILABLE), ("False".into(), "ServersUnavailable".into()));
        let status = next_status(&then(grown, status, rollout(5, 5, 3)), None, at(2));
        assert_eq!(reported(&status, PROGRESSING), ("True".into(), "Resizing".into()));
    }

    #[test]
    fn the_transition_time_moves_only_when_the_status_does() {
        let one = next_status(&input(3, Some(rollout(3, 3, 1))), None, at(0));
        let again = then(input(3, Some(rollout(3, 3, 1))), one.clone(), rollout(3, 3, 2));
        assert_eq!(next_status(&again, None, at(50)), one, "readiness alone");
        let done = next_status(&then(again, one, rollout(3, 3, 3)), None, at(60));
        assert_eq!(condition(&done, AVAILABLE).unwrap().last_transition_time.0, at(60));
    }

    #[test]
    fn a_rejected_write_degrades_with_the_api_servers_message() {
        let problem = Problem { reason: "Forbidden".into(), message: "exceeded quota".into(), retry: true };
        let status = next_status(&input(3, None), Some(&problem), at(0));
        assert_eq!(reported(&status, DEGRADED), ("True".into(), "Forbidden".into()));
        assert_eq!(condition(&status, DEGRADED).unwrap().message, "exceeded quota");
        assert_eq!(status.phase.as_deref(), Some("Degraded"));
    }

    #[test]
    fn a_pod_that_cannot_start_degrades_and_another_wording_is_not_a_change() {
        let mut broken = input(2, Some(rollout(2, 2, 0)));
        let trouble = |message: &str| Some(("ImagePullBackOff".to_owned(), message.to_owned()));
        broken.pods.insert("a".into(), PodFacts { lives: true, trouble: trouble("first words") });
        let status = next_status(&broken, None, at(0));
        assert_eq!(reported(&status, DEGRADED), ("True".into(), "ImagePullBackOff".into()));
        broken.pods.insert("a".into(), PodFacts { lives: true, trouble: trouble("other words") });
        let again = then(broken, status.clone(), rollout(2, 2, 0));
        assert_eq!(next_status(&again, None, at(9)), status);
    }

    #[test]
    fn deletion_shows_as_finalizing() {
        let status = finalizing(&memcached(1), at(0));
        assert_eq!(reported(&status, DEGRADED), ("True".into(), "Finalizing".into()));
        assert_eq!(status.phase.as_deref(), Some("Finalizing"));
    }

    #[test]
    fn conditions_of_other_managers_are_kept_and_not_applied() {
        let mut memcached = memcached(1);
        let foreign = Condition {
            type_: "Audited".into(),
            status: "True".into(),
            reason: "Yes".into(),
            message: String::new(),
            observed_generation: None,
            last_transition_time: Time(at(0)),
        };
        memcached.status = Some(MemcachedStatus { conditions: vec![foreign], ..MemcachedStatus::default() });
        let status = initial_status(&memcached, at(1)).unwrap();
        assert!(condition(&status, "Audited").is_some());
        let applied = applied("cache", &status);
        let conditions = applied["status"]["conditions"].as_array().unwrap();
        assert_eq!(conditions.iter().map(|condition| &condition["type"]).collect::<Vec<_>>(), ["Available"]);
    }

    #[test]
    fn a_malformed_spec_keeps_the_servers_that_were_asked_for() {
        let mut malformed = input(0, Some(rollout(3, 3, 3)));
        malformed.malformed = Some("invalid type".into());
        let problem = Problem { reason: "InvalidSpec".into(), message: "m".into(), retry: false };
        let status = next_status(&malformed, Some(&problem), at(0));
        assert_eq!(condition(&status, AVAILABLE).unwrap().message, "3 of 3 servers are available");
        assert_eq!(reported(&status, DEGRADED), ("True".into(), "InvalidSpec".into()));
    }
}
