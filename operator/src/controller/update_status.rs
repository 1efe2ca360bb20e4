//! The last step: writes the status when it says something new, and seldom while servers come and go.

use super::apply::FIELD_MANAGER;
use super::cache::Key;
use super::dereference::Written;
use super::error::Error;
use super::status;
use crate::crd::{Memcached, MemcachedStatus};
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two status writes that only tell how far a roll-out is.
pub(crate) const PACE: Duration = Duration::from_secs(1);

/// What to do about a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// It says nothing new.
    Never,
    /// Write it now.
    Now,
    /// Look again after this time: it may have moved on by then.
    After(Duration),
}

/// Whether a status has to be written; `last` is when this Memcached's was written before.
pub(crate) fn due(
    before: Option<&MemcachedStatus>,
    after: &MemcachedStatus,
    last: Option<Instant>,
    now: Instant,
) -> Due {
    if before == Some(after) {
        return Due::Never;
    }
    let settled = matches!(after.phase.as_deref(), Some("Available" | "Degraded" | "Finalizing"));
    let moved = before.is_none_or(|before| before.phase != after.phase);
    let wait = last.and_then(|last| PACE.checked_sub(now.saturating_duration_since(last)));
    match wait {
        Some(wait) if !(wait.is_zero() || settled && moved) => Due::After(wait),
        _ => Due::Now,
    }
}

/// Writes a status and returns the Memcached as it is then; `None` when it is gone.
pub(crate) async fn update_status(
    client: &Client,
    key: &Key,
    status: &MemcachedStatus,
    written: &Written,
) -> Result<Option<Arc<Memcached>>, Error> {
    let api: Api<Memcached> = Api::namespaced(client.clone(), &key.namespace);
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    match api.patch_status(&key.name, &params, &Patch::Merge(status::patch(status))).await {
        Ok(answer) => Ok(Some(keep(answer, written))),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
        Err(source) => Err(Error::Write { part: "status", source: Box::new(source) }),
    }
}

/// Remembers an answer for the reconciles before the watch tells it.
pub(crate) fn keep(mut answer: Memcached, written: &Written) -> Arc<Memcached> {
    slim(&mut answer);
    let answer = Arc::new(answer);
    written.put(Arc::clone(&answer));
    answer
}

/// Drops what nobody here reads and what may be large.
pub(crate) fn slim(memcached: &mut Memcached) {
    memcached.metadata.managed_fields = None;
    memcached.metadata.annotations = None;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(phase: &str, replicas: i32) -> MemcachedStatus {
        MemcachedStatus { phase: Some(phase.into()), replicas, ..MemcachedStatus::default() }
    }

    #[test]
    fn what_says_nothing_new_is_not_written() {
        assert_eq!(
            due(Some(&phase("Available", 1)), &phase("Available", 1), None, Instant::now()),
            Due::Never
        );
    }

    #[test]
    fn a_roll_out_is_told_once_a_second_and_its_end_at_once() {
        let now = Instant::now();
        let rolling = phase("Progressing", 1);
        let soon = due(Some(&rolling), &phase("Progressing", 2), Some(now), now + Duration::from_millis(300));
        assert_eq!(soon, Due::After(Duration::from_millis(700)));
        assert_eq!(due(Some(&rolling), &phase("Progressing", 2), Some(now), now + PACE), Due::Now);
        assert_eq!(due(Some(&rolling), &phase("Available", 2), Some(now), now), Due::Now);
        assert_eq!(due(None, &rolling, None, now), Due::Now);
    }
}
