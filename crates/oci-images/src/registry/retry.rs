//! Retries with growing pauses.

use std::time::Duration;

use super::deadline::Deadline;
use super::failure::Failure;

/// Maximum pause that a registry may ask for with `Retry-After`.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(10);
/// Maximum number of retries of a request that stalled: each takes the whole idle timeout.
const MAX_STALLS: u32 = 1;

/// A transfer that got this much further, in bytes, is worth as many attempts as a new one.
const RESUMED_PROGRESS: u64 = 256 << 10;

/// How often and how patiently requests are retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backoff {
    /// How often a request is made at most.
    pub attempts: u32,
    /// The pause before the second attempt; it doubles with every further one.
    pub first: Duration,
}

impl Default for Backoff {
    /// Five attempts within about eight seconds.
    fn default() -> Self {
        Self::new(5, Duration::from_millis(500))
    }
}

impl Backoff {
    /// Returns a backoff of up to `attempts` requests, with a pause of `first` before the second one.
    #[must_use]
    pub fn new(attempts: u32, first: Duration) -> Self {
        Self { attempts, first }
    }

    /// Starts to count the attempts of one request.
    pub(crate) fn start(self, deadline: Deadline) -> Attempts {
        Attempts { backoff: self, deadline, made: 1, stalls: 0, pause: self.first, furthest: 0 }
    }

    /// Runs `attempt` until it succeeds or [`Attempts::pause`] gives up.
    pub(crate) async fn run<T, F>(
        self,
        deadline: Deadline,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let mut attempts = self.start(deadline);
        loop {
            match attempt().await {
                Err(failure) => attempts.pause(failure).await?,
                success => return success,
            }
        }
    }
}

/// The attempts of one request so far.
#[derive(Debug)]
pub(crate) struct Attempts {
    backoff: Backoff,
    deadline: Deadline,
    made: u32,
    stalls: u32,
    pause: Duration,
    /// The position at which a transfer was when the count started.
    furthest: u64,
}

impl Attempts {
    /// Waits before the next attempt.
    ///
    /// # Errors
    ///
    /// Returns `failure` if there is no next attempt.
    pub(crate) async fn pause(&mut self, failure: Failure) -> Result<(), Failure> {
        match self.next(&failure) {
            Some(pause) => tokio::time::sleep(pause).await,
            None => return Err(failure),
        }
        Ok(())
    }

    /// Returns the pause before the next attempt; `None` if there is none: it would fail again, there were enough, or
    /// the deadline would pass meanwhile.
    ///
    /// Only what may succeed when repeated is retried: overload (429), errors of the server (5xx), connections that
    /// break, and once a request that stalls.
    fn next(&mut self, failure: &Failure) -> Option<Duration> {
        let asked = match failure {
            Failure::Status { status, retry_after, .. }
                if matches!(status.as_u16(), 408 | 429 | 500 | 502 | 503 | 504) =>
            {
                retry_after.unwrap_or_default().min(MAX_RETRY_AFTER)
            }
            Failure::Broken(_) => Duration::ZERO,
            Failure::Stalled { .. } if self.stalls < MAX_STALLS => {
                self.stalls += 1;
                Duration::ZERO
            }
            _ => return None,
        };
        let pause = self.pause.max(asked);
        if self.made >= self.backoff.attempts || pause >= self.deadline.left() {
            return None;
        }
        self.made += 1;
        self.pause = self.pause.saturating_mul(2);
        Some(pause)
    }

    /// Starts to count again if a transfer, at `position` now, got further than ever. One that repeats itself does not.
    pub(crate) fn reached(&mut self, position: u64) {
        if position >= self.furthest.saturating_add(RESUMED_PROGRESS) {
            *self = Self { furthest: position, ..self.backoff.start(self.deadline) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use reqwest::StatusCode;

    use super::*;

    fn status(code: u16, retry_after: Option<Duration>) -> Failure {
        let status = StatusCode::from_u16(code).unwrap();
        Failure::Status { status, message: String::new(), retry_after }
    }

    fn stalled() -> Failure {
        Failure::Stalled { request: String::new(), after: Duration::ZERO }
    }

    #[tokio::test]
    async fn transient_failures_are_retried() {
        let cases: [(Vec<Failure>, usize, bool); 7] = [
            (vec![], 1, true),
            (vec![status(500, None), status(429, None)], 3, true),
            (vec![status(500, None), status(502, None), status(503, None)], 3, false),
            (vec![status(400, None)], 1, false),
            (vec![Failure::Broken("".into())], 2, true),
            (vec![stalled()], 2, true),
            (vec![stalled(), stalled()], 2, false),
        ];
        for (failures, expected, succeeds) in cases {
            let name = format!("{failures:?}");
            let failures = std::cell::RefCell::new(failures.into_iter());
            let calls = Cell::new(0);
            let backoff = Backoff::new(3, Duration::ZERO);
            let attempt = || async {
                calls.set(calls.get() + 1);
                failures.borrow_mut().next().map_or(Ok(()), Err)
            };
            let result = backoff.run(Deadline::after(Duration::from_mins(10)), attempt).await;
            assert_eq!((calls.get(), result.is_ok()), (expected, succeeds), "{name}");
        }
    }

    #[test]
    fn retry_after_is_honored_up_to_a_limit() {
        for (asked, expected) in [(None, 1), (Some(4), 4), (Some(u64::MAX), 10)] {
            let mut attempts =
                Backoff::new(2, Duration::from_secs(1)).start(Deadline::after(Duration::from_mins(10)));
            let pause = attempts.next(&status(429, asked.map(Duration::from_secs)));
            assert_eq!(pause, Some(Duration::from_secs(expected)), "{asked:?}");
        }
    }

    #[test]
    fn transfer_that_goes_back_and_forth_runs_out_of_attempts() {
        let mut attempts = Backoff::new(3, Duration::ZERO).start(Deadline::after(Duration::from_mins(10)));
        let mut tried = 0;
        // A registry that reports the same progress again and again, and none in between.
        for position in [RESUMED_PROGRESS, 0].into_iter().cycle().take(100) {
            attempts.reached(position);
            if attempts.next(&status(500, None)).is_none() {
                break;
            }
            tried += 1;
        }
        assert_eq!(tried, 2);
        attempts.reached(2 * RESUMED_PROGRESS);
        assert!(attempts.next(&status(500, None)).is_some(), "it got further than ever");
    }

    #[test]
    fn pause_beyond_the_deadline_is_not_waited_for() {
        let backoff = Backoff::new(5, Duration::from_hours(1));
        let mut attempts = backoff.start(Deadline::after(Duration::from_mins(1)));
        assert_eq!(attempts.next(&status(503, None)), None);
    }
}
