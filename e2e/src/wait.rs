//! Waits for conditions, with a deadline.

use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How long a step on the cluster may take: images are pulled, pods start, leases expire.
pub const TIMEOUT: Duration = Duration::from_mins(3);

/// The time between two checks of a condition.
const PERIOD: Duration = Duration::from_millis(250);

/// Checks `condition` until it returns `Ok(value)`; prints how long that took.
///
/// While the condition does not hold, it returns `Err(state)` with what it observed.
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
                bail!("timed out after {} s waiting until {what}: {state:#}", timeout.as_secs())
            }
            Err(_) => tokio::time::sleep(PERIOD).await,
        }
    }
}
