//! Leader election by a Lease: of several managers one reconciles, the others stand by.
//!
//! The rules are client-go's: the leader renews every two seconds; a Lease that has not changed for fifteen seconds, by
//! the observer's own clock, may be taken; a leader that could not renew for ten seconds must assume that it lost. A
//! leader that stops in an orderly way releases the Lease, so that the next one need not wait.
//!
//! Each write replaces the version of the Lease that was read, so that of two candidates one fails. That is why this is not
//! the crate kube-lease-manager (0.13): it patches without a version, so that two candidates that find a Lease expired can
//! both take it, it compares the holder's `renewTime` with its own clock, and a standby that stops releases a Lease that it
//! does not hold if that has expired.

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Client;
use kube::api::{Api, PostParams};
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;
use tokio::time::Instant;
use tokio::time::{sleep, timeout};

/// How long a Lease is valid without being renewed.
const LEASE_DURATION: Duration = Duration::from_secs(15);
/// How long a leader may fail to renew before it must stop.
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// Time between two renewals, and the shortest time between two attempts to acquire.
const RETRY_PERIOD: Duration = Duration::from_secs(2);
/// How much longer than [`RETRY_PERIOD`] the pause between two attempts to acquire may be, so that candidates that start at the
/// same time do not keep asking at the same time.
///
/// Source: `JitterFactor` of client-go's `tools/leaderelection`.
const JITTER_PERCENT: u32 = 120;

/// An election: of several managers one leads.
///
/// [`LeaseElection`] is the one that [`run`](super::run) uses; another one may follow other rules.
pub trait LeaderElection: Send {
    /// Waits until this candidate leads.
    fn acquire(&mut self) -> BoxFuture<'_, ()>;
    /// Stays the leader; returns when that is lost.
    fn renew(&mut self) -> BoxFuture<'_, ()>;
    /// Lets others lead at once, if this candidate leads.
    fn release(&mut self) -> BoxFuture<'_, ()>;
}

impl LeaderElection for LeaseElection {
    fn acquire(&mut self) -> BoxFuture<'_, ()> {
        Self::acquire(self).boxed()
    }

    fn renew(&mut self) -> BoxFuture<'_, ()> {
        Self::renew(self).boxed()
    }

    fn release(&mut self) -> BoxFuture<'_, ()> {
        Self::release(self).boxed()
    }
}

/// One candidate of an election by a Lease.
pub struct LeaseElection {
    leases: Api<Lease>,
    name: String,
    identity: String,
    /// The Lease as last observed, and since when it has not changed.
    observed: Option<(Lease, Instant)>,
    /// When the request was sent that last acquired or renewed the Lease: from then on, others count its time.
    renewed: Instant,
    random: RandomState,
}

impl LeaseElection {
    /// Returns a candidate with this identity for the Lease of this name.
    #[must_use]
    pub fn new(client: Client, namespace: &str, name: &str, identity: String) -> Self {
        let leases = Api::namespaced(client, namespace);
        Self {
            leases,
            name: name.to_owned(),
            identity,
            observed: None,
            renewed: Instant::now(),
            random: RandomState::new(),
        }
    }

    /// Waits until this candidate holds the Lease.
    pub async fn acquire(&mut self) {
        loop {
            match timeout(RETRY_PERIOD * 2, self.try_acquire_or_renew()).await {
                Ok(Ok(true)) => return,
                Ok(Ok(false)) => {}
                Ok(Err(error)) => tracing::warn!(%error, "failed to acquire the lease; retrying"),
                Err(_) => tracing::warn!("timed out acquiring the lease; retrying"),
            }
            sleep(acquire_pause(self.random.hash_one(Timestamp::now().as_nanosecond()))).await;
        }
    }

    /// Renews the Lease; returns when it is lost.
    pub async fn renew(&mut self) {
        loop {
            sleep(RETRY_PERIOD).await;
            let left = RENEW_DEADLINE.saturating_sub(self.renewed.elapsed());
            match timeout(left, self.try_acquire_or_renew()).await {
                Ok(Ok(false)) => {
                    tracing::error!("the lease is held by another manager");
                    return;
                }
                Ok(Err(error)) => tracing::warn!(%error, "failed to renew the lease; retrying"),
                Ok(Ok(true)) | Err(_) => {}
            }
            if self.renewed.elapsed() >= RENEW_DEADLINE {
                tracing::error!("failed to renew the lease within {} s", RENEW_DEADLINE.as_secs());
                return;
            }
        }
    }

    /// Releases the Lease if this candidate holds it; a standby leaves the leader's Lease unchanged.
    pub async fn release(&mut self) {
        let Some((lease, _)) = self.observed.take().filter(|(lease, _)| self.holds(lease)) else {
            return;
        };
        match timeout(RETRY_PERIOD, self.write_released(lease)).await {
            Ok(Ok(())) => tracing::info!("released the lease"),
            Ok(Err(error)) => tracing::warn!(%error, "failed to release the lease; it will expire"),
            Err(_) => tracing::warn!("timed out releasing the lease; it will expire"),
        }
    }

