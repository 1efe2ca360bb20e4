//! The last step: writes the status if it changed, and rarely while children come and go.

use super::apply::{api, apply_params};
use super::error::ReconcileError;
use super::model::Model;
use super::object::{Key, Object};
use super::stored::Stored;
use crate::conditions::Status;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::Patch;
use kube::core::ApiResource;
use kube::{Client, Resource};
use serde::Serialize;
use serde_json::{Value, json};

/// Where and as whom a controller writes statuses.
pub(crate) struct StatusWriter<'a> {
    pub(crate) client: &'a Client,
    pub(crate) resource: &'a ApiResource,
    pub(crate) manager: &'a str,
    /// The conditions that the controller watches.
    pub(crate) conditions: &'a [&'a str],
}

/// What came of a status write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatusWrite {
    /// The status was written.
    Written {
        /// The response contains what somebody else changed since the object was read.
        outdated: bool,
    },
    /// The object no longer exists.
    Gone,
}

impl StatusWrite {
    pub(crate) fn is_outdated(self) -> bool {
        matches!(self, Self::Written { outdated: true })
    }
}

impl StatusWriter<'_> {
    /// Applies a status that was derived from the object as it was `read`.
    ///
    /// Server-side apply leaves conditions and fields of other managers unchanged.
    pub(crate) async fn write<O: Object, S: Status>(
        &self,
        key: &Key,
        read: &Stored<O>,
        status: &S,
        model: &Model<O>,
    ) -> Result<StatusWrite, ReconcileError> {
        let body = applied(self.resource, &key.name, status, self.conditions)?;
        let params = apply_params(self.manager);
        let api = api(self.client, &key.namespace, self.resource);
        match api.patch_status(&key.name, &params, &Patch::Apply(body)).await {
            Ok(response) => {
                let object = model.object_written(response);
                let outdated = is_outdated(read, status, &*object)?;
                Ok(StatusWrite::Written { outdated })
            }
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(StatusWrite::Gone),
            Err(source) => Err(ReconcileError::Write { part: "status", source: Box::new(source) }),
        }
    }
}

/// Whether the response to a status write differs from what was read in more than the status that was written: somebody else
/// changed the object in between, and the watch will report the change as known.
fn is_outdated<O: Object, S: Status>(
    read: &Stored<O>,
    status: &S,
    response: &Stored<O>,
) -> serde_json::Result<bool> {
    let metadata = |object: &Stored<O>| ObjectMeta { resource_version: None, ..object.meta().clone() };
    // As it is stored: times have whole seconds, for example.
    let stored = serde_json::from_value::<S>(serde_json::to_value(status)?)?;
    // Of a kind without generations, nothing else shows that the rest has changed.
    let same = read.meta().generation.is_some() || content(read)? == content(response)?;
    Ok(!same || metadata(read) != metadata(response) || response.status() != Some(stored))
}

/// Returns an object without metadata and status.
fn content<O: Object>(object: &Stored<O>) -> serde_json::Result<Value> {
    let Some(object) = object.valid() else { return Ok(Value::Null) };
    let mut object = serde_json::to_value(&**object)?;
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|field, _| field != "metadata" && field != "status");
    }
    Ok(object)
}

/// Returns the configuration for server-side apply: the fields of the status, and the conditions that are `own`.
fn applied<S: Serialize>(
    resource: &ApiResource,
    name: &str,
    status: &S,
    own: &[&str],
) -> Result<Value, serde_json::Error> {
    let mut fields = serde_json::to_value(status)?;
    if let Some(conditions) = fields["conditions"].as_array_mut() {
        conditions.retain(|condition| condition["type"].as_str().is_some_and(|kind| own.contains(&kind)));
    }
    if let Some(fields) = fields.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    Ok(json!({
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": { "name": name },
        "status": fields,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::{ConditionStatus, Draft};
    use crate::testing::sample::{ClusterStatus, resource};
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

    #[test]
    fn status_is_applied_with_own_conditions_and_without_nulls() {
        let mut draft = Draft::new(ClusterStatus::default(), Some(1), Timestamp::UNIX_EPOCH);
        draft.set("Available", ConditionStatus::True, "Reason", "");
        draft.set("Progressing", ConditionStatus::False, "Reason", "");
        let mut status = draft.finish();
        let foreign = Condition { type_: "Audited".into(), ..status.conditions[0].clone() };
        status.conditions.push(foreign);
        let body = applied(&resource(), "a", &status, &["Available", "Progressing"]).unwrap();
        let conditions = body["status"]["conditions"].as_array().unwrap();
        let types: Vec<_> = conditions.iter().map(|condition| &condition["type"]).collect();
        assert_eq!(types, ["Available", "Progressing"]);
        assert_eq!(body["apiVersion"], "example.com/v1");
        assert!(!body.to_string().contains("null"), "{body}");
    }
}
