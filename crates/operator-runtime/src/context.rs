//! What controllers and tasks get from the manager.

use crate::events::Recorder;
use crate::identity::Identity;
use crate::metrics::Metrics;
use kube::api::Api;
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource};
use std::sync::Arc;
use tokio::sync::watch;

/// What is known of the cluster that the operator runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Platform {
    /// The cluster is OpenShift: it assigns each namespace a range of user IDs and rejects all others.
    pub openshift: bool,
}

impl Platform {
    /// Returns a platform that is OpenShift, or is not.
    #[must_use]
    pub fn openshift(openshift: bool) -> Self {
        Self { openshift }
    }

    /// Returns the user ID for a container, or none where the cluster assigns one.
    #[must_use]
    pub fn user(self, id: i64) -> Option<i64> {
        (!self.openshift).then_some(id)
    }
}

/// What controllers and tasks get from the manager.
#[derive(Clone)]
pub struct Context {
    pub(crate) client: Client,
    pub(crate) identity: Identity,
    pub(crate) platform: Platform,
    pub(crate) namespaces: Vec<String>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) recorder: Arc<Recorder>,
}

impl Context {
    /// Returns the client that the whole manager shares: with limits and metrics.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the names of the operator.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns what is known of the cluster.
    #[must_use]
    pub fn platform(&self) -> Platform {
        self.platform
    }

    /// Returns the namespaces to watch; empty for all.
    #[must_use]
    pub fn namespaces(&self) -> &[String] {
        &self.namespaces
    }

    /// Returns one API per watched namespace, or one for all namespaces.
    #[must_use]
    pub fn apis<K>(&self) -> Vec<Api<K>>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        if self.namespaces.is_empty() {
            return vec![Api::all(self.client.clone())];
        }
        self.namespaces.iter().map(|namespace| Api::namespaced(self.client.clone(), namespace)).collect()
    }

    /// Returns the recorder of events.
    #[must_use]
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Returns the metrics of the manager.
    #[must_use]
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("identity", &self.identity)
            .field("namespaces", &self.namespaces)
            .finish_non_exhaustive()
    }
}

/// Completes when the manager shuts down.
#[derive(Clone, Debug)]
pub struct ShutdownSignal(pub(crate) watch::Receiver<bool>);

impl ShutdownSignal {
    /// Completes when the manager shuts down.
    pub async fn wait(mut self) {
        // A manager that is gone has stopped, too.
        let _ = self.0.wait_for(|stop| *stop).await;
    }
}
