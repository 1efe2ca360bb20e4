//! How long to wait between attempts.

use kube::runtime::utils::Backoff;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;
use tokio::time::Instant;

/// The longest wait between two attempts to watch: nothing is reconciled meanwhile.
const MAX_WATCH_BACKOFF: Duration = Duration::from_secs(5);

/// Time without attempts after which the backoff starts again.
const RESET_AFTER: Duration = Duration::from_secs(20);

/// Returns how long to wait after `failures` failures in a row: doubling from 200 ms to a minute, half of it random.
#[must_use]
pub fn backoff(failures: u32, random: u64) -> Duration {
    let ceiling = 200_u64.saturating_mul(1 << failures.saturating_sub(1).min(20)).min(60_000);
    Duration::from_millis(ceiling / 2 + random % (ceiling / 2 + 1))
}

/// Returns `period`, at most a tenth longer or shorter.
#[must_use]
pub fn jittered(period: Duration, random: u64) -> Duration {
    let thousandths = 900 + u32::try_from(random % 201).unwrap_or_default();
    period / 1000 * thousandths
}

/// Waits between attempts to watch; at most five seconds, as nothing is reconciled meanwhile.
///
/// The wait grows while attempts follow each other, and starts again 20 seconds after the last one. `reset` does nothing,
/// because kube's watcher returns `Event::Init` before every attempt to list, even if each one fails.
#[derive(Debug, Default)]
pub struct WatchBackoff {
    failures: u32,
    last: Option<Instant>,
    random: RandomState,
}

impl Iterator for WatchBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let now = Instant::now();
        let follows = self.last.is_some_and(|last| now.saturating_duration_since(last) < RESET_AFTER);
        self.failures = if follows { self.failures.saturating_add(1) } else { 1 };
        self.last = Some(now);
        Some(backoff(self.failures, self.random.hash_one(now)).min(MAX_WATCH_BACKOFF))
    }
}

impl Backoff for WatchBackoff {
    fn reset(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_to_a_minute_and_jitters_within_the_upper_half() {
        for random in [0, 1, u64::MAX, 12_345] {
            assert!((100..=200).contains(&backoff(1, random).as_millis()));
            assert!((400..=800).contains(&backoff(3, random).as_millis()));
            assert!((30_000..=60_000).contains(&backoff(u32::MAX, random).as_millis()));
        }
        assert_ne!(backoff(5, 1), backoff(5, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn watch_backoff_grows_although_the_stream_resets_it_and_starts_again_later() {
        let mut waits = WatchBackoff::default();
        let mut last = Duration::ZERO;
        for _ in 0..10 {
            last = waits.next().unwrap();
            waits.reset();
            tokio::time::sleep(last).await;
        }
        assert_eq!(last, MAX_WATCH_BACKOFF);
        tokio::time::sleep(RESET_AFTER).await;
        assert!(waits.next().unwrap() <= Duration::from_millis(200));
    }

    #[test]
    fn jitter_is_at_most_a_tenth() {
        let hours = |random| jittered(Duration::from_hours(10), random).as_secs_f64() / 3600.0;
        for random in 0..1000 {
            assert!((9.0..=11.0).contains(&hours(random)), "{}", hours(random));
        }
        assert!(hours(0) < hours(200));
    }
}
