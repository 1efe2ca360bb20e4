//! Volumes and what they may come from.
//!
//! Source: `types.go` of `k8s.io/api/core/v1`, v0.34.

use super::container::{OBJECT_FIELD_SELECTOR, RESOURCE_FIELD_SELECTOR};
use super::fields::Shape::{Bool, Int, List, Map, Quantity, Struct, Text};
use super::fields::{Fields, given, keep, omit};
use super::meta::{LABEL_SELECTOR, LOCAL_OBJECT_REFERENCE, OBJECT_META};

static HOST_PATH_VOLUME_SOURCE: Fields = Fields::of(&[keep("path", Text), given("type", Text)]);

static EMPTY_DIR_VOLUME_SOURCE: Fields = Fields::of(&[omit("medium", Text), given("sizeLimit", Quantity)]);

static GCE_PERSISTENT_DISK_VOLUME_SOURCE: Fields =
    Fields::of(&[omit("fsType", Text), omit("partition", Int), keep("pdName", Text), omit("readOnly", Bool)]);

static AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE: Fields = Fields::of(&[
    omit("fsType", Text),
    omit("partition", Int),
    omit("readOnly", Bool),
    keep("volumeID", Text),
]);

static GIT_REPO_VOLUME_SOURCE: Fields =
    Fields::of(&[omit("directory", Text), keep("repository", Text), omit("revision", Text)]);

static KEY_TO_PATH: Fields = Fields::of(&[keep("key", Text), given("mode", Int), keep("path", Text)]);

static SECRET_VOLUME_SOURCE: Fields = Fields::of(&[
    given("defaultMode", Int),
    omit("items", List(&Struct(&KEY_TO_PATH))),
    given("optional", Bool),
    omit("secretName", Text),
]);

static NFS_VOLUME_SOURCE: Fields =
    Fields::of(&[keep("path", Text), omit("readOnly", Bool), keep("server", Text)]);

static ISCSI_VOLUME_SOURCE: Fields = Fields::of(&[
    omit("chapAuthDiscovery", Bool),
    omit("chapAuthSession", Bool),
    omit("fsType", Text),
    given("initiatorName", Text),
    keep("iqn", Text),
    omit("iscsiInterface", Text),
    keep("lun", Int),
    omit("portals", List(&Text)),
    omit("readOnly", Bool),
    given("secretRef", Struct(&LOCAL_OBJECT_REFERENCE)),
    keep("targetPortal", Text),
]);

static GLUSTERFS_VOLUME_SOURCE: Fields =
    Fields::of(&[keep("endpoints", Text), keep("path", Text), omit("readOnly", Bool)]);

static PERSISTENT_VOLUME_CLAIM_VOLUME_SOURCE: Fields =
    Fields::of(&[keep("claimName", Text), omit("readOnly", Bool)]);

static RBD_VOLUME_SOURCE: Fields = Fields::of(&[
    omit("fsType", Text),
    keep("image", Text),
    omit("keyring", Text),
    keep("monitors", List(&Text)),
    omit("pool", Text),
    omit("readOnly", Bool),
    given("secretRef", Struct(&LOCAL_OBJECT_REFERENCE)),
    omit("user", Text),
]);

static FLEX_VOLUME_SOURCE: Fields = Fields::of(&[
    keep("driver", Text),
    omit("fsType", Text),
    omit("options", Map(&Text)),
    omit("readOnly", Bool),
    given("secretRef", Struct(&LOCAL_OBJECT_REFERENCE)),
]);

static CINDER_VOLUME_SOURCE: Fields = Fields::of(&[
    omit("fsType", Text),
    omit("readOnly", Bool),
    given("secretRef", Struct(&LOCAL_OBJECT_REFERENCE)),
    keep("volumeID", Text),
]);

static CEPH_FS_VOLUME_SOURCE: Fields = Fields::of(&[
    keep("monitors", List(&Text)),
    omit("path", Text),
    omit("readOnly", Bool),
    omit("secretFile", Text),
    given("secretRef", Struct(&LOCAL_OBJECT_REFERENCE)),
    omit("user", Text),
]);

static FLOCKER_VOLUME_SOURCE: Fields = Fields::of(&[omit("datasetName", Text), omit("datasetUUID", Text)]);

static DOWNWARD_API_VOLUME_FILE: Fields = Fields::of(&[
    given("fieldRef", Struct(&OBJECT_FIELD_SELECTOR)),
    given("mode", Int),
    keep("path", Text),
    given("resourceFieldRef", Struct(&RESOURCE_FIELD_SELECTOR)),
]);

static DOWNWARD_API_VOLUME_SOURCE: Fields =
    Fields::of(&[given("defaultMode", Int), omit("items", List(&Struct(&DOWNWARD_API_VOLUME_FILE)))]);

