//! The last step: writes the status if it changed, and rarely while servers come and go.

use super::apply::FIELD_MANAGER;
use super::cache::Key;
use super::dereference::Observed;
use super::error::Error;
use super::live::Live;
use super::status;
use crate::crd::{Memcached, MemcachedStatus};
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The shortest time between two status writes that only report the progress of a rollout.
pub(crate) const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// The longest time that a status is delayed while the controller is busy creating servers.
const MAX_STATUS_DELAY: Duration = Duration::from_secs(10);
/// How long such a status waits for further changes: pods and Deployments are reported by different watches.
const COALESCE_WINDOW: Duration = Duration::from_millis(300);

/// When the status of a Memcached was written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StatusHistory {
    /// When it was last written.
    pub(crate) written: Option<Instant>,
    /// Since when it has changes that were not written.
    pub(crate) pending: Option<Instant>,
}

/// What to do about a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
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
pub(crate) fn due(
    before: Option<&MemcachedStatus>,
    after: &MemcachedStatus,
    history: &mut StatusHistory,
    busy: bool,
    now: Instant,
) -> Due {
    if before == Some(after) {
        history.pending = None;
        return Due::Never;
    }
    let settled = matches!(after.phase.as_deref(), Some("Available" | "Degraded" | "Finalizing"));
    let moved = before.is_none_or(|before| before.phase != after.phase);
    let pending = *history.pending.get_or_insert(now);
    let paced = history.written.map(|written| (written + MIN_INTERVAL).max(pending + COALESCE_WINDOW));
    let earliest = if busy && now < pending + MAX_STATUS_DELAY { Some(now + MIN_INTERVAL) } else { paced };
    match earliest {
        Some(earliest) if earliest > now && !(settled && moved) => Due::After(earliest - now),
        _ => {
            *history = StatusHistory { written: Some(now), pending: None };
            Due::Now
        }
    }
}

/// Applies a status and returns the Memcached as it is then; `None` if it no longer exists.
///
/// Server-side apply leaves conditions and fields of other managers unchanged.
pub(crate) async fn update_status(
    client: &Client,
    key: &Key,
    status: &MemcachedStatus,
    observed: &Observed,
) -> Result<Option<Arc<Memcached>>, Error> {
    let api: Api<Live<Memcached>> = Api::namespaced(client.clone(), &key.namespace);
    let params = PatchParams::apply(FIELD_MANAGER).force();
    match api.patch_status(&key.name, &params, &Patch::Apply(status::applied(&key.name, status))).await {
        Ok(response) => Ok(Some(observed.remember(response))),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
        Err(source) => Err(Error::Write { part: "status", source: Box::new(source) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(phase: &str, replicas: i32) -> MemcachedStatus {
        MemcachedStatus { phase: Some(phase.into()), replicas, ..MemcachedStatus::default() }
    }

    #[test]
    fn an_unchanged_status_is_not_written() {
        let mut history = StatusHistory::default();
        let status = phase("Available", 1);
        assert_eq!(due(Some(&status), &status, &mut history, false, Instant::now()), Due::Never);
    }

    #[test]
    fn progress_is_written_once_a_second_and_the_end_of_a_rollout_at_once() {
        let now = Instant::now();
        let after = |millis| now + Duration::from_millis(millis);
        let rolling = phase("Progressing", 1);
        let mut history = StatusHistory::default();
        assert_eq!(due(None, &rolling, &mut history, false, now), Due::Now);
        let more = phase("Progressing", 2);
        let wait = Due::After(Duration::from_millis(700));
        assert_eq!(due(Some(&rolling), &more, &mut history, false, after(300)), wait);
        assert_eq!(due(Some(&rolling), &more, &mut history, false, after(1000)), Due::Now);
        assert_eq!(due(Some(&more), &phase("Available", 2), &mut history, false, after(1001)), Due::Now);
    }

    #[test]
    fn while_others_are_queued_only_the_end_of_a_rollout_is_written_for_ten_seconds() {
        let now = Instant::now();
        let (rolling, done) = (phase("Progressing", 1), phase("Available", 1));
        let mut history = StatusHistory::default();
        assert_eq!(due(None, &rolling, &mut history, true, now), Due::After(MIN_INTERVAL));
        assert_eq!(due(None, &rolling, &mut history, true, now + MIN_INTERVAL), Due::After(MIN_INTERVAL));
        assert_eq!(due(None, &rolling, &mut history, true, now + MAX_STATUS_DELAY), Due::Now);
        assert_eq!(due(Some(&rolling), &done, &mut history, true, now + MAX_STATUS_DELAY), Due::Now);
    }

    #[test]
    fn progress_waits_a_moment_for_further_changes() {
        let now = Instant::now();
        let after = |millis| now + Duration::from_millis(millis);
        let (rolling, more, most) =
            (phase("Progressing", 1), phase("Progressing", 2), phase("Progressing", 3));
        let mut history = StatusHistory { written: Some(now), pending: None };
        assert_eq!(due(Some(&rolling), &more, &mut history, false, after(5000)), Due::After(COALESCE_WINDOW));
        assert_eq!(due(Some(&rolling), &most, &mut history, false, after(5300)), Due::Now);
        assert_eq!(due(Some(&most), &most, &mut history, false, after(5400)), Due::Never);
    }
}
