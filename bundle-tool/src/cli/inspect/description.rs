//! What is known about an image.

use std::collections::BTreeMap;

use oci_images::layout::Listed;
use serde::Serialize;
use serde_json::Value;

/// What is known about an image.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Description {
    pub(super) name: String,
    pub(super) digest: String,
    pub(super) media_type: String,
    pub(super) kind: &'static str,
    /// The images of an index.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) images: Vec<Listing>,
    #[serde(flatten)]
    pub(super) image: Option<Details>,
    pub(super) referrers: Vec<Referrer>,
    pub(super) problems: Vec<String>,
}

/// An image of an index.
#[derive(Debug, Serialize)]
pub(super) struct Listing {
    pub(super) platform: String,
    pub(super) digest: String,
    /// The size of its layers in bytes.
    pub(super) size: u64,
}

/// One image.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Details {
    /// The digest of the image, which is that of the whole without an index.
    pub(super) image_digest: String,
    pub(super) platform: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) created: Option<String>,
    /// User, entry point, arguments, environment and working directory.
    pub(super) config: BTreeMap<&'static str, Value>,
    pub(super) labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) annotations: BTreeMap<String, String>,
    pub(super) layers: Vec<LayerDetails>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LayerDetails {
    pub(super) digest: String,
    pub(super) media_type: String,
    pub(super) size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) files: Option<Vec<FileDetails>>,
}

#[derive(Debug, Serialize)]
pub(super) struct FileDetails {
    pub(super) path: String,
    pub(super) size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) target: Option<String>,
    #[serde(skip)]
    pub(super) is_directory: bool,
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
pub(super) struct Referrer {
    pub(super) digest: String,
    /// What people call it.
    pub(super) kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) artifact_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tag: Option<String>,
}
