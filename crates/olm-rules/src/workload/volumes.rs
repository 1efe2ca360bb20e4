//! The types of volumes, and the validation of each.
//!
//! Source: `k8s.io/kubernetes/pkg/apis/core/validation/validation.go` (`validateVolumeSource` and what it calls).

use std::sync::LazyLock;

use k8s_openapi::api::core::v1::{DownwardAPIVolumeFile, ISCSIVolumeSource, Volume};
use regex::Regex;

use super::sources::{self, FILES};
use crate::kubernetes::{names, numbers, paths};
use crate::prelude::*;
use kube_yaml::Quantity;

/// Returns the types of a volume, in Kubernetes' order.
pub(crate) fn sources(volume: &Volume) -> Vec<&'static str> {
    [
        ("emptyDir", volume.empty_dir.is_some()),
        ("hostPath", volume.host_path.is_some()),
        ("gitRepo", volume.git_repo.is_some()),
        ("gcePersistentDisk", volume.gce_persistent_disk.is_some()),
        ("awsElasticBlockStore", volume.aws_elastic_block_store.is_some()),
        ("secret", volume.secret.is_some()),
        ("nfs", volume.nfs.is_some()),
        ("iscsi", volume.iscsi.is_some()),
        ("glusterfs", volume.glusterfs.is_some()),
        ("flocker", volume.flocker.is_some()),
        ("persistentVolumeClaim", volume.persistent_volume_claim.is_some()),
        ("rbd", volume.rbd.is_some()),
        ("cinder", volume.cinder.is_some()),
        ("cephfs", volume.cephfs.is_some()),
        ("quobyte", volume.quobyte.is_some()),
        ("downwardAPI", volume.downward_api.is_some()),
        ("fc", volume.fc.is_some()),
        ("flexVolume", volume.flex_volume.is_some()),
        ("configMap", volume.config_map.is_some()),
        ("azureFile", volume.azure_file.is_some()),
        ("vsphereVolume", volume.vsphere_volume.is_some()),
        ("photonPersistentDisk", volume.photon_persistent_disk.is_some()),
        ("portworxVolume", volume.portworx_volume.is_some()),
        ("azureDisk", volume.azure_disk.is_some()),
        ("storageos", volume.storageos.is_some()),
        ("projected", volume.projected.is_some()),
        ("scaleIO", volume.scale_io.is_some()),
        ("csi", volume.csi.is_some()),
        ("ephemeral", volume.ephemeral.is_some()),
        ("image", volume.image.is_some()),
    ]
    .into_iter()
    .filter_map(|(name, set)| set.then_some(name))
    .collect()
}

