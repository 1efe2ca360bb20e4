//! What is known about an image.

use std::collections::BTreeMap;

use oci_images::layout::Listed;
use serde::Serialize;
use serde_json::Value;

/// What is known about an image.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Description {
    /// The version of the JSON document.
    pub(crate) version: u32,
    pub(crate) name: String,
    pub(crate) digest: String,
    pub(crate) media_type: String,
    pub(crate) kind: &'static str,
    /// The images of an index.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) images: Vec<Listing>,
    #[serde(flatten)]
    pub(crate) image: Option<Details>,
    pub(crate) referrers: Vec<Referrer>,
    pub(crate) problems: Vec<String>,
}

/// An image of an index.
#[derive(Debug, Serialize)]
pub(crate) struct Listing {
    pub(crate) platform: String,
    pub(crate) digest: String,
    /// The size of its layers in bytes; `None` if the image is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<u64>,
}

/// One image.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Details {
    /// The digest of the image, which is that of the whole without an index.
    pub(crate) image_digest: String,
    pub(crate) platform: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) created: Option<String>,
    /// User, entry point, arguments, environment and working directory.
    pub(crate) config: BTreeMap<&'static str, Value>,
    pub(crate) labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) layers: Vec<LayerDetails>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LayerDetails {
    pub(crate) digest: String,
    pub(crate) media_type: String,
    pub(crate) size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<Vec<FileDetails>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct FileDetails {
    pub(crate) path: String,
    pub(crate) size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<String>,
    #[serde(skip)]
    pub(crate) is_directory: bool,
}

impl From<Listed> for FileDetails {
    fn from(entry: Listed) -> Self {
        let Listed { path, size, target, is_directory, .. } = entry;
        Self { path, size, target, is_directory }
    }
}

/// What refers to the image.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Referrer {
    pub(crate) digest: String,
    /// What people call it.
    pub(crate) kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) artifact_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tag: Option<String>,
}
