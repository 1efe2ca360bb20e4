//! How long to wait between attempts.

use kube::runtime::utils::Backoff;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

/// The longest wait between two attempts to watch: nothing is reconciled meanwhile.
const MAX_WATCH_BACKOFF: Duration = Duration::from_secs(5);

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
#[derive(Debug, Default)]
pub struct WatchBackoff {
    failures: u32,
    random: RandomState,
}

impl Iterator for WatchBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.failures = self.failures.saturating_add(1);
        Some(backoff(self.failures, self.random.hash_one(Instant::now())).min(MAX_WATCH_BACKOFF))
    }
}

impl Backoff for WatchBackoff {
    fn reset(&mut self) {
        self.failures = 0;
    }
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

    #[test]
    fn jitter_is_at_most_a_tenth() {
        let hours = |random| jittered(Duration::from_hours(10), random).as_secs_f64() / 3600.0;
        for random in 0..1000 {
            assert!((9.0..=11.0).contains(&hours(random)), "{}", hours(random));
        }
        assert!(hours(0) < hours(200));
    }
}
