//! Waiting for a condition: asked again and again until it holds or its time is over.

use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How long a step of the cluster may take: images are pulled, pods started, leases lost.
pub const TIMEOUT: Duration = Duration::from_mins(3);

/// How often a condition is asked.
const PERIOD: Duration = Duration::from_millis(250);

/// Asks `condition` until it answers with `Ok(value)`; prints how long that took.
///
/// `condition` answers `Err(state)` while it does not hold yet, with what it saw instead.
///
/// # Errors
/// The condition does not hold within `timeout`; the error has the last state.
pub async fn wait_for<T, F, Fut>(what: &str, timeout: Duration, mut condition: F) -> Result<T>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T>>,
{
    let start = Instant::now();
    loop {
        match condition().await {
            Ok(value) => {
                eprintln!("{:6.1} s  {what}", start.elapsed().as_secs_f64());
                return Ok(value);
            }
            Err(state) if start.elapsed() > timeout => {
                bail!("gave up waiting for '{what}' after {} s: {state:#}", timeout.as_secs())
            }
            Err(_) => tokio::time::sleep(PERIOD).await,
        }
    }
}
