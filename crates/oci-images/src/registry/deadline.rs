//! The time limit of all work at a registry.

use std::time::{Duration, Instant};

/// How long work at registries may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Timeout {
    /// The time for all requests of one [`Repository`](super::Repository), from when it is connected; of a
    /// [copy](crate::location::Copier::copy), for both ends together.
    After(Duration),
    /// The time at which all requests must have ended, of all repositories together.
    At(Deadline),
}

impl Default for Timeout {
    /// 10 minutes for each repository.
    fn default() -> Self {
        Self::After(Duration::from_mins(10))
    }
}

impl Timeout {
    /// Returns when work that begins now must have ended.
    pub(crate) fn start(self) -> Deadline {
        match self {
            Self::After(total) => Deadline::after(total),
            Self::At(deadline) => deadline,
        }
    }

    /// Returns when work that begins now and has the whole time must have ended.
    #[cfg(feature = "server")]
    pub(crate) fn restart(self) -> Deadline {
        match self {
            Self::After(total) => Deadline::after(total),
            Self::At(deadline) => Deadline { setting: deadline.setting, ..Deadline::after(deadline.total) },
        }
    }

    /// Returns the whole time that is given.
    #[cfg(feature = "server")]
    pub(crate) fn total(self) -> Duration {
        match self {
            Self::After(total) => total,
            Self::At(deadline) => deadline.total(),
        }
    }
}

/// The time at which work must have ended, counted from when the value is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    at: Instant,
    total: Duration,
    setting: Option<&'static str>,
}

impl Deadline {
    /// Returns the deadline `total` from now.
    #[must_use]
    pub fn after(total: Duration) -> Self {
        let now = Instant::now();
        // A time beyond what the clock can represent is never reached.
        let at = now.checked_add(total).unwrap_or(now + Duration::from_hours(24 * 365));
        Self { at, total, setting: None }
    }

    /// Returns the same deadline, whose setting users of the program know by a name such as `--timeout`.
    /// [`Remedy::RaiseTimeout`](super::Remedy::RaiseTimeout) returns it.
    #[must_use]
    pub fn with_setting(self, setting: &'static str) -> Self {
        Self { setting: Some(setting), ..self }
    }

    /// Returns the name of the setting; `None` if the program has not set one.
    pub(crate) fn setting(self) -> Option<&'static str> {
        self.setting
    }

    /// Returns the point in time.
    pub(crate) fn at(self) -> Instant {
        self.at
    }

    /// Returns the whole time that was given.
    #[must_use]
    pub fn total(self) -> Duration {
        self.total
    }

    /// Returns the time that is left.
    #[must_use]
    pub fn left(self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }
}