    async fn write_released(&self, mut lease: Lease) -> kube::Result<()> {
        loop {
            match self.leases.replace(&self.name, &PostParams::default(), &released(&lease)).await {
                // A renewal that was interrupted may have been written.
                Err(kube::Error::Api(status)) if status.is_conflict() => {
                    lease = self.leases.get(&self.name).await?;
                    if !self.holds(&lease) {
                        return Ok(());
                    }
                }
                other => return other.map(drop),
            }
        }
    }

    fn holds(&self, lease: &Lease) -> bool {
        holder(lease) == Some(self.identity.as_str())
    }

    /// Acquires or renews the Lease; returns false while another candidate holds it.
    async fn try_acquire_or_renew(&mut self) -> kube::Result<bool> {
        // A leader renews what it wrote last; a read is only needed after somebody else's write.
        let known = self.observed.as_ref().filter(|(lease, _)| self.holds(lease)).cloned();
        if let Some((lease, _)) = known {
            match self.write(Some(&lease)).await {
                Err(kube::Error::Api(status)) if status.is_conflict() || status.is_not_found() => {}
                other => return other.map(|()| true),
            }
        }
        let found = self.leases.get_opt(&self.name).await?;
        if let Some(lease) = &found {
            let unchanged = self.observed.take().filter(|(old, _)| old.spec == lease.spec);
            let since = unchanged.map_or_else(Instant::now, |(_, since)| since);
            self.observed = Some((lease.clone(), since));
            if !may_acquire(lease, &self.identity, since.elapsed()) {
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
        let sent = Instant::now();
        let lease = held(old, &self.name, &self.identity, Timestamp::now());
        let written = match old {
            Some(_) => self.leases.replace(&self.name, &PostParams::default(), &lease).await?,
            None => self.leases.create(&PostParams::default(), &lease).await?,
        };
        self.observed = Some((written, Instant::now()));
        self.renewed = sent;
        Ok(())
    }
}

/// Returns the pause before the next attempt to acquire.
fn acquire_pause(random: u64) -> Duration {
    RETRY_PERIOD
        + RETRY_PERIOD * u32::try_from(random % u64::from(JITTER_PERCENT + 1)).unwrap_or_default() / 100
}

/// The Lease as nobody holds it.
fn released(lease: &Lease) -> Lease {
    let now = MicroTime(Timestamp::now());
    Lease {
        spec: Some(LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            renew_time: Some(now.clone()),
            acquire_time: Some(now),
            ..lease.spec.clone().unwrap_or_default()
        }),
        ..lease.clone()
    }
}

/// The identity that holds a Lease.
fn holder(lease: &Lease) -> Option<&str> {
    lease.spec.as_ref()?.holder_identity.as_deref().filter(|holder| !holder.is_empty())
}

/// Whether `identity` may write a Lease that has not changed for `unchanged`.
fn may_acquire(lease: &Lease, identity: &str, unchanged: Duration) -> bool {
    let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
    let duration = seconds.and_then(|s| u64::try_from(s).ok()).map_or(LEASE_DURATION, Duration::from_secs);
    holder(lease).is_none_or(|holder| holder == identity) || unchanged > duration
}

/// The Lease as `identity` holds it.
fn held(old: Option<&Lease>, name: &str, identity: &str, now: Timestamp) -> Lease {
    let before = old.and_then(|lease| lease.spec.clone()).unwrap_or_default();
    let renewal = old.and_then(holder).is_some_and(|holder| holder == identity);
    let transitions = before.lease_transitions.unwrap_or_default();
    Lease {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            resource_version: old.and_then(|lease| lease.metadata.resource_version.clone()),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some(identity.to_owned()),
            lease_duration_seconds: i32::try_from(LEASE_DURATION.as_secs()).ok(),
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
    use crate::testing::MockApi;
    use axum::body::Body as AnswerBody;
    use axum::http::{Request, Response, StatusCode};
    use kube::client::Body;
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const LEASE: &str = "test-operator.example.com";

    fn now() -> Timestamp {
        Timestamp::from_second(1_700_000_000).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn standby_that_stops_leaves_the_leaders_lease_unchanged() {
        let (api, client) = MockApi::start();
        let candidate = |name: &str| LeaseElection::new(client.clone(), "default", LEASE, name.to_owned());
        let mut leader = candidate("leader");
        leader.acquire().await;
        let before = api.get("leases", LEASE).unwrap();
        for _ in 0..10 {
            let mut standby = candidate("standby");
            assert!(!standby.try_acquire_or_renew().await.unwrap());
            standby.release().await;
        }
        assert_eq!(api.get("leases", LEASE).unwrap(), before);
        assert_eq!(api.writes(), ["create leases"]);
        leader.release().await;
        assert_eq!(api.get("leases", LEASE).unwrap()["spec"]["holderIdentity"], "");
    }

    #[tokio::test(start_paused = true)]
    async fn released_lease_is_acquired_at_once() {
        let (_api, client) = MockApi::start();
        let candidate = |name: &str| LeaseElection::new(client.clone(), "default", LEASE, name.to_owned());
        let (mut first, mut second) = (candidate("first"), candidate("second"));
        assert!(first.try_acquire_or_renew().await.unwrap());
        assert!(!second.try_acquire_or_renew().await.unwrap());
        first.release().await;
        assert!(second.try_acquire_or_renew().await.unwrap());
        assert!(!first.try_acquire_or_renew().await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn renewal_counts_from_its_request_and_not_from_its_response() {
        static RENEWALS: AtomicUsize = AtomicUsize::new(0);
        // The first renewal is answered after seven seconds, and no other one is.
        let server = |request: Request<Body>| async move {
            let (method, body) = (request.method().clone(), request.into_body());
            let body = body.collect_bytes().await.unwrap();
            if method == "PUT" {
                let renewals = RENEWALS.fetch_add(1, Ordering::SeqCst);
                sleep(if renewals == 0 { Duration::from_secs(7) } else { Duration::MAX }).await;
            }
            let mut answer = Response::new(AnswerBody::from(body));
            if method == "GET" {
                let status = r#"{"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound", "message": ""}"#;
                answer = Response::new(AnswerBody::from(status));
                *answer.status_mut() = StatusCode::NOT_FOUND;
            }
            Ok::<_, Infallible>(answer)
        };
        let client = Client::new(tower::service_fn(server), "default");
        let mut election = LeaseElection::new(client, "default", LEASE, "leader".to_owned());
        election.acquire().await;
        let began = Instant::now();
        election.renew().await;
        // Sent after two seconds: ten seconds later the leader must have stopped.
        assert_eq!(began.elapsed(), RETRY_PERIOD + RENEW_DEADLINE);
    }

    #[tokio::test(start_paused = true)]
    async fn lease_is_released_after_a_renewal_whose_response_was_not_waited_for() {
        let (api, client) = MockApi::start();
        let mut leader = LeaseElection::new(client, "default", LEASE, "leader".to_owned());
        leader.acquire().await;
        // Its version is now another one than the leader knows.
        api.change("leases", LEASE, |lease| {
            lease["spec"]["renewTime"] = "2026-01-01T00:00:00.000000Z".into();
        });
        leader.release().await;
        assert_eq!(api.get("leases", LEASE).unwrap()["spec"]["holderIdentity"], "");
    }

    #[tokio::test(start_paused = true)]
    async fn candidates_that_start_together_ask_at_different_times() {
        let (api, client) = MockApi::start();
        let candidate = |name: &str| LeaseElection::new(client.clone(), "default", LEASE, name.to_owned());
        let mut leader = candidate("leader");
        leader.acquire().await;
        let began = Instant::now();
        let asked = |api: &MockApi| api.calls().iter().filter(|call| call.verb == "get").count();
        let mut pauses = std::collections::BTreeSet::new();
        for _ in 0..20 {
            let mut standby = candidate("standby");
            let (start, before) = (Instant::now(), asked(&api));
            let second_request = async {
                while asked(&api) < before + 2 {
                    sleep(Duration::from_millis(1)).await;
                }
            };
            tokio::select! {
                () = standby.acquire() => panic!("the leader renews"),
                () = second_request => {}
                () = async {
                    loop {
                        leader.renew().await;
                    }
                } => {}
            }
            let pause = start.elapsed();
            assert!(
                pause >= RETRY_PERIOD && pause <= RETRY_PERIOD * 22 / 10 + Duration::from_millis(10),
                "{pause:?}"
            );
            pauses.insert(pause.as_millis());
        }
        assert!(pauses.len() > 5, "{pauses:?} in {:?}", began.elapsed());
    }

    #[test]
    fn lease_is_acquired_only_when_it_is_free_or_expired() {
        let lease = held(None, "l", "a", now());
        assert!(may_acquire(&lease, "a", Duration::ZERO), "one's own");
        assert!(!may_acquire(&lease, "b", Duration::from_secs(15)));
        assert!(may_acquire(&lease, "b", Duration::from_secs(16)));
        let mut free = lease.clone();
        free.spec.as_mut().unwrap().holder_identity = Some(String::new());
        assert!(may_acquire(&free, "b", Duration::ZERO));
    }

    #[test]
    fn renewal_keeps_the_acquire_time_and_a_new_holder_counts_as_a_transition() {
        let first = held(None, "l", "a", now());
        let later = now() + jiff::SignedDuration::from_secs(2);
        let renewed = held(Some(&first), "l", "a", later).spec.unwrap();
        assert_eq!((renewed.acquire_time, renewed.lease_transitions), (Some(MicroTime(now())), Some(0)));
        let taken = held(Some(&first), "l", "b", later).spec.unwrap();
        assert_eq!((taken.acquire_time, taken.lease_transitions), (Some(MicroTime(later)), Some(1)));
    }
}