static FC_VOLUME_SOURCE: Fields = Fields::of(&[
    omit("fsType", Text),
    given("lun", Int),
    omit("readOnly", Bool),
    omit("targetWWNs", List(&Text)),
    omit("wwids", List(&Text)),
]);

static AZURE_FILE_VOLUME_SOURCE: Fields =
    Fields::of(&[omit("readOnly", Bool), keep("secretName", Text), keep("shareName", Text)]);

static CONFIG_MAP_VOLUME_SOURCE: Fields = Fields::of(&[
    given("defaultMode", Int),
    omit("items", List(&Struct(&KEY_TO_PATH))),
    omit("name", Text),
    given("optional", Bool),
]);

static VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE: Fields = Fields::of(&[
    omit("fsType", Text),
    omit("storagePolicyID", Text),
    omit("storagePolicyName", Text),
    keep("volumePath", Text),
]);

static QUOBYTE_VOLUME_SOURCE: Fields = Fields::of(&[
    omit("group", Text),
    omit("readOnly", Bool),
    keep("registry", Text),
    omit("tenant", Text),
    omit("user", Text),
    keep("volume", Text),
]);

static AZURE_DISK_VOLUME_SOURCE: Fields = Fields::of(&[
    given("cachingMode", Text),
    keep("diskName", Text),
    keep("diskURI", Text),
    given("fsType", Text),
    given("kind", Text),
    given("readOnly", Bool),
]);

static PHOTON_PERSISTENT_DISK_VOLUME_SOURCE: Fields = Fields::of(&[omit("fsType", Text), keep("pdID", Text)]);

static SECRET_PROJECTION: Fields =
    Fields::of(&[omit("items", List(&Struct(&KEY_TO_PATH))), omit("name", Text), given("optional", Bool)]);

static DOWNWARD_API_PROJECTION: Fields =
    Fields::of(&[omit("items", List(&Struct(&DOWNWARD_API_VOLUME_FILE)))]);

static CONFIG_MAP_PROJECTION: Fields =
    Fields::of(&[omit("items", List(&Struct(&KEY_TO_PATH))), omit("name", Text), given("optional", Bool)]);

static SERVICE_ACCOUNT_TOKEN_PROJECTION: Fields =
    Fields::of(&[omit("audience", Text), given("expirationSeconds", Int), keep("path", Text)]);

static CLUSTER_TRUST_BUNDLE_PROJECTION: Fields = Fields::of(&[
    given("labelSelector", Struct(&LABEL_SELECTOR)),
    given("name", Text),
    given("optional", Bool),
    keep("path", Text),
    given("signerName", Text),
]);

static POD_CERTIFICATE_PROJECTION: Fields = Fields::of(&[
    omit("certificateChainPath", Text),
    omit("credentialBundlePath", Text),
    omit("keyPath", Text),
    omit("keyType", Text),
    given("maxExpirationSeconds", Int),
    omit("signerName", Text),
    omit("userAnnotations", Map(&Text)),
]);

static VOLUME_PROJECTION: Fields = Fields::of(&[
    given("clusterTrustBundle", Struct(&CLUSTER_TRUST_BUNDLE_PROJECTION)),
    given("configMap", Struct(&CONFIG_MAP_PROJECTION)),
    given("downwardAPI", Struct(&DOWNWARD_API_PROJECTION)),
    given("podCertificate", Struct(&POD_CERTIFICATE_PROJECTION)),
    given("secret", Struct(&SECRET_PROJECTION)),
    given("serviceAccountToken", Struct(&SERVICE_ACCOUNT_TOKEN_PROJECTION)),
]);

static PROJECTED_VOLUME_SOURCE: Fields =
    Fields::of(&[given("defaultMode", Int), keep("sources", List(&Struct(&VOLUME_PROJECTION)))]);

static PORTWORX_VOLUME_SOURCE: Fields =
    Fields::of(&[omit("fsType", Text), omit("readOnly", Bool), keep("volumeID", Text)]);

static SCALE_IO_VOLUME_SOURCE: Fields = Fields::of(&[
    omit("fsType", Text),
    keep("gateway", Text),
    omit("protectionDomain", Text),
    omit("readOnly", Bool),
    given("secretRef", Struct(&LOCAL_OBJECT_REFERENCE)),
    omit("sslEnabled", Bool),
    omit("storageMode", Text),
    omit("storagePool", Text),
    keep("system", Text),
    omit("volumeName", Text),
]);

static STORAGE_OS_VOLUME_SOURCE: Fields = Fields::of(&[
    omit("fsType", Text),
    omit("readOnly", Bool),
    given("secretRef", Struct(&LOCAL_OBJECT_REFERENCE)),
    omit("volumeName", Text),
    omit("volumeNamespace", Text),
]);

