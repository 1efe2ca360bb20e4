//! The time limit of what a command does on a cluster.

use std::time::Duration;

use tokio::time::Instant;

use super::client::Error;

/// The time between two attempts.
const INTERVAL: Duration = Duration::from_millis(500);

/// When everything that a command does must have ended, counted from when the value is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    started: Instant,
    limit: Duration,
    setting: &'static str,
}

impl Deadline {
    /// Returns the deadline `limit` from now.
    #[must_use]
    pub fn after(limit: Duration) -> Self {
        Self { started: Instant::now(), limit, setting: "time limit" }
    }

    /// Returns the same deadline, whose setting users of the program know by a name such as `--timeout`.
    #[must_use]
    pub fn with_setting(self, setting: &'static str) -> Self {
        Self { setting, ..self }
    }

    /// Returns the name of the setting, which the help of a [`Diagnosis`](crate::Diagnosis) contains.
    #[must_use]
    pub fn setting(self) -> &'static str {
        self.setting
    }

    /// Returns the whole time that was given.
    #[must_use]
    pub fn limit(self) -> Duration {
        self.limit
    }

    /// Returns the time that is left.
    #[must_use]
    pub fn left(self) -> Duration {
        self.limit.saturating_sub(self.started.elapsed())
    }

    /// Returns whether no time is left.
    #[must_use]
    pub fn is_over(self) -> bool {
        self.left().is_zero()
    }

    /// Repeats a request until this deadline for as long as its error `passes`; reports the first such error.
    ///
    /// # Errors
    /// The request fails with another error, or no time is left.
    pub async fn retry<T>(
        self,
        passes: impl Fn(&Error) -> bool,
        report: &mut dyn FnMut(String),
        mut request: impl AsyncFnMut(&mut dyn FnMut(String)) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut is_reported = false;
        loop {
            match request(&mut *report).await {
                Err(error) if passes(&error) && !self.is_over() => {
                    if !is_reported {
                        is_reported = true;
                        report(format!("{error}; trying again"));
                    }
                    tokio::time::sleep(INTERVAL).await;
                }
                result => return result,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_request_is_repeated_while_its_error_passes_and_time_is_left() {
        for (limit, code, successful, expected) in [
            (Duration::from_mins(1), 503, 3, Ok(3)),
            (Duration::from_mins(1), 403, 3, Err(1)),
            (Duration::ZERO, 503, 3, Err(1)),
        ] {
            let (mut attempts, mut reports) = (0, Vec::new());
            let request = async |_: &mut dyn FnMut(String)| {
                attempts += 1;
                let rejected = || Error::Rejected { action: "a".into(), message: "b".into(), code };
                if attempts == successful { Ok(attempts) } else { Err(rejected()) }
            };
            let deadline = Deadline::after(limit);
            let result = deadline.retry(Error::is_temporary, &mut |text| reports.push(text), request).await;
            assert_eq!(result.map_err(|_| attempts), expected);
            let reported =
                if expected.is_ok() { &["failed to a: b; trying again".to_owned()][..] } else { &[] };
            assert_eq!(reports, reported);
        }
    }
}
