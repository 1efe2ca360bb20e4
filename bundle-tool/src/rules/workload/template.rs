//! The pod template of one Deployment.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, PodSecurityContext, PodSpec, PodTemplateSpec, Volume};

use super::Deployment;
use crate::model::Object;
use crate::model::yaml::Path;
use crate::rules::context::Csv;

/// A pod template with defaults, and its path.
#[derive(Debug)]
pub struct PodTemplate<'t> {
    /// The CSV.
    pub object: Object<'t>,
    /// `…spec.template`
    pub path: &'t Path<'t>,
    /// `…spec.template.spec`
    pub spec_path: &'t Path<'t>,
    /// The template; its spec is in [`PodTemplate::spec`].
    pub template: &'t PodTemplateSpec,
    /// The pods' spec with defaults.
    pub spec: &'t PodSpec,
    /// The pods' annotations: OLM adds those of the CSV to those of the template.
    pub annotations: BTreeMap<&'t str, &'t str>,
}

/// The role of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// One of `containers`.
    Regular,
    /// One of `initContainers` that must end before the next one starts.
    Init,
    /// One of `initContainers` with `restartPolicy: Always`, which runs beside the regular ones.
    Sidecar,
}

impl<'t> PodTemplate<'t> {
    pub(super) fn new(
        deployment: &Deployment<'t>,
        csv: &'t Csv<'_>,
        path: &'t Path<'t>,
        spec_path: &'t Path<'t>,
    ) -> Self {
        let template = &deployment.prepared.spec.template;
        let own = template.metadata.as_ref().and_then(|metadata| metadata.annotations.as_ref());
        let added = csv.typed.metadata.annotations.as_ref();
        let annotations = [own, added].into_iter().flatten().flatten();
        Self {
            object: deployment.object,
            path,
            spec_path,
            template,
            spec: &deployment.prepared.pod,
            annotations: annotations.map(|(key, value)| (key.as_str(), value.as_str())).collect(),
        }
    }

    /// Calls `visit` with every container, its path and its role.
    pub fn each_container(&self, mut visit: impl FnMut(&'t Container, &Path<'_>, Role)) {
        let list = self.spec_path.field("containers");
        for (index, container) in self.spec.containers.iter().enumerate() {
            visit(container, &list.index(index), Role::Regular);
        }
        let list = self.spec_path.field("initContainers");
        for (index, container) in self.spec.init_containers.iter().flatten().enumerate() {
            let role = if container.restart_policy.is_some() { Role::Sidecar } else { Role::Init };
            visit(container, &list.index(index), role);
        }
    }

    /// Calls `visit` with every volume and its path; volumes of type `image`, whose feature is disabled, are skipped.
    pub fn each_volume(&self, mut visit: impl FnMut(&'t Volume, &Path<'_>)) {
        let list = self.spec_path.field("volumes");
        for (index, volume) in self.spec.volumes.iter().flatten().enumerate() {
            if volume.image.is_none() {
                visit(volume, &list.index(index));
            }
        }
    }

    /// Returns the volume with this name.
    #[must_use]
    pub fn volume(&self, name: &str) -> Option<&'t Volume> {
        self.spec.volumes.iter().flatten().find(|volume| volume.image.is_none() && volume.name == name)
    }

    /// Returns whether mounts of this name are dropped because the volume is of type `image`.
    #[must_use]
    pub fn is_dropped(&self, name: &str) -> bool {
        self.spec.volumes.iter().flatten().any(|volume| volume.image.is_some() && volume.name == name)
    }

    /// Returns the pods' security context.
    #[must_use]
    pub fn security(&self) -> Option<&'t PodSecurityContext> {
        self.spec.security_context.as_ref()
    }

    /// Returns whether the pods use the host network.
    #[must_use]
    pub fn host_network(&self) -> bool {
        self.spec.host_network.unwrap_or_default()
    }

    /// Returns whether the pods use the user namespace of the host, which is the default.
    #[must_use]
    pub fn host_users(&self) -> bool {
        self.spec.host_users.unwrap_or(true)
    }

    /// Returns `os.name`, if it is set.
    #[must_use]
    pub fn os(&self) -> Option<&'t str> {
        self.spec.os.as_ref().map(|os| os.name.as_str())
    }
}
