//! Time limits of network access: what their options mean, when they end, and what is reported then.

use std::time::Duration;

use anyhow::{Error, Result, anyhow};
use clap::builder::TypedValueParser;
use oci_images::registry;
use olm_cluster as cluster;

/// The value of an option that limits the time of network access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeLimit {
    duration: Duration,
    /// The name of the option, which errors contain.
    option: &'static str,
}

impl TimeLimit {
    /// Returns the parser for the values of `option`, such as `--timeout`.
    pub(crate) fn parser(option: &'static str) -> impl TypedValueParser<Value = Self> {
        move |text: &str| duration(text).map(|duration| Self { duration, option })
    }

    /// Returns the deadline of work that begins now.
    pub(crate) fn start(self) -> Deadline {
        let Self { duration, option } = self;
        Deadline {
            limit: self,
            cluster: cluster::Deadline::after(duration).with_setting(option),
            registries: registry::Deadline::after(duration).with_setting(option),
        }
    }
}

/// When all network access of a command, or of one of its steps, must have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deadline {
    limit: TimeLimit,
    cluster: cluster::Deadline,
    registries: registry::Deadline,
}

impl Deadline {
    /// Returns the deadline of work on a cluster.
    pub(crate) fn cluster(self) -> cluster::Deadline {
        self.cluster
    }

    /// Returns the deadline of work at registries.
    pub(crate) fn registries(self) -> registry::Deadline {
        self.registries
    }

    /// Returns whether no time is left.
    pub(crate) fn is_over(self) -> bool {
        self.cluster.is_over()
    }

    /// Waits for work that changes nothing, until the deadline at most; `state` is what the command has not done yet, such as
    /// `nothing was created`.
    pub(crate) async fn within<T>(self, state: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.wait(work).await.unwrap_or_else(|| Err(self.expired(state)))
    }

    /// Waits for a command that only reads the cluster, until the deadline at most.
    pub(crate) async fn reading_cluster<T>(self, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.wait(work).await.unwrap_or_else(|| {
            let TimeLimit { duration, option } = self.limit;
            Err(anyhow!(
                "reading the cluster took longer than {} s; check the API server, or set a longer {option}",
                duration.as_secs()
            ))
        })
    }

    /// Returns the error of a command that has not reached its first change in time; for `state`, see [`Self::within`].
    pub(crate) fn expired(self, state: &str) -> Error {
        let TimeLimit { duration, option } = self.limit;
        anyhow!("timed out after {} s, and {state}; set a longer {option}", duration.as_secs())
    }

    /// Returns the result of `work`; `None` if it does not end before the deadline.
    async fn wait<T>(self, work: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout(self.cluster.left(), work).await.ok()
    }
}

/// Parses a duration such as `90s`, `10m` or `1h30m`: at least a second, at most a week.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let expected = || "expected a duration between 1s and 168h, such as 90s or 1h30m".to_owned();
    let duration: jiff::SignedDuration = text.parse().map_err(|_| expected())?;
    let duration = Duration::try_from(duration).map_err(|_| expected())?;
    let range = Duration::from_secs(1)..=Duration::from_hours(168);
    if range.contains(&duration) { Ok(duration) } else { Err(expected()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_and_bounds() {
        for (text, seconds) in [("90s", 90), ("10m", 600), ("1h30m", 5400), ("2m0s", 120), ("168h", 604_800)]
        {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "30", "0s", "-5s", "169h", "10 bananas", "1y"] {
            assert!(duration(text).unwrap_err().contains("90s"), "{text}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn errors_name_the_option_that_sets_the_limit() {
        let limit = TimeLimit { duration: Duration::from_mins(2), option: "--step-timeout" };
        let deadline = limit.start();
        assert_eq!(deadline.within("nothing was created", async { Ok(1) }).await.unwrap(), 1);
        let forever = std::future::pending::<Result<()>>;
        let created = deadline.within("nothing was created", forever()).await.unwrap_err();
        let read = limit.start().reading_cluster(forever()).await.unwrap_err();
        insta::assert_snapshot!(format!("{created}\n{read}"), @r"
        timed out after 120 s, and nothing was created; set a longer --step-timeout
        reading the cluster took longer than 120 s; check the API server, or set a longer --step-timeout
        ");
        assert!(deadline.is_over());
        let timeout =
            registry::Error::Expired { request: "GET x".to_owned(), deadline: deadline.registries() };
        insta::assert_snapshot!(timeout, @"`GET x` did not finish within the total timeout of 120 s; set a longer --step-timeout");
    }
}
