//! Volumes and what they may come from.
//!
//! Source: `types.go` of `k8s.io/api/core/v1`, v0.34.

use super::container::{OBJECT_FIELD_SELECTOR, RESOURCE_FIELD_SELECTOR};
use super::fields::GoType::{Bool, Int, List, Map, Quantity, Struct, Text};
use super::fields::{GoStruct, always, omitempty, pointer};
use super::meta::{LABEL_SELECTOR, LOCAL_OBJECT_REFERENCE, OBJECT_META};

static HOST_PATH_VOLUME_SOURCE: GoStruct = GoStruct::new(&[always("path", Text), pointer("type", Text)]);

static EMPTY_DIR_VOLUME_SOURCE: GoStruct =
    GoStruct::new(&[omitempty("medium", Text), pointer("sizeLimit", Quantity)]);

static GCE_PERSISTENT_DISK_VOLUME_SOURCE: GoStruct = GoStruct::new(&[
    omitempty("fsType", Text),
    omitempty("partition", Int),
    always("pdName", Text),
    omitempty("readOnly", Bool),
]);

static AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE: GoStruct = GoStruct::new(&[
    omitempty("fsType", Text),
    omitempty("partition", Int),
    omitempty("readOnly", Bool),
    always("volumeID", Text),
]);

static GIT_REPO_VOLUME_SOURCE: GoStruct =
    GoStruct::new(&[omitempty("directory", Text), always("repository", Text), omitempty("revision", Text)]);

static KEY_TO_PATH: GoStruct =
    GoStruct::new(&[always("key", Text), pointer("mode", Int), always("path", Text)]);

static SECRET_VOLUME_SOURCE: GoStruct = GoStruct::new(&[
    pointer("defaultMode", Int),
    omitempty("items", List(&Struct(&KEY_TO_PATH))),
    pointer("optional", Bool),
    omitempty("secretName", Text),
]);

static NFS_VOLUME_SOURCE: GoStruct =
    GoStruct::new(&[always("path", Text), omitempty("readOnly", Bool), always("server", Text)]);

static ISCSI_VOLUME_SOURCE: GoStruct = GoStruct::new(&[
    omitempty("chapAuthDiscovery", Bool),
    omitempty("chapAuthSession", Bool),
    omitempty("fsType", Text),
    pointer("initiatorName", Text),
    always("iqn", Text),
    omitempty("iscsiInterface", Text),
    always("lun", Int),
    omitempty("portals", List(&Text)),
    omitempty("readOnly", Bool),
    pointer("secretRef", Struct(&LOCAL_OBJECT_REFERENCE)),
    always("targetPortal", Text),
]);

static GLUSTERFS_VOLUME_SOURCE: GoStruct =
    GoStruct::new(&[always("endpoints", Text), always("path", Text), omitempty("readOnly", Bool)]);

static PERSISTENT_VOLUME_CLAIM_VOLUME_SOURCE: GoStruct =
    GoStruct::new(&[always("claimName", Text), omitempty("readOnly", Bool)]);

static RBD_VOLUME_SOURCE: GoStruct = GoStruct::new(&[
    omitempty("fsType", Text),
    always("image", Text),
    omitempty("keyring", Text),
    always("monitors", List(&Text)),
    omitempty("pool", Text),
    omitempty("readOnly", Bool),
    pointer("secretRef", Struct(&LOCAL_OBJECT_REFERENCE)),
    omitempty("user", Text),
]);

static FLEX_VOLUME_SOURCE: GoStruct = GoStruct::new(&[
    always("driver", Text),
    omitempty("fsType", Text),
    omitempty("options", Map(&Text)),
    omitempty("readOnly", Bool),
    pointer("secretRef", Struct(&LOCAL_OBJECT_REFERENCE)),
]);

static CINDER_VOLUME_SOURCE: GoStruct = GoStruct::new(&[
    omitempty("fsType", Text),
    omitempty("readOnly", Bool),
    pointer("secretRef", Struct(&LOCAL_OBJECT_REFERENCE)),
    always("volumeID", Text),
]);

