//! The objects that are reconciled, as the store keeps them: also those whose content does not have the form of their type.

use super::object::Object;
use super::raw_object::RawObject;
use crate::conditions::Status;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde_json::Value;
use serde_json::value::RawValue;
use std::any::TypeId;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An object that is reconciled.
///
/// The CRD may be older or newer than this program: an object that cannot be parsed is kept, too, so that its status can show
/// it. kube's `DeserializeGuard` does the same, but parses each object into a tree first.
#[derive(Clone, Debug)]
pub(crate) enum Stored<O> {
    Valid(Arc<O>),
    Malformed(Arc<Malformed>),
}

/// An object that cannot be parsed.
#[derive(Clone, Debug)]
pub(crate) struct Malformed {
    pub(crate) metadata: ObjectMeta,
    /// Why it cannot be parsed.
    pub(crate) error: String,
    status: Value,
}

impl<O: Object> Stored<O> {
    /// Parses an object; its metadata are the reduced ones. A status that cannot be parsed counts as missing: the controller
    /// writes it anyway.
    pub(crate) fn parse(raw: RawObject) -> Self {
        let RawObject { metadata, text } = raw;
        let parts: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(text.get()).unwrap_or_default();
        let parsed = serde_json::from_str::<O>(&without(&parts, &["metadata"])).or_else(|error| {
            if parts.contains_key("status") {
                serde_json::from_str::<O>(&without(&parts, &["metadata", "status"]))
            } else {
                Err(error)
            }
        });
        match parsed {
            Ok(mut object) => {
                *object.meta_mut() = metadata;
                Self::Valid(Arc::new(object))
            }
            Err(error) => {
                let status = parts.get("status").and_then(|text| serde_json::from_str(text.get()).ok());
                let status = status.unwrap_or_default();
                Self::Malformed(Arc::new(Malformed { metadata, error: message(&error), status }))
            }
        }
    }

    /// Returns the object, unless it could not be parsed.
    pub(crate) fn valid(&self) -> Option<&Arc<O>> {
        match self {
            Self::Valid(object) => Some(object),
            Self::Malformed(_) => None,
        }
    }

    /// Returns why the object could not be parsed.
    pub(crate) fn error(&self) -> Option<&str> {
        match self {
            Self::Valid(_) => None,
            Self::Malformed(malformed) => Some(&malformed.error),
        }
    }

    /// Returns the status; `None` if there is none of this form.
    pub(crate) fn status<S: Status>(&self) -> Option<S> {
        match self {
            Self::Valid(object) => status_of(&**object),
            Self::Malformed(malformed) => serde_json::from_value(malformed.status.clone()).ok(),
        }
    }
}

/// Returns the status of an object; `None` if there is none of this form.
pub(crate) fn status_of<O: Object, S: Status>(object: &O) -> Option<S> {
    if is_nothing::<S>() {
        return None;
    }
    let mut object = serde_json::to_value(object).ok()?;
    serde_json::from_value(object.get_mut("status")?.take()).ok()
}

/// Whether a reconciler with this status writes none.
pub(crate) fn is_nothing<S: Status>() -> bool {
    TypeId::of::<S>() == TypeId::of::<()>()
}

/// Returns an object without some of its fields, and with empty metadata.
fn without(parts: &BTreeMap<Cow<'_, str>, &RawValue>, omitted: &[&str]) -> String {
    let mut text = r#"{"metadata":{}"#.to_owned();
    for (key, value) in parts.iter().filter(|(key, _)| !omitted.contains(&&***key)) {
        text.push(',');
        text.push_str(&Value::from(&**key).to_string());
        text.push(':');
        text.push_str(value.get());
    }
    text.push('}');
    text
}

/// Returns an error without its place, which is not one of the object as users know it.
fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(place) => text[..place].to_owned(),
        None => text,
    }
}

impl<O: Object> Resource for Stored<O> {
    type DynamicType = ();
    type Scope = O::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        O::kind(&())
    }
    fn group((): &()) -> Cow<'_, str> {
        O::group(&())
    }
    fn version((): &()) -> Cow<'_, str> {
        O::version(&())
    }
    fn api_version((): &()) -> Cow<'_, str> {
        O::api_version(&())
    }
    fn plural((): &()) -> Cow<'_, str> {
        O::plural(&())
    }
    fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Valid(object) => object.meta(),
            Self::Malformed(malformed) => &malformed.metadata,
        }
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Self::Valid(object) => Arc::make_mut(object).meta_mut(),
            Self::Malformed(malformed) => &mut Arc::make_mut(malformed).metadata,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample::{Cluster, ClusterStatus};
    use k8s_openapi::api::core::v1::Node;

    fn parse(text: &str) -> Stored<Cluster> {
        Stored::parse(serde_json::from_str(text).unwrap())
    }

    #[test]
    fn malformed_spec_or_status_does_not_fail_the_object() {
        let head = r#""apiVersion": "example.com/v1", "kind": "Cluster", "metadata": {"name": "a"}"#;
        let malformed =
            parse(&format!(r#"{{{head}, "spec": {{"size": "x"}}, "status": {{"replicas": 3}}}}"#));
        assert_eq!(malformed.meta().name.as_deref(), Some("a"));
        let error = malformed.error().unwrap();
        assert!(error.contains("invalid type") && !error.contains("line"), "{error}");
        assert_eq!(malformed.status::<ClusterStatus>().unwrap().replicas, 3);
        assert!(parse(&format!("{{{head}}}")).error().is_some(), "no spec");
        let object = parse(&format!(r#"{{{head}, "spec": {{"size": 2}}, "status": 7}}"#));
        assert_eq!(object.valid().unwrap().spec.size, 2);
        assert_eq!(object.status::<ClusterStatus>(), None);
        let object = parse(&format!(r#"{{{head}, "spec": {{"size": 2}}, "status": {{"replicas": 1}}}}"#));
        assert_eq!(object.valid().unwrap().status.as_ref().unwrap().replicas, 1);
        assert_eq!(object.status::<ClusterStatus>().unwrap().replicas, 1);
        assert_eq!(object.status::<()>(), None);
    }

    #[test]
    fn built_in_kind_keeps_its_status_and_no_managed_fields() {
        let text = r#"{"metadata": {"name": "a", "managedFields": [{"manager": "x"}], "labels": {"a": "b"}},
            "spec": {"unschedulable": true}, "status": {"nodeInfo": {"kernelVersion": "6"}}}"#;
        let mut text: Value = serde_json::from_str(text).unwrap();
        let info = text["status"]["nodeInfo"].as_object_mut().unwrap();
        for field in [
            "architecture",
            "bootID",
            "containerRuntimeVersion",
            "kubeProxyVersion",
            "kubeletVersion",
            "machineID",
            "operatingSystem",
            "osImage",
            "systemUUID",
        ] {
            info.insert(field.to_owned(), "".into());
        }
        text["apiVersion"] = "v1".into();
        text["kind"] = "Node".into();
        let node = Stored::<Node>::parse(serde_json::from_value(text).unwrap());
        let node = node.valid().unwrap();
        assert_eq!(node.metadata.labels.as_ref().unwrap()["a"], "b");
        assert!(node.metadata.managed_fields.is_none());
        assert_eq!(node.spec.as_ref().unwrap().unschedulable, Some(true));
        assert_eq!(node.status.as_ref().unwrap().node_info.as_ref().unwrap().kernel_version, "6");
    }
}
