//! Conditions of a status: their schema, drafts that keep transition times, and a summary in one word.

use crate::problem::{MAX_MESSAGE_CHARS, ReconcileProblem};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::ops::{Deref, DerefMut};

/// Whether the object does what it is for.
pub const AVAILABLE: &str = "Available";
/// Whether the object is on its way to its desired state.
pub const PROGRESSING: &str = "Progressing";
/// Whether something prevents the object from reaching its desired state, or it is being deleted.
pub const DEGRADED: &str = "Degraded";

/// What a status has to implement: a few derives, and where its conditions are.
///
/// ```
/// # use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
/// # use serde::{Deserialize, Serialize};
/// use operator_runtime::conditions::Status;
///
/// #[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
/// struct GreetingStatus {
///     conditions: Vec<Condition>,
/// }
///
/// impl Status for GreetingStatus {
///     fn conditions(&self) -> &[Condition] {
///         &self.conditions
///     }
///     fn conditions_mut(&mut self) -> Option<&mut Vec<Condition>> {
///         Some(&mut self.conditions)
///     }
/// }
/// ```
///
/// A status without conditions implements neither method: `impl Status for MyStatus {}`. What a condition would show is then
/// recorded as an event only. A kind that has no status, or whose status others write, has the status `()`.
pub trait Status:
    Clone + Debug + Default + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// Returns the conditions; none unless implemented.
    fn conditions(&self) -> &[Condition] {
        &[]
    }

    /// Returns the conditions to change them; `None` unless implemented.
    fn conditions_mut(&mut self) -> Option<&mut Vec<Condition>> {
        None
    }
}

impl Status for () {}

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionStatus {
    /// It applies.
    True,
    /// It does not apply.
    False,
    /// It is not known whether it applies.
    Unknown,
}

impl ConditionStatus {
    /// Returns the status as the API spells it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// Returns the condition of a type.
#[must_use]
pub fn find<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == kind)
}

/// Returns the conditions `Available`, `Progressing` and `Degraded` in one word: `Pending`, `Progressing`, `Available`,
/// `Degraded` or `Finalizing`.
#[must_use]
pub fn phase(conditions: &[Condition]) -> &'static str {
    let is = |kind: &str, status: &str| find(conditions, kind).is_some_and(|found| found.status == status);
    if is(DEGRADED, "True") {
        let finalizing = find(conditions, DEGRADED).is_some_and(|found| found.reason == "Finalizing");
        return if finalizing { "Finalizing" } else { "Degraded" };
    }
    if is(AVAILABLE, "True") && !is(PROGRESSING, "True") {
        "Available"
    } else if find(conditions, AVAILABLE).is_none() || is(AVAILABLE, "Unknown") {
        "Pending"
    } else {
        "Progressing"
    }
}

/// The next status of an object, made from the previous one. Dereferences to the status.
///
/// Conditions keep their `lastTransitionTime` while their status stays the same; those of other managers stay as they are.
/// Messages should contain no counts that change while children start, so that a rollout costs few writes.
#[derive(Clone, Debug)]
pub struct Draft<S> {
    status: S,
    before: Vec<Condition>,
    generation: Option<i64>,
    now: Timestamp,
}

impl<S: Status> Draft<S> {
    /// Returns a draft that starts with the previous status of an object of this generation.
    pub fn new(previous: S, generation: Option<i64>, now: Timestamp) -> Self {
        Self { before: previous.conditions().to_vec(), status: previous, generation, now }
    }

    /// Sets a condition; the message is cut at 1024 characters. A status without conditions stays as it is.
    pub fn set(&mut self, kind: &str, state: ConditionStatus, reason: &str, message: impl AsRef<str>) {
        let status = state.as_str();
        let Some(conditions) = self.status.conditions_mut() else { return };
        let existing = conditions.iter_mut().find(|condition| condition.type_ == kind);
        let since = existing
            .as_ref()
            .filter(|condition| condition.status == status)
            .map_or(Time(self.now), |condition| condition.last_transition_time.clone());
        let condition = Condition {
            type_: kind.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.as_ref().chars().take(MAX_MESSAGE_CHARS).collect(),
            observed_generation: self.generation,
            last_transition_time: since,
        };
        match existing {
            Some(existing) => *existing = condition,
            None => conditions.push(condition),
        }
    }

    /// Sets `Degraded` from a problem, or to false.
    pub fn degraded(&mut self, problem: Option<&ReconcileProblem>) {
        match problem {
            None => self.set(DEGRADED, ConditionStatus::False, "AsExpected", "No problems found"),
            Some(problem) => self.set(DEGRADED, ConditionStatus::True, &problem.reason, &problem.message),
        }
    }

    /// Sets `Degraded` from what others report, which keeps its first message while it lasts: the kubelet words the same problem
    /// differently every time.
    pub(crate) fn degraded_by_others(&mut self, problem: &ReconcileProblem) {
        let lasting = self.previous(DEGRADED).filter(|condition| {
            condition.status == "True"
                && condition.reason == problem.reason
                && condition.observed_generation == self.generation
        });
        let message = lasting.map_or(&problem.message, |condition| &condition.message).clone();
        self.set(DEGRADED, ConditionStatus::True, &problem.reason, message);
    }