static CEPH_FS_VOLUME_SOURCE: GoStruct = GoStruct::new(&[
    always("monitors", List(&Text)),
    omitempty("path", Text),
    omitempty("readOnly", Bool),
    omitempty("secretFile", Text),
    pointer("secretRef", Struct(&LOCAL_OBJECT_REFERENCE)),
    omitempty("user", Text),
]);

static FLOCKER_VOLUME_SOURCE: GoStruct =
    GoStruct::new(&[omitempty("datasetName", Text), omitempty("datasetUUID", Text)]);

static DOWNWARD_API_VOLUME_FILE: GoStruct = GoStruct::new(&[
    pointer("fieldRef", Struct(&OBJECT_FIELD_SELECTOR)),
    pointer("mode", Int),
    always("path", Text),
    pointer("resourceFieldRef", Struct(&RESOURCE_FIELD_SELECTOR)),
]);

static DOWNWARD_API_VOLUME_SOURCE: GoStruct = GoStruct::new(&[
    pointer("defaultMode", Int),
    omitempty("items", List(&Struct(&DOWNWARD_API_VOLUME_FILE))),
]);

static FC_VOLUME_SOURCE: GoStruct = GoStruct::new(&[
    omitempty("fsType", Text),
    pointer("lun", Int),
    omitempty("readOnly", Bool),
    omitempty("targetWWNs", List(&Text)),
    omitempty("wwids", List(&Text)),
]);

static AZURE_FILE_VOLUME_SOURCE: GoStruct =
    GoStruct::new(&[omitempty("readOnly", Bool), always("secretName", Text), always("shareName", Text)]);

static CONFIG_MAP_VOLUME_SOURCE: GoStruct = GoStruct::new(&[
    pointer("defaultMode", Int),
    omitempty("items", List(&Struct(&KEY_TO_PATH))),
    omitempty("name", Text),
    pointer("optional", Bool),
]);

static VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE: GoStruct = GoStruct::new(&[
    omitempty("fsType", Text),
    omitempty("storagePolicyID", Text),
    omitempty("storagePolicyName", Text),
    always("volumePath", Text),
]);

static QUOBYTE_VOLUME_SOURCE: GoStruct = GoStruct::new(&[
    omitempty("group", Text),
    omitempty("readOnly", Bool),
    always("registry", Text),
    omitempty("tenant", Text),
    omitempty("user", Text),
    always("volume", Text),
]);

static AZURE_DISK_VOLUME_SOURCE: GoStruct = GoStruct::new(&[
    pointer("cachingMode", Text),
    always("diskName", Text),
    always("diskURI", Text),
    pointer("fsType", Text),
    pointer("kind", Text),
    pointer("readOnly", Bool),
]);

static PHOTON_PERSISTENT_DISK_VOLUME_SOURCE: GoStruct =
    GoStruct::new(&[omitempty("fsType", Text), always("pdID", Text)]);

static SECRET_PROJECTION: GoStruct = GoStruct::new(&[
    omitempty("items", List(&Struct(&KEY_TO_PATH))),
    omitempty("name", Text),
    pointer("optional", Bool),
]);

static DOWNWARD_API_PROJECTION: GoStruct =
    GoStruct::new(&[omitempty("items", List(&Struct(&DOWNWARD_API_VOLUME_FILE)))]);

static CONFIG_MAP_PROJECTION: GoStruct = GoStruct::new(&[
    omitempty("items", List(&Struct(&KEY_TO_PATH))),
    omitempty("name", Text),
    pointer("optional", Bool),
]);

static SERVICE_ACCOUNT_TOKEN_PROJECTION: GoStruct =
    GoStruct::new(&[omitempty("audience", Text), pointer("expirationSeconds", Int), always("path", Text)]);

