//! The version of the API server that expressions are validated for.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU16, Ordering};

/// A minor version of the API server of Kubernetes 1, which records the versions that gave the same answers.
///
/// Code that depends on the version calls [`since`](Self::since). Each answer narrows [`same`](Self::same), so that a caller that
/// needs a result for many versions computes it once for each distinct behavior: the result is the same for all versions of `same`.
#[derive(Debug)]
pub struct Server {
    minor: u16,
    first: AtomicU16,
    last: AtomicU16,
}

impl Server {
    /// The newest version that this crate knows.
    pub const NEWEST: u16 = 37;

    /// Returns the server of Kubernetes `1.minor`.
    #[must_use]
    pub const fn new(minor: u16) -> Self {
        Self { minor, first: AtomicU16::new(0), last: AtomicU16::new(u16::MAX) }
    }

    /// Returns whether the version is `1.minor` or newer.
    pub fn since(&self, minor: u16) -> bool {
        if self.minor >= minor {
            self.first.fetch_max(minor, Ordering::Relaxed);
            true
        } else {
            self.last.fetch_min(minor - 1, Ordering::Relaxed);
            false
        }
    }

    /// Returns whether the version is `1.first` or newer, but older than `1.until`.
    pub fn within(&self, first: u16, until: u16) -> bool {
        self.since(first) && !self.since(until)
    }

    /// Returns the versions for which all calls of [`since`](Self::since) so far return the same.
    #[must_use]
    pub fn same(&self) -> RangeInclusive<u16> {
        self.first.load(Ordering::Relaxed)..=self.last.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_narrow_the_versions_that_behave_the_same() {
        let server = Server::new(33);
        assert_eq!(server.same(), 0..=u16::MAX);
        assert!(server.since(31) && !server.since(35) && server.since(20) && !server.within(34, 36));
        assert_eq!(server.same(), 31..=33);
    }
}
