//! One document of a catalog into what the index keeps of it.
//!
//! The document is known to be valid ([`olm_catalog::validate`]): what is missing or has another type is read as
//! empty. Names of fields match whatever their case, as in Go.
//!
//! Source: `alpha/declcfg/load.go`, `alpha/property/property.go` and `pkg/api/model_to_api.go` of operator-registry.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prost::Message as _;
use serde_json::Value as Json;

use super::csv::{self, Parts};
use super::fields::{get, string};
use super::proto::{GroupVersionKind, Property, Struct};
use kube_yaml::go_json::{compact, reencoded};
use olm_catalog::validate::base64_data;

/// What the index keeps of a document.
#[derive(Debug)]
pub(crate) enum Document {
    Package(Package),
    Channel(Channel),
    Bundle(Box<Bundle>),
    Deprecations(Deprecations),
    Custom(Custom),
}

#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) default_channel: String,
    pub(crate) description: String,
    pub(crate) icon: Option<Icon>,
}

#[derive(Debug)]
pub(crate) struct Icon {
    pub(crate) data: Vec<u8>,
    pub(crate) media_type: String,
}

#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) package: String,
    pub(crate) name: String,
    pub(crate) entries: Vec<Entry>,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) replaces: String,
    pub(crate) skips: Vec<String>,
    pub(crate) skip_range: String,
}

#[derive(Debug)]
pub(crate) struct Bundle {
    pub(crate) package: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) image: String,
    /// The CSV, as far as the bundle itself says.
    pub(crate) csv: Csv,
    /// The objects of `olm.bundle.object`, as JSON.
    pub(crate) objects: Vec<String>,
    pub(crate) provided: Vec<GroupVersionKind>,
    pub(crate) required: Vec<GroupVersionKind>,
    pub(crate) dependencies: Vec<Property>,
    pub(crate) properties: Vec<Property>,
}

#[derive(Debug)]
pub(crate) enum Csv {
    /// There is none.
    None,
    /// It is one of the objects.
    Object(usize),
    /// It is made of `olm.csv.metadata` and the package's icon and description.
    Metadata(Parts),
}

#[derive(Debug)]
pub(crate) struct Deprecations {
    pub(crate) package: String,
    /// Schema, name and message.
    pub(crate) entries: Vec<(String, String, String)>,
}

/// A document of a schema that OLM does not know.
#[derive(Debug)]
pub(crate) struct Custom {
    pub(crate) schema: String,
    pub(crate) package: String,
    /// The document as `google.protobuf.Struct`.
    pub(crate) message: Vec<u8>,
}

fn owned(object: &Json, name: &str) -> String {
    string(object, name).to_owned()
}

fn items<'a>(object: &'a Json, name: &str) -> &'a [Json] {
    get(object, name).and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

/// Reads a document.
pub(crate) fn read(root: &Json) -> Document {
    let schema = string(root, "schema");
    match schema {
        "olm.package" => Document::Package(Package {
            name: owned(root, "name"),
            default_channel: owned(root, "defaultChannel"),
            description: owned(root, "description"),
            icon: get(root, "icon").filter(|icon| !icon.is_null()).map(|icon| Icon {
                data: get(icon, "base64data").map(data).unwrap_or_default(),
                media_type: owned(icon, "mediatype"),
            }),
        }),
        "olm.channel" => Document::Channel(Channel {
            package: owned(root, "package"),
            name: owned(root, "name"),
            entries: items(root, "entries").iter().map(entry).collect(),
        }),
        "olm.bundle" => Document::Bundle(Box::new(bundle(root))),
        "olm.deprecations" => Document::Deprecations(Deprecations {
            package: owned(root, "package"),
            entries: items(root, "entries").iter().map(deprecation).collect(),
        }),
        _ => Document::Custom(Custom {
            schema: schema.to_owned(),
            package: owned(root, "package"),
            message: root.as_object().map(|map| Struct::from(map).encode_to_vec()).unwrap_or_default(),
        }),
    }
}