static CLUSTER_TRUST_BUNDLE_PROJECTION: GoStruct = GoStruct::new(&[
    pointer("labelSelector", Struct(&LABEL_SELECTOR)),
    pointer("name", Text),
    pointer("optional", Bool),
    always("path", Text),
    pointer("signerName", Text),
]);

static POD_CERTIFICATE_PROJECTION: GoStruct = GoStruct::new(&[
    omitempty("certificateChainPath", Text),
    omitempty("credentialBundlePath", Text),
    omitempty("keyPath", Text),
    omitempty("keyType", Text),
    pointer("maxExpirationSeconds", Int),
    omitempty("signerName", Text),
    omitempty("userAnnotations", Map(&Text)),
]);

static VOLUME_PROJECTION: GoStruct = GoStruct::new(&[
    pointer("clusterTrustBundle", Struct(&CLUSTER_TRUST_BUNDLE_PROJECTION)),
    pointer("configMap", Struct(&CONFIG_MAP_PROJECTION)),
    pointer("downwardAPI", Struct(&DOWNWARD_API_PROJECTION)),
    pointer("podCertificate", Struct(&POD_CERTIFICATE_PROJECTION)),
    pointer("secret", Struct(&SECRET_PROJECTION)),
    pointer("serviceAccountToken", Struct(&SERVICE_ACCOUNT_TOKEN_PROJECTION)),
]);

static PROJECTED_VOLUME_SOURCE: GoStruct =
    GoStruct::new(&[pointer("defaultMode", Int), always("sources", List(&Struct(&VOLUME_PROJECTION)))]);

static PORTWORX_VOLUME_SOURCE: GoStruct =
    GoStruct::new(&[omitempty("fsType", Text), omitempty("readOnly", Bool), always("volumeID", Text)]);

static SCALE_IO_VOLUME_SOURCE: GoStruct = GoStruct::new(&[
    omitempty("fsType", Text),
    always("gateway", Text),
    omitempty("protectionDomain", Text),
    omitempty("readOnly", Bool),
    pointer("secretRef", Struct(&LOCAL_OBJECT_REFERENCE)),
    omitempty("sslEnabled", Bool),
    omitempty("storageMode", Text),
    omitempty("storagePool", Text),
    always("system", Text),
    omitempty("volumeName", Text),
]);

static STORAGE_OS_VOLUME_SOURCE: GoStruct = GoStruct::new(&[
    omitempty("fsType", Text),
    omitempty("readOnly", Bool),
    pointer("secretRef", Struct(&LOCAL_OBJECT_REFERENCE)),
    omitempty("volumeName", Text),
    omitempty("volumeNamespace", Text),
]);

static CSI_VOLUME_SOURCE: GoStruct = GoStruct::new(&[
    always("driver", Text),
    pointer("fsType", Text),
    pointer("nodePublishSecretRef", Struct(&LOCAL_OBJECT_REFERENCE)),
    pointer("readOnly", Bool),
    omitempty("volumeAttributes", Map(&Text)),
]);

static VOLUME_RESOURCE_REQUIREMENTS: GoStruct =
    GoStruct::new(&[omitempty("limits", Map(&Quantity)), omitempty("requests", Map(&Quantity))]);

static TYPED_LOCAL_OBJECT_REFERENCE: GoStruct =
    GoStruct::new(&[pointer("apiGroup", Text), always("kind", Text), always("name", Text)]);

static TYPED_OBJECT_REFERENCE: GoStruct = GoStruct::new(&[
    pointer("apiGroup", Text),
    always("kind", Text),
    always("name", Text),
    pointer("namespace", Text),
]);