/// Validates a volume, except for files, projected sources and claim templates.
pub(crate) fn validate(volume: &Volume, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if let Some(image) = &volume.image {
        let path = path.field("image");
        if let Some(policy) = image.pull_policy.as_deref().filter(|policy| !policy.is_empty()) {
            errors.one_of(&path.field("pullPolicy"), policy, &["Always", "IfNotPresent", "Never"]);
        }
        // Earlier versions require it of the volumes of pods only, not of those of pod templates.
        if image.reference.as_ref().is_none_or(String::is_empty) && errors.since(37) {
            errors.add(&path.field("reference"), "missing required field `reference`");
        }
    }
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    if let Some(limit) = volume.empty_dir.as_ref().and_then(|source| source.size_limit.as_ref())
        && Quantity::parse(&limit.0).is_some_and(|limit| limit.is_negative())
    {
        errors.add(
            &path.field("emptyDir.sizeLimit"),
            format!("invalid size limit `{}`: must not be negative", limit.0),
        );
    }
    if let Some(host) = &volume.host_path {
        let path = path.field("hostPath");
        if errors.required(&path.field("path"), &host.path) {
            errors.check(&path.field("path"), paths::without_backsteps(&host.path));
            let kinds = [
                "",
                "DirectoryOrCreate",
                "Directory",
                "FileOrCreate",
                "File",
                "Socket",
                "CharDevice",
                "BlockDevice",
            ];
            errors.one_of(&path.field("type"), &text(&host.type_), &kinds);
        }
    }
    if let Some(git) = &volume.git_repo {
        errors.required(&path.field("gitRepo.repository"), &git.repository);
        errors.check(&path.field("gitRepo.directory"), paths::descending(&text(&git.directory)));
    }
    if let Some(secret) = &volume.secret {
        errors.required(&path.field("secret.secretName"), &text(&secret.secret_name));
    }
    if let Some(config_map) = &volume.config_map {
        errors.required(&path.field("configMap.name"), &config_map.name);
    }
    if let Some(claim) = &volume.persistent_volume_claim {
        errors.required(&path.field("persistentVolumeClaim.claimName"), &claim.claim_name);
    }
    if let Some(nfs) = &volume.nfs {
        errors.required(&path.field("nfs.server"), &nfs.server);
        if errors.required(&path.field("nfs.path"), &nfs.path) && !nfs.path.starts_with('/') {
            errors.add(&path.field("nfs.path"), format!("invalid path `{}`: must be absolute", nfs.path));
        }
    }
    if let Some(iscsi) = &volume.iscsi {
        validate_iscsi(&volume.name, iscsi, &path.field("iscsi"), errors);
    }
    if let Some(csi) = &volume.csi {
        let path = path.field("csi");
        let driver = path.field("driver");
        if errors.required(&driver, &csi.driver) {
            if csi.driver.len() > 63 {
                errors.add(&driver, "driver name exceeds the limit of 63 characters");
            } else {
                errors.check(&driver, names::dns_subdomain(&csi.driver.to_lowercase()));
            }
        }
        if let Some(secret) = &csi.node_publish_secret_ref {
            let path = path.field("nodePublishSecretRef.name");
            if errors.required(&path, &secret.name) {
                errors.check(&path, names::dns_subdomain(&secret.name));
            }
        }
    }
    validate_networked(volume, path, errors);
    validate_cloud(volume, path, errors);
}

fn validate_networked(volume: &Volume, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if let Some(glusterfs) = &volume.glusterfs {
        errors.required(&path.field("glusterfs.endpoints"), &glusterfs.endpoints);
        errors.required(&path.field("glusterfs.path"), &glusterfs.path);
    }
    if let Some(flocker) = &volume.flocker {
        let path = path.field("flocker");
        let name = flocker.dataset_name.as_deref().unwrap_or_default();
        let identity = flocker.dataset_uuid.as_deref().unwrap_or_default();
        if name.is_empty() == identity.is_empty() {
            errors.add(&path, "exactly one of `datasetName` and `datasetUUID` must be set");
        } else if name.contains('/') {
            errors.add(
                &path.field("datasetName"),
                format!("invalid dataset name `{name}`: must not contain `/`"),
            );
        }
    }
    if let Some(rbd) = &volume.rbd {
        if rbd.monitors.is_empty() {
            errors.add(&path.field("rbd.monitors"), "missing required field `monitors`");
        }
        errors.required(&path.field("rbd.image"), &rbd.image);
    }
    if let Some(ceph) = &volume.cephfs
        && ceph.monitors.is_empty()
    {
        errors.add(&path.field("cephfs.monitors"), "missing required field `monitors`");
    }
    if let Some(quobyte) = &volume.quobyte {
        let path = path.field("quobyte");
        if errors.required(&path.field("registry"), &quobyte.registry) {
            if quobyte.tenant.as_ref().is_some_and(|tenant| tenant.len() >= 65) {
                errors.add(&path.field("tenant"), "tenant exceeds the limit of 64 characters");
            } else if !quobyte.registry.split(',').all(is_host_and_port) {
                let message = format!(
                    "invalid registry `{}`: must be a list of `host:port` separated by commas",
                    quobyte.registry
                );
                errors.add(&path.field("registry"), message);
            }
        }
        errors.required(&path.field("volume"), &quobyte.volume);
    }
    if let Some(fc) = &volume.fc {
        let path = path.field("fc");
        let names = fc.target_wwns.as_ref().is_some_and(|list| !list.is_empty());
        let identities = fc.wwids.as_ref().is_some_and(|list| !list.is_empty());
        if names == identities {
            errors.add(&path.field("targetWWNs"), "exactly one of `targetWWNs` and `wwids` must be set");
        }
        if names && !fc.lun.is_some_and(|lun| (0..=255).contains(&lun)) {
            errors.add(&path.field("lun"), "invalid `lun`: `targetWWNs` requires a number between 0 and 255");
        }
    }
    if let Some(flex) = &volume.flex_volume {
        let path = path.field("flexVolume");
        errors.required(&path.field("driver"), &flex.driver);
        let options = path.field("options");
        for key in flex.options.iter().flatten().map(|(key, _)| key) {
            let namespace = format!(".{}", key.split('/').next().unwrap_or_default().to_lowercase());
            if namespace.ends_with(".kubernetes.io") || namespace.ends_with(".k8s.io") {
                errors.add(
                    &options.key(key),
                    "reserved option key: must not be in `kubernetes.io` or `k8s.io`",
                );
            }
        }
    }
    if let Some(storageos) = &volume.storageos {
        let path = path.field("storageos");
        let name = storageos.volume_name.as_deref().unwrap_or_default();
        if errors.required(&path.field("volumeName"), name) {
            errors.check(&path.field("volumeName"), names::dns_label(name));
        }
        if let Some(namespace) = storageos.volume_namespace.as_deref().filter(|text| !text.is_empty()) {
            errors.check(&path.field("volumeNamespace"), names::dns_label(namespace));
        }
        if let Some(secret) = &storageos.secret_ref {
            errors.required(&path.field("secretRef.name"), &secret.name);
        }
    }
    if let Some(scale) = &volume.scale_io {
        let path = path.field("scaleIO");
        errors.required(&path.field("gateway"), &scale.gateway);
        errors.required(&path.field("system"), &scale.system);
        // Kubernetes accepts it without, but the CRD of the CSV requires it.
        if !errors.is_written(&path.field("secretRef")) {
            errors.add(&path.field("secretRef"), "missing required field `secretRef`");
        }
        errors.required(&path.field("volumeName"), scale.volume_name.as_deref().unwrap_or_default());
    }
    if let Some(portworx) = &volume.portworx_volume {
        errors.required(&path.field("portworxVolume.volumeID"), &portworx.volume_id);
    }
}

