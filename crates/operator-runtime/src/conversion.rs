//! Conversion between the versions of a kind: one version is the hub, every other one converts to it and back.

use crate::controller::Invalid;
use kube::Resource;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// Path of the conversion webhook, as in kubebuilder's scaffold.
pub const CONVERT_PATH: &str = "/convert";

/// A version that converts to the hub and back; nothing that either has may get lost on the way there and back.
pub trait Spoke<Hub>: Sized {
    /// Converts to the hub.
    ///
    /// # Errors
    /// If the object has no equivalent.
    fn to_hub(self) -> Result<Hub, Invalid>;

    /// Converts from the hub.
    ///
    /// # Errors
    /// If the object has no equivalent.
    fn from_hub(hub: Hub) -> Result<Self, Invalid>;
}

/// Converts an object as JSON.
type Convert = Arc<dyn Fn(Value) -> Result<Value, Invalid> + Send + Sync>;

/// The versions of a kind, and how they convert to the hub and from it.
pub struct Conversion<Hub> {
    versions: BTreeMap<String, (Convert, Convert)>,
    hub: PhantomData<fn() -> Hub>,
}

impl<Hub> fmt::Debug for Conversion<Hub> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversion").field("versions", &self.versions.keys().collect::<Vec<_>>()).finish()
    }
}

impl<Hub> Conversion<Hub>
where
    Hub: Resource<DynamicType = ()> + Serialize + DeserializeOwned + 'static,
{
    /// Returns the conversion of a kind whose hub is `Hub`, without another version yet.
    #[must_use]
    pub fn to_hub() -> Self {
        let same: Convert = Arc::new(Ok);
        let hub = (Hub::api_version(&()).into_owned(), (Arc::clone(&same), same));
        Self { versions: [hub].into(), hub: PhantomData }
    }

    /// Adds a version.
    #[must_use]
    pub fn spoke<S>(mut self) -> Self
    where
        S: Spoke<Hub> + Resource<DynamicType = ()> + Serialize + DeserializeOwned + 'static,
    {
        let there: Convert =
            Arc::new(|object| Ok(serde_json::to_value(serde_json::from_value::<S>(object)?.to_hub()?)?));
        let back: Convert =
            Arc::new(|object| Ok(serde_json::to_value(S::from_hub(serde_json::from_value(object)?)?)?));
        self.versions.insert(S::api_version(&()).into_owned(), (there, back));
        self
    }

    /// Converts an object to a version; its metadata stays as it is.
    fn convert(&self, object: &Value, desired: &str) -> Result<Value, Invalid> {
        let current = object["apiVersion"].as_str().unwrap_or_default();
        if current == desired {
            return Ok(object.clone());
        }
        let unknown = |version: &str| Invalid::new(format!("unknown version `{version}`"));
        let find = |version: &str| self.versions.get(version).ok_or_else(|| unknown(version));
        let (to_hub, from_hub) = (&find(current)?.0, &find(desired)?.1);
        let mut converted = from_hub(to_hub(object.clone())?)?;
        converted["apiVersion"] = desired.into();
        converted["metadata"] = object["metadata"].clone();
        Ok(converted)
    }

    /// Returns the response to a review of `apiextensions.k8s.io/v1`.
    #[must_use]
    pub fn respond(&self, review: Value) -> Value {
        let (uid, converted) = match serde_json::from_value::<Review>(review) {
            Ok(Review { request: Request { uid, desired, objects } }) => {
                let converted = objects.iter().map(|object| {
                    let name = object["metadata"]["name"].as_str().unwrap_or_default();
                    self.convert(object, &desired)
                        .map_err(|invalid| format!("failed to convert {name}: {}", invalid.message()))
                });
                (uid, converted.collect::<Result<Vec<_>, _>>())
            }
            Err(error) => (String::new(), Err(format!("invalid ConversionReview: {error}"))),
        };
        response(&uid, converted)
    }
}

/// A review of `apiextensions.k8s.io/v1`.
#[derive(Deserialize)]
struct Review {
    request: Request,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    uid: String,
    #[serde(rename = "desiredAPIVersion")]
    desired: String,
    objects: Vec<Value>,
}

fn response(uid: &str, converted: Result<Vec<Value>, String>) -> Value {
    let response = match converted {
        Ok(objects) => {
            json!({ "uid": uid, "convertedObjects": objects, "result": { "status": "Success" } })
        }
        Err(message) => json!({ "uid": uid, "result": { "status": "Failure", "message": message } }),
    };
    json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response })
}

/// Returns group and kind of the objects of a review; empty if it has none.
pub(crate) fn kind_of(review: &Value) -> (&str, &str) {
    let object = &review["request"]["objects"][0];
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let group = version.split_once('/').map_or("", |(group, _)| group);
    (group, object["kind"].as_str().unwrap_or_default())
}

/// Returns the response to a review of a kind that has no webhook.
pub(crate) fn unknown_kind(review: &Value) -> Value {
    let (group, kind) = kind_of(review);
    let message = format!("no conversion webhook for the kind `{kind}` of the group `{group}`");
    response(review["request"]["uid"].as_str().unwrap_or_default(), Err(message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample::{Cluster, old};

    fn conversion() -> Conversion<Cluster> {
        Conversion::to_hub().spoke::<old::Cluster>()
    }

    fn convert(object: &Value, desired: &str) -> Value {
        conversion().respond(json!({"request": {"uid": "7", "desiredAPIVersion": desired, "objects": [object]}}))
            ["response"]
            .clone()
    }

    #[test]
    fn objects_are_converted_to_the_hub_and_back_and_keep_their_metadata() {
        let object = json!({
            "apiVersion": "example.com/v1beta1", "kind": "Cluster",
            "metadata": {"name": "a", "uid": "u", "managedFields": [{"manager": "x"}]}, "spec": {"replicas": 3},
        });
        let response = convert(&object, "example.com/v1");
        assert_eq!((&response["uid"], &response["result"]["status"]), (&json!("7"), &json!("Success")));
        let hub = &response["convertedObjects"][0];
        assert_eq!((&hub["spec"]["size"], &hub["metadata"]), (&json!(3), &object["metadata"]));
        assert_eq!(convert(hub, "example.com/v1beta1")["convertedObjects"][0]["spec"], object["spec"]);
        assert_eq!(
            convert(&object, "example.com/v1beta1")["convertedObjects"][0],
            object,
            "nothing to convert"
        );
    }

    #[test]
    fn what_cannot_be_converted_fails_the_review_with_the_name() {
        let object = |spec: Value| json!({"apiVersion": "example.com/v1beta1", "metadata": {"name": "a"}, "spec": spec});
        for (object, desired, words) in [
            (object(json!({"replicas": "x"})), "example.com/v1", "failed to convert a: "),
            (object(json!({"replicas": 1})), "example.com/v7", "unknown version `example.com/v7`"),
            (object(json!({"replicas": -1})), "example.com/v1", "spec.replicas: must not be negative"),
        ] {
            let result = convert(&object, desired)["result"].clone();
            assert_eq!(result["status"], "Failure");
            assert!(result["message"].as_str().unwrap().contains(words), "{result}");
        }
        assert_eq!(conversion().respond(json!({}))["response"]["result"]["status"], "Failure");
    }
}