fn entry(json: &Json) -> Entry {
    let skip = |skip: &Json| skip.as_str().unwrap_or_default().to_owned();
    Entry {
        name: owned(json, "name"),
        replaces: owned(json, "replaces"),
        skips: items(json, "skips").iter().map(skip).collect(),
        skip_range: owned(json, "skipRange"),
    }
}

fn deprecation(json: &Json) -> (String, String, String) {
    let reference = get(json, "reference").unwrap_or(&Json::Null);
    (owned(reference, "schema"), owned(reference, "name"), owned(json, "message"))
}

/// The bytes of a field that holds base64, or a list of numbers.
fn data(value: &Json) -> Vec<u8> {
    match value {
        Json::String(text) => base64_data(text).unwrap_or_default(),
        Json::Array(items) => items
            .iter()
            .map(|item| item.as_u64().and_then(|byte| byte.try_into().ok()).unwrap_or(0))
            .collect(),
        _ => Vec::new(),
    }
}

fn gvk(value: &Json) -> GroupVersionKind {
    GroupVersionKind {
        group: owned(value, "group"),
        version: owned(value, "version"),
        kind: owned(value, "kind"),
        plural: String::new(),
    }
}

fn bundle(root: &Json) -> Bundle {
    let name = string(root, "name");
    let mut bundle = Bundle {
        package: owned(root, "package"),
        name: name.to_owned(),
        version: String::new(),
        image: owned(root, "image"),
        csv: Csv::None,
        objects: Vec::new(),
        provided: Vec::new(),
        required: Vec::new(),
        dependencies: Vec::new(),
        properties: Vec::new(),
    };
    let mut metadata = None;
    for property in items(root, "properties") {
        let (r#type, value) = (string(property, "type"), get(property, "value").unwrap_or(&Json::Null));
        match r#type {
            "olm.package" => bundle.version = owned(value, "version"),
            "olm.gvk" => bundle.provided.push(gvk(value)),
            "olm.gvk.required" => {
                bundle.required.push(gvk(value));
                let value = reencoded(value, false);
                bundle.dependencies.push(Property { r#type: "olm.gvk".to_owned(), value });
            }
            "olm.package.required" => {
                let name = Json::from(string(value, "packageName"));
                let range = Json::from(string(value, "versionRange"));
                let value = format!(
                    r#"{{"packageName":{},"version":{}}}"#,
                    reencoded(&name, false),
                    reencoded(&range, false)
                );
                bundle.dependencies.push(Property { r#type: "olm.package".to_owned(), value });
            }
            "olm.bundle.object" => {
                bundle.objects.push(object(&get(value, "data").map(data).unwrap_or_default()));
                continue;
            }
            "olm.csv.metadata" => {
                metadata = Some(value);
                continue;
            }
            _ => {}
        }
        bundle.properties.push(Property { r#type: r#type.to_owned(), value: reencoded(value, false) });
    }
    if let Some(index) = bundle.objects.iter().position(|object| is_csv(object)) {
        bundle.csv = Csv::Object(index);
    } else if let Some(metadata) = metadata {
        let parts = csv::parts(name, &bundle.version, metadata, get(root, "relatedImages"));
        bundle.csv = Csv::Metadata(parts);
    }
    bundle
}

/// Returns an object as JSON: what begins as JSON is passed on as it is, the rest is read as YAML.
fn object(data: &[u8]) -> String {
    let text = String::from_utf8_lossy(data);
    if text.trim_start().starts_with('{') {
        return text.into_owned();
    }
    let parsed = kube_yaml::parse(data);
    parsed.documents.first().map_or_else(|| "null".to_owned(), |tree| compact(&tree.root().to_json()))
}

fn is_csv(object: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Kind {
        #[serde(default)]
        kind: Option<String>,
    }
    let kind = serde_json::from_str::<Kind>(object).ok().and_then(|object| object.kind);
    kind.as_deref() == Some("ClusterServiceVersion")
}

/// Returns an icon's data as the CSV contains it.
pub(crate) fn icon_text(data: &[u8]) -> String {
    STANDARD.encode(data)
}
