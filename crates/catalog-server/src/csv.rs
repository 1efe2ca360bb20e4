//! The CSV that `opm` makes of the property `olm.csv.metadata`: consoles show it, nothing installs it.
//!
//! Go writes it from typed objects: fields in the order of their declaration, unknown ones dropped. The tables here have
//! this order.
//!
//! Source: `pkg/api/model_to_api.go` and `alpha/property/property.go` of operator-registry,
//! `pkg/operators/v1alpha1/clusterserviceversion_types.go` of operator-framework/api.

use serde_json::Value as Json;

use super::fields::{get, string};
use kube_yaml::go_json::{push_string, reencoded};

/// How a field is written.
enum Shape {
    Text,
    Bool,
    Int,
    Any,
    List(&'static Shape),
    Map,
    Struct(&'static [Field]),
}

/// A field: its name in JSON, its shape, and whether it is omitted if it is empty.
type Field = (&'static str, Shape, bool);

use Shape::{Any, Bool, Int, List, Map, Struct, Text};

const STRINGS: Shape = List(&Text);

const DESCRIPTORS: Shape = List(&Struct(&[
    ("path", Text, false),
    ("displayName", Text, true),
    ("description", Text, true),
    ("x-descriptors", STRINGS, true),
    ("value", Any, true),
]));

const RESOURCES: Shape =
    List(&Struct(&[("name", Text, false), ("kind", Text, false), ("version", Text, false)]));

const CRDS: Shape = List(&Struct(&[
    ("name", Text, false),
    ("version", Text, false),
    ("kind", Text, false),
    ("displayName", Text, true),
    ("description", Text, true),
    ("resources", RESOURCES, true),
    ("statusDescriptors", DESCRIPTORS, true),
    ("specDescriptors", DESCRIPTORS, true),
    ("actionDescriptors", DESCRIPTORS, true),
]));

const API_SERVICES: Shape = List(&Struct(&[
    ("name", Text, false),
    ("group", Text, false),
    ("version", Text, false),
    ("kind", Text, false),
    ("deploymentName", Text, true),
    ("containerPort", Int, true),
    ("displayName", Text, true),
    ("description", Text, true),
    ("resources", RESOURCES, true),
    ("statusDescriptors", DESCRIPTORS, true),
    ("specDescriptors", DESCRIPTORS, true),
    ("actionDescriptors", DESCRIPTORS, true),
]));

const CRD_DEFINITIONS: Shape = Struct(&[("owned", CRDS, true), ("required", CRDS, true)]);
const API_SERVICE_DEFINITIONS: Shape =
    Struct(&[("owned", API_SERVICES, true), ("required", API_SERVICES, true)]);
const NATIVE_APIS: Shape =
    List(&Struct(&[("group", Text, false), ("version", Text, false), ("kind", Text, false)]));
const APP_LINK: Shape = Struct(&[("name", Text, true), ("url", Text, true)]);
const LINKS: Shape = List(&APP_LINK);
const MAINTAINERS: Shape = List(&Struct(&[("name", Text, true), ("email", Text, true)]));
const INSTALL_MODES: Shape = List(&Struct(&[("type", Text, false), ("supported", Bool, false)]));
const RELATED_IMAGES: Shape = List(&Struct(&[("name", Text, false), ("image", Text, false)]));

/// The parts of a CSV around what comes from the package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parts {
    /// Up to the description; with it, if the bundle has one.
    pub(crate) before: String,
    /// From the description to the icon.
    pub(crate) between: String,
    /// From the icon to the end.
    pub(crate) after: String,
    /// Whether the package's description is the bundle's.
    pub(crate) needs_description: bool,
}

/// Returns the CSV of a bundle with this `olm.csv.metadata`.
pub(crate) fn parts(name: &str, version: &str, metadata: &Json, related_images: Option<&Json>) -> Parts {
    let mut object = Writer { out: String::with_capacity(4096), is_first: true };
    object.out.push_str(
        r#"{"kind":"ClusterServiceVersion","apiVersion":"operators.coreos.com/v1alpha1","metadata":{"name":"#,
    );
    push_string(name, &mut object.out);
    object.is_first = false;
    object.optional(metadata, "labels", "labels", &Map);
    object.optional(metadata, "annotations", "annotations", &Map);
    object
        .out
        .push_str(r#"},"spec":{"install":{"strategy":"deployment","spec":{"deployments":null}},"version":"#);
    push_string(version, &mut object.out);
    object.optional(metadata, "maturity", "maturity", &Text);
    object.always(metadata, "crdDescriptions", "customresourcedefinitions", &CRD_DEFINITIONS);
    object.always(metadata, "apiServiceDefinitions", "apiservicedefinitions", &API_SERVICE_DEFINITIONS);
    object.optional(metadata, "nativeAPIs", "nativeAPIs", &NATIVE_APIS);
    object.optional(metadata, "minKubeVersion", "minKubeVersion", &Text);
    object.always(metadata, "displayName", "displayName", &Text);
    object.optional(metadata, "description", "description", &Text);
    let before = std::mem::take(&mut object.out);
    object.optional(metadata, "keywords", "keywords", &STRINGS);
    object.optional(metadata, "maintainers", "maintainers", &MAINTAINERS);
    object.always(metadata, "provider", "provider", &APP_LINK);
    object.optional(metadata, "links", "links", &LINKS);
    let between = std::mem::take(&mut object.out);
    object.optional(metadata, "installModes", "installModes", &INSTALL_MODES);
    object.out.push_str(r#","cleanup":{"enabled":false}"#);
    if let Some(images) = related_images.filter(|images| !is_empty(images, &RELATED_IMAGES)) {
        object.out.push_str(r#","relatedImages":"#);
        write(Some(images), &RELATED_IMAGES, &mut object.out);
    }
    object.out.push_str(r#"},"status":{"cleanup":{}}}"#);
    Parts {
        before,
        between,
        after: object.out,
        needs_description: string(metadata, "description").is_empty(),
    }
}

/// Appends the package's description.
pub(crate) fn push_description(description: &str, out: &mut String) {
    if !description.is_empty() {
        out.push_str(r#","description":"#);
        push_string(description, out);
    }
}

/// Appends the package's icon, whose data is base64.
pub(crate) fn push_icon(data: &str, media_type: &str, out: &mut String) {
    out.push_str(r#","icon":[{"base64data":"#);
    push_string(data, out);
    out.push_str(r#","mediatype":"#);
    push_string(media_type, out);
    out.push_str("}]");
}

struct Writer {
    out: String,
    is_first: bool,
}

impl Writer {
    /// Writes field `from` of `object` as `to` unless it is empty.
    fn optional(&mut self, object: &Json, from: &str, to: &str, shape: &Shape) {
        if let Some(value) = get(object, from).filter(|value| !is_empty(value, shape)) {
            self.field(to, Some(value), shape);
        }
    }

    fn always(&mut self, object: &Json, from: &str, to: &str, shape: &Shape) {
        self.field(to, get(object, from), shape);
    }

    fn field(&mut self, name: &str, value: Option<&Json>, shape: &Shape) {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(',');
        }
        push_string(name, &mut self.out);
        self.out.push(':');
        write(value, shape, &mut self.out);
    }
}

/// Returns whether Go omits the value where `omitempty` is set: structs never are empty, and raw JSON is not if it is null.
fn is_empty(value: &Json, shape: &Shape) -> bool {
    match shape {
        Any | Struct(_) => false,
        Text => value.as_str().is_none_or(str::is_empty),
        Bool => value.as_bool() != Some(true),
        Int => value.as_f64().is_none_or(|number| number == 0.0),
        List(_) => value.as_array().is_none_or(Vec::is_empty),
        Map => value.as_object().is_none_or(serde_json::Map::is_empty),
    }
}

fn write(value: Option<&Json>, shape: &Shape, out: &mut String) {
    match shape {
        Text => push_string(value.and_then(Json::as_str).unwrap_or_default(), out),
        Bool => out.push_str(if value.and_then(Json::as_bool) == Some(true) { "true" } else { "false" }),
        Int => out.push_str(&value.and_then(Json::as_i64).unwrap_or_default().to_string()),
        Any => out.push_str(&value.map_or_else(|| "null".to_owned(), |value| reencoded(value, true))),
        List(item) => match value.and_then(Json::as_array) {
            None => out.push_str("null"),
            Some(items) => {
                out.push('[');
                for (index, value) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write(Some(value), item, out);
                }
                out.push(']');
            }
        },
        Map => {
            let mut entries: Vec<_> = value.and_then(Json::as_object).into_iter().flatten().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            let mut object = Writer { out: std::mem::take(out), is_first: true };
            object.out.push('{');
            for (key, value) in entries {
                object.field(key, Some(value), &Text);
            }
            object.out.push('}');
            *out = object.out;
        }
        Struct(fields) => {
            let nothing = Json::Null;
            let value = value.unwrap_or(&nothing);
            let mut object = Writer { out: std::mem::take(out), is_first: true };
            object.out.push('{');
            for (name, shape, is_optional) in *fields {
                if *is_optional && !matches!(shape, Struct(_)) {
                    object.optional(value, name, name, shape);
                } else {
                    object.always(value, name, name, shape);
                }
            }
            object.out.push('}');
            *out = object.out;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_csv_has_the_fields_in_the_order_of_their_declaration() {
        let metadata = json!({
            "Keywords": ["a<b"], "provider": null, "displayName": "D", "unknown": 1,
            "crdDescriptions": {"owned": [{"kind": "K", "specDescriptors": [{"value": null, "path": "p"}]}]},
            "annotations": {"b": "2", "a": null},
            "apiServiceDefinitions": {"owned": [{"containerPort": 8443}]},
        });
        let images = json!([{"image": "i"}]);
        let Parts { before, between, after, needs_description } =
            parts("n", "1.0.0", &metadata, Some(&images));
        assert!(needs_description);
        assert_eq!(
            before,
            r#"{"kind":"ClusterServiceVersion","apiVersion":"operators.coreos.com/v1alpha1","metadata":{"name":"n","annotations":{"a":"","b":"2"}},"spec":{"install":{"strategy":"deployment","spec":{"deployments":null}},"version":"1.0.0","customresourcedefinitions":{"owned":[{"name":"","version":"","kind":"K","specDescriptors":[{"path":"p","value":null}]}]},"apiservicedefinitions":{"owned":[{"name":"","group":"","version":"","kind":"","containerPort":8443}]},"displayName":"D""#
        );
        assert_eq!(between, r#","keywords":["a\u003cb"],"provider":{}"#);
        assert_eq!(
            after,
            r#","cleanup":{"enabled":false},"relatedImages":[{"name":"","image":"i"}]},"status":{"cleanup":{}}}"#
        );
    }
}
