//! What was reported of one object: when its status is due, and which events are not recorded yet. Pure.

use super::write_budget::{Generation, WriteBudget};
use crate::conditions::{DEGRADED, Status, find, phase};
use crate::controller::children::DesiredChild;
use crate::events::Event;
use crate::problem::ReconcileProblem;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// What is remembered of an object between reconciles.
#[derive(Default)]
pub(crate) struct ReconcileHistory {
    /// Failures in a row.
    failures: u32,
    /// After which time to reconcile again at the latest, although the reconcile failed.
    again: Option<Duration>,
    status: StatusHistory,
    /// Events that have not been recorded yet.
    events: Vec<Event>,
    /// Reason and message of the last `Degraded` that was recorded as an event.
    degraded: Option<(String, String)>,
    /// What `cleanup` waits for or failed with last, and until when it is not called again.
    cleanup: Option<(ReconcileProblem, Option<Instant>)>,
    /// The digest of the last status for which events were made.
    events_of: Option<u64>,
    /// What a generation of the object asks for.
    desired: Option<(Generation, Arc<Vec<DesiredChild>>)>,
    /// How often the children were written.
    pub(crate) writes: WriteBudget,
}

impl ReconcileHistory {
    /// A reconcile succeeded.
    pub(crate) fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// A reconcile failed; returns how many have in a row.
    pub(crate) fn failed(&mut self) -> u32 {
        self.failures = self.failures.saturating_add(1);
        self.failures
    }

    /// Has a reconcile that fails be repeated after this time at the latest: a status is due, or the object has changed.
    pub(crate) fn again_within(&mut self, time: Option<Duration>) {
        self.again = time;
    }

    /// Returns after which time to repeat a reconcile that failed, at the latest.
    pub(crate) fn take_again(&mut self) -> Option<Duration> {
        self.again.take()
    }

    /// Returns how many reconciles have failed in a row.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// Returns what a generation asks for, if that is known.
    pub(crate) fn desired(&self, generation: &Generation) -> Option<Arc<Vec<DesiredChild>>> {
        let (known, desired) = self.desired.as_ref()?;
        (known == generation).then(|| Arc::clone(desired))
    }

    /// Remembers what a generation asks for.
    pub(crate) fn remember_desired(&mut self, generation: Generation, desired: Arc<Vec<DesiredChild>>) {
        self.desired = Some((generation, desired));
    }

    /// Forgets what a generation asks for: it may stand for another spec after etcd was restored from a backup.
    pub(crate) fn forget_desired(&mut self) {
        self.desired = None;
    }

    /// The initial status was written.
    pub(crate) fn initial_status_written(&mut self, now: Instant) {
        self.status.written = Some(now);
    }

    /// A reconcile ends with a status and with events; returns when to write the status, and the events to record now.
    ///
    /// While the controller is `busy` with others, events wait for the status that they belong to.
    pub(crate) fn report<S: Status>(
        &mut self,
        read: Option<&S>,
        newest: Option<&S>,
        after: &S,
        events: Vec<Event>,
        busy: bool,
        now: Instant,
    ) -> (StatusDue, Vec<Event>) {
        self.events.extend(events);
        if !after.conditions().is_empty() {
            self.events.extend(newly_degraded(read, after, &mut self.degraded));
        }
        let due = due(newest, after, &mut self.status, busy, now);
        let later = busy && matches!(due, StatusDue::After(_));
        (due, if later { Vec::new() } else { std::mem::take(&mut self.events) })
    }

    /// Whether a status is another one than was read, for the first time.
    pub(crate) fn is_new_status<S: Status>(&mut self, read: Option<&S>, after: &S) -> bool {
        let mut hasher = DefaultHasher::new();
        serde_json::to_string(after).unwrap_or_default().hash(&mut hasher);
        let digest = Some(hasher.finish());
        let new = read != Some(after) && self.events_of != digest;
        self.events_of = digest;
        new
    }

    /// Returns a warning about a problem that was not recorded yet.
    pub(crate) fn new_problem(&mut self, problem: Option<&ReconcileProblem>) -> Option<Event> {
        let now = problem.map(|problem| (problem.reason.clone(), problem.message.clone()));
        let new = now.is_some() && self.degraded != now;
        self.degraded.clone_from(&now);
        let (reason, message) = now.filter(|_| new)?;
        Some(Event::warning(&reason, "Reconcile", message))
    }

    /// Returns what `cleanup` waits for or failed with last, and for how long it is not to be called again.
    pub(crate) fn cleanup(&self, now: Instant) -> (Option<ReconcileProblem>, Option<Duration>) {
        let Some((problem, until)) = &self.cleanup else { return (None, None) };
        let left = until.and_then(|until| until.checked_duration_since(now)).filter(|left| !left.is_zero());
        (Some(problem.clone()), left)
    }