static PERSISTENT_VOLUME_CLAIM_SPEC: GoStruct = GoStruct::new(&[
    omitempty("accessModes", List(&Text)),
    pointer("dataSource", Struct(&TYPED_LOCAL_OBJECT_REFERENCE)),
    pointer("dataSourceRef", Struct(&TYPED_OBJECT_REFERENCE)),
    omitempty("resources", Struct(&VOLUME_RESOURCE_REQUIREMENTS)),
    pointer("selector", Struct(&LABEL_SELECTOR)),
    pointer("storageClassName", Text),
    pointer("volumeAttributesClassName", Text),
    pointer("volumeMode", Text),
    omitempty("volumeName", Text),
]);

static PERSISTENT_VOLUME_CLAIM_TEMPLATE: GoStruct = GoStruct::new(&[
    omitempty("metadata", Struct(&OBJECT_META)),
    always("spec", Struct(&PERSISTENT_VOLUME_CLAIM_SPEC)),
]);

static EPHEMERAL_VOLUME_SOURCE: GoStruct =
    GoStruct::new(&[pointer("volumeClaimTemplate", Struct(&PERSISTENT_VOLUME_CLAIM_TEMPLATE))]);

static IMAGE_VOLUME_SOURCE: GoStruct =
    GoStruct::new(&[omitempty("pullPolicy", Text), omitempty("reference", Text)]);

pub(crate) static VOLUME: GoStruct = GoStruct::new(&[
    pointer("awsElasticBlockStore", Struct(&AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE)),
    pointer("azureDisk", Struct(&AZURE_DISK_VOLUME_SOURCE)),
    pointer("azureFile", Struct(&AZURE_FILE_VOLUME_SOURCE)),
    pointer("cephfs", Struct(&CEPH_FS_VOLUME_SOURCE)),
    pointer("cinder", Struct(&CINDER_VOLUME_SOURCE)),
    pointer("configMap", Struct(&CONFIG_MAP_VOLUME_SOURCE)),
    pointer("csi", Struct(&CSI_VOLUME_SOURCE)),
    pointer("downwardAPI", Struct(&DOWNWARD_API_VOLUME_SOURCE)),
    pointer("emptyDir", Struct(&EMPTY_DIR_VOLUME_SOURCE)),
    pointer("ephemeral", Struct(&EPHEMERAL_VOLUME_SOURCE)),
    pointer("fc", Struct(&FC_VOLUME_SOURCE)),
    pointer("flexVolume", Struct(&FLEX_VOLUME_SOURCE)),
    pointer("flocker", Struct(&FLOCKER_VOLUME_SOURCE)),
    pointer("gcePersistentDisk", Struct(&GCE_PERSISTENT_DISK_VOLUME_SOURCE)),
    pointer("gitRepo", Struct(&GIT_REPO_VOLUME_SOURCE)),
    pointer("glusterfs", Struct(&GLUSTERFS_VOLUME_SOURCE)),
    pointer("hostPath", Struct(&HOST_PATH_VOLUME_SOURCE)),
    pointer("image", Struct(&IMAGE_VOLUME_SOURCE)),
    pointer("iscsi", Struct(&ISCSI_VOLUME_SOURCE)),
    always("name", Text),
    pointer("nfs", Struct(&NFS_VOLUME_SOURCE)),
    pointer("persistentVolumeClaim", Struct(&PERSISTENT_VOLUME_CLAIM_VOLUME_SOURCE)),
    pointer("photonPersistentDisk", Struct(&PHOTON_PERSISTENT_DISK_VOLUME_SOURCE)),
    pointer("portworxVolume", Struct(&PORTWORX_VOLUME_SOURCE)),
    pointer("projected", Struct(&PROJECTED_VOLUME_SOURCE)),
    pointer("quobyte", Struct(&QUOBYTE_VOLUME_SOURCE)),
    pointer("rbd", Struct(&RBD_VOLUME_SOURCE)),
    pointer("scaleIO", Struct(&SCALE_IO_VOLUME_SOURCE)),
    pointer("secret", Struct(&SECRET_VOLUME_SOURCE)),
    pointer("storageos", Struct(&STORAGE_OS_VOLUME_SOURCE)),
    pointer("vsphereVolume", Struct(&VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE)),
]);
