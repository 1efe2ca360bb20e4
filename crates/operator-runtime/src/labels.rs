//! The recommended labels of Kubernetes, by which the objects of this operator are recognized.

use crate::identity::Identity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::BTreeMap;

/// Name of the application.
pub const NAME: &str = "app.kubernetes.io/name";
/// Name of the custom resource that an object belongs to.
pub const INSTANCE: &str = "app.kubernetes.io/instance";
/// Version of the application.
pub const VERSION: &str = "app.kubernetes.io/version";
/// Name of the operator that manages an object; the operator watches only objects with its own name.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Name of the operator that an object is part of.
pub const PART_OF: &str = "app.kubernetes.io/part-of";

/// An instance of an application: what a custom resource runs. Its objects have its name and its labels.
#[derive(Clone, Copy, Debug)]
pub struct Instance<'a> {
    /// The operator.
    pub operator: &'a Identity,
    /// Name of the application, such as `memcached`.
    pub app: &'a str,
    /// Name of the custom resource.
    pub name: &'a str,
    /// The image that it runs; its tag is the label for the version.
    pub image: &'a str,
}

impl Instance<'_> {
    /// Returns the labels that never change: they select the pods.
    #[must_use]
    pub fn selector(&self) -> BTreeMap<String, String> {
        selector(self.app, self.name)
    }

    /// Returns name and labels of an object that has the name of the custom resource.
    #[must_use]
    pub fn metadata(&self) -> ObjectMeta {
        ObjectMeta { name: Some(self.name.to_owned()), labels: Some(self.labels()), ..ObjectMeta::default() }
    }

    /// Returns all recommended labels.
    #[must_use]
    pub fn labels(&self) -> BTreeMap<String, String> {
        all(self.operator, self.app, self.name, self.image)
    }
}

/// Returns the labels that never change: they select the pods of an instance.
#[must_use]
pub fn selector(app: &str, instance: &str) -> BTreeMap<String, String> {
    [(NAME, app), (INSTANCE, instance)].map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

/// Returns all recommended labels of an instance that runs an image.
#[must_use]
pub fn all(operator: &Identity, app: &str, instance: &str, image: &str) -> BTreeMap<String, String> {
    let mut labels = selector(app, instance);
    labels.extend(
        [(MANAGED_BY, operator.name), (PART_OF, operator.name)]
            .map(|(key, value)| (key.to_owned(), value.to_owned())),
    );
    labels.insert(VERSION.to_owned(), version(image));
    labels
}

/// Returns labels in the form of a selector, such as that of the scale subresource.
#[must_use]
pub fn to_selector(labels: &BTreeMap<String, String>) -> String {
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}

/// Returns an image's tag, or the beginning of its digest, as a label value.
#[must_use]
pub fn version(image: &str) -> String {
    if let Some((_, digest)) = image.split_once("@sha256:") {
        return digest.chars().take(12).collect();
    }
    let tag = image.rsplit_once(':').map(|(_, tag)| tag).filter(|tag| !tag.contains('/')).unwrap_or("latest");
    tag.chars()
        .take(63)
        .collect::<String>()
        .trim_end_matches(['.', '_', '-'])
        .trim_start_matches('_')
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_label_is_always_a_label() {
        let digest = format!("m@sha256:{}", "ab".repeat(32));
        for (image, label) in
            [("m:1.6", "1.6"), ("r:5000/m", "latest"), ("m:a_", "a"), (digest.as_str(), "abababababab")]
        {
            assert_eq!(version(image), label, "{image}");
        }
    }

    #[test]
    fn selector_is_sorted_text() {
        assert_eq!(to_selector(&selector("a", "b")), "app.kubernetes.io/instance=b,app.kubernetes.io/name=a");
    }
}
