//! Leader election by a Lease: of several managers one works, the others stand by.
//!
//! The rules are client-go's: a holder renews every two seconds; a lease that has not changed for fifteen seconds, by
//! the observer's own clock, may be taken; a holder that could not renew for ten seconds must assume that it lost. An
//! orderly end gives the lease back, so that the next one need not wait.

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Client;
use kube::api::{Api, PostParams};
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// For how long a lease holds without being renewed.
const DURATION: Duration = Duration::from_secs(15);
/// How long a holder may fail to renew before it must stop.
const DEADLINE: Duration = Duration::from_secs(10);
/// Between two attempts to take or renew.
const RETRY: Duration = Duration::from_secs(2);

/// One manager's part in the election.
pub(super) struct Election {
    leases: Api<Lease>,
    name: String,
    identity: String,
    /// The lease as last seen, and since when it has looked so.
    seen: Option<(Lease, Instant)>,
}

impl Election {
    pub(super) fn new(client: Client, namespace: &str, name: &str, identity: String) -> Self {
        Self { leases: Api::namespaced(client, namespace), name: name.to_owned(), identity, seen: None }
    }

    /// Waits until the lease is ours.
    pub(super) async fn acquire(&mut self) {
        loop {
            match timeout(RETRY * 2, self.attempt()).await {
                Ok(Ok(true)) => return,
                Ok(Ok(false)) => {}
                Ok(Err(error)) => tracing::warn!(%error, "failed to take the lease, will try again"),
                Err(_) => tracing::warn!("the API server does not answer for the lease, will try again"),
            }
            sleep(RETRY).await;
        }
    }

    /// Keeps the lease; returns when it is lost.
    pub(super) async fn keep(&mut self) {
        let mut renewed = Instant::now();
        loop {
            sleep(RETRY).await;
            let left = DEADLINE.saturating_sub(renewed.elapsed());
            match timeout(left, self.attempt()).await {
                Ok(Ok(true)) => renewed = Instant::now(),
                Ok(Ok(false)) => {
                    tracing::error!("another manager has taken the lease");
                    return;
                }
                Ok(Err(error)) => tracing::warn!(%error, "failed to renew the lease, will try again"),
                Err(_) => {}
            }
            if renewed.elapsed() >= DEADLINE {
                tracing::error!("the lease could not be renewed in time");
                return;
            }
        }
    }

    /// Gives the lease back.
    pub(super) async fn release(&mut self) {
        let Some((mut lease, _)) = self.seen.take() else { return };
        let now = MicroTime(Timestamp::now());
        lease.spec = Some(LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            renew_time: Some(now.clone()),
            acquire_time: Some(now),
            ..lease.spec.unwrap_or_default()
        });
        match timeout(RETRY, self.leases.replace(&self.name, &PostParams::default(), &lease)).await {
            Ok(Ok(_)) => tracing::info!("gave the lease back"),
            Ok(Err(error)) => tracing::warn!(%error, "failed to give the lease back; it will run out"),
            Err(_) => tracing::warn!("no time to give the lease back; it will run out"),
        }
    }

    /// Takes or renews the lease; false when another one holds it.
    async fn attempt(&mut self) -> kube::Result<bool> {
        // A holder renews what it wrote last; a read is only needed when somebody else wrote since.
        let known = self.seen.as_ref().filter(|(lease, _)| held_by(lease) == Some(&self.identity)).cloned();
        if let Some((lease, _)) = known {
            match self.write(Some(&lease)).await {
                Err(kube::Error::Api(status)) if status.is_conflict() || status.is_not_found() => {}
                other => return other.map(|()| true),
            }
        }
        let found = self.leases.get_opt(&self.name).await?;
        if let Some(lease) = &found {
            let unchanged = self.seen.take().filter(|(old, _)| old.spec == lease.spec);
            let since = unchanged.map_or_else(Instant::now, |(_, since)| since);
            self.seen = Some((lease.clone(), since));
            if !may_take(lease, &self.identity, since.elapsed()) {
                return Ok(false);
            }
        }
        match self.write(found.as_ref()).await {
            Ok(()) => Ok(true),
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn write(&mut self, old: Option<&Lease>) -> kube::Result<()> {
        let lease = ours(old, &self.name, &self.identity, Timestamp::now());
        let answer = match old {
            Some(_) => self.leases.replace(&self.name, &PostParams::default(), &lease).await?,
            None => self.leases.create(&PostParams::default(), &lease).await?,
        };
        self.seen = Some((answer, Instant::now()));
        Ok(())
    }
}

fn held_by(lease: &Lease) -> Option<&String> {
    lease.spec.as_ref()?.holder_identity.as_ref().filter(|holder| !holder.is_empty())
}

/// Whether a lease that has looked the same for `unchanged` may be written by `identity`.
fn may_take(lease: &Lease, identity: &str, unchanged: Duration) -> bool {
    let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
    let duration = seconds.and_then(|s| u64::try_from(s).ok()).map_or(DURATION, Duration::from_secs);
    held_by(lease).is_none_or(|holder| holder == identity) || unchanged > duration
}

/// The lease as we write it.
fn ours(old: Option<&Lease>, name: &str, identity: &str, now: Timestamp) -> Lease {
    let before = old.and_then(|lease| lease.spec.clone()).unwrap_or_default();
    let renewal = old.and_then(held_by).is_some_and(|holder| holder == identity);
    let transitions = before.lease_transitions.unwrap_or_default();
    Lease {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            resource_version: old.and_then(|lease| lease.metadata.resource_version.clone()),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some(identity.to_owned()),
            lease_duration_seconds: i32::try_from(DURATION.as_secs()).ok(),
            renew_time: Some(MicroTime(now)),
            acquire_time: if renewal { before.acquire_time } else { Some(MicroTime(now)) },
            lease_transitions: Some(if renewal || old.is_none() { transitions } else { transitions + 1 }),
            ..LeaseSpec::default()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_second(1_700_000_000).unwrap()
    }

    #[test]
    fn a_lease_is_taken_only_from_nobody_or_from_one_who_does_not_renew() {
        let lease = ours(None, "l", "a", now());
        assert!(may_take(&lease, "a", Duration::ZERO), "one's own");
        assert!(!may_take(&lease, "b", Duration::from_secs(15)));
        assert!(may_take(&lease, "b", Duration::from_secs(16)));
        let mut free = lease.clone();
        free.spec.as_mut().unwrap().holder_identity = Some(String::new());
        assert!(may_take(&free, "b", Duration::ZERO));
    }

    #[test]
    fn a_renewal_keeps_since_when_and_a_change_of_hands_is_counted() {
        let first = ours(None, "l", "a", now());
        let later = now() + jiff::SignedDuration::from_secs(2);
        let renewed = ours(Some(&first), "l", "a", later).spec.unwrap();
        assert_eq!((renewed.acquire_time, renewed.lease_transitions), (Some(MicroTime(now())), Some(0)));
        let taken = ours(Some(&first), "l", "b", later).spec.unwrap();
        assert_eq!((taken.acquire_time, taken.lease_transitions), (Some(MicroTime(later)), Some(1)));
    }
}
