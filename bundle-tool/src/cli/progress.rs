//! The progress of transfers on standard error: a bar on a terminal, and otherwise a line for each that took long.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use oci_images::registry::{Progress, ProgressSink};

use crate::terminal::{messages, shows_progress};
use kube_yaml::text::{counted, printable};

/// How long a transfer must take to be reported in a log.
const REPORTED: Duration = Duration::from_secs(10);

/// Returns the progress of a transfer, such as `pushing quay.io/example/app:v1`, which is shown until its last clone is dropped.
pub(crate) fn progress(what: impl Into<String>) -> Progress {
    let what = what.into();
    if !shows_progress() {
        return Progress::new(Line {
            what,
            begin: Instant::now(),
            done: AtomicU64::new(0),
            total: AtomicU64::new(0),
        });
    }
    let bar = ProgressBar::new(0).with_message(what);
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec}")
    {
        bar.set_style(style);
    }
    Progress::new(Bar(bar))
}

/// The progress of many transfers.
pub(crate) struct ManyProgress {
    what: String,
    all: usize,
    done: AtomicU64,
    bar: Option<ProgressBar>,
}

impl ManyProgress {
    /// Returns the progress of `all` transfers, such as `mirroring`.
    pub(crate) fn new(what: &str, all: usize) -> Self {
        let bar = shows_progress().then(|| ProgressBar::new(0));
        let template = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
        if let (Some(bar), Ok(style)) = (&bar, ProgressStyle::with_template(template)) {
            bar.set_style(style);
            bar.set_message(format!("{what} 0/{all}"));
        }
        Self { what: what.to_owned(), all, done: AtomicU64::new(0), bar }
    }

    /// Returns the progress of all bytes.
    pub(crate) fn progress(&self) -> Progress {
        match &self.bar {
            Some(bar) => Progress::new(Bar(bar.clone())),
            None => Progress::new(Line {
                what: format!("{} {}", self.what, counted(self.all, "image")),
                begin: Instant::now(),
                done: AtomicU64::new(0),
                total: AtomicU64::new(0),
            }),
        }
    }

    /// Counts one transfer that ended.
    pub(crate) fn finish_one(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{} {done}/{}", self.what, self.all));
        }
    }

    /// Prints a line to standard output, above the bar.
    pub(crate) fn print(&self, line: &str) -> io::Result<()> {
        let print = || {
            let mut out = io::stdout().lock();
            writeln!(out, "{line}")?;
            out.flush()
        };
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

struct Bar(ProgressBar);

impl ProgressSink for Bar {
    fn update(&self, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// One line at the end.
struct Line {
    what: String,
    begin: Instant,
    done: AtomicU64,
    total: AtomicU64,
}

impl ProgressSink for Line {
    fn update(&self, done: u64, total: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let (done, total) = (*self.done.get_mut(), *self.total.get_mut());
        if let Some(line) = line(&self.what, done, total, self.begin.elapsed()) {
            // Nothing depends on it.
            let _ = writeln!(messages(), "{}", printable(&line));
        }
    }
}

/// Returns the line about a transfer that is complete and took long.
fn line(what: &str, done: u64, total: u64, elapsed: Duration) -> Option<String> {
    let is_complete = done > 0 && done == total;
    (is_complete && elapsed >= REPORTED)
        .then(|| format!("{what}: {} in {} s", HumanBytes(done), elapsed.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_transfers_that_took_long_are_reported() {
        let (long, size) = (Duration::from_millis(12_900), 300 << 20);
        assert_eq!(line("copying a", size, size, long).as_deref(), Some("copying a: 300.00 MiB in 12 s"));
        assert_eq!(line("copying a", size, size, Duration::from_secs(9)), None);
        assert_eq!(line("copying a", size - 1, size, long), None, "it failed");
        assert_eq!(line("copying a", 0, 0, long), None, "nothing was transferred");
    }
}
