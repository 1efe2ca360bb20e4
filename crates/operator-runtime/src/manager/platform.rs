//! What the manager has to know about the cluster that it runs on.

use crate::backoff::WatchBackoff;
use crate::context::Platform;
use kube::Client;
use std::time::Duration;
use tokio::sync::watch;

/// The API group of OpenShift's security context constraints.
const OPENSHIFT_SECURITY: &str = "security.openshift.io";

/// Returns what is known of the cluster, as soon as the API server responds; `None` if it is time to stop first.
pub(crate) async fn detect(client: &Client, mut stop: watch::Receiver<bool>) -> Option<Platform> {
    let mut backoff = WatchBackoff::default();
    loop {
        let wait = match client.list_api_groups().await {
            Ok(list) => {
                let openshift = list.groups.iter().any(|group| group.name == OPENSHIFT_SECURITY);
                tracing::info!(openshift, "detected the platform");
                return Some(Platform::openshift(openshift));
            }
            Err(error) => {
                tracing::warn!(%error, "failed to list the API groups; retrying");
                backoff.next().unwrap_or(Duration::from_secs(1))
            }
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            _ = stop.wait_for(|stop| *stop) => return None,
        }
    }
}
