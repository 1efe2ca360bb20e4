//! The sources of environment variables and files of volumes: fields of the pod, resources of a container, keys of
//! `ConfigMaps` and Secrets.
//!
//! Source: `k8s.io/kubernetes/pkg/apis/core/validation/validation.go` (`validateObjectFieldSelector`,
//! `validateContainerResourceFieldSelector`, `validateConfigMapKeySelector`) and `pkg/apis/core/pods/helpers.go`.

use k8s_openapi::api::core::v1::{KeyToPath, ObjectFieldSelector, ResourceFieldSelector};

use crate::kubernetes::{names, numbers, paths};
use crate::prelude::*;
use kube_yaml::Quantity;
use olm_model::report::suggest;

/// The fields that an environment variable can refer to.
pub(crate) const VARIABLES: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// The fields that a file can refer to.
pub(crate) const FILES: &[&str] =
    &["metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.uid"];

const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
];
const SIZES: [&str; 13] = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/// Validates a field of the pod, which must be one of `fields` or one label or annotation.
pub(crate) fn field(
    selector: &ObjectFieldSelector,
    fields: &[&str],
    path: &Path<'_>,
    errors: &mut ErrorReporter<'_, '_>,
) {
    let version = selector.api_version.as_deref().unwrap_or_default();
    let field = selector.field_path.as_str();
    let field_path = path.field("fieldPath");
    if !errors.required(&field_path, field) {
        return;
    }
    if version != "v1" {
        errors.add(&path.field("apiVersion"), format!("unsupported apiVersion `{version}`: must be `v1`"));
        return;
    }
    if let Some((map, key)) = subscript(field) {
        let key = match map {
            "metadata.annotations" => key.to_lowercase(),
            "metadata.labels" => key.to_owned(),
            _ => {
                errors.add(&field_path, format!("unsupported subscript of `{map}`: only `metadata.labels` and `metadata.annotations` support it"));
                return;
            }
        };
        errors.check(&field_path, names::qualified(&key));
        return;
    }
    // The deprecated name of the same field.
    let field = if field == "spec.host" { "spec.nodeName" } else { field };
    if !fields.contains(&field) {
        let message = suggest::unknown("field", field, fields);
        errors.add(&field_path, message);
    }
}

/// Splits `map['key']` into its two parts.
fn subscript(field: &str) -> Option<(&str, &str)> {
    let (map, key) = field.strip_suffix("']")?.split_once("['")?;
    (!map.is_empty()).then_some((map, key))
}

/// Validates a resource of a container, which a volume must name.
pub(crate) fn resource(
    selector: &ResourceFieldSelector,
    of_volume: bool,
    path: &Path<'_>,
    errors: &mut ErrorReporter<'_, '_>,
) {
    let resource = selector.resource.as_str();
    let huge = resource.starts_with("limits.hugepages-") || resource.starts_with("requests.hugepages-");
    if of_volume && selector.container_name.as_ref().is_none_or(String::is_empty) {
        errors.add(&path.field("containerName"), "missing required field `containerName`");
    } else if errors.required(&path.field("resource"), resource) && !huge && !RESOURCES.contains(&resource) {
        let message = suggest::unknown("resource", resource, &RESOURCES);
        errors.add(&path.field("resource"), message);
    }
    let Some(divisor) = selector.divisor.as_ref().and_then(|divisor| Quantity::parse(&divisor.0)) else {
        return;
    };
    let allowed: &[&str] = match resource {
        "limits.cpu" | "requests.cpu" => &["1m", "1"],
        _ if huge || RESOURCES.contains(&resource) => &SIZES,
        _ => return,
    };
    if !divisor.is_zero() && !allowed.contains(&divisor.canonical().as_str()) {
        let message = format!(
            "unsupported divisor `{}`: must be {}",
            divisor.canonical(),
            suggest::alternatives(allowed)
        );
        errors.add(&path.field("divisor"), message);
    }
}

/// Validates a reference to a key of a `ConfigMap` or Secret.
pub(crate) fn key(name: &str, key: &str, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let name_path = path.field("name");
    if errors.required(&name_path, name) {
        errors.check(&name_path, names::dns_subdomain(name));
    }
    let key_path = path.field("key");
    if errors.required(&key_path, key) {
        errors.check(&key_path, names::config_key(key));
    }
}

/// Validates the keys of a `ConfigMap` or Secret that become files.
pub(crate) fn files(items: Option<&Vec<KeyToPath>>, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let list = path.field("items");
    for (index, item) in items.into_iter().flatten().enumerate() {
        let path = list.index(index);
        errors.required(&path.field("key"), &item.key);
        let file = path.field("path");
        if errors.required(&file, &item.path) {
            errors.check(&file, paths::descending_and_free(&item.path));
        }
        errors.check(&path.field("mode"), numbers::file_mode(item.mode));
    }
}
