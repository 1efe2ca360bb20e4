//! The claim template of an ephemeral volume.
//!
//! Source: `k8s.io/kubernetes/pkg/apis/core/validation/validation.go` (`ValidatePersistentVolumeClaimTemplate`).

use k8s_openapi::api::core::v1::PersistentVolumeClaimSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::inputs::{MAX_ANNOTATIONS, annotation_bytes};
use crate::kubernetes::{labels, names, selectors};
use crate::prelude::*;
use kube_yaml::Quantity;

/// Validates the metadata of the template: only labels and annotations are supported.
pub(crate) fn metadata(metadata: &ObjectMeta, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    labels::validate(metadata.labels.as_ref(), &path.field("labels"), errors);
    let annotations = path.field("annotations");
    if let Some(map) = &metadata.annotations {
        labels::annotation_keys(map.keys(), &annotations, errors);
        if annotation_bytes(map) > MAX_ANNOTATIONS {
            errors.add(&annotations, "annotations exceed the limit of 262144 bytes");
        }
    }
    let text = |value: &Option<String>| value.as_ref().is_some_and(|text| !text.is_empty());
    let number = |value: Option<i64>| value.is_some_and(|number| number != 0);
    for (field, set) in [
        ("name", text(&metadata.name)),
        ("generateName", text(&metadata.generate_name)),
        ("namespace", text(&metadata.namespace)),
        ("selfLink", text(&metadata.self_link)),
        ("uid", text(&metadata.uid)),
        ("resourceVersion", text(&metadata.resource_version)),
        ("generation", number(metadata.generation)),
        ("creationTimestamp", metadata.creation_timestamp.is_some()),
        ("deletionTimestamp", metadata.deletion_timestamp.is_some()),
        ("deletionGracePeriodSeconds", metadata.deletion_grace_period_seconds.is_some()),
        ("ownerReferences", metadata.owner_references.is_some()),
        ("finalizers", metadata.finalizers.is_some()),
        ("managedFields", metadata.managed_fields.is_some()),
    ] {
        if set {
            errors
                .add(&path.field(field), format!("unexpected `{field}`: not supported in a claim template"));
        }
    }
}

/// Validates the spec of the claim.
pub(crate) fn spec(spec: &PersistentVolumeClaimSpec, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let modes = spec.access_modes.as_deref().unwrap_or_default();
    let list = path.field("accessModes");
    if modes.is_empty() {
        errors.add(&list, "missing required field `accessModes`");
    }
    let known = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"];
    for (index, mode) in modes.iter().enumerate() {
        errors.one_of(&list.index(index), mode, &known);
    }
    let alone = modes.iter().any(|mode| mode == "ReadWriteOncePod");
    if alone && modes.iter().any(|mode| known[..3].contains(&mode.as_str())) {
        errors.add(&list, "`ReadWriteOncePod` must be the only access mode");
    }
    selectors::validate(spec.selector.as_ref(), &path.field("selector"), errors);
    let storage = path.field("resources.requests.storage");
    let requests = spec.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    match requests.and_then(|requests| requests.get("storage")) {
        None => errors.add(&storage, "missing required field `resources.requests.storage`"),
        Some(size) => {
            if Quantity::parse(&size.0).is_some_and(|size| size.is_negative() || size.is_zero()) {
                errors.add(&storage, format!("invalid size `{}`: must be greater than 0", size.0));
            }
        }
    }
    for (field, class) in [
        ("storageClassName", &spec.storage_class_name),
        ("volumeAttributesClassName", &spec.volume_attributes_class_name),
    ] {
        if let Some(class) = class.as_deref().filter(|class| !class.is_empty()) {
            errors.check(&path.field(field), names::dns_subdomain(class));
        }
    }
    if let Some(mode) = &spec.volume_mode {
        errors.one_of(&path.field("volumeMode"), mode, &["Block", "Filesystem"]);
    }
    let source = spec.data_source.as_ref();
    let reference = spec.data_source_ref.as_ref();
    if let Some(source) = source {
        let group = source.api_group.as_deref();
        data_source(&source.name, &source.kind, group, &path.field("dataSource"), errors);
    }
    if let Some(reference) = reference {
        let path = path.field("dataSourceRef");
        data_source(&reference.name, &reference.kind, reference.api_group.as_deref(), &path, errors);
        if let Some(namespace) = reference.namespace.as_deref().filter(|namespace| !namespace.is_empty()) {
            errors.check(&path.field("namespace"), names::dns_label(namespace));
        }
    }
    if let (Some(source), Some(reference)) = (source, reference) {
        let elsewhere = reference.namespace.as_ref().is_some_and(|namespace| !namespace.is_empty());
        let same = source.api_group == reference.api_group
            && source.kind == reference.kind
            && source.name == reference.name;
        if elsewhere {
            errors.add(
                &path.field("dataSource"),
                "`dataSource` and `dataSourceRef.namespace` are mutually exclusive",
            );
        } else if !same {
            errors.add(&path.field("dataSource"), "`dataSource` must equal `dataSourceRef`");
        }
    }
}

fn data_source(
    name: &str,
    kind: &str,
    group: Option<&str>,
    path: &Path<'_>,
    errors: &mut ErrorReporter<'_, '_>,
) {
    errors.required(&path.field("name"), name);
    let group = group.unwrap_or_default();
    if errors.required(&path.field("kind"), kind) && group.is_empty() && kind != "PersistentVolumeClaim" {
        errors.add(
            &path.field("kind"),
            format!("unsupported kind `{kind}` of the core group: must be `PersistentVolumeClaim`"),
        );
    }
    if !group.is_empty() {
        errors.check(&path.field("apiGroup"), names::dns_subdomain(group));
    }
}
