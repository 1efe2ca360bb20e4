//! Limits how often an external system is called, over all objects.

use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// Limits how often an external system is called; clones share the limit.
///
/// ```
/// # use operator_runtime::controller::RateLimit;
/// # use std::time::Duration;
/// # async fn call(limit: &RateLimit) {
/// limit.acquire().await;
/// // … the call
/// # }
/// // At most five calls a second on average, and ten at once.
/// let limit = RateLimit::new(Duration::from_millis(200), 10);
/// ```
#[derive(Clone, Debug)]
pub struct RateLimit {
    interval: Duration,
    burst: Duration,
    /// When the next call could be made if there were no bursts.
    next: Arc<Mutex<Option<Instant>>>,
}

/// The longest interval, so that no sum of intervals overflows.
const LONGEST: Duration = Duration::from_hours(365 * 24);

impl RateLimit {
    /// Returns a limit of one call per interval (at most a year) on average, of which at most `burst` are made at once.
    #[must_use]
    pub fn new(interval: Duration, burst: u32) -> Self {
        let interval = interval.min(LONGEST);
        Self { interval, burst: interval.saturating_mul(burst.saturating_sub(1)), next: Arc::default() }
    }

    /// Waits until the next call may be made; callers are served in their order.
    ///
    /// A caller that times out, as after [`Reconciler::EXTERNAL_TIMEOUT`](super::Reconciler::EXTERNAL_TIMEOUT), does not use up a call.
    /// Choose a timeout longer than the longest wait: the interval times the number of objects that are reconciled at the same time.
    pub async fn acquire(&self) {
        // Held while waiting: the others wait in the order in which they came.
        let mut next = self.next.lock().await;
        let now = Instant::now();
        let due = next.map_or(now, |next| next.max(now));
        sleep_until(due.checked_sub(self.burst).unwrap_or(now)).await;
        *next = Some(due + self.interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn calls_are_made_at_once_up_to_the_burst_and_then_one_per_interval() {
        tokio::time::sleep(Duration::from_mins(1)).await;
        let limit = RateLimit::new(Duration::from_secs(1), 3);
        let start = Instant::now();
        let mut times = Vec::new();
        for _ in 0..6 {
            limit.acquire().await;
            times.push(start.elapsed().as_secs());
        }
        assert_eq!(times, [0, 0, 0, 1, 2, 3]);
        tokio::time::sleep(Duration::from_mins(1)).await;
        let start = Instant::now();
        let mut times = Vec::new();
        for _ in 0..5 {
            limit.acquire().await;
            times.push(start.elapsed().as_secs());
        }
        assert_eq!(times, [0, 0, 0, 1, 2]);
    }

    #[tokio::test(start_paused = true)]
    async fn callers_that_give_up_delay_nobody_else() {
        let limit = RateLimit::new(Duration::from_secs(10), 1);
        let start = Instant::now();
        limit.acquire().await;
        for _ in 0..5 {
            let given_up = tokio::time::timeout(Duration::from_secs(1), limit.acquire()).await;
            assert!(given_up.is_err());
        }
        limit.acquire().await;
        assert_eq!(start.elapsed().as_secs(), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn bursts_may_be_longer_than_the_machine_runs() {
        let limit = RateLimit::new(Duration::MAX, u32::MAX);
        let start = Instant::now();
        for _ in 0..100 {
            limit.acquire().await;
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}
