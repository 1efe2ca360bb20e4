//! The finalizer: set before anything is owned, taken away once the deletion has been told.
//!
//! The servers themselves go by their owner references. Both writes name the resource version they rest on, so that
//! finalizers of others are never lost; who comes second gets a conflict and looks again.

use super::apply::FIELD_MANAGER;
use super::cache::Key;
use super::dereference::Written;
use super::error::Error;
use super::live::Live;
use super::update_status::keep;
use crate::crd::Memcached;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use std::sync::Arc;

/// The finalizer's name, as in the tutorial.
pub(crate) const FINALIZER: &str = "cache.example.com/finalizer";

/// Whether the finalizer is set.
pub(crate) fn is_set(memcached: &Memcached) -> bool {
    memcached.metadata.finalizers.as_deref().unwrap_or_default().iter().any(|name| name == FINALIZER)
}

/// Sets the finalizer and returns the Memcached as it is then; `None` when it is gone.
pub(crate) async fn add(
    client: &Client,
    key: &Key,
    memcached: &Memcached,
    written: &Written,
) -> Result<Option<Arc<Memcached>>, Error> {
    let mut finalizers = memcached.metadata.finalizers.clone().unwrap_or_default();
    finalizers.push(FINALIZER.to_owned());
    write(client, key, memcached, &finalizers, written).await
}

/// Takes the finalizer away, which lets the Memcached go.
pub(crate) async fn remove(
    client: &Client,
    key: &Key,
    memcached: &Memcached,
    written: &Written,
) -> Result<(), Error> {
    let mut finalizers = memcached.metadata.finalizers.clone().unwrap_or_default();
    finalizers.retain(|name| name != FINALIZER);
    write(client, key, memcached, &finalizers, written).await.map(drop)
}

async fn write(
    client: &Client,
    key: &Key,
    memcached: &Memcached,
    finalizers: &[String],
    written: &Written,
) -> Result<Option<Arc<Memcached>>, Error> {
    let api: Api<Live<Memcached>> = Api::namespaced(client.clone(), &key.namespace);
    let patch = Patch::Merge(json!({ "metadata": {
        "resourceVersion": memcached.metadata.resource_version,
        "uid": memcached.metadata.uid,
        "finalizers": finalizers,
    }}));
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    match api.patch(&key.name, &params, &patch).await {
        Ok(answer) => Ok(Some(keep(answer, written))),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
        Err(source) => Err(Error::Write { part: "finalizers", source: Box::new(source) }),
    }
}