fn validate_cloud(volume: &Volume, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let partition = |path: &Path<'_>, value: Option<i32>, errors: &mut ErrorReporter<'_, '_>| {
        if let Some(number) = value.filter(|number| !(0..=255).contains(number)) {
            errors.add(path, format!("invalid partition {number}: must be between 0 and 255"));
        }
    };
    if let Some(disk) = &volume.gce_persistent_disk {
        errors.required(&path.field("gcePersistentDisk.pdName"), &disk.pd_name);
        partition(&path.field("gcePersistentDisk.partition"), disk.partition, errors);
    }
    if let Some(disk) = &volume.aws_elastic_block_store {
        errors.required(&path.field("awsElasticBlockStore.volumeID"), &disk.volume_id);
        partition(&path.field("awsElasticBlockStore.partition"), disk.partition, errors);
    }
    if let Some(cinder) = &volume.cinder {
        errors.required(&path.field("cinder.volumeID"), &cinder.volume_id);
        if let Some(secret) = &cinder.secret_ref {
            errors.required(&path.field("cinder.secretRef.name"), &secret.name);
        }
    }
    if let Some(file) = &volume.azure_file {
        errors.required(&path.field("azureFile.secretName"), &file.secret_name);
        errors.required(&path.field("azureFile.shareName"), &file.share_name);
    }
    if let Some(disk) = &volume.azure_disk {
        let path = path.field("azureDisk");
        errors.required(&path.field("diskName"), &disk.disk_name);
        let caching = disk.caching_mode.as_deref().unwrap_or_default();
        errors.one_of(&path.field("cachingMode"), caching, &["None", "ReadOnly", "ReadWrite"]);
        let kind = disk.kind.as_deref().unwrap_or_default();
        errors.one_of(&path.field("kind"), kind, &["Shared", "Dedicated", "Managed"]);
        let begins = if kind == "Managed" { "/subscriptions/" } else { "https://" };
        if errors.required(&path.field("diskURI"), &disk.disk_uri) && !disk.disk_uri.starts_with(begins) {
            let message =
                format!("invalid disk URI `{}`: must start with `{begins}` for kind `{kind}`", disk.disk_uri);
            errors.add(&path.field("diskURI"), message);
        }
    }
    if let Some(vsphere) = &volume.vsphere_volume {
        errors.required(&path.field("vsphereVolume.volumePath"), &vsphere.volume_path);
    }
    if let Some(photon) = &volume.photon_persistent_disk {
        errors.required(&path.field("photonPersistentDisk.pdID"), &photon.pd_id);
    }
}

