//! The time limit of all work at a registry.

use std::time::{Duration, Instant};

/// The time at which all work must have ended, counted from when the value is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    at: Instant,
    total: Duration,
}

impl Default for Deadline {
    /// 10 minutes from now.
    fn default() -> Self {
        Self::after(Duration::from_mins(10))
    }
}

impl Deadline {
    /// Returns the deadline `total` from now.
    #[must_use]
    pub fn after(total: Duration) -> Self {
        let now = Instant::now();
        // A time beyond what the clock can represent is never reached.
        let at = now.checked_add(total).unwrap_or(now + Duration::from_hours(24 * 365));
        Self { at, total }
    }

    /// Returns the point in time.
    pub(super) fn at(self) -> Instant {
        self.at
    }

    /// Returns the whole time that was given.
    pub(super) fn total(self) -> Duration {
        self.total
    }

    /// Returns the time that is left.
    pub(super) fn left(self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }
}
