use super::scc::{self, Concern};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "scc-volume-forbidden",
    suite: Suite::Openshift,
    severity: Severity::Error,
    what: "A pod mounts a volume of a type other than configMap, csi, downwardAPI, emptyDir, ephemeral, image, persistentVolumeClaim, projected or secret.",
    impacts: &[Impact::PodsRejected],
    help: "use one of the allowed types, such as a persistentVolumeClaim",
    sources: &[Source::symbols(
        Project::OpenShiftLibrary,
        "pkg/securitycontextconstraints/sccmatching/provider.go",
        &["simpleProvider.ValidatePodSecurityContext"],
    )
    .since("4.11")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    scc::check(context, reporter, demands);
}

pub(super) fn demands(pod: &PodTemplate<'_>, add: &mut dyn FnMut(&Path<'_>, Concern, String)) {
    pod.each_volume(|volume, path| {
        let others = [
            ("awsElasticBlockStore", volume.aws_elastic_block_store.is_some()),
            ("azureDisk", volume.azure_disk.is_some()),
            ("azureFile", volume.azure_file.is_some()),
            ("cephfs", volume.cephfs.is_some()),
            ("cinder", volume.cinder.is_some()),
            ("fc", volume.fc.is_some()),
            ("flexVolume", volume.flex_volume.is_some()),
            ("flocker", volume.flocker.is_some()),
            ("gcePersistentDisk", volume.gce_persistent_disk.is_some()),
            ("gitRepo", volume.git_repo.is_some()),
            ("glusterfs", volume.glusterfs.is_some()),
            ("hostPath", volume.host_path.is_some()),
            ("iscsi", volume.iscsi.is_some()),
            ("nfs", volume.nfs.is_some()),
            ("photonPersistentDisk", volume.photon_persistent_disk.is_some()),
            ("portworxVolume", volume.portworx_volume.is_some()),
            ("quobyte", volume.quobyte.is_some()),
            ("rbd", volume.rbd.is_some()),
            ("scaleIO", volume.scale_io.is_some()),
            ("storageos", volume.storageos.is_some()),
            ("vsphereVolume", volume.vsphere_volume.is_some()),
        ];
        for (kind, _) in others.iter().filter(|(_, used)| *used) {
            let concern = match *kind {
                "hostPath" => Concern::HostPath,
                "nfs" => Concern::Nfs,
                _ => Concern::Volume,
            };
            add(&path.field(kind), concern, format!("forbidden volume type `{kind}`"));
        }
    });
}
