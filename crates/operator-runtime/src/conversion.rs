//! Conversion between the versions of a kind: one version is the hub, every other one converts to it and back.

use crate::controller::{Error, Invalid};
use crate::reviews;
use kube::Resource;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
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
    fn to_hub(self) -> Result<Hub, Error>;

    /// Converts from the hub.
    ///
    /// # Errors
    /// If the object has no equivalent.
    fn from_hub(hub: Hub) -> Result<Self, Error>;
}

/// Converts an object as JSON.
type Convert = Arc<dyn Fn(Value) -> Result<Value, Error> + Send + Sync>;

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

impl<Hub> Default for Conversion<Hub>
where
    Hub: Resource<DynamicType = ()> + Serialize + DeserializeOwned + 'static,
{
    fn default() -> Self {
        Self::new()
    }
}

impl<Hub> Conversion<Hub>
where
    Hub: Resource<DynamicType = ()> + Serialize + DeserializeOwned + 'static,
{
    /// Returns the conversion of a kind whose hub is `Hub`, without another version yet.
    #[must_use]
    pub fn new() -> Self {
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
    fn convert(&self, object: &Value, desired: &str) -> Result<Value, Error> {
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

    /// Returns the response to a request.
    ///
    /// One object after the other is parsed and converted, so that a review of a long list takes little more memory than its
    /// JSON.
    pub(crate) fn respond(&self, request: &ConversionRequest<'_>) -> Vec<u8> {
        let converted = request.objects.iter().map(|object| {
            let name = head_of(object).metadata.name;
            let failed = |error: &dyn fmt::Display| format!("failed to convert {name}: {error}");
            reviews::check(object, std::slice::from_ref(object)).map_err(|error| failed(&error))?;
            let object = serde_json::from_str(object.get()).map_err(|error| failed(&error))?;
            let converted = self.convert(&object, &request.desired).map_err(|error| failed(&error))?;
            to_raw_value(&converted).map_err(|error| failed(&error))
        });
        response(&request.uid, converted.collect())
    }
}

/// A request to convert objects, which are not parsed yet.
#[derive(Deserialize)]
pub(crate) struct ConversionRequest<'a> {
    uid: String,
    #[serde(rename = "desiredAPIVersion")]
    desired: String,
    #[serde(borrow, deserialize_with = "reviews::raw_objects")]
    objects: Vec<&'a RawValue>,
}

/// The version, kind and name of an object.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectHead {
    api_version: String,
    kind: String,
    metadata: ObjectHeadMetadata,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ObjectHeadMetadata {
    name: String,
}

fn head_of(object: &RawValue) -> ObjectHead {
    serde_json::from_str(object.get()).unwrap_or_default()
}

/// Returns the response to a request.
pub(crate) type Converter = Arc<dyn Fn(&ConversionRequest<'_>) -> Vec<u8> + Send + Sync>;

/// Returns the response to a review of `apiextensions.k8s.io/v1`, from the webhook of its kind.
///
/// Conversions share one path: a review says which kind it is about, and all of its objects are of that kind.
/// `converter` returns what converts the objects of a group and a kind.
pub(crate) fn respond<'c>(
    converter: impl FnOnce(&str, &str) -> Option<&'c Converter>,
    review: &[u8],
) -> Vec<u8> {
    #[derive(Deserialize)]
    struct Review<'a> {
        #[serde(borrow)]
        request: ConversionRequest<'a>,
    }
    let request = match serde_json::from_slice::<Review<'_>>(review) {
        Ok(Review { request }) => request,
        Err(error) => return response("", Err(format!("invalid ConversionReview: {error}"))),
    };
    let ObjectHead { api_version, kind, .. } =
        request.objects.first().map(|first| head_of(first)).unwrap_or_default();
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let Some(respond) = converter(group, &kind) else {
        let message = format!("no conversion webhook for the kind `{kind}` of the group `{group}`");
        return response(&request.uid, Err(message));
    };
    respond(&request)
}

fn response(uid: &str, converted: Result<Vec<Box<RawValue>>, String>) -> Vec<u8> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Review<'a> {
        api_version: &'static str,
        kind: &'static str,
        response: Response<'a>,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Response<'a> {
        uid: &'a str,
        result: Value,
        converted_objects: Vec<Box<RawValue>>,
    }
    let (result, converted_objects) = match converted {
        Ok(objects) => (json!({ "status": "Success" }), objects),
        Err(message) => (json!({ "status": "Failure", "message": message }), Vec::new()),
    };
    let response = Response { uid, result, converted_objects };
    let review = Review { api_version: "apiextensions.k8s.io/v1", kind: "ConversionReview", response };
    // Writing JSON to memory does not fail.
    serde_json::to_vec(&review).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Webhook;
    use crate::testing::sample::{Cluster, old};

    fn respond(review: &Value) -> Value {
        let webhook = Webhook::conversion(Conversion::<Cluster>::new().spoke::<old::Cluster>());
        let converter = |group: &str, kind: &str| webhook.converter(group, kind);
        let response = super::respond(converter, review.to_string().as_bytes());
        serde_json::from_slice::<Value>(&response).unwrap()["response"].clone()
    }

    fn convert(object: &Value, desired: &str) -> Value {
        respond(&json!({"request": {"uid": "7", "desiredAPIVersion": desired, "objects": [object]}}))
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
    fn conversion_that_fails_names_the_object() {
        let object = |spec: Value| json!({"apiVersion": "example.com/v1beta1", "kind": "Cluster", "metadata": {"name": "a"}, "spec": spec});
        for (object, desired, words) in [
            (object(json!({"replicas": "x"})), "example.com/v1", "failed to convert a: "),
            (object(json!({"replicas": 1})), "example.com/v7", "unknown version `example.com/v7`"),
            (object(json!({"replicas": -1})), "example.com/v1", "spec.replicas: must not be negative"),
        ] {
            let result = convert(&object, desired)["result"].clone();
            assert_eq!(result["status"], "Failure");
            assert!(result["message"].as_str().unwrap().contains(words), "{result}");
        }
        assert_eq!(respond(&json!({}))["result"]["status"], "Failure");
    }

    #[test]
    fn object_with_too_many_values_fails_before_it_is_parsed() {
        let spec = json!({"replicas": vec![0; reviews::MAX_OBJECT_VALUES]});
        let object = json!({
            "apiVersion": "example.com/v1beta1", "kind": "Cluster", "metadata": {"name": "a"}, "spec": spec,
        });
        let message = convert(&object, "example.com/v1")["result"]["message"].clone();
        let expected =
            "failed to convert a: the object has more than 50000 values, which is too many for this webhook";
        assert_eq!(message, expected);
        let objects = vec![0; reviews::MAX_OBJECTS + 1];
        let many =
            json!({"request": {"uid": "7", "desiredAPIVersion": "example.com/v1", "objects": objects}});
        let message = respond(&many)["result"]["message"].as_str().unwrap().to_owned();
        assert!(message.starts_with("invalid ConversionReview: more than 10000 objects"), "{message}");
    }
}
