//! The types of a blob's fields, checked as Go's JSON decoder checks them: names match whatever their case, null fits
//! everything, unknown fields are dropped.
//!
//! Source: `alpha/declcfg/declcfg.go` and `alpha/property/property.go` of operator-registry,
//! `pkg/operators/v1alpha1/clusterserviceversion_types.go` of operator-framework/api, `encoding/json` of Go.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

use kube_yaml::{Kind, Path, Position, Value, is_same_name};
use olm_model::report::suggest::nearest;

/// What a field may hold.
#[derive(Debug)]
pub(crate) enum Type {
    String,
    Bool,
    Int {
        max: i64,
    },
    /// Bytes in base64.
    Bytes,
    Any,
    List(&'static Type),
    Map(&'static Type),
    Struct(&'static [(&'static str, Type)]),
}

use Type::{Any, Bool, Bytes, Int, List, Map, String as Text, Struct};

const STRINGS: Type = List(&Text);
const PROPERTY: Type = Struct(&[("type", Text), ("value", Any)]);

pub(crate) const PACKAGE: Type = Struct(&[
    ("schema", Text),
    ("name", Text),
    ("defaultChannel", Text),
    ("icon", Struct(&[("base64data", Bytes), ("mediatype", Text)])),
    ("description", Text),
    ("properties", List(&PROPERTY)),
]);

const ENTRY: Type = Struct(&[("name", Text), ("replaces", Text), ("skips", STRINGS), ("skipRange", Text)]);

pub(crate) const CHANNEL: Type = Struct(&[
    ("schema", Text),
    ("name", Text),
    ("package", Text),
    ("entries", List(&ENTRY)),
    ("properties", List(&PROPERTY)),
]);

const RELATED_IMAGE: Type = Struct(&[("name", Text), ("image", Text)]);

pub(crate) const BUNDLE: Type = Struct(&[
    ("schema", Text),
    ("name", Text),
    ("package", Text),
    ("image", Text),
    ("properties", List(&PROPERTY)),
    ("relatedImages", List(&RELATED_IMAGE)),
]);

const DEPRECATION: Type =
    Struct(&[("reference", Struct(&[("schema", Text), ("name", Text)])), ("message", Text)]);

pub(crate) const DEPRECATIONS: Type =
    Struct(&[("schema", Text), ("package", Text), ("entries", List(&DEPRECATION))]);