static CSI_VOLUME_SOURCE: Fields = Fields::of(&[
    keep("driver", Text),
    given("fsType", Text),
    given("nodePublishSecretRef", Struct(&LOCAL_OBJECT_REFERENCE)),
    given("readOnly", Bool),
    omit("volumeAttributes", Map(&Text)),
]);

static VOLUME_RESOURCE_REQUIREMENTS: Fields =
    Fields::of(&[omit("limits", Map(&Quantity)), omit("requests", Map(&Quantity))]);

static TYPED_LOCAL_OBJECT_REFERENCE: Fields =
    Fields::of(&[given("apiGroup", Text), keep("kind", Text), keep("name", Text)]);

static TYPED_OBJECT_REFERENCE: Fields =
    Fields::of(&[given("apiGroup", Text), keep("kind", Text), keep("name", Text), given("namespace", Text)]);

static PERSISTENT_VOLUME_CLAIM_SPEC: Fields = Fields::of(&[
    omit("accessModes", List(&Text)),
    given("dataSource", Struct(&TYPED_LOCAL_OBJECT_REFERENCE)),
    given("dataSourceRef", Struct(&TYPED_OBJECT_REFERENCE)),
    omit("resources", Struct(&VOLUME_RESOURCE_REQUIREMENTS)),
    given("selector", Struct(&LABEL_SELECTOR)),
    given("storageClassName", Text),
    given("volumeAttributesClassName", Text),
    given("volumeMode", Text),
    omit("volumeName", Text),
]);

static PERSISTENT_VOLUME_CLAIM_TEMPLATE: Fields = Fields::of(&[
    omit("metadata", Struct(&OBJECT_META)),
    keep("spec", Struct(&PERSISTENT_VOLUME_CLAIM_SPEC)),
]);

static EPHEMERAL_VOLUME_SOURCE: Fields =
    Fields::of(&[given("volumeClaimTemplate", Struct(&PERSISTENT_VOLUME_CLAIM_TEMPLATE))]);

static IMAGE_VOLUME_SOURCE: Fields = Fields::of(&[omit("pullPolicy", Text), omit("reference", Text)]);

pub(super) static VOLUME: Fields = Fields::of(&[
    given("awsElasticBlockStore", Struct(&AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE)),
    given("azureDisk", Struct(&AZURE_DISK_VOLUME_SOURCE)),
    given("azureFile", Struct(&AZURE_FILE_VOLUME_SOURCE)),
    given("cephfs", Struct(&CEPH_FS_VOLUME_SOURCE)),
    given("cinder", Struct(&CINDER_VOLUME_SOURCE)),
    given("configMap", Struct(&CONFIG_MAP_VOLUME_SOURCE)),
    given("csi", Struct(&CSI_VOLUME_SOURCE)),
    given("downwardAPI", Struct(&DOWNWARD_API_VOLUME_SOURCE)),
    given("emptyDir", Struct(&EMPTY_DIR_VOLUME_SOURCE)),
    given("ephemeral", Struct(&EPHEMERAL_VOLUME_SOURCE)),
    given("fc", Struct(&FC_VOLUME_SOURCE)),
    given("flexVolume", Struct(&FLEX_VOLUME_SOURCE)),
    given("flocker", Struct(&FLOCKER_VOLUME_SOURCE)),
    given("gcePersistentDisk", Struct(&GCE_PERSISTENT_DISK_VOLUME_SOURCE)),
    given("gitRepo", Struct(&GIT_REPO_VOLUME_SOURCE)),
    given("glusterfs", Struct(&GLUSTERFS_VOLUME_SOURCE)),
    given("hostPath", Struct(&HOST_PATH_VOLUME_SOURCE)),
    given("image", Struct(&IMAGE_VOLUME_SOURCE)),
    given("iscsi", Struct(&ISCSI_VOLUME_SOURCE)),
    keep("name", Text),
    given("nfs", Struct(&NFS_VOLUME_SOURCE)),
    given("persistentVolumeClaim", Struct(&PERSISTENT_VOLUME_CLAIM_VOLUME_SOURCE)),
    given("photonPersistentDisk", Struct(&PHOTON_PERSISTENT_DISK_VOLUME_SOURCE)),
    given("portworxVolume", Struct(&PORTWORX_VOLUME_SOURCE)),
    given("projected", Struct(&PROJECTED_VOLUME_SOURCE)),
    given("quobyte", Struct(&QUOBYTE_VOLUME_SOURCE)),
    given("rbd", Struct(&RBD_VOLUME_SOURCE)),
    given("scaleIO", Struct(&SCALE_IO_VOLUME_SOURCE)),
    given("secret", Struct(&SECRET_VOLUME_SOURCE)),
    given("storageos", Struct(&STORAGE_OS_VOLUME_SOURCE)),
    given("vsphereVolume", Struct(&VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE)),
]);