fn validate_iscsi(
    name: &str,
    iscsi: &ISCSIVolumeSource,
    path: &Path<'_>,
    errors: &mut ErrorReporter<'_, '_>,
) {
    errors.required(&path.field("targetPortal"), &iscsi.target_portal);
    if errors.required(&path.field("iqn"), &iscsi.iqn) {
        errors.check(&path.field("iqn"), iscsi_name(&iscsi.iqn));
    }
    if !(0..=255).contains(&iscsi.lun) {
        errors.add(&path.field("lun"), format!("invalid LUN {}: must be between 0 and 255", iscsi.lun));
    }
    let secured = iscsi.chap_auth_discovery == Some(true) || iscsi.chap_auth_session == Some(true);
    if secured && iscsi.secret_ref.is_none() {
        errors.add(&path.field("secretRef"), "missing required field `secretRef` for CHAP authentication");
    }
    if let Some(initiator) = &iscsi.initiator_name {
        errors.check(&path.field("initiatorName"), iscsi_name(initiator));
        if name.len() + 1 + iscsi.target_portal.len() > 64 {
            let message = "volume name and `targetPortal` exceed the limit of 63 characters in total with `initiatorName`";
            errors.add(&path.field("targetPortal"), message);
        }
    }
}

static IQN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"iqn\.[0-9]{4}-[0-9]{2}\.([[:alnum:]\-.]+)(:[^,;*&$|\t\n\f\r ]+)$").ok());

fn iscsi_name(name: &str) -> Result<(), String> {
    let of_length = |prefix: &str, length: usize| {
        // The dot after the prefix matches any character.
        let mut rest = name.strip_prefix(prefix).unwrap_or_default().chars();
        rest.next().is_some_and(|c| c != '\n')
            && rest.clone().count() == length
            && rest.all(|c| c.is_ascii_alphanumeric())
    };
    let valid = if name.starts_with("iqn") {
        IQN.as_ref().is_some_and(|pattern| pattern.is_match(name))
    } else {
        of_length("eui", 16) || of_length("naa", 32)
    };
    if valid { Ok(()) } else { Err(names::invalid("iSCSI name", name, "must be an iqn, eui or naa name")) }
}

fn is_host_and_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host_is_valid = match bracketed {
        Some(host) => !host.contains(['[', ']']),
        None => !host.contains([':', '[', ']']),
    };
    host_is_valid && !port.contains(['[', ']'])
}

/// Validates the files of a downward API volume.
pub(crate) fn downward_files(
    items: Option<&Vec<DownwardAPIVolumeFile>>,
    path: &Path<'_>,
    errors: &mut ErrorReporter<'_, '_>,
) {
    let list = path.field("items");
    for (index, item) in items.into_iter().flatten().enumerate() {
        let path = list.index(index);
        let file = path.field("path");
        if errors.required(&file, &item.path) {
            errors.check(&file, paths::descending_and_free(&item.path));
        }
        if let Some(field) = &item.field_ref {
            sources::field(field, FILES, &path.field("fieldRef"), errors);
        }
        match (&item.field_ref, &item.resource_field_ref) {
            (None, None) => errors.add(&path, "missing source: `fieldRef` or `resourceFieldRef` must be set"),
            (Some(_), Some(_)) => {
                errors.add(&path, "`fieldRef` and `resourceFieldRef` are mutually exclusive");
            }
            (None, Some(resource)) => {
                sources::resource(resource, true, &path.field("resourceFieldRef"), errors);
            }
            (Some(_), None) => {}
        }
        errors.check(&path.field("mode"), numbers::file_mode(item.mode));
    }
}
