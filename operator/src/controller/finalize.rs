//! The finalizer: added before anything is owned, removed once the deletion has been reported.
//!
//! The servers themselves are garbage-collected by their owner references. Both writes name the resource version that
//! they are based on, so that finalizers of others are never lost; a concurrent write causes a conflict and a retry.

use super::apply::FIELD_MANAGER;
use super::cache::Key;
use super::dereference::Observed;
use super::error::Error;
use super::live::Live;
use crate::crd::Memcached;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use std::sync::Arc;

/// The finalizer's name, as in the tutorial.
pub(crate) const FINALIZER: &str = "cache.example.com/finalizer";

/// Returns whether the finalizer is set.
pub(crate) fn is_set(memcached: &Memcached) -> bool {
    memcached.metadata.finalizers.as_deref().unwrap_or_default().iter().any(|name| name == FINALIZER)
}

/// Adds the finalizer and returns the Memcached as it is then; `None` if it no longer exists.
pub(crate) async fn add(
    client: &Client,
    memcached: &Memcached,
    observed: &Observed,
) -> Result<Option<Arc<Memcached>>, Error> {
    let mut finalizers = memcached.metadata.finalizers.clone().unwrap_or_default();
    finalizers.push(FINALIZER.to_owned());
    let written = write(client, memcached, &finalizers).await?;
    Ok(written.map(|response| observed.remember(response)))
}

/// Removes the finalizer, which completes the deletion unless others have finalizers as well.
pub(crate) async fn remove(client: &Client, memcached: &Memcached, observed: &Observed) -> Result<(), Error> {
    let mut finalizers = memcached.metadata.finalizers.clone().unwrap_or_default();
    finalizers.retain(|name| name != FINALIZER);
    let written = write(client, memcached, &finalizers).await?;
    // The response to the removal of the last finalizer describes an object that no longer exists.
    if let Some(response) = written.filter(|_| !finalizers.is_empty()) {
        observed.remember(response);
    }
    Ok(())
}

async fn write(
    client: &Client,
    memcached: &Memcached,
    finalizers: &[String],
) -> Result<Option<Live<Memcached>>, Error> {
    let Key { namespace, name } = Key::of(&memcached.metadata);
    let api: Api<Live<Memcached>> = Api::namespaced(client.clone(), &namespace);
    let patch = Patch::Merge(json!({ "metadata": {
        "resourceVersion": memcached.metadata.resource_version,
        "uid": memcached.metadata.uid,
        "finalizers": finalizers,
    }}));
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    match api.patch(&name, &params, &patch).await {
        Ok(response) => Ok(Some(response)),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
        Err(source) => Err(Error::Write { part: "finalizers", source: Box::new(source) }),
    }
}