    /// Returns the condition of a type as it was in the previous status.
    #[must_use]
    pub fn previous(&self, kind: &str) -> Option<&Condition> {
        find(&self.before, kind)
    }

    /// Returns the status.
    pub fn finish(self) -> S {
        self.status
    }
}

impl<S> Deref for Draft<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.status
    }
}

impl<S> DerefMut for Draft<S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.status
    }
}

/// Returns the schema of a list of conditions, with the limits of `metav1.Condition`; for `schemars(schema_with = …)`.
#[must_use]
pub fn schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "description": "Condition describes one aspect of the observed state.",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "type": {
                    "type": "string", "maxLength": 316,
                    "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                    "description": "Type of the condition, in CamelCase or in foo.example.com/CamelCase.",
                },
                "status": {
                    "type": "string", "enum": ["True", "False", "Unknown"],
                    "description": "Status of the condition: True, False or Unknown.",
                },
                "reason": {
                    "type": "string", "minLength": 1, "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                    "description": "Programmatic identifier of the reason for the last transition, in CamelCase.",
                },
                "message": {
                    "type": "string", "maxLength": 32768,
                    "description": "Human-readable details of the transition.",
                },
                "observedGeneration": {
                    "type": "integer", "format": "int64", "minimum": 0,
                    "description": "Generation of the spec that the condition is based on.",
                },
                "lastTransitionTime": {
                    "type": "string", "format": "date-time",
                    "description": "Time of the last transition from one status to another.",
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample::ClusterStatus;

    fn at(second: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs(second)
    }

    fn draft(previous: ClusterStatus, second: i64) -> Draft<ClusterStatus> {
        Draft::new(previous, Some(1), at(second))
    }

    #[test]
    fn transition_time_moves_only_when_the_status_does() {
        let mut first = draft(ClusterStatus::default(), 0);
        first.set(AVAILABLE, ConditionStatus::False, "No", "not yet");
        let mut second = draft(first.finish(), 5);
        second.set(AVAILABLE, ConditionStatus::False, "StillNo", "not yet either");
        assert_eq!(second.conditions[0].last_transition_time.0, at(0));
        second.set(AVAILABLE, ConditionStatus::True, "Yes", "now");
        assert_eq!(second.conditions[0].last_transition_time.0, at(5));
        assert_eq!(second.conditions.len(), 1);
    }

    #[test]
    fn problem_of_others_keeps_its_first_message_and_an_own_one_has_its_last() {
        let message = |set: fn(&mut Draft<ClusterStatus>, ReconcileProblem)| {
            let problem = |message: &str| ReconcileProblem::new("ImagePullBackOff", message);
            let mut first = draft(ClusterStatus::default(), 0);
            set(&mut first, problem("first words"));
            let mut second = draft(first.finish(), 5);
            set(&mut second, problem("other words"));
            second.conditions[0].message.clone()
        };
        assert_eq!(message(|draft, problem| draft.degraded_by_others(&problem)), "first words");
        assert_eq!(message(|draft, problem| draft.degraded(Some(&problem))), "other words");
    }

    #[test]
    fn messages_have_a_limit() {
        let mut draft = draft(ClusterStatus::default(), 0);
        draft.set(AVAILABLE, ConditionStatus::True, "Yes", "é".repeat(5000));
        assert_eq!(draft.conditions[0].message.chars().count(), MAX_MESSAGE_CHARS);
    }

    #[test]
    fn phase_summarizes_the_conditions() {
        let phase_of = |set: &[(&str, ConditionStatus, &str)]| {
            let mut draft = draft(ClusterStatus::default(), 0);
            for (kind, state, reason) in set {
                draft.set(kind, *state, reason, "");
            }
            phase(&draft.conditions)
        };
        assert_eq!(phase_of(&[]), "Pending");
        assert_eq!(phase_of(&[(AVAILABLE, ConditionStatus::Unknown, "Reconciling")]), "Pending");
        assert_eq!(
            phase_of(&[
                (AVAILABLE, ConditionStatus::False, "No"),
                (PROGRESSING, ConditionStatus::True, "Yes")
            ]),
            "Progressing"
        );
        assert_eq!(
            phase_of(&[
                (AVAILABLE, ConditionStatus::True, "Yes"),
                (PROGRESSING, ConditionStatus::True, "Yes")
            ]),
            "Progressing"
        );
        assert_eq!(
            phase_of(&[
                (AVAILABLE, ConditionStatus::True, "Yes"),
                (PROGRESSING, ConditionStatus::False, "No")
            ]),
            "Available"
        );
        assert_eq!(
            phase_of(&[(AVAILABLE, ConditionStatus::True, "Yes"), (DEGRADED, ConditionStatus::True, "Bad")]),
            "Degraded"
        );
        assert_eq!(phase_of(&[(DEGRADED, ConditionStatus::True, "Finalizing")]), "Finalizing");
    }
}
