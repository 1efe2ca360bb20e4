//! Trying again, with patience.

use std::time::Duration;

use oci_client::errors::OciDistributionError;

use super::error::{Kind, kind};

/// How often and how patiently requests are tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// How often a request is tried in all.
    pub attempts: u32,
    /// The pause before the second attempt; every further one is twice as long.
    pub first: Duration,
}

impl Default for Backoff {
    /// Five attempts within about eight seconds.
    fn default() -> Self {
        Self { attempts: 5, first: Duration::from_millis(500) }
    }
}

impl Backoff {
    /// Runs `attempt` until it succeeds, fails for good, or was tried often enough; then its last answer.
    ///
    /// Only what may be repeated is: overload (429), errors of the server (5xx) and connections that break off.
    pub(super) async fn run<T, F>(self, mut attempt: impl FnMut() -> F) -> Result<T, OciDistributionError>
    where
        F: Future<Output = Result<T, OciDistributionError>>,
    {
        let mut pause = self.first;
        for _ in 1..self.attempts {
            match attempt().await {
                Err(error) if kind(&error) == Kind::Transient => {}
                result => return result,
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        attempt().await
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const QUICK: Backoff = Backoff { attempts: 3, first: Duration::ZERO };

    fn answer(code: u16) -> OciDistributionError {
        OciDistributionError::ServerError { code, url: String::new(), message: String::new() }
    }

    #[tokio::test]
    async fn only_what_may_help_is_tried_again() {
        for (codes, expected_calls, succeeds) in [
            (&[][..], 1, true),
            (&[500, 429][..], 3, true),
            (&[500, 500, 500][..], 3, false),
            (&[400][..], 1, false),
        ] {
            let calls = Cell::new(0);
            let result = QUICK
                .run(|| async {
                    let call = calls.replace(calls.get() + 1);
                    codes.get(call).map_or(Ok(()), |code| Err(answer(*code)))
                })
                .await;
            assert_eq!((calls.get(), result.is_ok()), (expected_calls, succeeds), "{codes:?}");
        }
    }
}