/// Calls `report` with the key of each field that is not known and whose name is similar to one that is, its path and that name.
pub(crate) fn misspelled<'v>(
    value: Value<'v>,
    r#type: &Type,
    path: &Path<'_>,
    report: &mut impl FnMut(Value<'v>, String, &'static str),
) {
    match r#type {
        Struct(fields) => {
            for (key, value) in value.unique_entries() {
                let name = key.text();
                let known = fields.iter().find(|(field, _)| is_same_name(name, field));
                if let Some((field, r#type)) = known {
                    misspelled(value, r#type, &path.field(field), report);
                } else if let Some(meant) = nearest(name, fields.iter().map(|(field, _)| *field)) {
                    report(key, path.key(name).to_string(), meant);
                }
            }
        }
        List(r#type) => {
            for (index, item) in value.items().enumerate() {
                misspelled(item, r#type, &path.index(index), report);
            }
        }
        _ => {}
    }
}

const GVK: Type = Struct(&[("group", Text), ("kind", Text), ("version", Text)]);
const APP_LINK: Type = Struct(&[("name", Text), ("url", Text)]);

const DESCRIPTORS: Type = List(&Struct(&[
    ("path", Text),
    ("displayName", Text),
    ("description", Text),
    ("x-descriptors", STRINGS),
    ("value", Any),
]));

const RESOURCES: Type = List(&Struct(&[("name", Text), ("kind", Text), ("version", Text)]));

const CRDS: Type = List(&Struct(&[
    ("name", Text),
    ("version", Text),
    ("kind", Text),
    ("displayName", Text),
    ("description", Text),
    ("resources", RESOURCES),
    ("statusDescriptors", DESCRIPTORS),
    ("specDescriptors", DESCRIPTORS),
    ("actionDescriptors", DESCRIPTORS),
]));

const API_SERVICES: Type = List(&Struct(&[
    ("name", Text),
    ("group", Text),
    ("version", Text),
    ("kind", Text),
    ("deploymentName", Text),
    ("containerPort", Int { max: i32::MAX as i64 }),
    ("displayName", Text),
    ("description", Text),
    ("resources", RESOURCES),
    ("statusDescriptors", DESCRIPTORS),
    ("specDescriptors", DESCRIPTORS),
    ("actionDescriptors", DESCRIPTORS),
]));

const CSV_METADATA: Type = Struct(&[
    ("annotations", Map(&Text)),
    ("apiServiceDefinitions", Struct(&[("owned", API_SERVICES), ("required", API_SERVICES)])),
    ("crdDescriptions", Struct(&[("owned", CRDS), ("required", CRDS)])),
    ("description", Text),
    ("displayName", Text),
    ("installModes", List(&Struct(&[("type", Text), ("supported", Bool)]))),
    ("keywords", STRINGS),
    ("labels", Map(&Text)),
    ("links", List(&APP_LINK)),
    ("maintainers", List(&Struct(&[("name", Text), ("email", Text)]))),
    ("maturity", Text),
    ("minKubeVersion", Text),
    ("nativeAPIs", List(&GVK)),
    ("provider", APP_LINK),
]);

/// Returns what the value of a property of this type may hold.
pub(crate) fn property(name: &str) -> Type {
    match name {
        "olm.package" => Struct(&[("packageName", Text), ("version", Text), ("release", Text)]),
        "olm.package.required" => Struct(&[("packageName", Text), ("versionRange", Text)]),
        "olm.gvk" | "olm.gvk.required" => GVK,
        "olm.bundle.object" => Struct(&[("data", Bytes)]),
        "olm.csv.metadata" => CSV_METADATA,
        "olm.channel" => Struct(&[("channelName", Text), ("priority", Int { max: i64::MAX })]),
        _ => Any,
    }
}

/// A value that does not fit its field.
#[derive(Debug)]
pub(crate) struct Mismatch {
    pub(crate) path: String,
    pub(crate) message: String,
    pub(crate) position: Position,
}

/// Checks a value and all below it; returns the first one that does not fit.
pub(crate) fn check(value: Value<'_>, r#type: &Type, path: &Path<'_>) -> Result<(), Mismatch> {
    let mismatch = |message: String| Mismatch { path: path.to_string(), message, position: value.position() };
    let wrong = |expected: &str| Err(mismatch(format!("expected {expected}, found {}", value.kind())));
    let kind = value.kind();
    match r#type {
        _ if kind == Kind::Null => Ok(()),
        Any => Ok(()),
        Text if kind == Kind::String => Ok(()),
        Text => wrong("a string"),
        Bool if kind == Kind::Boolean => Ok(()),
        Bool => wrong("a boolean"),
        Int { max } => match value.as_i64() {
            Some(number) if (-max - 1..=*max).contains(&number) => Ok(()),
            _ => wrong(if *max == i64::MAX { "an integer" } else { "a 32-bit integer" }),
        },
        Bytes => match kind {
            Kind::String => match bytes(value.text()) {
                Some(_) => Ok(()),
                None => Err(mismatch("invalid base64".to_owned())),
            },
            Kind::Array
                if value.items().all(|item| {
                    item.is_null() || item.as_i64().is_some_and(|byte| (0..256).contains(&byte))
                }) =>
            {
                Ok(())
            }
            _ => wrong("a string in base64"),
        },
        List(item_type) => {
            if kind != Kind::Array {
                return wrong("a list");
            }
            value.items().enumerate().try_for_each(|(index, item)| check(item, item_type, &path.index(index)))
        }
        Map(value_type) => {
            if kind != Kind::Object {
                return wrong("a map");
            }
            value
                .unique_entries()
                .try_for_each(|(key, value)| check(value, value_type, &path.key(key.text())))
        }
        Struct(fields) => {
            if kind != Kind::Object {
                return wrong("a map");
            }
            value.unique_entries().try_for_each(|(key, value)| {
                let exact = fields.iter().find(|(name, _)| *name == key.text());
                let found = exact.or_else(|| fields.iter().find(|(name, _)| is_same_name(key.text(), name)));
                found.map_or(Ok(()), |(name, r#type)| check(value, r#type, &path.field(name)))
            })
        }
    }
}

/// Decodes base64 as Go does: line breaks are skipped, padding is required, bits behind the last byte do not count.
///
/// Returns nothing if the text is not base64.
#[must_use]
pub fn bytes(text: &str) -> Option<Vec<u8>> {
    const ENGINE: GeneralPurpose =
        GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));
    if text.contains(['\r', '\n']) {
        return ENGINE.decode(text.replace(['\r', '\n'], "")).ok();
    }
    ENGINE.decode(text).ok()
}

/// Returns the bytes in a field of type [`Type::Bytes`]: base64, or a list of numbers.
pub(crate) fn data(value: Value<'_>) -> Vec<u8> {
    match value.kind() {
        Kind::Array => value
            .items()
            .map(|item| item.as_i64().and_then(|byte| byte.try_into().ok()).unwrap_or(0))
            .collect(),
        _ => value.as_str().and_then(bytes).unwrap_or_default(),
    }
}