    /// `cleanup` waits or failed; returns whether with another problem than before.
    pub(crate) fn cleanup_ended(&mut self, problem: &ReconcileProblem, until: Option<Instant>) -> bool {
        let new = self.cleanup.as_ref().is_none_or(|(known, _)| known != problem);
        self.cleanup = Some((problem.clone(), until));
        new
    }
}

/// The shortest time between two status writes that only report the progress of a rollout.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// The longest time that a status is delayed while the controller is busy with other objects.
const MAX_STATUS_DELAY: Duration = Duration::from_secs(10);
/// How long such a status waits for further changes: related objects and children are reported by different watches.
const COALESCE_WINDOW: Duration = Duration::from_millis(300);

/// When the status of an object was written.
#[derive(Clone, Copy, Debug, Default)]
struct StatusHistory {
    /// When it was last written.
    written: Option<Instant>,
    /// Since when it has changes that were not written.
    pending: Option<Instant>,
}

/// What to do about a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatusDue {
    /// It has not changed.
    Never,
    /// Write it now.
    Now,
    /// Reconcile again after this time: it may have changed further by then.
    After(Duration),
}

/// Returns whether a status has to be written now, and records since when.
///
/// The first status and the end of a rollout are written at once; progress at most once a second; and while the
/// controller is `busy` with others, everything but the end of a rollout is delayed, up to a limit.
fn due<S: Status>(
    before: Option<&S>,
    after: &S,
    history: &mut StatusHistory,
    busy: bool,
    now: Instant,
) -> StatusDue {
    if before == Some(after) {
        history.pending = None;
        return StatusDue::Never;
    }
    let now_in = phase(after.conditions());
    let settled = matches!(now_in, "Available" | "Degraded" | "Finalizing");
    let moved = before.is_none_or(|before| phase(before.conditions()) != now_in);
    let pending = *history.pending.get_or_insert(now);
    let paced = history.written.map(|written| (written + MIN_INTERVAL).max(pending + COALESCE_WINDOW));
    let earliest = if busy && now < pending + MAX_STATUS_DELAY { Some(now + MIN_INTERVAL) } else { paced };
    match earliest {
        Some(earliest) if earliest > now && !(settled && moved) => StatusDue::After(earliest - now),
        _ => {
            *history = StatusHistory { written: Some(now), pending: None };
            StatusDue::Now
        }
    }
}

