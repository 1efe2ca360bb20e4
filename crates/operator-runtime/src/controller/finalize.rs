//! The finalizer: added before anything is owned, removed once the deletion has been reported and cleaned up.
//!
//! Children are garbage-collected by their owner references. Both writes name the resource version that they are based on,
//! so that finalizers of others are never lost; a concurrent write causes a conflict and a retry.

use super::apply::api;
use super::error::ReconcileError;
use super::model::Model;
use super::object::{Key, Object};
use super::raw_object::RawObject;
use super::stored::Stored;
use kube::Client;
use kube::Resource;
use kube::api::{Patch, PatchParams};
use kube::core::ApiResource;
use serde_json::json;
use std::sync::Arc;

/// A controller's finalizer.
pub(crate) struct Finalizer<'a> {
    pub(crate) client: &'a Client,
    pub(crate) resource: &'a ApiResource,
    pub(crate) manager: &'a str,
    pub(crate) name: &'a str,
}

impl Finalizer<'_> {
    /// Returns whether the finalizer is set.
    pub(crate) fn is_set<O: Object>(&self, object: &Stored<O>) -> bool {
        object.meta().finalizers.as_deref().unwrap_or_default().iter().any(|name| name == self.name)
    }

    /// Adds the finalizer and returns the object as it is then; `None` if it no longer exists.
    pub(crate) async fn add<O: Object>(
        &self,
        object: &Stored<O>,
        model: &Model<O>,
    ) -> Result<Option<Arc<Stored<O>>>, ReconcileError> {
        let mut finalizers = object.meta().finalizers.clone().unwrap_or_default();
        finalizers.push(self.name.to_owned());
        let written = self.write(object, &finalizers).await?;
        Ok(written.map(|response| model.object_written(response)))
    }

    /// Removes the finalizer, which completes the deletion unless others have finalizers as well.
    pub(crate) async fn remove<O: Object>(
        &self,
        object: &Stored<O>,
        model: &Model<O>,
    ) -> Result<(), ReconcileError> {
        let mut finalizers = object.meta().finalizers.clone().unwrap_or_default();
        finalizers.retain(|name| name != self.name);
        let written = self.write(object, &finalizers).await?;
        // The response to the removal of the last finalizer describes an object that no longer exists.
        if let Some(response) = written.filter(|_| !finalizers.is_empty()) {
            model.object_written(response);
        }
        Ok(())
    }

    async fn write<O: Object>(
        &self,
        object: &Stored<O>,
        finalizers: &[String],
    ) -> Result<Option<RawObject>, ReconcileError> {
        let Key { namespace, name } = Key::from(object.meta());
        let patch = Patch::Merge(json!({ "metadata": {
            "resourceVersion": object.meta().resource_version,
            "uid": object.meta().uid,
            "finalizers": finalizers,
        }}));
        let params = PatchParams { field_manager: Some(self.manager.to_owned()), ..PatchParams::default() };
        match api(self.client, &namespace, self.resource).patch(&name, &params, &patch).await {
            Ok(response) => Ok(Some(response)),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
            Err(source) => Err(ReconcileError::Write { part: "finalizers", source: Box::new(source) }),
        }
    }
}
