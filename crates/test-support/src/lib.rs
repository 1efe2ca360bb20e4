//! Helpers that the tests of several crates share.
//!
//! [`skip`] decides what happens to a test whose program is not installed: it is skipped and listed, or fails in CI. `make test`
//! names a file in [`LIST`], to which each skipped test adds a line with its name and what is missing.
//!
//! [`growth`] measures how the run time grows with the size of the input.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The environment variable with the path of the file that lists skipped tests.
pub const LIST: &str = "SKIPPED_TESTS";

/// Reports that the running test is skipped because something is `missing`, such as `chromium is not installed`. The test has to
/// return itself.
///
/// # Panics
/// In CI ([`is_ci`]), where every test has to run; and if the file that [`LIST`] names cannot be written.
#[expect(clippy::panic, reason = "a test fails by panicking")]
pub fn skip(missing: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    assert!(!is_ci(), "{test} cannot run: {missing}");
    eprintln!("skipped {test}: {missing}");
    if let Some(path) = std::env::var_os(LIST).filter(|path| !path.is_empty()) {
        let file = OpenOptions::new().append(true).create(true).open(&path);
        // One write, so that the lines of several tests do not mix.
        let written = file.and_then(|mut file| file.write_all(format!("{test}\t{missing}\n").as_bytes()));
        if let Err(error) = written {
            panic!("failed to write {}: {error}", path.display());
        }
    }
}

/// Returns whether the tests run in CI: the environment variable `CI` is set and not empty.
#[must_use]
pub fn is_ci() -> bool {
    is_set(std::env::var_os("CI").as_deref())
}

fn is_set(value: Option<&OsStr>) -> bool {
    value.is_some_and(|value| !value.is_empty())
}

/// Returns how many times longer `run` takes for an input of four times the size: about 4 if its time is linear, about 16 if it is
/// quadratic.
///
/// `prepare` returns an input of a given size. The time is the CPU time of this thread alone, so that other load hardly changes it;
/// the shortest of three runs counts.
pub fn growth<T>(size: usize, prepare: impl Fn(usize) -> T, run: impl Fn(T)) -> f64 {
    let time = |size| {
        let once = || {
            let input = prepare(size);
            let before = processor_time();
            run(input);
            processor_time().saturating_sub(before)
        };
        (0..3).map(|_| once()).min().unwrap_or_default().as_secs_f64()
    };
    time(4 * size) / time(size).max(1e-9)
}

/// The maximum of [`growth`] for time that grows linearly, or a little faster because of caches or sorting.
pub const LINEAR: f64 = 9.0;

fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_variable_counts_as_unset() {
        for (value, expected) in [(None, false), (Some(""), false), (Some("true"), true), (Some("1"), true)] {
            assert_eq!(is_set(value.map(OsStr::new)), expected, "{value:?}");
        }
    }

    #[test]
    fn quadratic_time_is_distinguished_from_linear_time() {
        let linear = |size: usize| {
            std::hint::black_box((0..size * 1000).fold(0_usize, |sum, one| sum ^ std::hint::black_box(one)));
        };
        let quadratic = |size: usize| linear(size * size / 100);
        let linear = growth(1_000, |size| size, linear);
        assert!(linear < LINEAR, "{linear}");
        let quadratic = growth(200, |size| size, quadratic);
        assert!(quadratic > LINEAR, "{quadratic}");
    }
}
