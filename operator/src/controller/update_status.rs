//! The last step: writes the status when it says something new, and seldom while servers come and go.

use super::apply::FIELD_MANAGER;
use super::cache::Key;
use super::dereference::Written;
use super::error::Error;
use super::live::Live;
use super::status;
use crate::crd::{Memcached, MemcachedStatus};
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two status writes that only tell how far a roll-out is.
pub(crate) const PACE: Duration = Duration::from_secs(1);
/// How long news waits at most while the controller is busy making servers.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long such news waits for more: pods and Deployment are told of by different watches.
const GATHER: Duration = Duration::from_millis(300);

/// What was told of a Memcached before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    /// When its status was written.
    pub(crate) written: Option<Instant>,
    /// Since when there is something to tell.
    pub(crate) unsaid: Option<Instant>,
}

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

/// Whether a status has to be written, and remembers since when.
///
/// What is first said, and the end of a roll-out, is written at once; how far it is, at a leisurely pace; and while the
/// controller is `busy` with others, all but an end waits for them, within reason.
pub(crate) fn due(
    before: Option<&MemcachedStatus>,
    after: &MemcachedStatus,
    told: &mut Told,
    busy: bool,
    now: Instant,
) -> Due {
    if before == Some(after) {
        told.unsaid = None;
        return Due::Never;
    }
    let settled = matches!(after.phase.as_deref(), Some("Available" | "Degraded" | "Finalizing"));
    let moved = before.is_none_or(|before| before.phase != after.phase);
    let unsaid = *told.unsaid.get_or_insert(now);
    let paced = told.written.map(|written| (written + PACE).max(unsaid + GATHER));
    let earliest = if busy && now < unsaid + PATIENCE { Some(now + PACE) } else { paced };
    match earliest {
        Some(earliest) if earliest > now && !(settled && moved) => Due::After(earliest - now),
        _ => {
            *told = Told { written: Some(now), unsaid: None };
            Due::Now
        }
    }
}

/// Writes a status and returns the Memcached as it is then; `None` when it is gone.
pub(crate) async fn update_status(
    client: &Client,
    key: &Key,
    status: &MemcachedStatus,
    written: &Written,
) -> Result<Option<Arc<Memcached>>, Error> {
    let api: Api<Live<Memcached>> = Api::namespaced(client.clone(), &key.namespace);
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    match api.patch_status(&key.name, &params, &Patch::Merge(status::patch(status))).await {
        Ok(answer) => Ok(Some(keep(answer, written))),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
        Err(source) => Err(Error::Write { part: "status", source: Box::new(source) }),
    }
}

/// Remembers an answer for the reconciles before the watch tells it.
pub(crate) fn keep(answer: Live<Memcached>, written: &Written) -> Arc<Memcached> {
    let answer = Arc::new(Memcached::from(answer));
    written.put(Arc::clone(&answer));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(phase: &str, replicas: i32) -> MemcachedStatus {
        MemcachedStatus { phase: Some(phase.into()), replicas, ..MemcachedStatus::default() }
    }

    #[test]
    fn what_says_nothing_new_is_not_written() {
        let mut told = Told::default();
        let status = phase("Available", 1);
        assert_eq!(due(Some(&status), &status, &mut told, false, Instant::now()), Due::Never);
    }

    #[test]
    fn a_roll_out_is_told_once_a_second_and_its_end_at_once() {
        let now = Instant::now();
        let after = |millis| now + Duration::from_millis(millis);
        let rolling = phase("Progressing", 1);
        let mut told = Told::default();
        assert_eq!(due(None, &rolling, &mut told, false, now), Due::Now);
        let more = phase("Progressing", 2);
        let wait = Due::After(Duration::from_millis(700));
        assert_eq!(due(Some(&rolling), &more, &mut told, false, after(300)), wait);
        assert_eq!(due(Some(&rolling), &more, &mut told, false, after(1000)), Due::Now);
        assert_eq!(due(Some(&more), &phase("Available", 2), &mut told, false, after(1001)), Due::Now);
    }

    #[test]
    fn while_others_wait_for_their_servers_only_an_end_is_told_for_ten_seconds() {
        let now = Instant::now();
        let (rolling, done) = (phase("Progressing", 1), phase("Available", 1));
        let mut told = Told::default();
        assert_eq!(due(None, &rolling, &mut told, true, now), Due::After(PACE));
        assert_eq!(due(None, &rolling, &mut told, true, now + PACE), Due::After(PACE));
        assert_eq!(due(None, &rolling, &mut told, true, now + PATIENCE), Due::Now);
        assert_eq!(due(Some(&rolling), &done, &mut told, true, now + PATIENCE), Due::Now);
    }

    #[test]
    fn news_of_a_roll_out_waits_a_moment_for_more() {
        let now = Instant::now();
        let after = |millis| now + Duration::from_millis(millis);
        let (rolling, more, most) =
            (phase("Progressing", 1), phase("Progressing", 2), phase("Progressing", 3));
        let mut told = Told { written: Some(now), unsaid: None };
        assert_eq!(due(Some(&rolling), &more, &mut told, false, after(5000)), Due::After(GATHER));
        assert_eq!(due(Some(&rolling), &most, &mut told, false, after(5300)), Due::Now);
        assert_eq!(due(Some(&most), &most, &mut told, false, after(5400)), Due::Never);
    }
}