/// Returns a warning if the condition `Degraded` became true, or true for another reason, since it was last recorded.
fn newly_degraded<S: Status>(
    before: Option<&S>,
    after: &S,
    recorded: &mut Option<(String, String)>,
) -> Option<Event> {
    let degraded = |status: &S| {
        find(status.conditions(), DEGRADED)
            .filter(|condition| condition.status == "True")
            .map(|condition| (condition.reason.clone(), condition.message.clone()))
    };
    let now = degraded(after);
    let known = recorded.take().or_else(|| before.and_then(degraded));
    recorded.clone_from(&now);
    let (reason, message) = now.filter(|now| known.as_ref() != Some(now))?;
    Some(Event::warning(&reason, "Reconcile", message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::{self, ConditionStatus, Draft};
    use crate::testing::sample::ClusterStatus;
    use jiff::Timestamp;

    /// Returns a status in one of three phases, and with a number that may change.
    fn phase(phase: &str, replicas: i32) -> ClusterStatus {
        let mut draft = Draft::new(ClusterStatus::default(), Some(1), Timestamp::UNIX_EPOCH);
        draft.set(
            "Available",
            if phase == "Available" { ConditionStatus::True } else { ConditionStatus::False },
            "Reason",
            "",
        );
        draft.set(
            "Progressing",
            if phase == "Progressing" { ConditionStatus::True } else { ConditionStatus::False },
            "Reason",
            "",
        );
        assert_eq!(conditions::phase(draft.conditions()), phase);
        ClusterStatus { replicas, ..draft.finish() }
    }

    #[test]
    fn unchanged_status_is_not_written() {
        let mut history = StatusHistory::default();
        let status = phase("Available", 1);
        assert_eq!(due(Some(&status), &status, &mut history, false, Instant::now()), StatusDue::Never);
    }

    #[test]
    fn progress_is_written_once_a_second_and_the_end_of_a_rollout_at_once() {
        let now = Instant::now();
        let after = |millis| now + Duration::from_millis(millis);
        let rolling = phase("Progressing", 1);
        let mut history = StatusHistory::default();
        assert_eq!(due(None, &rolling, &mut history, false, now), StatusDue::Now);
        let more = phase("Progressing", 2);
        let wait = StatusDue::After(Duration::from_millis(700));
        assert_eq!(due(Some(&rolling), &more, &mut history, false, after(300)), wait);
        assert_eq!(due(Some(&rolling), &more, &mut history, false, after(1000)), StatusDue::Now);
        assert_eq!(
            due(Some(&more), &phase("Available", 2), &mut history, false, after(1001)),
            StatusDue::Now
        );
    }

    #[test]
    fn status_waits_for_ten_seconds_while_others_are_queued_unless_a_rollout_ends() {
        let now = Instant::now();
        let (rolling, done) = (phase("Progressing", 1), phase("Available", 1));
        let mut history = StatusHistory::default();
        assert_eq!(due(None, &rolling, &mut history, true, now), StatusDue::After(MIN_INTERVAL));
        assert_eq!(
            due(None, &rolling, &mut history, true, now + MIN_INTERVAL),
            StatusDue::After(MIN_INTERVAL)
        );
        assert_eq!(due(None, &rolling, &mut history, true, now + MAX_STATUS_DELAY), StatusDue::Now);
        assert_eq!(due(Some(&rolling), &done, &mut history, true, now + MAX_STATUS_DELAY), StatusDue::Now);
    }

    #[test]
    fn progress_waits_a_moment_for_further_changes() {
        let now = Instant::now();
        let after = |millis| now + Duration::from_millis(millis);
        let (rolling, more, most) =
            (phase("Progressing", 1), phase("Progressing", 2), phase("Progressing", 3));
        let mut history = StatusHistory { written: Some(now), pending: None };
        assert_eq!(
            due(Some(&rolling), &more, &mut history, false, after(5000)),
            StatusDue::After(COALESCE_WINDOW)
        );
        assert_eq!(due(Some(&rolling), &most, &mut history, false, after(5300)), StatusDue::Now);
        assert_eq!(due(Some(&most), &most, &mut history, false, after(5400)), StatusDue::Never);
    }

    #[test]
    fn events_wait_for_the_status_while_others_are_queued_and_none_is_lost() {
        let now = Instant::now();
        let (rolling, done) = (phase("Progressing", 1), phase("Available", 1));
        let mut history = ReconcileHistory::default();
        let mut report = |after: &ClusterStatus, event: &str, busy| {
            let events = vec![Event::normal(event, "Test", "")];
            let (due, events) = history.report(None, None, after, events, busy, now);
            (due, events.into_iter().map(|event| event.reason).collect::<Vec<_>>())
        };
        assert_eq!(report(&rolling, "One", true), (StatusDue::After(MIN_INTERVAL), vec![]));
        assert_eq!(report(&rolling, "Two", true), (StatusDue::After(MIN_INTERVAL), vec![]));
        assert_eq!(report(&done, "Three", false).1, ["One", "Two", "Three"]);
    }

    #[test]
    fn failures_count_in_a_row_and_a_problem_of_cleanup_is_new_once() {
        let mut history = ReconcileHistory::default();
        assert_eq!((history.failed(), history.failed()), (1, 2));
        history.succeeded();
        assert_eq!(history.failed(), 1);
        let problem = ReconcileProblem::new("Away", "the cloud is away");
        let now = Instant::now();
        assert_eq!(
            (history.cleanup_ended(&problem, None), history.cleanup_ended(&problem, None)),
            (true, false)
        );
        assert_eq!(history.cleanup(now), (Some(problem.clone()), None));
        let (second, until) = (Duration::from_secs(1), now + Duration::from_secs(1));
        assert!(!history.cleanup_ended(&problem, Some(until)));
        assert_eq!(history.cleanup(now), (Some(problem.clone()), Some(second)));
        assert_eq!(history.cleanup(until), (Some(problem), None));
    }

    #[test]
    fn degraded_is_recorded_once_although_the_status_is_not_written_yet() {
        let status = |state, reason: &str| {
            let mut draft = Draft::new(ClusterStatus::default(), Some(1), Timestamp::UNIX_EPOCH);
            draft.set(DEGRADED, state, reason, "details");
            draft.finish()
        };
        let (healthy, one, two) = (
            status(ConditionStatus::False, "No"),
            status(ConditionStatus::True, "One"),
            status(ConditionStatus::True, "Two"),
        );
        let mut recorded = None;
        let mut reasons = |before: &ClusterStatus, after: &ClusterStatus| {
            newly_degraded(Some(before), after, &mut recorded).map(|note| note.reason)
        };
        assert_eq!(reasons(&healthy, &one).as_deref(), Some("One"));
        assert_eq!(reasons(&healthy, &one), None, "the status is written later");
        assert_eq!(reasons(&one, &one), None, "the status was written");
        assert_eq!(reasons(&one, &two).as_deref(), Some("Two"));
        assert_eq!(reasons(&one, &two), None);
        assert_eq!(reasons(&two, &healthy), None);
        assert_eq!(reasons(&two, &two), None, "no status showed that it was over");
    }

    #[test]
    fn degraded_of_a_status_that_an_earlier_manager_wrote_is_not_recorded_again() {
        let mut draft = Draft::new(ClusterStatus::default(), Some(1), Timestamp::UNIX_EPOCH);
        draft.set(DEGRADED, ConditionStatus::True, "One", "details");
        assert_eq!(newly_degraded(Some(&draft.clone().finish()), &draft.finish(), &mut None), None);
    }
}
